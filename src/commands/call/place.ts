import { CallError, checkPlacement } from '../../jobs/calling/call-errors.js';
import { placeCall, type PlaceResult } from '../../jobs/calling/place-call.js';
import { versioned } from '../../ui/sanitize.js';
import { openVoice } from '../../jobs/calling/voice.js';
import { EventLines, stoppedWith } from './event-lines.js';
import { withCalling } from './calling-system.js';
import type { Call } from '../shared/command-spec.js';
import type { PlaceFlags } from './command.js';

/** `call place`: events on stdout, a line each, or with --json all of it in one object. */
export async function runPlace(call: Call<PlaceFlags>): Promise<void> {
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
