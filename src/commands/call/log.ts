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
import { callingOptions, withCalling, type CallingFlags } from './calling-system.js';
import type { FileOptions } from '../../jobs/job-options.js';
import type { Call, CommandSpec } from '../shared/command-spec.js';
import { age } from '../flags/value-parsers.js';
import { outputOptions } from '../flags/output-flags.js';

interface LogFlags extends CallingFlags, FileOptions {
  /** Milliseconds before now. */
  readonly since?: number;
  readonly output?: string;
}

const sinceOption = [
  '--since <age>',
  'only those placed since then, like 12h or 30d',
  age,
] as const;

export const log: CommandSpec<LogFlags> = {
  summary: 'calls as the calling system keeps them',
  examples: `
    # all of them, oldest first
    engagectl call log --region local
    # those of the last day, for a spreadsheet
    engagectl call log --since 1d --format csv -o calls.csv --overwrite --region local
  `,
  options: ['Options:', sinceOption, ...callingOptions, ...outputOptions()],
  run: runLog,
};

export const missed: CommandSpec = {
  summary: 'missed calls whose notification has buttons, and clicks on them',
  examples: `
    # which there are
    engagectl call missed list
    # what the receiver would do on the phone
    engagectl call missed click cb61ac0c-326f-45ca-8ef8-470daf469711 later
  `,
  subcommands: {
    list: () => missedList,
    click: () => missedClick,
  },
};

const missedList: CommandSpec<CallingFlags & { readonly since?: number }> = {
  summary: 'missed calls and the actions of their notification',
  examples: `
      # all of them
      engagectl call missed list --region local
      # of the last hour
      engagectl call missed list --since 1h
    `,
  options: ['Options:', sinceOption, ...callingOptions],
  run: listMissed,
};

const missedClick: CommandSpec<CallingFlags> = {
  summary: 'click a button of a missed call, as the receiver would',
  operands: [
    ['<callId>', 'the missed call'],
    ['<actionId>', 'identifier of the action'],
  ],
  examples: `
      # what the receiver would do on the phone
      engagectl call missed click cb61ac0c-326f-45ca-8ef8-470daf469711 later
      # of another region
      engagectl call missed click cb61ac0c-326f-45ca-8ef8-470daf469711 later --region us1
    `,
  options: [...callingOptions],
  run: click,
};

/** `call log`: calls as the calling system keeps them. */
async function runLog(call: Call<LogFlags>): Promise<void> {
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
async function listMissed(call: Call<CallingFlags & { readonly since?: number }>) {
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
async function click(call: Call<CallingFlags>): Promise<void> {
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
