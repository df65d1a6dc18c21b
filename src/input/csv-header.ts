import { isUtf8 } from 'node:buffer';
import { EngagectlError, type ErrorId } from '../errors.js';
import {
  BEYOND,
  CsvScanner,
  standardCell,
  type CsvProgram,
  type CsvRecord,
  type CsvDialect,
} from '../text/csv-scanner.js';
import { Breaks } from '../event-loop.js';
import type { RowBlock } from './row-block.js';
import type { TextBuffer } from './text-buffer.js';

/** Cost of a line above the header, in units of Breaks. */
const lineUnits = 64;

/** Far more columns than the service accepts keys in a record. */
const maxColumns = 16_384;

interface Header {
  readonly names: readonly string[];
  /** Physical line of the header. */
  readonly line: number;
  /** Physical line that follows the header. */
  readonly nextLine: number;
}

export interface HeaderInput {
  readonly window: TextBuffer;
  readonly csv: CsvProgram;
  /** File name for messages. */
  readonly name: string;
  readonly maxRecordBytes: number;
  /** Physical line at the start of the window. */
  readonly firstLine: number;
}

/**
 * Reads the header line of a CSV and removes it from the window. Throws EngagectlError E-HEADER,
 * E-HEADER-EMPTY or E-HEADER-DUPLICATE with the name of the column.
 */
export async function readHeader(input: HeaderInput, markers: CsvDialect): Promise<Header> {
  const row = await firstRow(input, markers);
  if (!row) {
    throw headerError(input.name, input.firstLine, 'E-HEADER', {
      problem: 'has no header line',
      why: 'the first line of a CSV or TSV must name the columns, and this input is empty',
      fix: 'put the column names on the first line',
    });
  }
  checkHeader(row.names, input.name, row.line);
  input.window.drop(row.next);
  return row;
}

/** Reads the header of a bare list, which has one column: removes the first line if it is the column's name. */
export async function readListHeader(
  input: HeaderInput,
  column: string,
  markers: CsvDialect,
): Promise<Header> {
  const row = await firstRow(input, markers);
  if (row?.names[0] !== column)
    return { names: [column], line: input.firstLine, nextLine: input.firstLine };
  input.window.drop(row.next);
  return { names: [column], line: row.line, nextLine: row.nextLine };
}

/** Finds the first row that is neither blank nor a comment, and its end; undefined if there is none. */
async function firstRow(
  { window, csv, name, maxRecordBytes, firstLine }: HeaderInput,
  markers: CsvDialect,
): Promise<(Header & { readonly next: number }) | undefined> {
  const scanner = new CsvScanner(csv, markers);
  const breaks = new Breaks();
  scanner.begin(window.bytes, maxColumns, window.ended);
  let start = 0;
  for (let line = firstLine; ; line++) {
    let record = scanner.scan(start);
    while (record.next === BEYOND || start === window.bytes.length) {
      if (window.ended) return undefined;
      if (window.bytes.length > maxRecordBytes + 2) {
        throw start > 0
          ? noHeaderWithin(name, firstLine, maxRecordBytes)
          : tooLong(name, line, maxRecordBytes);
      }
      await window.grow();
      scanner.begin(window.bytes, maxColumns, window.ended);
      record = scanner.scan(start);
    }
    if (breaks.areDue(lineUnits)) await breaks.take(); // there may be many blank lines and comments
    const { next, end, width, failure } = record;
    if (failure) throw quotingError(failure, { name, line, start });
    if (width > maxColumns) throw tooWide(name, line, width);
    if (end > start && width > 0) {
      const names = cellTexts(window.bytes, record, { name, line, markers });
      return { names, line, next, nextLine: line + 1 + record.lineEnds };
    }
    start = next;
  }
}

function cellTexts(
  bytes: Buffer,
  { width, cells }: CsvRecord,
  { name, line, markers }: { name: string; line: number; markers: CsvDialect },
): string[] {
  return Array.from({ length: width }, (_, i) => {
    const end = cells[2 * i + 1]!;
    const from = cells[2 * i]!;
    const content =
      end < 0 ? standardCell(bytes, { from, end: ~end }, markers) : bytes.subarray(from, end);
    if (!isUtf8(content)) throw notUtf8(name, line);
    return columnName(end < 0 ? content.toString().replaceAll('""', '"') : content.toString());
  });
}

