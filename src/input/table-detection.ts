import { EngagectlError } from '../errors.js';
import { quoteForShell } from '../wording.js';
import { LF, CR } from './record-splitter.js';

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
  /** Position of the row in the text, and its physical line from 0. */
  readonly start: number;
  readonly line: number;
}

/** A delimiter that may be the right one. */
interface Candidate {
  readonly delimiter: string;
  readonly header: SampleRow;
  /** Rows above the header, each with at most one cell that is not empty. */
  readonly titles: number;
  /** Whether one of them is the name of a column: the header of a list, and no title. */
  readonly hasColumn: boolean;
  readonly rows: number;
  /** Rows below the header that have several cells. */
  readonly split: number;
  /** Share of the rows that have as many cells as the header. */
  readonly fit: number;
}

interface TableOptions {
  readonly name: string;
  readonly delimiter?: string | undefined;
  readonly quote?: string;
  readonly comment?: string;
  /** Column of a list, whose header would be the only cell of its line. */
  readonly column?: string | undefined;
}

/** Detects delimiter and header row. Throws EngagectlError E-HEADER if two delimiters fit equally well, or the header row is in doubt. */
export function detectTable(
  sample: Buffer,
  { name, delimiter, quote = '"', comment = '', column = '' }: TableOptions,
): DetectedTable | undefined {
  const text = sample.toString('latin1');
  const marks = { quote: bytesOf(quote), comment: bytesOf(comment) };
  const columns = [bytesOf(column), bytesOf(`${quote}${column}${quote}`)];
  const found = (delimiter === undefined ? delimiters : [delimiter]).flatMap((one) => {
    const rows = sampleRows(text, { delimiter: bytesOf(one), ...marks });
    return candidateOf(rows, one, columns) ?? [];
  });
  const chosen = choose(found, name, delimiter !== undefined);
  if (!chosen) return undefined;
  const { start, line } = chosen.header;
  const isTitled = chosen.titles > 0;
  return {
    delimiter: chosen.delimiter,
    skippedBytes: isTitled ? start : 0,
    skippedLines: isTitled ? line : 0,
  };
}

function choose(
  found: readonly Candidate[],
  name: string,
  isNamed: boolean,
): Candidate | undefined {
  const fitting = found.filter(({ rows, fit }) => rows === 0 || fit >= 0.8);
  const plain = fitting.filter(({ titles }) => titles === 0);
  const [best, second] = plain;
  if (best && second && best.rows > 0) throw undecided(name, plain);
  if (best) return best;
  const titled = fitting.find(isUnmistakable);
  const untitled = found.filter(({ titles }) => titles === 0);
  // Whoever writes a few cells must not be able to make the header a title, and one of their own rows the header.
  const rival = untitled.find(({ split }) => split > 0);
  if (titled && rival) throw twoHeaders(name, titled, rival);
  if (titled) return titled;
  const [ragged] = untitled;
  const ambiguous = fitting.find(({ rows }) => rows > 0);
  if (!ragged && ambiguous && !isNamed) throw noHeader(name, ambiguous);
  return ragged;
}

/** Whether the rows above the header are surely titles: a full header row of names above rows of its width. */
function isUnmistakable({ header, titles, hasColumn, rows, fit }: Candidate): boolean {
  const { cells } = header;
  if (hasColumn) return false;
  const isNamed = cells.every((cell) => /\p{L}|[\x80-\xff]/u.test(cell) && !cell.includes('@'));
  const isUnique = new Set(cells).size === cells.length;
  return titles > 0 && titles <= maxTitleLines && rows >= 2 && fit >= 0.9 && isNamed && isUnique;
}

function candidateOf(
  rows: readonly SampleRow[],
  delimiter: string,
  columns: readonly string[],
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
    hasColumn: rows
      .slice(0, titles)
      .some(({ cells }) => cells.some((cell) => cell !== '' && columns.includes(cell))),
    rows: below.length,
    split: below.filter(({ cells }) => cells.length > 1).length,
    fit: fitting.length / (below.length || 1),
  };
}

const undecided = (name: string, candidates: readonly Candidate[]): EngagectlError =>
  new EngagectlError('E-HEADER', `${name}: the delimiter is ambiguous; nothing was sent`, {
    file: name,
    line: 1,
    why: candidates
      .map(
        ({ delimiter, header }) =>
          `${JSON.stringify(delimiter)} gives ${header.cells.length} columns`,
      )
      .join(', '),
    fix: `choose one: ${candidates.map(({ delimiter }) => delimiterFlag(delimiter)).join(' or ')}`,
  });

const noHeader = (name: string, { header, delimiter }: Candidate): EngagectlError =>
  new EngagectlError('E-HEADER', `${name}: the header row is in doubt; nothing was sent`, {
    file: name,
    line: 1,
    why: `the lines above line ${header.line + 1} have one column, and the lines below have ${header.cells.length}`,
    fix: `if line ${header.line + 1} names the columns, add --skip-lines ${header.line} ${delimiterFlag(delimiter)}; to read line 1 as the header, add --skip-lines 0 --delimiter ,`,
  });

const twoHeaders = (name: string, titled: Candidate, first: Candidate): EngagectlError => {
  const { line, cells } = titled.header;
  const [ours, theirs] = [titled, first].map(({ delimiter }) => JSON.stringify(delimiter));
  return new EngagectlError('E-HEADER', `${name}: the header row is in doubt; nothing was sent`, {
    file: name,
    line: 1,
    why: `line 1 has ${first.header.cells.length} columns with ${theirs}, and line ${line + 1} has ${cells.length} with ${ours}`,
    fix: `to read line 1 as the header, add --skip-lines 0 ${delimiterFlag(first.delimiter)}; if line ${line + 1} names the columns, add --skip-lines ${line} ${delimiterFlag(titled.delimiter)}`,
  });
};

const delimiterFlag = (delimiter: string): string =>
  `--delimiter ${delimiter === '\t' ? "'\\t'" : quoteForShell(delimiter)}`;

/** A mark as it occurs in a sample, which is searched as bytes. */
const bytesOf = (mark: string): string => Buffer.from(mark).toString('latin1');

/** Splits the first rows of a sample, without blank lines, comments and a row that is cut at the end. */
function sampleRows(
  text: string,
  { delimiter, quote, comment }: { delimiter: string; quote: string; comment: string },
): SampleRow[] {
  const rows: SampleRow[] = [];
  let cells: string[] = [];
  let [start, line, rowLine, from] = [0, 0, 0, 0];
  let isQuoted = false;
  const endCell = (at: number): void => void cells.push(text.slice(from, at));
  for (let at = 0; at < text.length && rows.length < maxRows; at += 1) {
    const isLineEnd = text.charCodeAt(at) === LF || text.charCodeAt(at) === CR;
    const isPair = text.charCodeAt(at) === CR && text.charCodeAt(at + 1) === LF;
    if (isLineEnd && !isPair) line += 1;
    if (quote !== '' && text.startsWith(quote, at) && (isQuoted || at === from))
      isQuoted = !isQuoted;
    else if (isQuoted) continue;
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
