import { changedInput } from './changed-input.js';
import type { CutInput } from './blocks.js';
import type { TextDigest } from './rows.js';

const lineEnds: ReadonlySet<number | undefined> = new Set([0x0a, 0x0d]);

/**
 * Holds a text that is open at the digest's place against the digest. More text may follow, but
 * only on a new line: otherwise the last record is another one now. Throws E-INPUT-CHANGED.
 */
export async function verifyText(
  { window, cutter, source }: CutInput,
  { crc, lastByte }: TextDigest,
): Promise<void> {
  if (window.crc !== crc) throw changedInput(source, 'a part that was sent already is another now');
  while (window.bytes.length === 0 && !window.ended) await window.grow();
  const goesOn = window.bytes.length > 0;
  if (goesOn && cutter.state === undefined && !lineEnds.has(lastByte)) {
    throw changedInput(source, 'text was added to its last line, which had no line end');
  }
}
