import { csvCell } from './csv-cell.js';
import type { Reject } from './reject.js';

/** Columns of a rejects file of CSV behind those of the input; uploads ignore them. */
export const rejectColumns = ['engagectl_line', 'engagectl_error'];

/** The header of a rejects file of CSV. */
export const rejectHeader = (columns: readonly string[]): string =>
  rowOf([...columns, ...rejectColumns]);

/**
 * A reject as a row under the header of its input. A line that could not be read stands there as it
 * was read, so that it can be corrected in its place.
 */
export function rejectRow(reject: Reject, columns: readonly string[]): string {
  const { line, stage, code, error, record = 'null' } = reject;
  const kind = code === undefined ? stage : `${stage} ${code}`;
  const about = rowOf([String(line), `${kind}: ${error}`]);
  const read = JSON.parse(record) as unknown;
  if (typeof read === 'string') return `${betweenCommas(read, reject)},${about}`;
  const members = typeof read === 'object' && read !== null ? read : {};
  const cells = new Map(Object.entries(members));
  return `${rowOf(columns.map((name) => textOf(cells.get(name)))).slice(0, -1)},${about}`;
}

/** The line of another dialect cell by cell, as far as they can be told apart; of ours as it is. */
function betweenCommas(line: string, { delimiter = ',', quote = '"', escape = quote }: Reject) {
  if (delimiter === ',' && quote === '"' && escape === quote) return line;
  const isOpen = (cell: string): boolean =>
    quote !== '' && cell.startsWith(quote) && !(cell.length > 1 && cell.endsWith(quote));
  const cells: string[] = [];
  for (const piece of line.split(delimiter)) {
    const last = cells.at(-1);
    if (last !== undefined && isOpen(last)) cells.splice(-1, 1, `${last}${delimiter}${piece}`);
    else cells.push(piece);
  }
  const told = isOpen(cells.at(-1)!) ? line.split(delimiter) : cells;
  return told
    .map((cell) => {
      const isQuoted = quote !== '' && cell.startsWith(quote) && !isOpen(cell);
      if (isQuoted) return csvCell(cell.slice(1, -1).replaceAll(`${escape}${quote}`, quote));
      return cell.includes(',') ? csvCell(cell) : cell;
    })
    .join(',');
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);

const rowOf = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\n`;