/**
 * Returns the name that a cell of a header is. A program that read a file without knowing of byte order marks kept the mark as a
 * part of the first name, and may have quoted that name, or written it in another place.
 */
export const columnName = (cell: string): string => cell.replace(/^\uFEFF/, '');

/** Returns what to do about a column without a name: mostly an index, or what follows a delimiter at the end of each line. */
function fixOfNameless(index: number, columns: number): string {
  const later = 'if the header is on a later line, add --skip-lines <n>';
  if (index === 0)
    return `name the column; if it is an index, export without it (pandas: to_csv(…, index=False)); ${later}`;
  const end = index === columns - 1 ? ' (and the delimiter at the end of each line)' : '';
  return `name the column, or remove it${end}; ${later}`;
}

function checkHeader(names: readonly string[], name: string, line: number): void {
  const empty = names.indexOf('');
  if (empty !== -1) {
    throw headerError(name, line, 'E-HEADER-EMPTY', {
      problem: `column ${empty + 1} of ${names.length} has no name`,
      why: 'a column without a name cannot become a key of a record',
      fix: fixOfNameless(empty, names.length),
    });
  }
  if (new Set(names).size === names.length) return;
  const seen = new Set<string>();
  const twice = names.find((column) => seen.size === seen.add(column).size)!;
  throw headerError(name, line, 'E-HEADER-DUPLICATE', {
    problem: `column ${JSON.stringify(twice)} appears twice`,
    why: `it is column ${names.indexOf(twice) + 1} and column ${names.lastIndexOf(twice) + 1}, but a record has each key only once`,
    fix: 'rename or remove one of the two',
  });
}

function quotingError(
  { what, where }: NonNullable<CsvRecord['failure']>,
  { name, line, start }: { name: string; line: number; start: number },
): EngagectlError {
  return new EngagectlError('E-HEADER', `${name}: the header line cannot be read: ${what}`, {
    file: name,
    line,
    column: where - start + 1,
    why: 'a CSV cell that contains a quote must be quoted as a whole, with the inner quote doubled',
    fix: 'correct that line; if the input is no CSV, set its format with --input-format',
  });
}

const tooLong = (name: string, line: number, maxRecordBytes: number): EngagectlError =>
  headerError(name, line, 'E-HEADER', {
    problem: `the header line is longer than ${maxRecordBytes} bytes`,
    why: 'the input is not CSV, or a quote on that line is never closed',
    fix: 'correct that line, or set the format with --input-format',
  });

const noHeaderWithin = (name: string, line: number, maxRecordBytes: number): EngagectlError =>
  headerError(name, line, 'E-HEADER', {
    problem: `no header line within the first ${maxRecordBytes} bytes`,
    why: 'the input starts with blank lines or comments',
    fix: 'put the column names on the first line',
  });

const tooWide = (name: string, line: number, columns: number): EngagectlError =>
  headerError(name, line, 'E-HEADER', {
    problem: `the header has ${columns} columns, but at most ${maxColumns} are allowed`,
    why: 'the service accepts far fewer keys in a record',
    fix: 'check the delimiter and the line ends of the file',
  });

const notUtf8 = (name: string, line: number): EngagectlError =>
  headerError(name, line, 'E-HEADER', {
    problem: 'the header line is not valid UTF-8',
    why: 'the file has another encoding, or is not text',
    fix: 'set its encoding, for example --encoding windows-1252',
  });

function headerError(
  file: string,
  line: number,
  id: ErrorId,
  { problem, why, fix }: { problem: string; why: string; fix: string },
): EngagectlError {
  return new EngagectlError(id, `${file}: ${problem}`, { file, line, why, fix });
}

/**
 * Throws E-HEADER at a row that is the header of another file, because files were joined: the rows after it belong to
 * other columns. It has the names of the header in another order, or the name of a key column, in whose place is that name
 * or the name of another column. Headers that are repeated as they are do no harm, and are parse errors.
 */
