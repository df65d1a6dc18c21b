import { CellText } from '../text/text-slice.js';
import { readJsonRecord } from './rejects-input.js';
import { JsonText } from '../text/json-parser.js';
import type { RowBlock } from '../input/row-block.js';

/** Most bytes of an unparsable text that a rejects file holds (contract §2, Rejects file). */
const longestText = 64 * 1024;
const json = new JsonText();
const text = new CellText();

/**
 * What was read, as JSON text of one line: a CSV row as an object of strings by header, a JSON
 * row as it was written, of a line of a rejects file the record within, so that it lies no deeper
 * each time, and a text that is no JSON as a string of at most 64 KiB.
 */
export function sourceRecord(rows: RowBlock, row: number): string {
  if (rows.cells) return csvRecord(rows, rows.cells, row);
  const [start, end] = [rows.bounds[2 * row]!, rows.bounds[2 * row + 1]!];
  const isRecord = readJsonRecord(json, rows, row, true) === undefined;
  if (isRecord || json.read(rows.bytes, start, end) || json.repeatsKey) {
    // a line end within JSON stands between tokens: strings hold none as they are
    return json.bytes.toString('utf8', json.start, json.end).replace(/[\r\n]+/g, '');
  }
  return JSON.stringify(rows.bytes.toString('utf8', start, textEnd(rows.bytes, start, end)));
}

/** The end, or where the longest text of whole characters ends. */
function textEnd(bytes: Buffer, start: number, end: number): number {
  if (end - start <= longestText) return end;
  let cut = start + longestText;
  while ((bytes[cut]! & 0xc0) === 0x80) cut--;
  return cut;
}

/** Every column, whether it was sent or not. */
function csvRecord(
  { bytes }: RowBlock,
  { header, bounds }: NonNullable<RowBlock['cells']>,
  row: number,
): string {
  const first = 2 * row * header.length;
  const members = header.map((name, column) => {
    const at = first + 2 * column;
    const cell = text.ofCell(bytes, bounds[at]!, bounds[at + 1]!).toString();
    return `${JSON.stringify(name)}:${JSON.stringify(cell)}`;
  });
  return `{${members.join(',')}}`;
}
