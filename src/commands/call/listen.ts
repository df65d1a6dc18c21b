import { deviceIdPath } from '../../config/directories.js';
import { apiKeyRemover, checkCuid } from '../../jobs/calling/phone.js';
import {
  listenForCalls,
  readMissedActions,
  type ListenOptions,
} from '../../jobs/calling/listen.js';
import { EngagectlError, interruptionError } from '../../errors.js';
import { openVoice } from '../../jobs/calling/voice.js';
import { askYesNo } from '../../ui/prompt.js';
import { sanitizeLine } from '../../wording.js';
import { EventStream, stopWithOutput, withCallingSystem, phoneOptions } from './calling-system.js';
import { choice, duration, nonEmpty } from '../flags/value-parsers.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const listenOptions = [
  'Options:',
  [
    '--answer <how>',
    'auto, decline, ignore or prompt',
    { parse: choice('auto', 'decline', 'ignore', 'prompt'), default: 'auto' },
  ],
  ['--answer-after <duration>', 'ringing time before answering (default: none)', duration],
  [
    '--hangup-after <duration>',
    'hang up after the call has been in progress for this long',
    duration,
  ],
  ['--once', 'exit after the first call'],
  ['--notifications <state>', 'on or off', { parse: choice('on', 'off'), default: 'on' }],
  [
    '--missed-actions <file>',
    'JSON object with the buttons of a missed call: {"id": "label"}',
    nonEmpty,
  ],
  ...phoneOptions,
] as const satisfies OptionTable;
type ListenFlags = FlagsOf<typeof listenOptions>;

export const listen: CommandSpec<ListenFlags> = {
  summary: 'receive calls: a phone that answers automatically',
  description:
    'Waits for calls and prints their events to stdout as NDJSON. Ctrl-C hangs up and exits.',
  examples: `
    # in one terminal; call it with "call place" in another
    engagectl call listen --cuid ann_1 --region local
    # decline the next call, then exit
    engagectl call listen --cuid ann_1 --answer decline --once --region local
  `,
  options: listenOptions,
  run: runListen,
};

/** Runs `call listen`: prints events to stdout, one per line, and ringing and missed calls to stderr. */
async function runListen(call: Invocation<ListenFlags>): Promise<void> {
  const { flags, runtime } = call;
  const { cuid, missedActions: file } = flags;
  checkCuid(cuid, '--cuid');
  if (flags.answer === 'prompt' && runtime.stdin.isTTY !== true) throw promptNeedsTerminal();
  const missedCallActions = file === undefined ? undefined : await readMissedActions(file, runtime);
  const deviceIdFile = deviceIdPath(cuid, runtime);
  const lines = new EventStream(runtime);
  await withCallingSystem(call, async (calling, messages) => {
    const voice = await openVoice(flags, { runtime });
    const options: ListenOptions = {
      ...flags,
      deviceIdFile,
      ...(missedCallActions && { missedCallActions }),
      ...(voice.media && { media: voice.media }),
    };
    const context = { runtime: stopWithOutput(runtime, lines), messages };
    const withoutKey = apiKeyRemover(calling);
    try {
      await listenForCalls(options, calling, context, {
        event: (event) => lines.put(withoutKey(event)),
        ready: () => messages.note(`${cuid} is waiting for calls; Ctrl-C hangs up and exits`),
        rings: (call) => {
          const { callerCuid, callContext } = withoutKey(call.callDetails);
          messages.note(sanitizeLine(`incoming call from ${callerCuid}: ${callContext}`));
        },
        missed: (call) => {
          const { callId, callDetails, actions } = withoutKey(call);
          const { callerCuid } = callDetails;
          const buttons = Object.entries(actions).map(([id, label]) => `, ${label} (${id})`);
          messages.note(
            sanitizeLine(`missed call ${callId} from ${callerCuid}${buttons.join('')}`),
          );
        },
        ask: async ({ callDetails: { callerCuid } }, over) =>
          askYesNo(`Answer the call from ${withoutKey(callerCuid)}? [y/n] `, runtime, over),
      });
      await lines.flushed();
    } catch (error) {
      throw error === runtime.signal.reason ? stoppedListening(cuid, runtime.signal) : error;
    } finally {
      await voice.close();
    }
  });
}

/** Returns the error for the usual end of this command, a signal. */
function stoppedListening(cuid: string, { reason }: AbortSignal): EngagectlError {
  const { id, message } = interruptionError(reason);
  return new EngagectlError(id, `${cuid} stopped listening: ${message}`, {
    fix: 'rerun the same command to listen again; it also receives the events of the meantime',
  });
}

const promptNeedsTerminal = (): EngagectlError =>
  new EngagectlError('E-USAGE', '--answer prompt requires a terminal', {
    why: 'standard input is not a terminal',
    fix: 'use --answer auto, decline or ignore',
  });
