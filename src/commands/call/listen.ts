import path from 'node:path';
import { stateFolder } from '../../config/directories.js';
import { checkCuid } from '../../jobs/calling/call-errors.js';
import {
  listenForCalls,
  readMissedActions,
  type ListenOptions,
} from '../../jobs/calling/listen.js';
import { EngagectlError, interruption } from '../../errors.js';
import { openVoice } from '../../jobs/calling/voice.js';
import { askYesNo } from '../../ui/prompt.js';
import { EventLines, stoppedWith, withCalling, phoneOptions } from './calling-system.js';
import { choice, duration, notEmpty } from '../flags/value-parsers.js';
import type { Call, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const listenOptions = [
  'Options:',
  [
    '--answer <how>',
    'auto, decline, ignore or prompt',
    { parse: choice('auto', 'decline', 'ignore', 'prompt'), default: 'auto' },
  ],
  ['--answer-after <duration>', 'how long it rings before (default: not at all)', duration],
  ['--hangup-after <duration>', 'end a call that has been in progress so long', duration],
  ['--once', 'end with the first call'],
  ['--notifications <state>', 'on or off', { parse: choice('on', 'off'), default: 'on' }],
  [
    '--missed-actions <file>',
    'JSON object of buttons of a missed call, identifier: label',
    notEmpty,
  ],
  ...phoneOptions,
] as const satisfies OptionTable;
type ListenFlags = FlagsOf<typeof listenOptions>;

export const listen: CommandSpec<ListenFlags> = {
  summary: 'take calls: a phone that answers by itself',
  description:
    'Waits for calls. What is told of them goes to stdout as NDJSON, an event a line. Ctrl-C hangs up and leaves.',
  examples: `
    # in one terminal; in another one, "call place" calls it
    engagectl call listen --cuid ann_1 --region local
    # the next call alone, which it declines
    engagectl call listen --cuid ann_1 --answer decline --once --region local
  `,
  options: listenOptions,
  run: runListen,
};

/** `call listen`: events on stdout, a line each; what a phone would show on stderr. */
async function runListen(call: Call<ListenFlags>): Promise<void> {
  const { flags, runtime } = call;
  const { cuid, missedActions: file } = flags;
  checkCuid(cuid, '--cuid');
  if (flags.answer === 'prompt' && runtime.stdin.isTTY !== true) throw nobodyToAsk();
  const missedCallActions = file === undefined ? undefined : await readMissedActions(file, runtime);
  const lines = new EventLines(runtime);
  await withCalling(call, async (calling, said) => {
    const voice = await openVoice(flags, { runtime });
    const options: ListenOptions = {
      ...flags,
      deviceIdFile: path.join(stateFolder(runtime), 'devices', cuid),
      ...(missedCallActions && { missedCallActions }),
      ...(voice.media && { media: voice.media }),
    };
    const world = { runtime: stoppedWith(runtime, lines), said };
    try {
      await listenForCalls(options, calling, world, {
        event: lines.put,
        ready: () => said.note(`${cuid} waits for calls; Ctrl-C hangs up and leaves`),
        rings: ({ callDetails: { callerCuid, callContext } }) =>
          said.note(`${callerCuid} calls: ${callContext}`),
        missed: ({ callId, callDetails: { callerCuid }, actions }) => {
          const buttons = Object.entries(actions).map(([id, label]) => `, ${label} (${id})`);
          said.note(`missed call ${callId} of ${callerCuid}${buttons.join('')}`);
        },
        ask: async ({ callDetails: { callerCuid } }, over) =>
          askYesNo(`Take the call of ${callerCuid}? [y/n] `, runtime, over),
      });
      await lines.flushed();
    } catch (error) {
      throw error === runtime.signal.reason ? hasLeft(cuid, runtime.signal) : error;
    } finally {
      await voice.close();
    }
  });
}

/** A signal is how this command ends; its exit code still says so. */
function hasLeft(cuid: string, { reason }: AbortSignal): EngagectlError {
  const { id, message } = interruption(reason);
  return new EngagectlError(id, `${cuid} has left: ${message}`, {
    fix: 'to wait for calls again, run the same command: what it misses until then is told to it',
  });
}

const nobodyToAsk = (): EngagectlError =>
  new EngagectlError('E-USAGE', '--answer prompt needs a terminal', {
    why: 'standard input is none, so nobody can be asked',
    fix: 'use --answer auto, decline or ignore',
  });
