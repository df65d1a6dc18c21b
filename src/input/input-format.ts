import { EngagectlError } from '../errors.js';
import { endOfLine } from './record-splitter.js';
import { quoteForShell } from '../wording.js';
import type { InputFormat } from '../contract/file-formats.js';
import type { TextBuffer } from './text-buffer.js';

/** Also used between cells, but never guessed. */
const otherDelimiters = [';', '\t', '|', ','];

/** How much of the first line is looked at, … */
const sampleBytes = 64 * 1024;
/** … and of what stands above it: an input that begins with more blanks counts as blank. */
const mostAbove = 1024 * 1024;

const openingBrace = 0x7b;
const openingBracket = 0x5b;

/** Format by what the first line looks like. No text at all is NDJSON of no records: an empty pipe is no error. */
export async function detectFormat(
  window: TextBuffer,
  { delimiter, comment, listColumn }: InputOptions,
): Promise<InputFormat> {
  const line = await firstLine(window, comment);
  if (line.length === 0 || line[0] === openingBrace) return 'ndjson';
  if (line[0] === openingBracket) return 'json';
  if (delimiter === undefined && line.includes('\t') && !line.includes(',')) return 'tsv';
  // `;` and `|` are no delimiters unless named, but they show that this is no list.
  const delimiters = delimiter === undefined ? [',', ';', '|'] : [delimiter];
  const delimited = delimiters.some((delimiter) => line.includes(delimiter));
  return delimited || line.includes('{') || listColumn === undefined ? 'csv' : 'list';
}

/** Throws EngagectlError E-FORMAT for a text that does not start with `[`. */
export async function expectArray(window: TextBuffer, name: string): Promise<void> {
  const line = await firstLine(window);
  if (line[0] === openingBracket) return;
  throw new EngagectlError('E-FORMAT', `${name} is not a JSON array`, {
    file: name,
    line: 1,
    why: line.length === 0 ? 'it is empty; no records are []' : 'it does not start with [',
    fix:
      line[0] === openingBrace
        ? 'for one JSON object a line, add --input-format ndjson; records within an object have to be taken out of it'
        : 'name its format with --input-format csv, tsv or ndjson',
  });
}

/** Throws EngagectlError E-FORMAT for an array of objects where one object a line is expected. */
export async function expectLines(window: TextBuffer, name: string): Promise<void> {
  const line = await firstLine(window);
  if (!/^\[\s*(?:\{|$)/.test(line.toString('latin1', 0, 100))) return;
  throw new EngagectlError('E-FORMAT', `${name} is a JSON array, and not one JSON object a line`, {
    file: name,
    line: 1,
    why: 'it starts with [',
    fix: 'add --input-format json',
  });
}

/** Throws EngagectlError E-HEADER for a first line that tells a spreadsheet the delimiter, like `sep=;`. */
export async function expectHeader(window: TextBuffer, name: string): Promise<void> {
  const line = (await firstLine(window)).toString('latin1', 0, 10);
  const delimiter = /^"?sep=(.)"?\r?$/i.exec(line)?.[1];
  if (delimiter === undefined) return;
  const flag = delimiter === ',' ? '' : `, and add ${delimiterFlag(delimiter)}`;
  throw new EngagectlError(
    'E-HEADER',
    `${name}: the first line, "sep=${delimiter}", is no header`,
    {
      file: name,
      line: 1,
      why: 'it tells a spreadsheet what separates the cells',
      fix: `delete that line${flag}`,
    },
  );
}

/**
 * Refuses a header of one column that holds another usual delimiter, rather than sending each
 * row as one value. Throws EngagectlError E-HEADER.
 */
export function expectDelimiter(
  [only = '', ...others]: readonly string[],
  { name, line }: { name: string; line: number },
): void {
  const delimiter = otherDelimiters.find((delimiter) => only.includes(delimiter));
  if (others.length > 0 || delimiter === undefined) return;
  throw new EngagectlError(
    'E-HEADER',
    `${name}: the header is one column, ${JSON.stringify(only)}`,
    {
      file: name,
      line,
      why: `its cells seem to be separated by ${JSON.stringify(delimiter)}`,
      fix: `add ${delimiterFlag(delimiter)}`,
    },
  );
}

const delimiterFlag = (delimiter: string): string =>
  `--delimiter ${delimiter === '\t' ? "'\\t'" : quoteForShell(delimiter)}`;

/** The first that is neither blank nor a comment; empty when there is none within `mostAbove`. */
async function firstLine(window: TextBuffer, comment = ''): Promise<Buffer> {
  const marker = Buffer.from(comment);
  for (let above = 0; ;) {
    while (above < window.bytes.length && window.bytes[above]! <= 32) above += 1;
    const end = endOfLine(window.bytes, above);
    const line = window.bytes.subarray(above, end);
    if (above > mostAbove) return line.subarray(0, 0);
    const isWhole = end < window.bytes.length || line.length >= sampleBytes || window.ended;
    const isComment = marker.length > 0 && line.subarray(0, marker.length).equals(marker);
    if (isWhole && !isComment) return line;
    if (isWhole) above = end;
    else await window.grow();
  }
}

/** How an input is read. */
export interface ReadingOptions {
  /** Else by the file's extension, else by its content. */
  readonly inputFormat?: InputFormat;
  /** Between the cells of a CSV; default `,`. */
  readonly delimiter?: string;
  /** Around the cells of a CSV; default `"`, empty for none. */
  readonly quote?: string;
  /** Before a quote in a quoted cell; default: the quote. */
  readonly escape?: string;
  /** Begins the lines of a CSV that are no records. */
  readonly comment?: string;
  /** Resume on the next line after a quote that is never closed. Refused for events and demerges. */
  readonly recoverQuotes?: boolean;
  /** For text that is neither UTF-8 nor UTF-16 with a byte order mark. */
  readonly encoding?: string;
}

/** What to read, and how. */
export interface InputOptions extends ReadingOptions {
  /** In this order; none, or `-`, is standard input. */
  readonly files: readonly string[];
  /** The column that a bare list stands for; without it no list is accepted. */
  readonly listColumn?: string | undefined;
  /** Keep digests of what is read, so that another process can go on, and another run knows it. */
  readonly digests?: boolean;
  /** A longer record is a fault. */
  readonly maxRecordBytes: number;
}
