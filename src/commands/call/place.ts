import { apiKeyRemover, CallError, checkCallOptions } from '../../jobs/calling/phone.js';
import { placeCall, type PlaceResult } from '../../jobs/calling/place-call.js';
import { versioned } from '../../ui/sanitize.js';
import { openVoice } from '../../jobs/calling/voice.js';
import { EventStream, stopWithOutput, withCallingSystem, phoneOptions } from './calling-system.js';
import { duration, nonEmpty } from '../flags/value-parsers.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const placeOptions = [
  'Options:',
  ['--to <cuid>', 'identity of the receiver', { parse: nonEmpty, required: true }],
  [
    '--context <text>',
    'subject of the call, at most 64 characters',
    { parse: nonEmpty, required: true },
  ],
  ['--cancel-after <duration>', 'cancel the call if it is not answered within this time', duration],
  [
    '--hangup-after <duration>',
    'hang up after the call has been in progress for this long',
    duration,
  ],
  ...phoneOptions,
] as const satisfies OptionTable;
type PlaceFlags = FlagsOf<typeof placeOptions>;

export const place: CommandSpec<PlaceFlags> = {
  summary: 'place a call',
  description:
    'Places a call and prints its events to stdout as NDJSON. Exit code 0 if the call was answered ' +
    'and ended, 5 if the receiver could not be reached, 3 otherwise. Ctrl-C hangs up.',
  examples: `
    # while "call listen --cuid ann_1" waits in another terminal
    engagectl call place --cuid bob_1 --to ann_1 --context hello --region local
    # hang up after five seconds, or cancel after ten seconds of ringing
    engagectl call place --cuid bob_1 --to ann_1 --context "Order 25" --hangup-after 5s --cancel-after 10s --region local
  `,
  options: placeOptions,
  run: runPlace,
};

/** Runs `call place`: prints events to stdout, one per line, or one object with --json. */
async function runPlace(call: Invocation<PlaceFlags>): Promise<void> {
  const { flags, runtime } = call;
  checkCallOptions(flags);
  const { json } = call.settings();
  const lines = new EventStream(runtime);
  await withCallingSystem(call, async (calling, messages) => {
    const context = { runtime: stopWithOutput(runtime, lines), messages };
    const withoutKey = apiKeyRemover(calling);
    const put = (value: object) => lines.put(withoutKey(value));
    const voice = await openVoice(flags, context);
    try {
      const onEvent = json ? undefined : put;
      const result = await placeCall(
        { ...flags, ...(voice.media && { media: voice.media }) },
        calling,
        context,
        onEvent,
      );
      const { error } = result;
      if (json) put(summaryOf(result));
      else if (error instanceof CallError) put({ ts: ts(runtime), ...error.answered });
      await lines.flushed();
      if (error) throw error;
      messages.note(`the call to ${flags.to} was in progress and ended after ${result.seconds} s`);
    } finally {
      await voice.close();
    }
  });
}

const ts = ({ now }: Pick<Invocation['runtime'], 'now'>): string => new Date(now()).toISOString();

const summaryOf = ({ error: _, ...result }: PlaceResult) =>
  versioned({ command: 'call place', ...result });
