import { changedInput } from './changed-input.js';
import { headBytes } from './text-digest.js';
import { JsonCutter } from './json-array-splitter.js';
import type { OpenInput } from './open-input.js';
import type { Position, TextDigest } from './row-block.js';

interface Passed {
  readonly name: string;
  readonly from: Position | undefined;
  readonly digest: TextDigest;
}

/**
 * Gives up the text of a pipe before a place, if one is named, and reads on to where an earlier
 * process read: that text has to be the same. Throws E-INPUT-CHANGED, E-FILE-READ.
 */
export async function passOver(
  { window, text }: OpenInput,
  { name, from, digest }: Passed,
): Promise<void> {
  const hash = text!.hashAt(digest.offset);
  if (from) await window.skipTo(from.offset);
  while (text!.length < digest.offset && !window.ended) await window.grow();
  const found = hash();
  if (found === undefined) throw changedInput(name, 'it is shorter now');
  if (found !== digest.hash) throw changedInput(name, 'a part that was read is another now');
  if (!digest.endsInLine) return;
  while (text!.length === digest.offset && !window.ended) await window.grow();
  if (text!.length > digest.offset) throw changedInput(name, lineGoesOn);
}

const lineGoesOn = 'text was added to its last line, which had no line end';

/** Whether a pipe begins as a text does that was read to its end: its first bytes tell. */
export async function beginsLike(
  { window, text }: OpenInput,
  { offset, ended }: TextDigest,
): Promise<boolean> {
  const bytes = Math.min(offset, headBytes);
  while (text!.length < bytes && !window.ended) await window.grow();
  return text!.length >= bytes && text!.headOf(bytes) === ended?.head;
}

/** The pipe from the place on, before which its text was given up. */
export function goOn(open: OpenInput, start: Position | undefined): OpenInput {
  open.text?.release();
  if (!start) return open;
  const { state } = start;
  return { ...open, start, ...(state !== undefined && { cutter: new JsonCutter(state) }) };
}
