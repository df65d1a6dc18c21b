import { instantiateTextProgram, reserve, type WasmMemory, type WasmNumber } from '../wasm.js';

/** Markers of CSV cells as UTF-8 bytes. An empty marker never occurs. */
export interface CsvDialect {
  readonly delimiter: Buffer;
  readonly quote: Buffer;
  /** Makes the next character literal within quotes. */
  readonly escape: Buffer;
  /** Starts a line that is not a record. */
  readonly comment: Buffer;
}

/** Maximum bytes of a marker, as in `wasm/csv-scanner.ts`. */
export const longestMarker = 1024;

/** Finds a marker that would make a CSV ambiguous. `markers` are texts by their name in messages. */
export function dialectError(
  markers: Readonly<Record<string, string>>,
): { readonly name: string; readonly why: string } | undefined {
  const named = Object.entries(markers).filter(([, text]) => text !== '');
  for (const [name, text] of named) {
    if (/[\r\n]/.test(text)) return { name, why: 'it contains a line break, which ends a record' };
    if (Buffer.byteLength(text) > longestMarker)
      return { name, why: `it is longer than ${longestMarker} bytes` };
    const other = named.find(([each, part]) => each !== name && text.includes(part));
    if (other) return { name, why: `it contains that of ${other[0]}, ${JSON.stringify(other[1])}` };
  }
  return undefined;
}

/** Position of an end that lies beyond the text. */
export const BEYOND = -1;

/** A record that could not be parsed. */
export interface CsvParseError {
  readonly at: number;
  readonly line: number;
  /** Number of cells if it is wrong, or the violated quoting rule. */
  readonly what: number | string;
  /** End of the record, or position of the quoting error, and its line relative to the first. */
  readonly where: number;
  readonly lineEnds: number;
}

/** Records found in a text. The tables are valid until the next text. */
interface CsvRecords {
  /** Position and physical line at which scanning stopped. */
  readonly used: number;
  readonly line: number;
  readonly count: number;
  /** As in RowBlock and Cells. */
  readonly bounds: Int32Array;
  readonly lines: Uint32Array;
  readonly cells: Int32Array;
  readonly parseErrors: readonly CsvParseError[];
}

/** One record. */
export interface CsvRecord {
  /** Start of the next record, or BEYOND. */
  readonly next: number;
  readonly end: number;
  /** Number of cells, and the bounds of those that fit. */
  readonly width: number;
  readonly cells: Int32Array;
  /** Line ends within quotes. */
  readonly lineEnds: number;
  /** Start of its last cell; if the end is BEYOND, of the incomplete one. */
  readonly lastCell: number;
  readonly failure: Pick<CsvParseError, 'what' | 'where'> | undefined;
}

/** The parse error without an end. */
export const openQuote = 'quote that is never closed';

/** The parse error of a quote behind the start of a cell. */
export const strayQuote = 'quote in an unquoted cell';

const quotingErrors = new Map([
  [-2, strayQuote],
  [-3, 'text after a closing quote'],
  [-4, openQuote],
]);

/** Finds CSV records and their cells; implemented in `wasm/csv-scanner.ts`, which has the grammar. */
export class CsvScanner {
  readonly #program: CsvProgram;
  readonly #markers: CsvDialect;
  readonly #recovers: boolean;
  #columns = 0;

  /** `recovers`: after a quote that is never closed, scanning resumes on the next line. */
  constructor(program: CsvProgram, markers: CsvDialect, { recovers = false } = {}) {
    this.#program = program;
    this.#markers = markers;
    this.#recovers = recovers;
  }

