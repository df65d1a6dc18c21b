import { EngagectlError } from '../errors.js';
import { quoteForShell } from '../wording.js';
import { LF, CR } from './record-splitter.js';
import { identifierKinds } from '../contract/endpoints.js';

/** Text from which delimiter and header row are detected. */
export const sampleBytes = 64 * 1024;
const maxRows = 100;
const maxTitleLines = 20;
const delimiters = [',', ';', '\t', '|'];

/** Position of the header row of a CSV, and the delimiter of its cells. */
export interface DetectedTable {
  readonly delimiter: string;
  /** Bytes and physical lines above the header row. */
  readonly skippedBytes: number;
  readonly skippedLines: number;
}

interface SampleRow {
  readonly cells: readonly string[];
  /** Position of the row in the text, and its physical line in the file from 0. */
  readonly start: number;
  readonly line: number;
}

/** A delimiter that may be the right one. */
interface Candidate {
  readonly delimiter: string;
  readonly header: SampleRow;
  /** Rows above the header, each with at most one cell that is not empty. */
  readonly titles: number;
  /** Whether each row above the header is text without quotes, or one quoted cell, and without the name of a key column. */
  readonly hasPlainTitles: boolean;
  /** Whether the header has a key column. */
  readonly hasKey: boolean;
  /** Whether one of them is the name of a key column: the header of a list or of a table with one column, and no title. */
  readonly hasColumn: boolean;
  readonly rows: number;
  /** Share of the rows that have as many cells as the header. */
  readonly fit: number;
  /** Rows below the header that have one cell. */
  readonly single: number;
}

/** Names of columns, also quoted, and the quote. */
interface KnownNames {
  readonly list: readonly string[];
  readonly keys: readonly string[];
  readonly quote: string;
}

interface TableOptions {
  readonly name: string;
  /** Physical lines above the text, such as `sep=;`. */
  readonly linesAbove?: number;
  readonly delimiter?: string | undefined;
  readonly quote?: string;
  readonly comment?: string;
  /** Column of a list, whose header would be the only cell of its line. */
  readonly column?: string | undefined;
  /** Whether the input may be a list: nothing but its content says that it is a table, such as a first line `sep=;`. */
  readonly mayBeList?: boolean;
  /** Columns of which the header has one: a row without them above it is a title, and a row with one is not. */
  readonly keyColumns?: readonly string[] | undefined;
}

/** Detects delimiter and header row. Throws EngagectlError E-HEADER if two delimiters fit equally well, or the header row is in doubt. */
export function detectTable(
  sample: Buffer,
  { delimiter, quote = '"', comment = '', column = '', linesAbove = 0, ...options }: TableOptions,
): DetectedTable | undefined {
  const text = sample.toString('latin1');
  const marks = { quote: bytesOf(quote), comment: bytesOf(comment), linesAbove };
  const cellsOf = (names: readonly string[]): string[] =>
    names.flatMap((name) => [bytesOf(name), bytesOf(`${quote}${name}${quote}`)]);
  const keys = cellsOf(options.keyColumns ?? []);
  const names = { list: [...cellsOf([column]), ...keys], keys, quote: marks.quote };
  const found = (delimiter === undefined ? delimiters : [delimiter]).flatMap((one) => {
    const rows = sampleRows(text, { delimiter: bytesOf(one), ...marks });
    return candidateOf(rows, one, names) ?? [];
  });
  const chosen = choose(found, { ...options, linesAbove, isNamed: delimiter !== undefined });
  if (!chosen) return undefined;
  const { start, line } = chosen.header;
  const isTitled = chosen.titles > 0;
  return {
    delimiter: chosen.delimiter,
    skippedBytes: isTitled ? start : 0,
    skippedLines: isTitled ? line - linesAbove : 0,
  };
}

function choose(
  found: readonly Candidate[],
  {
    name,
    linesAbove,
    isNamed,
    mayBeList = false,
  }: Pick<TableOptions, 'name' | 'mayBeList'> & { linesAbove: number; isNamed: boolean },
): Candidate | undefined {
  const fitting = found.filter(({ rows, fit }) => rows === 0 || fit >= 0.8);
  const plain = fitting.filter(({ titles }) => titles === 0);
  const [best, second] = plain;
  if (best && second && best.rows > 0) throw undecided(name, plain);
  if (best) return best;
  const titled = fitting.find(isUnmistakable);
  const ragged = found.find(({ titles }) => titles === 0);
  if (ragged && mayBeList && (titled || ragged.single * 2 > ragged.rows))
    throw listOrTable(name, ragged, titled);
  // Whoever writes a few cells must not be able to make the header a title, and one of their own rows the header.
  const above = titled && [ragged, ...found].find((other) => other && isHeaderAbove(titled, other));
  if (above) throw twoHeaders(name, above, titled);
  // A quote within a title may begin a cell of a table with another delimiter, whose next line looks like a header.
  if (titled && !titled.hasPlainTitles) throw noHeader(name, linesAbove + 1, titled);
  if (titled) return titled;
  const ambiguous = fitting.find(({ rows }) => rows > 0);
  if (!ragged && ambiguous && !isNamed) throw noHeader(name, linesAbove + 1, ambiguous);
  return ragged;
}

