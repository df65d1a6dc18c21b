import { inputFormatOfName, isTableFormat } from '../../contract/file-formats.js';
import { EngagectlError } from '../../errors.js';
import { isStdout, escapeCsvCell, type OutputOptions } from '../../output/formats.js';
import { outputOptions } from '../output-options.js';
import { JsonWriter } from '../../text/json-writer.js';
import { TextSlice } from '../../text/text-slice.js';
import { instantiateTextProgram } from '../../wasm.js';
import { reserve, type WasmMemory } from '../../wasm.js';
import type { Inputs, TableHeader } from '../../input/inputs.js';
import type { RowValues } from '../../mapping/row-values.js';
import type { Wording } from '../job-context.js';
import type { RowBlock } from '../../input/row-block.js';
import type { RecordPage, RecordEncoder } from '../../output/output.js';
import type { CuidMaker } from './cuid-derivation.js';
import type { ByteRange } from '../../text/cuid-set.js';

interface OutputWish {
  readonly files: readonly string[];
  readonly output?: string;
  readonly overwrite?: boolean;
  readonly fresh?: boolean;
}

/** The inputs, and the reader of row values. */
interface Reading {
  readonly inputs: Inputs;
  readonly values: RowValues<string>;
}

/**
 * Creates the writer of rows, in the format of the input, and the options of the output. Throws
 * E-USAGE for mixed input formats and for another output extension, E-HEADER and
 * E-HEADER-DUPLICATE for tables with unsuitable headers.
 */
export function derivedOutput(
  { files, output: name, overwrite = false, fresh = false }: OutputWish,
  { inputs, values }: Reading,
  { option }: Wording,
): { readonly rows: DerivedRows; readonly output: OutputOptions } {
  const table = tableOf(inputs, Math.max(1, files.length));
  const format = inputFormatOfName(name ?? '');
  if (format !== undefined && isTableFormat(format) !== (table !== undefined)) {
    throw new EngagectlError('E-USAGE', `${name} does not match the input format`, {
      why: `rows keep their format, and the input contains ${table ? 'table rows' : 'JSON objects'}`,
      fix: table ? 'choose a .csv file' : 'choose an .ndjson or .json file',
    });
  }
  const output = outputOptions(isStdout(name) ? undefined : name, { overwrite, fresh }, option);
  if (!table) return { rows: new DerivedJsonRows(values), output };
  return { rows: table, output: { ...output, encoder: table.encoder } };
}

/** Creates the writer of table rows; undefined for JSON records. */
function tableOf({ headers }: Inputs, count: number): DerivedCsvRows | undefined {
  const [first, ...others] = headers;
  if (!first) return undefined;
  if (headers.reduce((sum, { inputs: those }) => sum + those, 0) < count) {
    throw new EngagectlError('E-USAGE', 'CSV and JSON inputs cannot share one output', {
      why: 'an output contains either table rows or JSON objects',
      fix: 'run the command once for each format',
    });
  }
  const unlike = others.find(
    ({ header, markers }) =>
      JSON.stringify(header) !== JSON.stringify(first.header) ||
      !markers.delimiter.equals(first.markers.delimiter),
  );
  if (unlike) {
    throw new EngagectlError(
      'E-HEADER',
      `${unlike.source}: the header differs from ${first.source}`,
      {
        why: 'the rows of all inputs are written to one output',
        fix: 'run the command once for each file',
        file: unlike.source,
        line: 1,
      },
    );
  }
  for (const { source, header } of headers) if (header.includes('cuid')) throw taken(source);
  return new DerivedCsvRows(first);
}

const taken = (source: string): EngagectlError =>
  new EngagectlError('E-HEADER-DUPLICATE', `${source} already has a column "cuid"`, {
    why: 'the command adds a column of this name',
    fix: 'rename or remove the column "cuid"',
    file: source,
    line: 1,
  });

/** Writer of input rows with an added cuid. */
export interface DerivedRows {
  /** Keeps the parts of the current row that `page` needs. */
  hold(): void;
  /** Returns the accepted rows with their cuids. The page is reused by the next call. */
  page(derived: Derived): RecordPage;
}

/** Rows and their derived cuids. */
interface Derived {
  readonly rows: RowBlock;
  /** Row of each derived cuid. */
  readonly taken: readonly number[];
  /** Indexes of the accepted cuids. */
  readonly kept: readonly number[];
  readonly made: Pick<CuidMaker, 'cuids' | 'cuid'>;
}

const closing = Buffer.from('}');
const comma = 0x2c;

/** Writes JSON objects, otherwise unchanged. */
class DerivedJsonRows implements DerivedRows {
  readonly #values: RowValues<string>;
  readonly #out = new JsonWriter();
  #held: ByteRange[] = [];

  constructor(values: RowValues<string>) {
    this.#values = values;
  }

  hold(): void {
    const { bytes, start, end } = this.#values.record;
    this.#held.push({ bytes, start, end });
  }

