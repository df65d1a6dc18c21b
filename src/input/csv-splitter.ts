import {
  CsvScanner,
  longestMarker,
  type CsvProgram,
  type CsvFault,
  type Markers,
} from '../text/csv-scanner.js';
import { rawOf, endOfLine, skipLine, type Cut, type Cutter } from './record-splitter.js';
import { EngagectlError } from '../errors.js';
import type { RowFault } from './row-block.js';
import type { InputOptions } from './input-format.js';

/** A window seldom holds more. */
const usualBytes = 512 * 1024;

/** One for all, for a block keeps it. */
const none: readonly RowFault[] = [];

/**
 * Cuts CSV, TSV and bare lists (CSV of one column without a delimiter). LF, CRLF and CR end a
 * line, inside quotes too; blank lines and comments are no records. After a quoting fault it goes on at the
 * next physical line, so that a lost quote costs few records and not the rest of the file.
 */
export class CsvCutter implements Cutter {
  readonly header: readonly string[];
  readonly program: CsvProgram;
  readonly markers: Markers;
  readonly state = undefined;
  readonly skip = skipLine;
  readonly #scanner: CsvScanner;

  constructor(header: readonly string[], program: CsvProgram, markers: Markers) {
    this.header = header;
    this.program = program;
    this.markers = markers;
    this.#scanner = new CsvScanner(program, markers);
  }

  /** Most windows whole; the scanner copies its text, and a long one is cut many times. */
  cut(text: Buffer, line: number, last: boolean): Cut {
    for (let size = usualBytes; ; size *= 2) {
      const isWhole = text.length <= size;
      const cut = this.#cut(text.subarray(0, size), line, last && isWhole);
      if (cut.used > 0 || isWhole) return cut;
    }
  }

  #cut(text: Buffer, line: number, last: boolean): Cut {
    this.#scanner.begin(text, this.header.length, last);
    const records = this.#scanner.cut(line);
    const faults =
      records.faults.length === 0
        ? none
        : records.faults.map((fault) => this.#faultOf(fault, text, last));
    const cut = { ...records, faults };
    return standardCells(text, cut, this.markers);
  }

  #faultOf({ at, line, what, where, lineEnds }: CsvFault, text: Buffer, last: boolean): RowFault {
    if (typeof what === 'number') {
      const cells = what === 1 ? '1 cell' : `${what} cells`;
      const isCut = last && where === text.length && what < this.header.length;
      const hint = isCut ? '; the last line does not end in a newline: was the file cut?' : '';
      const error = `${cells}, but the header has ${this.header.length}${hint}`;
      return { at, line, error, raw: rawOf(text.subarray(at, where)) };
    }
    const raw = rawOf(text.subarray(at, endOfLine(text, at)));
    if (lineEnds > 0) return { at, line, error: `${what}, on line ${line + lineEnds}`, raw };
    return { at, line, column: where - at + 1, error: what, raw };
  }
}

/**
 * The cut with its cells as RFC 4180 would hold them: where a cell holds an escape or a quotation
 * mark, its content in that form goes behind the text, and its bounds lead there.
 */
function standardCells(text: Buffer, cut: Cut, markers: Markers): Cut {
  if (markers.quote.equals(quotationMarkBytes) && markers.escape.equals(quotationMarkBytes))
    return cut;
  const cells = cut.cells?.slice() ?? new Int32Array(0);
  const behind: Buffer[] = [];
  let length = cut.used;
  for (let at = 0; at < cells.length; at += 2) {
    const end = cells[at + 1]!;
    if (end >= 0) continue;
    const content = standardCell(text, { from: cells[at]!, end: ~end }, markers);
    behind.push(content);
    cells[at] = length;
    length += content.length;
    cells[at + 1] = ~length;
  }
  return behind.length === 0 ? cut : { ...cut, cells, behind: Buffer.concat(behind) };
}

const quotationMarkBytes = Buffer.from('"');

/** A cell's content with the escapes of its dialect taken away and quotation marks doubled. */
export function standardCell(
  text: Buffer,
  { from, end }: { from: number; end: number },
  { quote, escape }: Markers,
): Buffer {
  const content = text.toString('latin1', from, end);
  const isQuoted = quote.length > 0 && quote.equals(text.subarray(from - quote.length, from));
  const plain = isQuoted ? withoutEscapes(content, escape.toString('latin1')) : content;
  return Buffer.from(plain.replaceAll('"', '""'), 'latin1');
}

/** By bytes: of a longer character that was escaped, the others are no escapes. */
function withoutEscapes(content: string, escape: string): string {
  if (escape === '') return content;
  let plain = '';
  let from = 0;
  for (let at = content.indexOf(escape); at >= 0; at = content.indexOf(escape, from + 1)) {
    plain += content.slice(from, at);
    from = at + escape.length;
  }
  return plain + content.slice(from);
}

const quotationMark = '"';
/** One for each dialect: rows that wait hold theirs, and may be of many thousands of files. */
const dialects = new Map<string, Markers>();

/**
 * The dialect that the options name; by default RFC 4180 with a comma, or a tab for TSV. A bare
 * list is a CSV without delimiter. Throws EngagectlError E-USAGE for markers that leave open what
 * is meant.
 */
export function markersOf(format: 'csv' | 'tsv' | 'list', options: InputOptions): Markers {
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

function delimiterOf(format: 'csv' | 'tsv' | 'list', named: string | undefined): string {
  if (format === 'list') return '';
  if (named !== undefined) return named === '\\t' ? '\t' : named;
  return format === 'tsv' ? '\t' : ',';
}

function refuseClash(markers: Readonly<Record<string, string>>): void {
  const named = Object.entries(markers).filter(([, text]) => text !== '');
  for (const [flag, text] of named) {
    if (/[\r\n]/.test(text)) throw clash(flag, text, 'a line break ends the record');
    if (Buffer.byteLength(text) > longestMarker)
      throw clash(flag, text, `it is longer than ${longestMarker} bytes`);
    const other = named.find(([each, part]) => each !== flag && text.includes(part));
    if (other) throw clash(flag, text, `it holds that of ${other[0]}, ${JSON.stringify(other[1])}`);
  }
}

const clash = (flag: string, text: string, why: string): EngagectlError =>
  new EngagectlError('E-USAGE', `${flag} ${JSON.stringify(text)} cannot be used`, {
    why,
    fix: 'delimiter, quote, escape and comment have to differ: --quote and --escape change two of them',
  });
