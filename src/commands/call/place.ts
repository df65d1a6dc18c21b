import { CallError, checkPlacement } from '../../jobs/calling/call-errors.js';
import { placeCall, type PlaceResult } from '../../jobs/calling/place-call.js';
import { versioned } from '../../ui/sanitize.js';
import { openVoice } from '../../jobs/calling/voice.js';
import { EventLines, stoppedWith, withCalling, phoneOptions } from './calling-system.js';
import { duration, notEmpty } from '../flags/value-parsers.js';
import type { Call, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const placeOptions = [
  'Options:',
  ['--to <cuid>', 'whom to call', { parse: notEmpty, required: true }],
  [
    '--context <text>',
    'what the call is about, at most 64 characters',
    { parse: notEmpty, required: true },
  ],
  ['--cancel-after <duration>', 'cancel a call that nobody has answered for so long', duration],
  ['--hangup-after <duration>', 'end a call that has been in progress so long', duration],
  ...phoneOptions,
] as const satisfies OptionTable;
type PlaceFlags = FlagsOf<typeof placeOptions>;

export const place: CommandSpec<PlaceFlags> = {
  summary: 'call somebody',
  description:
    'Places a call and follows it. What is told of it goes to stdout as NDJSON, an event a line. Exit code 0 when the ' +
    'call was in progress and ended, 5 when the receiver could not be reached, 3 at any other end. Ctrl-C hangs up.',
  examples: `
    # while "call listen --cuid ann_1" waits in another terminal
    engagectl call place --cuid bob_1 --to ann_1 --context hello --region local
    # five seconds of talking, or ten of ringing
    engagectl call place --cuid bob_1 --to ann_1 --context "Order 25" --hangup-after 5s --cancel-after 10s --region local
  `,
  options: placeOptions,
  run: runPlace,
};

/** `call place`: events on stdout, a line each, or with --json all of it in one object. */
async function runPlace(call: Call<PlaceFlags>): Promise<void> {
  const { flags, runtime } = call;
  checkPlacement(flags);
  const { json } = call.settings();
  const lines = new EventLines(runtime);
  await withCalling(call, async (calling, said) => {
    const world = { runtime: stoppedWith(runtime, lines), said };
    const voice = await openVoice(flags, world);
    try {
      const heard = json ? undefined : lines.put;
      const result = await placeCall(
        { ...flags, ...(voice.media && { media: voice.media }) },
        calling,
        world,
        heard,
      );
      const { error } = result;
      if (json) lines.put(summaryOf(result));
      else if (error instanceof CallError) lines.put({ ts: ts(runtime), ...error.answered });
      await lines.flushed();
      if (error) throw error;
      said.note(`the call to ${flags.to} was in progress, and ended after ${result.seconds} s`);
    } finally {
      await voice.close();
    }
  });
}

const ts = ({ now }: Pick<Call['runtime'], 'now'>): string => new Date(now()).toISOString();

const summaryOf = ({ error: _, ...result }: PlaceResult) =>
  versioned({ command: 'call place', ...result });
