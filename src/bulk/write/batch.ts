import type { RowBlock } from '../../input/row-block.js';
import type { RecordBlock } from '../../mapping/record-block.js';

const comma = 0x2c;

/** What surrounds the records of a request body, e.g. `{"d":[` and `]}`. */
export interface BodyFrame {
  readonly open: Buffer;
  readonly close: Buffer;
}

/** What a request body is made of, and the most bytes of one that holds several records. */
interface BodyShape {
  readonly frame: BodyFrame;
  readonly bytes: number;
}

/** The key of a record that has no order; hashes of keys are never negative. */
export const noKey = -1;

/** One record on its way into a batch. */
export interface BatchRecord {
  /** Where it was read, for the account of how it ended. */
  readonly rows: RowBlock;
  readonly row: number;
  readonly key: number;
  readonly idempotent: boolean;
  /** Its JSON text is `json[start, end)`: only lent, and copied by whoever keeps it. */
  readonly json: Buffer;
  readonly start: number;
  readonly end: number;
}

/** Record `index` of a block. */
export const batchRecord = (block: RecordBlock, index: number): BatchRecord => ({
  rows: block.rows,
  row: block.row[index] ?? 0,
  key: block.keys[index] ?? 0,
  idempotent: block.idempotent[index] === 1,
  json: block.json,
  start: block.bounds[2 * index] ?? 0,
  end: block.bounds[2 * index + 1] ?? 0,
});

const largeBody = 1 << 21;
const noBody: Buffer = Buffer.alloc(0);

/**
 * The records of one request, and its body, which grows while the batch is filled. Its memory
 * is used again: per-record objects that live as long as a request would end as old garbage.
 */
export class Batch {
  readonly #frame: BodyFrame;
  readonly #most: number;
  /** Free body buffers, used as a stack: the last is likeliest in the processor's cache. */
  readonly #spare: Buffer[];
  /** Per record: the block it was read in, and its row there. */
  readonly #blocks: RowBlock[] = [];
  #rows = new Int32Array(16);
  /** Of the records in their order; longer than they are. */
  keys = new Int32Array(16);
  /** Per record: its start in the body, and whether it is idempotent. */
  #starts = new Int32Array(16);
  #idempotent = new Uint8Array(16);
  /** Its records are events: they share no request with others. */
  holdsEvents = false;
  #size = 0;
  #body: Buffer = noBody;
  #end = 0;

  constructor({ frame, bytes }: BodyShape, spare: Buffer[]) {
    this.#frame = frame;
    this.#most = bytes;
    this.#spare = spare;
    this.clear();
  }

