import { printAnswer } from '../../ui/messages.js';
import { count } from '../../ui/format.js';
import {
  clickMissedCall,
  logCalls,
  missedCalls,
  type CallRecord,
  type CallsAccount,
  type CallLogContext,
} from '../../jobs/calling/call-log.js';
import { expandDate } from '../../jobs/date-range.js';
import { sanitizedJson, jsonAnswer } from '../../ui/sanitize.js';
import { timeZone } from '../../time-zone.js';
import { cliAdvice } from '../shared/job-context.js';
import { isStdout } from '../../jobs/output-options.js';
import { callingOptions, withCallingSystem, type CallingFlags } from './calling-system.js';
import type { FileOptions } from '../../jobs/job-options.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';
import { age } from '../flags/value-parsers.js';
import { outputOptions } from '../flags/output-flags.js';

interface LogFlags extends CallingFlags, FileOptions {
  /** Maximum age in milliseconds. */
  readonly since?: number;
  readonly output?: string;
}

const sinceOption = [
  '--since <age>',
  'only calls placed within this time, such as 12h or 30d',
  age,
] as const;

export const log: CommandSpec<LogFlags> = {
  summary: 'list the call history of the calling system',
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
  summary: 'missed calls with notification buttons, and clicks on them',
  examples: `
    # list them
    engagectl call missed list
    # click as the receiver would
    engagectl call missed click cb61ac0c-326f-45ca-8ef8-470daf469711 later
  `,
  subcommands: {
    list: () => missedList,
    click: () => missedClick,
  },
};

const missedList: CommandSpec<CallingFlags & { readonly since?: number }> = {
  summary: 'list missed calls and their notification buttons',
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
  summary: 'click a notification button of a missed call, as the receiver would',
  operands: [
    ['<callId>', 'id of the missed call'],
    ['<actionId>', 'id of the button'],
  ],
  examples: `
      # click as the receiver would
      engagectl call missed click cb61ac0c-326f-45ca-8ef8-470daf469711 later
      # of another region
      engagectl call missed click cb61ac0c-326f-45ca-8ef8-470daf469711 later --region us1
    `,
  options: [...callingOptions],
  run: clickMissedAction,
};

/** Runs `call log`. */
async function runLog(call: Invocation<LogFlags>): Promise<void> {
  const { since: age, callUrl: _, ...how } = call.flags;
  const since = sinceOf(age, call);
  const { json, timezone = 'UTC' } = call.settings();
  const today = { zone: timeZone(timezone), now: call.runtime.now() };
  const output = expandDate(how.output, today);
  if (output !== undefined) await call.refuseOutputs([output]);
  await withCallRecords(call, async (account, context) => {
    const records = await logCalls({ ...how, ...(output && { output }), since }, account, context);
    if (!json) return context.messages.note(count(records, 'call'));
    const { stdout, stderr } = call.runtime;
    const summary = { command: 'call log', records, exitCode: 0 };
    (isStdout(how.output) ? stderr : stdout).write(jsonAnswer(summary));
  });
}

/** Runs `call missed list`: prints missed calls whose notification has buttons. */
async function listMissed(call: Invocation<CallingFlags & { readonly since?: number }>) {
  const since = sinceOf(call.flags.since, call);
  await withCallRecords(call, async (account, context) => {
    const missed = await missedCalls(since, account, context);
    const listed = missed.map(missedCallOf);
    const settings = call.settings();
    const summary = { command: 'call missed list', missed: listed, exitCode: 0 };
    const text = listed.map((one) => `${sanitizedJson(one)}\n`).join('');
    printAnswer(settings, call.runtime, summary, { text });
    if (!settings.json)
      context.messages.note(`${count(missed.length, 'missed call')} with buttons`);
  });
}

/** Runs `call missed click`. */
async function clickMissedAction(call: Invocation<CallingFlags>): Promise<void> {
  const [callId = '', actionId = ''] = call.operands;
  await withCallRecords(call, async (account, context) => {
    await clickMissedCall(callId, actionId, account, context);
    const summary = { command: 'call missed click', callId, actionId, exitCode: 0 };
    const note = `clicked: ${actionId} of call ${callId}`;
    printAnswer(call.settings(), call.runtime, summary, { note });
  });
}

const sinceOf = (age: number | undefined, { runtime }: Pick<Invocation, 'runtime'>): number =>
  age === undefined ? 0 : Math.max(0, Math.round(runtime.now() - age));

const missedCallOf = ({ endedAt, status: _, ...record }: CallRecord) => {
  const { callId, callerCuid, calleeCuid, callContext, actions } = record;
  const missedAt = typeof endedAt !== 'number' ? null : new Date(endedAt).toISOString();
  return { callId, callerCuid, calleeCuid, callContext, missedAt, actions };
};

const withCallRecords = async (
  call: Invocation<CallingFlags>,
  work: (account: CallsAccount, context: CallLogContext) => Promise<void>,
): Promise<void> =>
  withCallingSystem(call, (account, messages) =>
    work(account, { runtime: call.runtime, words: cliAdvice, messages }),
  );
