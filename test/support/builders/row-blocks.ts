import type { RecordBlock } from '../../../src/mapping/record-block.js';
import type { RowBlock } from '../../../src/input/row-block.js';

/** A block as the CSV cutter makes it: cells that need it are quoted, with their quotes doubled. */
export function csvRows(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  source = 'users.csv',
): RowBlock {
  const parts: Buffer[] = [];
  const bounds: number[] = [];
  const cellBounds: number[] = [];
  let length = 0;
  const add = (text: string): void => {
    const part = Buffer.from(text);
    parts.push(part);
    length += part.length;
  };
  for (const row of rows) {
    const start = length;
    row.forEach((cell, index) => {
      if (index > 0) add(',');
      const isQuoted = /[",\r\n]/.test(cell) || cell.length % 3 === 2;
      if (isQuoted) add('"');
      const cellStart = length;
      add(isQuoted ? cell.replaceAll('"', '""') : cell);
      cellBounds.push(cellStart, isPlain(cell) ? length : ~length);
      if (isQuoted) add('"');
    });
    bounds.push(start, length);
    add('\n');
  }
  return {
    source,
    bytes: Buffer.concat(parts),
    count: rows.length,
    bounds: Int32Array.from(bounds),
    lines: Uint32Array.from(rows.map((_, index) => index + 2)),
    cells: { header, bounds: Int32Array.from(cellBounds) },
    first: 0,
    end: { input: 0, offset: length, line: rows.length + 2, ordinal: rows.length },
    parseErrors: [],
  };
}

const isPlain = (cell: string): boolean => JSON.stringify(cell) === `"${cell}"`;

/** A block of JSON texts, one a line. */
export function jsonRows(texts: readonly (string | Buffer)[], source = 'users.ndjson'): RowBlock {
  const parts = texts.map((text) => Buffer.from(text));
  const bounds: number[] = [];
  let at = 0;
  for (const part of parts) {
    bounds.push(at, at + part.length);
    at += part.length + 1;
  }
  return {
    source,
    bytes: Buffer.concat(parts.flatMap((part) => [part, Buffer.from('\n')])),
    count: texts.length,
    bounds: Int32Array.from(bounds),
    lines: Uint32Array.from(texts.map((_, index) => index + 1)),
    cells: undefined,
    first: 0,
    end: { input: 0, offset: at, line: texts.length + 1, ordinal: texts.length },
    parseErrors: [],
  };
}

/** The JSON texts of a block's records. */
export function recordTexts({ count, json, bounds }: RecordBlock): string[] {
  return Array.from({ length: count }, (_, index) =>
    json.toString('utf8', bounds[2 * index], bounds[2 * index + 1]),
  );
}