export function refuseOtherHeaders(
  { source, bytes, count, lines, cells, parseErrors }: RowBlock,
  keyColumns: readonly number[],
): void {
  if (!cells?.markers || cells.markers.delimiter.length === 0) return; // a list may contain any value
  const { header, bounds } = cells;
  const delimiter = cells.markers.delimiter.toString();
  for (const { line, raw } of parseErrors)
    if (endsInOtherHeader(raw.toString(), header, delimiter)) throw otherHeader(source, line);
  const width = 2 * header.length;
  const names = header.map((name) => Buffer.from(name.toLowerCase()));
  /** Start of the text of a cell, behind a byte order mark. */
  const startOf = (at: number): number =>
    bounds[at]! + (bytes[bounds[at]!] === byteOrderMark ? 3 : 0);
  /** Returns the column whose name a cell is; -1 for others. */
  const nameAt = (at: number): number => {
    const from = startOf(at);
    return names.findIndex(
      (name) => name.length === bounds[at + 1]! - from && hasName(bytes, from, name),
    );
  };
  /** The same for rows that are compared with all names: a look-up of a text, which `nameAt` need not make for each row. */
  let columnOf: ReadonlyMap<string, number> | undefined;
  const named = (at: number): number => {
    columnOf ??= new Map(
      names.map((name, column) => [nameTextOf(name), column] as const).toReversed(),
    );
    const from = startOf(at);
    return columnOf.get(nameTextOf(bytes.subarray(from, Math.max(from, bounds[at + 1]!)))) ?? -1;
  };
  /** Whether the cells are the names of all columns. Numbers may be names, and each column may have the same ones. */
  const holdsNames = (first: number): boolean => {
    const found = new Set<number>();
    return header.every((_, column) => {
      const name = named(first + 2 * column);
      return name >= 0 && found.size < found.add(name).size;
    });
  };
  const columns = [0, ...keyColumns]; // the first cell of a header is the name of some column
  const firstBytes = new Uint8Array(256); // few cells begin like a name
  for (const name of names) firstBytes[name[0]! | lowerCase] = 1;
  firstBytes[byteOrderMark] = 1;
  for (let row = 0, first = 0; row < count; row += 1, first += width) {
    for (let index = 0; index < columns.length; index += 1) {
      const at = first + 2 * columns[index]!;
      if (firstBytes[bytes[bounds[at]!]! | lowerCase] !== 1) continue;
      const name = nameAt(at);
      if (name < 0) continue;
      const isOther =
        index === 0
          ? holdsNames(first)
          : header.some((_, column) => named(first + 2 * column) === columns[index]);
      if (isOther) throw otherHeader(source, lines[row]!);
    }
  }
}

/**
 * Whether a line that cannot be read ends with the names of all columns in another order: the file before it had no line
 * end, so that its last row and the header are one line.
 */
function endsInOtherHeader(line: string, header: readonly string[], delimiter: string): boolean {
  const cells = line.split(delimiter);
  if (header.length < 2 || cells.length <= header.length) return false;
  const [joined = '', ...names] = cells
    .slice(-header.length) // the line may have very many
    .map((cell) => cell.trim().replaceAll('"', '').toLowerCase());
  const known = header.map((name) => name.toLowerCase());
  if (names.every((name, at) => name === known[at + 1])) return false;
  const unique = new Set(names); // a table may have thousands of columns
  const left = known.filter((name) => !unique.has(name));
  if (left.length !== 1 || !joined.endsWith(left[0]!) || unique.size !== names.length) return false;
  const all = new Set(known);
  return names.every((name) => all.has(name));
}

/** Makes an ASCII letter lower case. */
const lowerCase = 0x20;
/** Its first byte of three. */
const byteOrderMark = 0xef;

/** The text of a name without the difference between upper and lower case, as `hasName` compares it. */
const nameTextOf = (name: Buffer): string =>
  Buffer.from(name.map((byte) => byte | lowerCase)).toString('latin1');

/** Whether a name is there, in upper or lower case. */
function hasName(bytes: Buffer, from: number, name: Buffer): boolean {
  for (let at = 0; at < name.length; at += 1)
    if ((bytes[from + at]! | lowerCase) !== (name[at]! | lowerCase)) return false;
  return true;
}

const otherHeader = (file: string, line: number): EngagectlError =>
  new EngagectlError('E-HEADER', `${file}: line ${line} is the header of other columns`, {
    file,
    line,
    why: 'files were joined, and the rows after it belong to other columns, so nothing after it was sent',
    fix: 'remove that line and what follows it, and upload that part as a file of its own; if it is a record, rename the columns',
  });