/** Names of columns of addresses and identifiers, which a value of a list hardly is. */
const usualKeys = [...identifierKinds, 'phone'];

/**
 * Throws EngagectlError E-HEADER if a line of a list that only its first line makes one may be the header row of a table: it
 * has several cells, and one of them names the column that the command needs. The first line may be a title or a comment.
 */
export function refuseTable(
  sample: Buffer,
  { name, delimiter, quote = '"', comment = '', linesAbove = 0, ...columns }: TableOptions,
): void {
  const text = sample.toString('latin1');
  const marks = { quote: bytesOf(quote), comment: bytesOf(comment), linesAbove };
  const { keyColumns = [], column = '' } = columns;
  const keys = new Set([...keyColumns, column, ...usualKeys].map((key) => plainName(bytesOf(key))));
  keys.delete('');
  for (const one of delimiter === undefined ? delimiters : [delimiter]) {
    const rows = sampleRows(text, { delimiter: bytesOf(one), ...marks });
    const header = rows.find(
      ({ cells }) =>
        cells.length > 1 && cells.some((cell) => keys.has(plainName(cell, marks.quote))),
    );
    if (header) throw tableInList(name, header, one);
  }
}

/** Returns a name of a column without quotes around it, in lower case. */
function plainName(cell: string, quote = ''): string {
  const name = nameIn(cell).trim();
  const isQuoted = quote !== '' && name.startsWith(quote) && name.endsWith(quote);
  return (isQuoted ? name.slice(quote.length, -quote.length) : name).toLowerCase();
}

/** Whether the rows above the header are surely titles: a full header row of names above rows of its width. */
function isUnmistakable(candidate: Candidate): boolean {
  const { titles, hasColumn, rows, fit } = candidate;
  const isFull = titles > 0 && titles <= maxTitleLines && rows >= 2 && fit >= 0.9;
  return isFull && !hasColumn && hasNames(candidate);
}

/** Whether a cell has no quotes, except around all of it, and no name of a key column, as a header with another delimiter. */
function isPlain(cell: string, { keys, quote }: Pick<KnownNames, 'keys' | 'quote'>): boolean {
  const isQuoted = quote !== '' && cell.startsWith(quote) && cell.endsWith(quote);
  const inside = isQuoted ? cell.slice(quote.length, -quote.length) : cell;
  if ((quote !== '' && inside.includes(quote)) || inside.includes('\0')) return false;
  return !keys.some((key) => hasWord(inside, key));
}

/** Whether a text has a word that is no part of a longer one. */
const hasWord = (text: string, word: string): boolean =>
  text
    .split(word)
    .some(
      (before, at, { [at + 1]: after }) =>
        after !== undefined && !/[\w\x80-\xff]$/.test(before) && !/^[\w\x80-\xff]/.test(after),
    );

/** See `columnName`. */
const nameIn = (cell: string): string => cell.replace('\xef\xbb\xbf', '');

/**
 * Whether another delimiter has a row above the header that may be the header: it has names, or rows of its width, and
 * rows with several cells.
 */
const isHeaderAbove = ({ header, hasKey }: Candidate, other: Candidate): boolean =>
  other.header.start < header.start &&
  other.single < other.rows &&
  (!hasKey || other.hasKey) &&
  (other.titles === 0 || other.fit > 0 || hasNames(other));

/** Whether each cell of the header has a letter, and none is an address or occurs twice. */
function hasNames({ header: { cells } }: Candidate): boolean {
  const isNamed = cells.every((cell) => /\p{L}|[\x80-\xff]/u.test(cell) && !cell.includes('@'));
  return isNamed && new Set(cells).size === cells.length;
}

function candidateOf(
  rows: readonly SampleRow[],
  delimiter: string,
  names: KnownNames,
): Candidate | undefined {
  const filled = ({ cells }: SampleRow): number =>
    cells.filter((cell) => cell.trim() !== '').length;
  const titles = rows.findIndex((row) => filled(row) > 1);
  const header = rows[titles];
  if (!header) return undefined;
  const below = rows.slice(titles + 1).filter((row) => filled(row) > 0);
  const fitting = below.filter(({ cells }) => cells.length === header.cells.length);
  return {
    delimiter,
    header,
    titles,
    hasPlainTitles: rows
      .slice(0, titles)
      .every(({ cells }) => cells.every((cell) => isPlain(cell, names))),
    hasColumn: rows
      .slice(0, titles)
      .some(({ cells }) => cells.some((cell) => cell !== '' && names.list.includes(nameIn(cell)))),
    hasKey: header.cells.some((cell) => names.keys.includes(nameIn(cell))),
    rows: below.length,
    fit: fitting.length / (below.length || 1),
    single: below.filter(({ cells }) => cells.length === 1).length,
  };
}

const undecided = (name: string, candidates: readonly Candidate[]): EngagectlError =>
  new EngagectlError('E-HEADER', `${name}: the delimiter is ambiguous; nothing was sent`, {
    file: name,
    line: candidates[0]!.header.line + 1,
    why: candidates
      .map(
        ({ delimiter, header }) =>
          `${JSON.stringify(delimiter)} gives ${header.cells.length} columns`,
      )
      .join(', '),
    fix: `choose one: ${candidates.map(({ delimiter }) => delimiterFlag(delimiter)).join(' or ')}`,
  });

