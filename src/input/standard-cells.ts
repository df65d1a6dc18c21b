import type { Cut } from './cutter.js';
import type { Dialect } from './dialect.js';
import { markerAt } from './marker.js';

const quotationMark = 0x22;

/**
 * The cut with its cells as RFC 4180 would hold them: where a cell holds an escape or a quotation
 * mark, its content in that form goes behind the text, and its bounds lead there.
 */
export function standardCells(text: Buffer, cut: Cut, dialect: Dialect): Cut {
  const { used, cells = new Int32Array(0) } = cut;
  const behind: Buffer[] = [];
  let length = used;
  for (let at = 0; at < cells.length; at += 2) {
    const end = cells[at + 1]!;
    if (end >= 0) continue;
    const content = standardCell(text, { from: cells[at]!, end: ~end }, dialect);
    behind.push(content);
    cells[at] = length;
    length += content.length;
    cells[at + 1] = ~length;
  }
  return behind.length === 0 ? cut : { ...cut, behind: Buffer.concat(behind) };
}

/** A cell's content with the escapes of its dialect taken away and quotation marks doubled. */
export function standardCell(
  text: Buffer,
  { from, end }: { from: number; end: number },
  { quote, escape }: Dialect,
): Buffer {
  const isQuoted = markerAt(text, from - quote.length, quote, true) > 0;
  const content = Buffer.allocUnsafe(2 * (end - from));
  let length = 0;
  for (let p = from; p < end; p++) {
    // The escaped byte is an ordinary one; of a longer character the others are anyway.
    if (isQuoted) p += markerAt(text, p, escape, true);
    const byte = text[p]!;
    content[length++] = byte;
    if (byte === quotationMark) content[length++] = quotationMark;
  }
  return content.subarray(0, length);
}
