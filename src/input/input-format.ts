import { EngagectlError } from '../errors.js';
import { quoteForShell } from '../wording.js';
import { endOfLine, skipLine, type HoldBack } from './record-splitter.js';
import { defaultDelimiter, namesOfPath, type InputFormat } from '../contract/file-formats.js';
import { dialectError, type CsvDialect } from '../text/csv-scanner.js';
import type { TextBuffer } from './text-buffer.js';

/** Bytes of the first line that are inspected. */
const sampleBytes = 64 * 1024;
/** Bytes of blanks above the first line; an input that starts with more counts as empty. */
const maxBytesAbove = 1024 * 1024;

const openingBrace = 0x7b;
const openingBracket = 0x5b;

interface UnnamedInput {
  readonly name: string;
  readonly isPipe: boolean;
}

/**
 * Detects the format from the first line. An empty input is NDJSON without records, because an empty pipe is not an error.
 * Throws E-FORMAT for JSON that may be the value of a list.
 */
export async function detectFormat(
  window: TextBuffer,
  { delimiter, comment, listColumn }: InputOptions,
  { name, isPipe }: UnnamedInput,
): Promise<InputFormat> {
  const line = await firstLine(window, comment);
  if (line.length === 0) return 'ndjson';
  const isObject = line[0] === openingBrace;
  if (isObject || line[0] === openingBracket) {
    const format = isObject ? 'ndjson' : 'json';
    const mayBeList = listColumn !== undefined;
    if (mayBeList && !(isPipe && (await isOnlyObjects(window)))) throw mayBeValue(name, format);
    return format;
  }
  if (delimiter === undefined && line.includes('\t') && !line.includes(',')) return 'tsv';
  // `;` and `|` are not delimiters by default, but they show that this is not a list.
  const delimiters = delimiter === undefined ? [',', ';', '|'] : [delimiter];
  const delimited = delimiters.some((delimiter) => line.includes(delimiter));
  return delimited || line.includes('{') || listColumn === undefined ? 'csv' : 'list';
}

/**
 * Whether the start of a pipe is objects, one on each line or in an array. Reads the start of the second line, which
 * shows whether the first one is a value of a list.
 */
