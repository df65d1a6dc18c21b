import type { Skip } from './cutter.js';

export const LF = 10;
export const CR = 13;

/** Returned in place of a position: the answer lies beyond the text at hand. */
export const BEYOND = -1;

/**
 * Position after the line end at `position`, or BEYOND. At a CR that ends the text only the
 * next byte tells CR from CRLF.
 */
export function afterLineEnd(text: Buffer, position: number, last: boolean): number {
  if (position === text.length) return last ? position : BEYOND;
  if (text[position] !== CR) return position + 1;
  if (position + 1 === text.length) return last ? position + 1 : BEYOND;
  return text[position + 1] === LF ? position + 2 : position + 1;
}

/** Position where the physical line after the one at `from` starts, or BEYOND. */
export function nextLine(text: Buffer, from: number, last: boolean): number {
  return afterLineEnd(text, endOfLine(text, from), last);
}

/** Position of the first LF or CR from `from` on, else the length of the text. */
export function endOfLine(text: Buffer, from: number): number {
  const lf = text.indexOf(LF, from);
  const line = lf === -1 ? text : text.subarray(0, lf);
  const cr = line.indexOf(CR, from);
  return cr === -1 ? line.length : cr;
}

/** Line ends (LF, CRLF, CR) in `text[from, to)`. */
export function countLineEnds(text: Buffer, from: number, to: number): number {
  let count = 0;
  for (let p = from; p < to; p++) {
    const byte = text[p];
    if (byte === LF || (byte === CR && text[p + 1] !== LF)) count++;
  }
  return count;
}

/** Passes over the rest of a physical line. */
export function skipLine(text: Buffer, line: number, last: boolean): Skip {
  const next = nextLine(text, 0, last);
  if (next !== BEYOND) return { used: next, line: line + 1, done: true };
  // A CR at the very end stays, for it may be half of a CRLF.
  return { used: endOfLine(text, 0), line, done: false };
}
