import type { Markers } from '../text/csv-scanner.js';
import type { Cut } from './cutter.js';

/**
 * The cut with its cells as RFC 4180 would hold them: where a cell holds an escape or a quotation
 * mark, its content in that form goes behind the text, and its bounds lead there.
 */
export function standardCells(text: Buffer, cut: Cut, markers: Markers): Cut {
  if (markers.quote.equals(quotationMark) && markers.escape.equals(quotationMark)) return cut;
  const cells = cut.cells?.slice() ?? new Int32Array(0);
  const behind: Buffer[] = [];
  let length = cut.used;
  for (let at = 0; at < cells.length; at += 2) {
    const end = cells[at + 1]!;
    if (end >= 0) continue;
    const content = standardCell(text, { from: cells[at]!, end: ~end }, markers);
    behind.push(content);
    cells[at] = length;
    length += content.length;
    cells[at + 1] = ~length;
  }
  return behind.length === 0 ? cut : { ...cut, cells, behind: Buffer.concat(behind) };
}

const quotationMark = Buffer.from('"');

/** A cell's content with the escapes of its dialect taken away and quotation marks doubled. */
export function standardCell(
  text: Buffer,
  { from, end }: { from: number; end: number },
  { quote, escape }: Markers,
): Buffer {
  const content = text.toString('latin1', from, end);
  const isQuoted = quote.length > 0 && quote.equals(text.subarray(from - quote.length, from));
  const plain = isQuoted ? withoutEscapes(content, escape.toString('latin1')) : content;
  return Buffer.from(plain.replaceAll('"', '""'), 'latin1');
}

/** By bytes: of a longer character that was escaped, the others are no escapes. */
function withoutEscapes(content: string, escape: string): string {
  if (escape === '') return content;
  let plain = '';
  let from = 0;
  for (let at = content.indexOf(escape); at >= 0; at = content.indexOf(escape, from + 1)) {
    plain += content.slice(from, at);
    from = at + escape.length;
  }
  return plain + content.slice(from);
}