async function isOnlyObjects(window: TextBuffer): Promise<boolean> {
  const hasSecond = (): boolean =>
    /^\s*\S[^\r\n]*[\r\n]\s*\S/.test(window.bytes.toString('latin1', 0, sampleBytes));
  while (!window.ended && window.bytes.length < sampleBytes && !hasSecond()) await window.grow();
  const text = window.bytes.toString('utf8', 0, sampleBytes);
  if (/^\s*\[\s*(?:\{|$)/.test(text)) return true;
  return text.split(/[\r\n]+/).every((line) => /^\s*(?:\{|$)/.test(line));
}

/** Identities may be any text, also one that looks like a record with another identity. */
const mayBeValue = (file: string, format: InputFormat): EngagectlError =>
  new EngagectlError('E-FORMAT', `${file} may be JSON, or a list with a value that looks like it`, {
    why: 'neither its name nor an option says its format, and the values of a list may be any text',
    fix: `add --input-format ${format}, or --input-format list, with --quote '' if its values contain quotes`,
    file,
    line: 1,
  });

/** Throws EngagectlError E-FORMAT for a text that does not start with `[`. */
export async function expectArray(window: TextBuffer, name: string): Promise<void> {
  const line = await firstLine(window);
  if (line[0] === openingBracket) return;
  const arrays = arrayPaths(window.bytes.toString()).map(
    (path) => `--records ${quoteForShell(path)}`,
  );
  throw new EngagectlError('E-FORMAT', `${name} is not a JSON array`, {
    file: name,
    line: 1,
    why:
      line.length === 0
        ? 'it is empty; an array without records is []'
        : 'it does not start with [',
    fix:
      line[0] === openingBrace
        ? `for one JSON object per line, add --input-format ndjson; to read an array inside an object, add ${arrays.join(' or ') || '--records <path>'}`
        : 'set its format with --input-format csv, tsv or ndjson',
  });
}

/**
 * Drops the text before the array at a path of nested objects; returns the line of its start. Throws EngagectlError
 * E-FORMAT if there is no array.
 */
export async function skipToArray(window: TextBuffer, path: string, name: string): Promise<number> {
  const finder = new ArrayFinder(path);
  let line = 1;
  for (;;) {
    const { bytes } = window;
    for (let at = 0; at < bytes.length; at += 1) {
      if (finder.isAt(bytes[at]!)) {
        window.drop(at);
        return line;
      }
      if (bytes[at] === 0x0a) line += 1;
    }
    if (window.ended) break;
    window.drop(bytes.length);
    await window.grow();
  }
  const names = finder.names.map((key) => JSON.stringify(key)).join(', ');
  throw new EngagectlError('E-FORMAT', `${name} has no array at ${JSON.stringify(path)}`, {
    why: names === '' ? 'it is not a JSON object' : `the object has ${names}`,
    fix: 'name the array with --records <path>, for example data.users',
    file: name,
  });
}

/** Maximum number of arrays that an error lists. */
const maxArrays = 5;

/** Strings, the last of which may be cut off, and punctuation. */
const tokens = /"(?:[^"\\]|\\.?)*(?:"|$)|[{}[\]:,]/gs;

/** Returns the paths of arrays of objects within objects, from the start of a JSON text. */
function arrayPaths(text: string): readonly string[] {
  const paths: string[] = [];
  const names: string[] = [];
  let key = '';
  let arrays = 0; // open arrays, and what is open in them
  let before = '';
  for (const [token] of text.matchAll(tokens)) {
    if (arrays === 1 && token === '{' && before === '[') paths.push(names.join('.'));
    if (token.startsWith('"')) key = token.slice(1, -1);
    else if (arrays > 0) arrays += { '{': 1, '[': 1, '}': -1, ']': -1 }[token] ?? 0;
    else if (token === ':') names[names.length - 1] = key.replaceAll('.', String.raw`\.`);
    else if (token === '{') names.push('');
    else if (token === '}') names.pop();
    else if (token === '[') arrays = 1;
    before = token;
    if (paths.length === maxArrays) break;
  }
  return paths;
}

/** Maximum number of names that an error lists. */
const maxNames = 10;

/** Finds the array at a path in a JSON text, byte by byte. It does not validate the text. */
class ArrayFinder {
  /** Names of the members of the outermost object. */
  readonly names: string[] = [];
  readonly #path: readonly string[];
  /** Number of open brackets, and of objects on the path among them. */
  #depth = 0;
  #entered = 0;
  #isString = false;
  #isEscape = false;
  /** Bytes of the current or last string. */
  #string: number[] = [];
  /** Whether the next value is the one at the path so far. */
  #isNext = true;

  constructor(path: string) {
    this.#path = namesOfPath(path);
  }

  /** Whether the array starts at this byte, which follows the last one. */
  isAt(byte: number): boolean {
    if (this.#isString) this.#addToString(byte);
    else if (byte === 0x22) [this.#isString, this.#string] = [true, []];
    else if (byte === 0x3a) this.#endKey();
    else if (byte === 0x2c) this.#isNext = false;
    else if (byte === openingBrace) this.#open();
    else if (byte === openingBracket) {
      if (this.#isNext && this.#entered > this.#path.length - 1 && this.#isOnPath) return true;
      this.#depth += 1;
      this.#isNext = false;
    } else if (byte === 0x7d || byte === 0x5d) {
      if (this.#isOnPath) this.#entered -= 1;
      this.#depth -= 1;
      this.#isNext = false;
    }
    return false;
  }

  /** Whether the innermost open bracket is that of the last object on the path. */
  get #isOnPath(): boolean {
    return this.#depth === this.#entered;
  }

  #addToString(byte: number): void {
    if (this.#isEscape) this.#isEscape = false;
    else if (byte === 0x5c) this.#isEscape = true;
    else if (byte === 0x22) {
      this.#isString = false;
      return;
    }
    if (this.#string.length < sampleBytes) this.#string.push(byte);
  }

  #endKey(): void {
    if (!this.#isOnPath || this.#depth === 0) return;
    const text = Buffer.from(this.#string).toString();
    const key = nameOfKey(text);
    if (this.#depth === 1 && this.names.length < maxNames) this.names.push(key);
    this.#isNext = key === this.#path[this.#entered - 1];
  }

  #open(): void {
    const isOnPath = this.#isNext && this.#isOnPath && this.#entered < this.#path.length;
    if (isOnPath) this.#entered += 1;
    this.#depth += 1;
    this.#isNext = false;
  }
}

/** Returns the name of a member; its text as it is, if it is no JSON, or was cut within an escape. */
function nameOfKey(text: string): string {
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}

/** Throws EngagectlError E-FORMAT for an array of objects where one object per line is expected. */
export async function expectLines(window: TextBuffer, name: string): Promise<void> {
  const line = await firstLine(window);
  if (!/^\[\s*(?:\{|$)/.test(line.toString('latin1', 0, 100))) return;
  throw new EngagectlError('E-FORMAT', `${name} is a JSON array, not one JSON object per line`, {
    file: name,
    line: 1,
    why: 'it starts with [',
    fix: 'add --input-format json',
  });
}

/** First line of a table that names its delimiter, which spreadsheets write and read. */
export const separatorLine = /^"?sep=(.)"?\r?$/i;

/** Removes a first line such as `sep=;`; returns its delimiter. */
export async function readSeparatorLine(window: TextBuffer): Promise<string | undefined> {
  const line = (await firstLine(window)).toString('latin1', 0, 10);
  const found = separatorLine.exec(line)?.[1];
  if (found !== undefined) await skipLines(window, 1);
  return found;
}

/** Drops physical lines from the start of the window; returns how many there were. */
export async function skipLines(window: TextBuffer, count: number): Promise<number> {
  for (let line = 0; line < count; line += 1) {
    for (let isDone = false; !isDone;) {
      const { used, done } = skipLine(window.bytes, 1, window.ended);
      window.drop(used);
      isDone = done;
      if (!isDone) await window.grow();
      if (window.ended && window.bytes.length === 0) return line;
    }
  }
  return count;
}

/** Returns the first line that is neither blank nor a comment; empty if there is none within `maxBytesAbove`. */
async function firstLine(window: TextBuffer, comment = ''): Promise<Buffer> {
  const marker = Buffer.from(comment);
  for (let above = 0; ;) {
    while (above < window.bytes.length && window.bytes[above]! <= 32) above += 1;
    const end = endOfLine(window.bytes, above);
    const line = window.bytes.subarray(above, end);
    if (above > maxBytesAbove) return line.subarray(0, 0);
    const isWhole = end < window.bytes.length || line.length >= sampleBytes || window.ended;
    const isComment = marker.length > 0 && line.subarray(0, marker.length).equals(marker);
    if (isWhole && !isComment) return line;
    if (isWhole) above = end;
    else await window.grow();
  }
}

/** Options that describe how inputs are read. */
export interface ReadingOptions {
  /** Default: from the file extension, otherwise from the content. */
  readonly inputFormat?: InputFormat;
  /** Delimiter of CSV cells; by default detected, or a tab for TSV. */
  readonly delimiter?: string;
  /** Quote character of CSV cells; default `"`, empty for none. */
  readonly quote?: string;
  /** Escape before a quote in a quoted cell; default: the quote. */
  readonly escape?: string;
  /** Physical lines above the header row of a CSV. */
  readonly skipLines?: number;
  /** Start of comment lines in a CSV. */
  readonly comment?: string;
  /** Resume on the next line after a quote that is never closed. Refused for events and demerges. */
  readonly recoverQuotes?: boolean;
  /** Path of the array of records inside one JSON object, such as `data.users`; `\\.` is a dot within a name. */
  readonly records?: string;
  /** Remove whitespace and invisible characters around cells. */
  readonly trim?: boolean;
  /** Cells that count as empty, such as `NULL`. Placeholders are errors in identities, unless the list is empty or has an empty text, and text elsewhere. */
  readonly nullValues?: readonly string[];
  /** Encoding; by default detected among UTF-8, UTF-16 and windows-1252. */
  readonly encoding?: string;
}

/** Inputs, and options that describe how they are read. */
export interface InputOptions extends ReadingOptions {
  /** Paths in the order of reading; none, or `-`, is standard input. */
  readonly files: readonly string[];
  /** Returns the absolute path from which a file is read; default: relative to the current directory. */
  readonly pathOf?: ((file: string) => string) | undefined;
  /** Column name of a bare list; undefined if lists are not accepted. */
  readonly listColumn?: string | undefined;
  /** Columns of which every table has one: a line without them above its header row is a title, a line that is one is not. */
  readonly keyColumns?: readonly string[] | undefined;
  /** Compute digests of what is read, so that another process can resume, and another run recognizes the input. */
  readonly digests?: boolean;
  /** Hold back an incomplete last record, because more of it may follow; default: read it like any other. */
  readonly holdBack?: HoldBack | undefined;
  /** Skip rows of tables in which all cells are empty. */
  readonly skipsEmptyRows?: boolean;
  /** Maximum length of a record; a longer one is a parse error. */
  readonly maxRecordBytes: number;
}

const quotationMark = '"';
/** Shared objects, since the waiting rows of many thousands of files refer to them. */
const dialects = new Map<string, CsvDialect>();

/**
 * Returns the CSV dialect of the options; by default RFC 4180 with a comma, or a tab for TSV. A bare
 * list is a CSV without delimiter. Throws EngagectlError E-USAGE if delimiter, quote, escape and comment
 * cannot be distinguished.
 */
export function dialectOf(format: InputFormat, options: InputOptions): CsvDialect {
  const { quote = quotationMark, escape = quote, comment = '' } = options;
  const delimiter = delimiterOf(format, options.delimiter);
  refuseClash({
    '--delimiter': delimiter,
    '--quote': quote,
    ...(escape !== quote && { '--escape': escape }),
    '--comment': comment,
  });
  const key = JSON.stringify([delimiter, quote, escape, comment]);
  const markers = dialects.get(key) ?? {
    delimiter: Buffer.from(delimiter),
    quote: Buffer.from(quote),
    escape: Buffer.from(escape),
    comment: Buffer.from(comment),
  };
  dialects.set(key, markers);
  return markers;
}

function delimiterOf(format: InputFormat, named: string | undefined): string {
  const delimiter = defaultDelimiter(format) ?? ',';
  if (delimiter === '' || named === undefined) return delimiter;
  return named === '\\t' ? '\t' : named;
}

function refuseClash(markers: Readonly<Record<string, string>>): void {
  const error = dialectError(markers);
  if (!error) return;
  const { name, why } = error;
  throw new EngagectlError('E-USAGE', `${name} ${JSON.stringify(markers[name])} cannot be used`, {
    why,
    fix: 'make them different with --delimiter, --quote, --escape and --comment',
  });
}
