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
  if (typeof read === 'string' && reject.delimiter === undefined) return `${read},${about}`;
  const members = typeof read === 'object' && read !== null ? read : {};
  const cells = new Map(Object.entries(members));
  const row = columns.map((name) => textOf(cells.get(name)));
  if (typeof read === 'string') row[0] = read;
  return `${rowOf(row).slice(0, -1)},${about}`;
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);

const rowOf = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\n`;
