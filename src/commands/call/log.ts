import { answer } from '../../ui/messages.js';
import { count } from '../../ui/format.js';
import {
  clickMissed,
  listCalls,
  logCalls,
  type CallRecord,
  type CallsAccount,
  type CallsWorld,
} from '../../jobs/calling/call-log.js';
import { datedOutput } from '../../jobs/date-range.js';
import { inertJson, jsonAnswer } from '../../ui/sanitize.js';
import { zoneOf } from '../../time-zone.js';
import { jobWords } from '../shared/job-context.js';
import { isStdout } from '../../jobs/output-options.js';
import { withCalling, type CallingFlags } from './calling-system.js';
import type { FileOptions } from '../../jobs/job-options.js';
import type { Call } from '../shared/command-spec.js';

export interface LogFlags extends CallingFlags, FileOptions {
  /** Milliseconds before now. */
  readonly since?: number;
  readonly output?: string;
}

/** `call log`: calls as the calling system keeps them. */
export async function runLog(call: Call<LogFlags>): Promise<void> {
  const { since: age, callUrl: _, ...how } = call.flags;
  const since = sinceOf(age, call);
  const { json, timezone = 'UTC' } = call.settings();
  const today = { zone: zoneOf(timezone), now: call.runtime.now() };
  const output = datedOutput(how.output, today);
  await withAccount(call, async (account, world) => {
    const records = await logCalls({ ...how, ...(output && { output }), since }, account, world);
    if (!json) return world.said.note(count(records, 'call'));
    const { stdout, stderr } = call.runtime;
    const summary = { command: 'call log', records, exitCode: 0 };
    (isStdout(how.output) ? stderr : stdout).write(jsonAnswer(summary));
  });
}

/** `call missed list`: missed calls whose notification has buttons. */
export async function listMissed(call: Call<CallingFlags & { readonly since?: number }>) {
  const since = sinceOf(call.flags.since, call);
  await withAccount(call, async (account, world) => {
    const missed = (await listCalls(since, account, world)).filter(
      ({ status, actions = {} }) => status === 'missed' && Object.keys(actions).length > 0,
    );
    const shown = missed.map(shownMissed);
    const settings = call.settings();
    const summary = { command: 'call missed list', missed: shown, exitCode: 0 };
    const text = shown.map((one) => `${inertJson(one)}\n`).join('');
    answer(settings, call.runtime, summary, { text });
    if (!settings.json) world.said.note(`${count(missed.length, 'missed call')} with actions`);
  });
}

/** `call missed click`: what the receiver would do on the phone. */
export async function click(call: Call<CallingFlags>): Promise<void> {
  const [callId = '', actionId = ''] = call.operands;
  await withAccount(call, async (account, world) => {
    await clickMissed(callId, actionId, account, world);
    const summary = { command: 'call missed click', callId, actionId, exitCode: 0 };
    const note = `clicked: ${actionId} of call ${callId}`;
    answer(call.settings(), call.runtime, summary, { note });
  });
}

const sinceOf = (age: number | undefined, { runtime }: Pick<Call, 'runtime'>): number =>
  age === undefined ? 0 : Math.max(0, Math.round(runtime.now() - age));

const shownMissed = ({ endedAt, status: _, ...record }: CallRecord) => {
  const { callId, callerCuid, calleeCuid, callContext, actions } = record;
  const missedAt = endedAt === undefined ? null : new Date(endedAt).toISOString();
  return { callId, callerCuid, calleeCuid, callContext, missedAt, actions };
};

const withAccount = async (
  call: Call<CallingFlags>,
  work: (account: CallsAccount, world: CallsWorld) => Promise<void>,
): Promise<void> =>
  withCalling(call, (account, said) =>
    work(account, { runtime: call.runtime, words: jobWords, said }),
  );