  page({ kept, made }: Derived): RecordPage {
    const out = this.#out;
    out.length = 0;
    const bounds = new Int32Array(2 * kept.length);
    for (const [n, index] of kept.entries()) {
      const { bytes, start, end } = this.#held[index]!;
      const cuid = made.cuid(index);
      bounds[2 * n] = out.length;
      out.raw(bytes, start, end - closing.length);
      out.ascii(',"cuid":"'); // it is not empty: it has the value
      out.raw(cuid.bytes, cuid.start, cuid.end);
      out.ascii('"}');
      bounds[2 * n + 1] = out.length;
      out.byte(comma); // becomes the newline
    }
    this.#held = [];
    return { bytes: out.bytes, bounds, count: kept.length };
  }
}

/** Exports of `wasm/cuid-derivation.ts`. */
interface AppendProgram {
  readonly memory: WasmMemory;
  // oxlint-disable-next-line max-params -- places in its memory
  appendCuids(
    rows: number,
    places: number,
    delimiter: number,
    delimiterEnd: number,
    to: number,
  ): number;
}

/** Writes rows of a CSV or TSV, otherwise unchanged. A list becomes a CSV. */
class DerivedCsvRows implements DerivedRows {
  readonly encoder: RecordEncoder;
  readonly #program = instantiateTextProgram() as AppendProgram;
  readonly #delimiter: Buffer;
  readonly #isList: boolean;

  constructor({ header, markers }: TableHeader) {
    this.#isList = markers.delimiter.length === 0;
    this.#delimiter = this.#isList ? Buffer.from(',') : markers.delimiter;
    const marks = { ...markers, delimiter: this.#delimiter };
    const names = [...header, 'cuid'].map((name) => quoted(name, marks));
    const head = Buffer.from(`${names.join(this.#delimiter.toString())}\n`);
    this.encoder = {
      page: ({ bytes, bounds }, isFirst) => {
        const lines = bytes.subarray(bounds[0], bounds[1]);
        return isFirst ? Buffer.concat([head, lines]) : lines;
      },
      end: (isEmpty) => (isEmpty ? head : Buffer.alloc(0)),
    };
  }

  /** Does nothing: `page` reads table rows from their block. */
  hold(): void {}

  page({ rows, taken, kept, made }: Derived): RecordPage {
    const { bytes, bounds } = this.#isList ? quotedCells(rows) : rows;
    const { cuids } = made;
    const [from, to] = [bounds[0] ?? 0, bounds[2 * rows.count - 1] ?? 0];
    // Memory layout: delimiter, rows, cuids, offsets, output.
    const rowsAt = this.#delimiter.length;
    const cuidsAt = rowsAt + to - from;
    const cuidsEnd = cuidsAt + cuids.end - cuids.start;
    const places = (cuidsEnd + 3) & ~3;
    const start = places + 16 * kept.length;
    const added = cuidsEnd - cuidsAt + kept.length * (rowsAt + newlineLength);
    const memory = this.#memoryOf(start + to - from + added);
    bytes.copy(memory, rowsAt, from, to);
    cuids.bytes.copy(memory, cuidsAt, cuids.start, cuids.end);
    const numbers = new Int32Array(memory.buffer, places, 4 * kept.length);
    let at = 0;
    for (const index of kept) {
      const row = taken[index]!;
      const cuid = made.cuid(index);
      numbers[at++] = rowsAt + bounds[2 * row]! - from;
      numbers[at++] = rowsAt + bounds[2 * row + 1]! - from;
      numbers[at++] = cuidsAt + cuid.start - cuids.start;
      numbers[at++] = cuidsAt + cuid.end - cuids.start;
    }
    const end = this.#program.appendCuids(kept.length, places, 0, rowsAt, start);
    return { bytes: memory, bounds: Int32Array.of(start, end), count: kept.length };
  }

  #memoryOf(bytes: number): Buffer {
    const { memory } = this.#program;
    reserve(memory, bytes);
    const view = Buffer.from(memory.buffer);
    this.#delimiter.copy(view);
    return view;
  }
}

const newlineLength = 1;

/** Converts the values of a list to CSV cells. */
function quotedCells({ bytes, cells, count }: RowBlock): Pick<RowBlock, 'bytes' | 'bounds'> {
  const text = new TextSlice();
  const bounds = new Int32Array(2 * count);
  const values: Buffer[] = [];
  let end = 0;
  for (let row = 0; row < count; row += 1) {
    const from = cells!.bounds[2 * row]!;
    const value = text.ofCell(bytes, from, cells!.bounds[2 * row + 1]!).toString();
    const cell = Buffer.from(escapeCsvCell(value));
    values.push(cell);
    bounds[2 * row] = end;
    bounds[2 * row + 1] = end += cell.length;
  }
  return { bytes: Buffer.concat(values), bounds };
}

/** Quotes a header name if necessary. */
function quoted(name: string, { delimiter, quote, escape }: TableHeader['markers']): string {
  const mark = quote.toString();
  if (mark === '') return name;
  const needed = [delimiter.toString(), mark, '\n', '\r'].some((text) => name.includes(text));
  return needed ? `${mark}${name.replaceAll(mark, `${escape.toString()}${mark}`)}${mark}` : name;
}