const noHeader = (
  name: string,
  first: number,
  { header: { line, cells }, delimiter }: Candidate,
): EngagectlError =>
  new EngagectlError('E-HEADER', `${name}: the header row is in doubt; nothing was sent`, {
    file: name,
    line: first,
    why: `the lines above line ${line + 1} have one column, and the lines below have ${cells.length}`,
    fix: `if line ${line + 1} names the columns, add --skip-lines ${line} ${delimiterFlag(delimiter)}; to read line ${first} as the header, add --skip-lines ${first - 1} --delimiter ','`,
  });

const twoHeaders = (name: string, above: Candidate, below: Candidate): EngagectlError => {
  const [upper, lower] = [above.header, below.header];
  const [line, later] = [upper.line + 1, lower.line + 1];
  const [first, second] = [above, below].map(({ delimiter }) => JSON.stringify(delimiter));
  return new EngagectlError('E-HEADER', `${name}: the header row is in doubt; nothing was sent`, {
    file: name,
    line,
    why: `line ${line} has ${upper.cells.length} columns with ${first}, and line ${later} has ${lower.cells.length} with ${second}`,
    fix: `to read line ${line} as the header, add --skip-lines ${upper.line} ${delimiterFlag(above.delimiter)}; if line ${later} names the columns, add --skip-lines ${lower.line} ${delimiterFlag(below.delimiter)}`,
  });
};

const listOrTable = (name: string, first: Candidate, below?: Candidate): EngagectlError => {
  const { header, delimiter } = below ?? first;
  const others = below
    ? `line ${header.line + 1} has ${header.cells.length} with ${JSON.stringify(delimiter)}`
    : 'most lines below have one';
  const line = first.header.line + 1;
  return new EngagectlError('E-HEADER', `${name}: may be a list or a table; nothing was sent`, {
    file: name,
    line,
    why: `line ${line} has ${first.header.cells.length} columns with ${JSON.stringify(first.delimiter)}, and ${others}`,
    fix: `to read each line as one value, add --input-format list; to read a table, add --input-format csv ${delimiterFlag(delimiter)}`,
  });
};

const tableInList = (name: string, { line, cells }: SampleRow, delimiter: string): EngagectlError =>
  new EngagectlError('E-HEADER', `${name}: may be a list or a table; nothing was sent`, {
    file: name,
    line: line + 1,
    why: `line ${line + 1} has ${cells.length} columns with ${JSON.stringify(delimiter)}, and may be the header row`,
    fix: `to read each line as one value, add --input-format list; to read a table, add --input-format csv --skip-lines ${line} ${delimiterFlag(delimiter)}`,
  });

const delimiterFlag = (delimiter: string): string =>
  `--delimiter ${delimiter === '\t' ? "'\\t'" : quoteForShell(delimiter)}`;

/** A mark as it occurs in a sample, which is searched as bytes. */
const bytesOf = (mark: string): string => Buffer.from(mark).toString('latin1');

interface Marks {
  readonly delimiter: string;
  readonly quote: string;
  readonly comment: string;
  readonly linesAbove: number;
}

/** Splits the first rows of a sample, without blank lines, comments and a row that is cut at the end. */
function sampleRows(text: string, { delimiter, quote, comment, linesAbove }: Marks): SampleRow[] {
  const rows: SampleRow[] = [];
  let cells: string[] = [];
  let [start, line, rowLine, from] = [0, linesAbove, linesAbove, 0];
  let isQuoted = false;
  const endCell = (at: number): void => void cells.push(text.slice(from, at));
  for (let at = 0; at < text.length && rows.length < maxRows; at += 1) {
    const isLineEnd = text.charCodeAt(at) === LF || text.charCodeAt(at) === CR;
    const isPair = text.charCodeAt(at) === CR && text.charCodeAt(at + 1) === LF;
    if (isLineEnd && !isPair) line += 1;
    if (quote !== '' && text.startsWith(quote, at) && (isQuoted || at === from)) {
      const isDoubled = isQuoted && text.startsWith(quote, at + quote.length);
      if (isDoubled) at += quote.length;
      else isQuoted = !isQuoted;
    } else if (isQuoted) continue;
    else if (text.startsWith(delimiter, at)) {
      endCell(at);
      from = at + delimiter.length;
      at = from - 1;
    } else if (isLineEnd) {
      endCell(at);
      if (isPair) {
        at += 1;
        line += 1;
      }
      const isSkipped = comment !== '' && text.startsWith(comment, start);
      if (!isSkipped && cells.some((cell) => cell !== ''))
        rows.push({ cells, start, line: rowLine });
      cells = [];
      start = from = at + 1;
      rowLine = line;
    }
  }
  if (from < text.length && text.length < sampleBytes && rows.length < maxRows) {
    endCell(text.length);
    rows.push({ cells, start, line: rowLine });
  }
  return rows;
}
