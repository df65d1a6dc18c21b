import type { Skip } from './cutter.js';

export const LF = 10;
export const CR = 13;

/** Position of the first LF or CR from `from` on, else the length of the text. */
export function endOfLine(text: Buffer, from: number): number {
  const lf = text.indexOf(LF, from);
  const line = lf === -1 ? text : text.subarray(0, lf);
  const cr = line.indexOf(CR, from);
  return cr === -1 ? line.length : cr;
}

/** Passes over the rest of a physical line, which ends with LF, CRLF or CR. */
export function skipLine(text: Buffer, line: number, last: boolean): Skip {
  const end = endOfLine(text, 0);
  // At a CR that ends the text only the next byte tells CR from CRLF: it stays.
  const isOpen = end === text.length || (text[end] === CR && end + 1 === text.length);
  if (isOpen && !last) return { used: end, line, done: false };
  const used = text[end] === CR && text[end + 1] === LF ? end + 2 : end + 1;
  return { used: Math.min(used, text.length), line: line + 1, done: true };
}