  /** Starts a text with a number of cells per record. `last`: the input ends with it. */
  begin(text: Buffer, columns: number, last: boolean): void {
    const { code } = this.#program;
    const { delimiter, quote, escape, comment } = this.#markers;
    [delimiter, quote, escape, comment].forEach((marker, index) => {
      marker.copy(this.#program.bytes(code.markers.value + index * longestMarker, longestMarker));
    });
    code.useMarkers(
      delimiter.length,
      quote.length,
      escape.length,
      comment.length,
      escape.equals(quote),
    );
    this.#program.load(text);
    this.#columns = columns;
    code.beginCut(text.length, columns, last, this.#recovers);
  }

  /** Splits records, the first of which starts on line `firstLine`, until the tables are full. */
  cut(firstLine: number): CsvRecords {
    const { code } = this.#program;
    code.cut(firstLine);
    const count = code.cutCount.value;
    this.#program.cells = this.#program.numbers(code.cells.value, 2 * this.#columns * count);
    const failures = this.#program.numbers(code.failures.value, 5 * code.failureCount.value);
    return {
      used: code.cutAt.value,
      line: code.cutLine.value,
      count,
      bounds: this.#program.numbers(code.bounds.value, 2 * count),
      lines: new Uint32Array(code.memory.buffer, code.lines.value, count),
      cells: this.#program.cells,
      parseErrors: Array.from({ length: code.failureCount.value }, (_, index) => {
        const [what = 0, where = 0, at = 0, line = 0, lineEnds = 0] = failures.subarray(5 * index);
        return { at, line, what: quotingErrors.get(what) ?? what, where, lineEnds };
      }),
    };
  }

  /** Finds the record at `start`, however wide; with `isRest`, the rest of one from the start of a cell. */
  scan(start: number, { isRest = false } = {}): CsvRecord {
    const { code } = this.#program;
    const next = isRest ? code.scanCells(start) : code.scan(start);
    const what = quotingErrors.get(next);
    const width = code.width.value;
    return {
      next,
      end: code.scannedEnd.value,
      width,
      cells: this.#program.numbers(code.cells.value, 2 * Math.min(width, this.#columns)),
      lineEnds: code.lineEnds.value,
      lastCell: code.unfinishedCell.value,
      failure: what === undefined ? undefined : { what, where: code.failureAt.value },
    };
  }
}

/** Whether a text has a delimiter, quote or escape at a position. */
export const isMarkerAt = (text: Buffer, marker: Buffer, at: number): boolean =>
  text[at] === marker[0] &&
  (marker.length === 1 || text.subarray(at, at + marker.length).equals(marker));

/**
 * Converts the cells of a text to RFC 4180 quoting: the converted content of each that contains an escape or a quotation mark
 * is `behind` the text, where its bounds are. Undefined if no cell changes.
 */
export function standardCells(
  text: Buffer,
  bounds: Int32Array | undefined,
  markers: CsvDialect,
): { readonly cells: Int32Array; readonly behind: Buffer } | undefined {
  const isStandard = [markers.quote, markers.escape].every((one) => one.equals(quotationMark));
  if (isStandard || bounds === undefined) return undefined;
  const cells = bounds.slice();
  const behind: Buffer[] = [];
  let { length } = text;
  for (let at = 0; at < cells.length; at += 2) {
    const end = cells[at + 1]!;
    if (end >= 0) continue;
    const content = standardCell(text, { from: cells[at]!, end: ~end }, markers);
    behind.push(content);
    cells[at] = length;
    length += content.length;
    cells[at + 1] = ~length;
  }
  return behind.length === 0 ? undefined : { cells, behind: Buffer.concat(behind) };
}

const quotationMark = Buffer.from('"');

/** Returns a cell's content with the escapes of its dialect removed and quotation marks doubled. */
export function standardCell(
  text: Buffer,
  { from, end }: { from: number; end: number },
  { quote, escape }: CsvDialect,
): Buffer {
  const content = text.toString('latin1', from, end);
  const isQuoted = quote.length > 0 && isMarkerAt(text, quote, from - quote.length);
  const plain = isQuoted ? withoutEscapes(content, escape.toString('latin1')) : content;
  return Buffer.from(plain.replaceAll('"', '""'), 'latin1');
}

/** Removes escapes byte by byte; only the first byte of an escaped character follows its escape. */
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

/** Exports of `wasm/csv-scanner.ts` and `wasm/csv-record-writer.ts`. Addresses are signed. */
interface CsvCode extends ShardExports, Record<Place | CutNumber | WrittenNumber, WasmNumber> {
  readonly memory: WasmMemory;

  useMarkers(
    delimiter: number,
    quote: number,
    escape: number,
    comment: number,
    doubles: boolean,
  ): void;
  beginCut(length: number, columns: number, last: boolean, recovers: boolean): void;
  cut(line: number): void;
  scan(start: number): number;
  scanCells(start: number): number;

  beginRecords(form: number, out: number, rows: number, columns: number, members: number): void;
  writeRows(to: number, last: number): number;
  currentEnd(): number;
  currentRow(): number;
  skipRow(): void;
  readonly writtenKey: { value: number };
}

/** Exports of `wasm/shard-finder.ts`. */
export interface ShardExports {
  readonly memory: WasmMemory;
  setShards(count: number): void;
  shardOf(start: number, end: number): number;
  shardsOfCells(
    text: number,
    cells: number,
    rows: number,
    columns: number,
    first: number,
    second: number,
    before: number,
    emptyLength: number,
    out: number,
  ): void;
  shardsOfLines(
    text: number,
    bounds: number,
    rows: number,
    name: number,
    nameLength: number,
    out: number,
  ): void;
}

type Place = 'text' | 'lines' | 'bounds' | 'cells' | 'failures' | 'rows' | 'writtenBounds' | 'keys' | 'markers'; // prettier-ignore
type CutNumber = 'cutCount' | 'failureCount' | 'cutAt' | 'cutLine' | 'scannedEnd' | 'width' | 'lineEnds' | 'failureAt' | 'unfinishedCell'; // prettier-ignore
type WrittenNumber = 'writtenCount' | 'writtenStart';

/** How far past its input and output the program may access memory. */
const slack = 64;

/**
 * An instance of the text program that splits CSV into cells and writes records. The text split last
 * need not be copied again to be written.
 */
export class CsvProgram {
  #code: CsvCode | undefined;
  /** Bounds of the cells that are loaded together with their text, if any. */
  cells: Int32Array | undefined;

  /** Instantiated on first use, with memory for the lists before the text. */
  get code(): CsvCode {
    if (this.#code) return this.#code;
    this.#code = instantiateTextProgram() as CsvCode;
    this.reserve(this.#code.text.value);
    return this.#code;
  }

  /** Copies a text into memory. */
  load(text: Buffer): void {
    this.cells = undefined;
    const at = this.code.text.value;
    this.reserve(at + text.length);
    text.copy(this.bytes(at, text.length));
  }

  /** Ensures that a text and the bounds of its cells are loaded. */
  hold(text: Buffer, cells: Int32Array): void {
    if (this.cells === cells) return;
    this.load(text);
    this.numbers(this.code.cells.value, cells.length).set(cells);
    this.cells = cells;
  }

  /** Grows the memory to this address. */
  reserve(end: number): void {
    reserve(this.code.memory, end + slack);
  }

  bytes(at: number, length: number): Buffer {
    return Buffer.from(this.code.memory.buffer, at, length);
  }

  /** Memory from this address on. */
  restFrom(at: number): Buffer {
    return this.bytes(at, this.code.memory.buffer.byteLength - slack - at);
  }

  numbers(at: number, count: number): Int32Array {
    return new Int32Array(this.code.memory.buffer, at, count);
  }
}
