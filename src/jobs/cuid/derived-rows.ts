import { EngagectlError } from '../../errors.js';
import type { Inputs, TableHeader } from '../../input/open.js';
import type { RowBlock } from '../../input/rows.js';
import { CellText } from '../../mapping/cell-text.js';
import { JsonWriter } from '../../mapping/json-writer.js';
import type { NamedValues } from '../../mapping/named-values.js';
import type { Stretch } from './cuid-rules.js';
import type { Encoding, RecordPage } from '../../output/output.js';

/** Rows as they were read, each with a cuid more. */
export interface DerivedRows {
  /** Undefined: rows are JSON records, in one of the formats of exports. */
  readonly encoding: Encoding | undefined;
  /** Keeps of the row that is being read what `add` will need. */
  hold(): void;
  /** Adds a row with its cuid: the one of this number of those that were held since the last `take`. */
  add(rows: RowBlock, row: number, cuid: Stretch, index: number): void;
  /** What was added since the last call. */
  take(): RecordPage;
}

/** Throws E-USAGE for tables among other records, E-HEADER… for tables that are not of one kind. */
export function derivedRows(
  inputs: Inputs,
  count: number,
  values: NamedValues<string>,
): DerivedRows {
  const [first, ...others] = inputs.headers;
  if (!first) return new DerivedRecords(values);
  if (inputs.headers.reduce((sum, { inputs: those }) => sum + those, 0) < count) {
    throw new EngagectlError('E-USAGE', 'CSV and JSON inputs cannot go into one output', {
      fix: 'derive from them one by one',
    });
  }
  const unlike = others.find(
    ({ header, markers }) =>
      header.join('\n') !== first.header.join('\n') ||
      !markers.delimiter.equals(first.markers.delimiter),
  );
  if (unlike) {
    throw new EngagectlError(
      'E-HEADER',
      `${unlike.source}: its header is not that of ${first.source}`,
      {
        why: 'the rows of all inputs go into one output',
        fix: 'derive from them one by one',
        file: unlike.source,
        line: 1,
      },
    );
  }
  for (const { source, header } of inputs.headers) if (header.includes('cuid')) throw taken(source);
  return new DerivedTable(first);
}

const taken = (source: string): EngagectlError =>
  new EngagectlError('E-HEADER-DUPLICATE', `${source}: there is a column "cuid" already`, {
    why: 'that is the name of the column which is added',
    fix: 'rename it, or remove it',
    file: source,
    line: 1,
  });

const newline = 0x0a;

/** Lines of a CSV or TSV, byte for byte; a list becomes a CSV. */
class DerivedTable implements DerivedRows {
  readonly encoding: Encoding;
  readonly #out = new JsonWriter();
  readonly #delimiter: Buffer;
  readonly #isList: boolean;
  readonly #text = new CellText();
  #count = 0;

  constructor({ header, markers }: TableHeader) {
    this.#isList = markers.delimiter.length === 0;
    this.#delimiter = this.#isList ? Buffer.from(',') : markers.delimiter;
    const marks = { ...markers, delimiter: this.#delimiter };
    const names = [...header, 'cuid'].map((name) => quoted(name, marks));
    const head = Buffer.from(`${names.join(this.#delimiter.toString())}\n`);
    this.encoding = {
      page: ({ bytes, bounds }, isFirst) => {
        const lines = bytes.subarray(bounds[0], bounds[1]);
        return isFirst ? Buffer.concat([head, lines]) : lines;
      },
      end: (isEmpty) => (isEmpty ? head : Buffer.alloc(0)),
    };
  }

  /** A row of a table stays where it is. */
  hold(): void {}

  add(rows: RowBlock, row: number, { bytes, start, end }: Stretch): void {
    const out = this.#out;
    if (this.#isList) this.#addCell(rows, row);
    else out.raw(rows.bytes, rows.bounds[2 * row], rows.bounds[2 * row + 1]);
    out.raw(this.#delimiter);
    out.raw(bytes, start, end);
    out.byte(newline);
    this.#count += 1;
  }

  #addCell({ bytes, cells }: RowBlock, row: number): void {
    const { bounds } = cells!;
    const text = this.#text.ofCell(bytes, bounds[2 * row]!, bounds[2 * row + 1]!).toString();
    this.#out.raw(Buffer.from(/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text));
  }

  take(): RecordPage {
    const page = pageOf(this.#out, Int32Array.of(0, this.#out.length), this.#count);
    this.#count = 0;
    return page;
  }
}

/** A name as it can stand in the header of a table with these marks. */
function quoted(name: string, { delimiter, quote, escape }: TableHeader['markers']): string {
  const mark = quote.toString();
  if (mark === '') return name;
  const needed = [delimiter.toString(), mark, '\n', '\r'].some((text) => name.includes(text));
  return needed ? `${mark}${name.replaceAll(mark, `${escape.toString()}${mark}`)}${mark}` : name;
}

const closing = Buffer.from('}');
const comma = 0x2c;

/** JSON objects, byte for byte. */
class DerivedRecords implements DerivedRows {
  readonly encoding = undefined;
  readonly #values: NamedValues<string>;
  readonly #out = new JsonWriter();
  #held: (Stretch & { readonly isEmpty: boolean })[] = [];
  #bounds: number[] = [];

  constructor(values: NamedValues<string>) {
    this.#values = values;
  }

  hold(): void {
    const { bytes, start, end, count } = this.#values.json;
    this.#held.push({ bytes, start, end, isEmpty: count === 0 });
  }

  add(_rows: RowBlock, _row: number, cuid: Stretch, index: number): void {
    const { bytes, start, end, isEmpty } = this.#held[index]!;
    const out = this.#out;
    const from = out.length;
    out.raw(bytes, start, end - closing.length);
    out.ascii(isEmpty ? '"cuid":"' : ',"cuid":"');
    out.raw(cuid.bytes, cuid.start, cuid.end);
    out.ascii('"}');
    this.#bounds.push(from, out.length);
    out.byte(comma); // becomes the newline
  }

  take(): RecordPage {
    const page = pageOf(this.#out, Int32Array.from(this.#bounds), this.#bounds.length / 2);
    this.#held = [];
    this.#bounds = [];
    return page;
  }
}

/** Its bytes are written to again after it was written. */
function pageOf(out: JsonWriter, bounds: Int32Array, count: number): RecordPage {
  out.length = 0;
  return { bytes: out.bytes, bounds, count };
}
