import { isUtf8 } from 'node:buffer';
import { EngagectlError, type ErrorId } from '../errors.js';
import { FAULT, type CellScanner } from './cell-scanner.js';
import type { Dialect } from './dialect.js';
import { afterLineEnd, BEYOND, countLineEnds } from './line-ends.js';
import { openScanner } from './open-scanner.js';
import { standardCell } from './standard-cells.js';
import type { TextWindow } from './window.js';

/** More columns than any record of the service may have keys. */
const mostColumns = 16_384;

/** A row of cells taken from the start of a text. */
interface FirstRow {
  readonly cells: readonly string[];
  /** Physical line it starts on. */
  readonly line: number;
  /** Position and physical line of what follows. */
  readonly next: number;
  readonly nextLine: number;
}

export interface Header {
  readonly names: readonly string[];
  /** Physical line after it. */
  readonly nextLine: number;
}

export interface HeaderInput {
  readonly window: TextWindow;
  /** The file, for messages. */
  readonly name: string;
  readonly maxRecordBytes: number;
}

/**
 * Takes the header line of a CSV off the window. Throws EngagectlError E-HEADER,
 * E-HEADER-EMPTY or E-HEADER-DUPLICATE, naming the column.
 */
export async function takeHeader(input: HeaderInput, dialect: Dialect): Promise<Header> {
  const row = await firstRow(input, dialect);
  if (!row) {
    throw headerError(input.name, 1, 'E-HEADER', {
      problem: 'has no header line',
      why: 'the first line of a CSV or TSV names the columns, and this input is empty',
      fix: 'put the column names on the first line',
    });
  }
  checkHeader(row.cells, input.name, row.line);
  input.window.drop(row.next);
  return { names: row.cells, nextLine: row.nextLine };
}

/** A bare list has one column; a first line that is this column's own name is taken off. */
export async function takeListHeader(
  input: HeaderInput,
  column: string,
  dialect: Dialect,
): Promise<Header> {
  const row = await firstRow(input, dialect);
  if (row?.cells[0] !== column) return { names: [column], nextLine: 1 };
  input.window.drop(row.next);
  return { names: [column], nextLine: row.nextLine };
}

/** The first row that is neither blank nor a comment; undefined when the text holds none. */
async function firstRow(
  { window, name, maxRecordBytes }: HeaderInput,
  dialect: Dialect,
): Promise<FirstRow | undefined> {
  const scanner = openScanner(dialect);
  scanner.begin(window.bytes, mostColumns, window.ended);
  let start = 0;
  let line = 1;
  for (;;) {
    const { bytes, ended } = window;
    const end = start < bytes.length ? scanner.scan(start) : BEYOND;
    if (end === FAULT) throw quotingError(scanner, { name, line, start });
    const next = end === BEYOND ? BEYOND : afterLineEnd(bytes, end, ended);
    if (next === BEYOND) {
      if (ended) return undefined;
      if (bytes.length > maxRecordBytes + 2) throw tooLong(name, line, maxRecordBytes);
      await window.grow();
      scanner.begin(window.bytes, mostColumns, window.ended);
    } else if (end === start || scanner.width === 0) {
      start = next;
      line++;
    } else {
      if (scanner.width > mostColumns) throw tooWide(name, line, scanner.width);
      const nextLine = line + 1 + countLineEnds(bytes, start, end);
      const cells = texts(bytes, scanner, { name, line, dialect });
      return { cells, line, next, nextLine };
    }
  }
}

function texts(
  bytes: Buffer,
  scanner: CellScanner,
  { name, line, dialect }: { name: string; line: number; dialect: Dialect },
): string[] {
  return Array.from({ length: scanner.width }, (_, i) => {
    const end = scanner.cells[2 * i + 1]!;
    const from = scanner.cells[2 * i]!;
    const content =
      end < 0 ? standardCell(bytes, { from, end: ~end }, dialect) : bytes.subarray(from, end);
    if (!isUtf8(content)) throw notUtf8(name, line);
    return end < 0 ? content.toString().replaceAll('""', '"') : content.toString();
  });
}

function checkHeader(names: readonly string[], name: string, line: number): void {
  const empty = names.indexOf('');
  if (empty !== -1) {
    throw headerError(name, line, 'E-HEADER-EMPTY', {
      problem: `column ${empty + 1} of ${names.length} has no name`,
      why: 'a column without a name cannot become a key of a record',
      fix: 'name the column, or remove it (and the delimiter at the end of the line)',
    });
  }
  const twice = names.find((column, i) => names.indexOf(column) !== i);
  if (twice === undefined) return;
  throw headerError(name, line, 'E-HEADER-DUPLICATE', {
    problem: `column ${JSON.stringify(twice)} appears twice`,
    why: `it is column ${names.indexOf(twice) + 1} and column ${names.lastIndexOf(twice) + 1}, and only one value could be sent`,
    fix: 'rename or remove one of the two',
  });
}

function quotingError(
  scanner: CellScanner,
  { name, line, start }: { name: string; line: number; start: number },
): EngagectlError {
  const { fault, faultAt } = scanner;
  return new EngagectlError('E-HEADER', `${name}: the header line cannot be read: ${fault}`, {
    file: name,
    line,
    column: faultAt - start + 1,
    why: 'in CSV a cell that holds a quote is quoted as a whole, and the quote in it is doubled',
    fix: 'correct the first line',
  });
}

const tooLong = (name: string, line: number, maxRecordBytes: number): EngagectlError =>
  headerError(name, line, 'E-HEADER', {
    problem: `the header line is longer than ${maxRecordBytes} bytes`,
    why: 'either the input is no CSV, or a quote on its first line is never closed',
    fix: 'correct the first line, or name the format with --input-format',
  });

const tooWide = (name: string, line: number, columns: number): EngagectlError =>
  headerError(name, line, 'E-HEADER', {
    problem: `the header names ${columns} columns, the most is ${mostColumns}`,
    why: 'the service takes far fewer keys in a record',
    fix: 'check the delimiter and the line ends of the file',
  });

const notUtf8 = (name: string, line: number): EngagectlError =>
  headerError(name, line, 'E-HEADER', {
    problem: 'the header line is not valid UTF-8',
    why: 'the file has another encoding, or is no text',
    fix: 'name its encoding, for example --encoding windows-1252',
  });

function headerError(
  file: string,
  line: number,
  id: ErrorId,
  { problem, why, fix }: { problem: string; why: string; fix: string },
): EngagectlError {
  return new EngagectlError(id, `${file}: ${problem}`, { file, line, why, fix });
}