  /** Makes the batch an empty one. */
  clear(): void {
    this.#size = 0;
    this.holdsEvents = false;
    this.#blocks.length = 0;
    if (this.#body === noBody) this.#body = this.#spare.pop() ?? Buffer.allocUnsafeSlow(4096);
    this.#end = this.#frame.open.copy(this.#body);
  }

  /** The records will not be looked at nor sent again, though their keys and sources may be asked for. */
  giveBody(): void {
    this.#spare.push(this.#body);
    this.#body = noBody;
  }

  get size(): number {
    return this.#size;
  }

  /** True when sending the whole batch twice ends in the same state. */
  get isIdempotent(): boolean {
    return !this.#idempotent.subarray(0, this.#size).includes(0);
  }

  /** Too much memory to keep many like it until the disk has their outcomes. */
  get isLarge(): boolean {
    return this.#end > largeBody;
  }

  /** Bytes of the body with `more` bytes of another record. */
  bytesWith(more: number): number {
    return this.#end + more + 1 + this.#frame.close.length;
  }

  add({ rows, row, key, idempotent, json, start, end }: BatchRecord): void {
    this.#appendText(1, { json, start, end });
    this.keys[this.#size] = key;
    this.#starts[this.#size] = this.#end - (end - start);
    this.#idempotent[this.#size] = idempotent ? 1 : 0;
    this.#rows[this.#size] = row;
    this.#blocks.push(rows);
    this.#size += 1;
  }

  /** Adds neighbours of a block, whose texts lie one byte apart: there a comma comes to stand. */
  addRun(block: RecordBlock, from: number, to: number, ordered: boolean): void {
    const { rows, row, json, bounds, keys, idempotent } = block;
    const start = bounds[2 * from] ?? 0;
    const end = bounds[2 * to - 1] ?? 0;
    this.#appendText(to - from, { json, start, end });
    const shift = this.#end - end;
    const first = this.#size;
    for (let index = from; index < to; index += 1) {
      const at = (bounds[2 * index] ?? 0) + shift;
      if (index > from) this.#body[at - 1] = comma;
      this.#starts[first + index - from] = at;
      this.#blocks.push(rows);
    }
    this.#rows.set(row.subarray(from, to), first);
    if (ordered) this.keys.set(keys.subarray(from, to), first);
    else this.keys.fill(noKey, first, first + to - from);
    this.#idempotent.set(idempotent.subarray(from, to), first);
    this.#size += to - from;
  }

  /** Copies the text of so many records behind the others. */
  #appendText(records: number, { json, start, end }: Pick<BatchRecord, 'json' | 'start' | 'end'>) {
    this.#reserve(records, end - start);
    if (this.#size > 0) {
      this.#body[this.#end] = comma;
      this.#end += 1;
    }
    this.#end += json.copy(this.#body, this.#end, start, end);
  }

  /** The request body, until the batch is cleared. */
  body(): Buffer {
    const { close } = this.#frame;
    close.copy(this.#body, this.#end);
    return this.#body.subarray(0, this.#end + close.length);
  }

  /** Where the text of each record begins and ends in the body. */
  bounds(): Int32Array {
    const bounds = new Int32Array(2 * this.#size);
    for (let position = 0; position < this.#size; position += 1) {
      bounds[2 * position] = this.#starts[position]!;
      bounds[2 * position + 1] = this.#endOf(position);
    }
    return bounds;
  }

  isIdempotentAt(position: number): boolean {
    return this.#idempotent[position] === 1;
  }

  /** Where the records were read, in their order: most follow each other, and are accounted for together. */
  *runs(): Generator<{ rows: RowBlock; row: number; count: number }> {
    for (let first = 0, end = 0; first < this.#size; first = end) {
      const [rows, row] = this.source(first);
      while (
        end < this.#size &&
        this.#blocks[end] === rows &&
        this.#rows[end] === row + end - first
      ) {
        end += 1;
      }
      yield { rows, row, count: end - first };
    }
  }

  /** Where the record was read. */
  source(position: number): [rows: RowBlock, row: number] {
    const rows = this.#blocks[position];
    if (!rows) throw new RangeError(`there is no record ${position}`);
    return [rows, this.#rows[position] ?? 0];
  }

  record(position: number): BatchRecord {
    const [rows, row] = this.source(position);
    return {
      rows,
      row,
      key: this.keys[position] ?? noKey,
      idempotent: this.isIdempotentAt(position),
      json: this.#body,
      start: this.#starts[position] ?? 0,
      end: this.#endOf(position),
    };
  }

  #endOf(position: number): number {
    return position === this.#size - 1 ? this.#end : (this.#starts[position + 1] ?? 0) - 1;
  }

  /** Another batch with the records at these positions. */
  pick(positions: readonly number[]): Batch {
    const picked = new Batch({ frame: this.#frame, bytes: this.#most }, this.#spare);
    picked.holdsEvents = this.holdsEvents;
    for (const position of positions) picked.add(this.record(position));
    return picked;
  }

  positions(): number[] {
    return Array.from({ length: this.#size }, (_, position) => position);
  }

  /** Makes room for more records of so many bytes together, commas included. */
  #reserve(records: number, bytes: number): void {
    const needed = this.bytesWith(bytes);
    if (needed > this.#body.length) {
      // What a large body outgrows would be much garbage: from a quarter on it takes all it may need.
      const usual = needed > this.#most / 4 ? this.#most : 2 * this.#body.length;
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, usual));
      this.#body.copy(larger, 0, 0, this.#end);
      this.#body = larger;
    }
    const room = this.keys.length;
    if (this.#size + records <= room) return;
    const larger = Math.max(this.#size + records, 2 * room);
    this.keys = grown(this.keys, new Int32Array(larger));
    this.#starts = grown(this.#starts, new Int32Array(larger));
    this.#rows = grown(this.#rows, new Int32Array(larger));
    this.#idempotent = grown(this.#idempotent, new Uint8Array(larger));
  }
}

function grown<T extends Int32Array | Uint8Array>(numbers: T, larger: T): T {
  larger.set(numbers);
  return larger;
}

/** Where its records were read, like `users.csv:2-1001 (1000 records)`: for a log. */
export function batchLocation(batch: Batch): string {
  const { size } = batch;
  const [source, from] = placeAt(batch, 0);
  const [lastSource, to] = placeAt(batch, size - 1);
  if (size === 1) return `${source}:${from}`;
  const end = source === lastSource ? String(to) : `${lastSource}:${to}`;
  return `${source}:${from}-${end} (${size} records)`;
}

function placeAt(batch: Batch, position: number): readonly [source: string, line: number] {
  const [rows, row] = batch.source(position);
  return [rows.source, rows.lines[row] ?? 0];
}
