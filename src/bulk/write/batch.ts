import type { RowBlock } from '../../input/row-block.js';
import type { OtherKeys, RecordBlock } from '../../mapping/record-block.js';

const comma = 0x2c;

/** Text around the records of a request body, e.g. `{"d":[` and `]}`. */
export interface BodyFrame {
  readonly open: Buffer;
  readonly close: Buffer;
}

/** Frame of a request body, and the maximum bytes of a body with several records. */
interface BodyShape {
  readonly frame: BodyFrame;
  readonly bytes: number;
}

/** Key of a record without an order. Key hashes are never negative. */
export const noKey = -1;

/** One record on its way into a batch. */
export interface BatchRecord {
  /** Block and row it was read from, for its outcome. */
  readonly rows: RowBlock;
  readonly row: number;
  readonly key: number;
  /** Its other keys, if it has several; see RecordBlock. */
  readonly otherKeys?: ReadonlySet<number> | undefined;
  readonly idempotent: boolean;
  /** JSON text at `json[start, end)`. The buffer is reused, so copy what must be kept. */
  readonly json: Buffer;
  readonly start: number;
  readonly end: number;
  /** Low and high half of an event's fingerprint, if events are remembered. */
  readonly fingerprint?: readonly [low: number, high: number];
}

/** Returns record `index` of a block. */
export const batchRecord = (block: RecordBlock, index: number): BatchRecord => ({
  rows: block.rows,
  row: block.row[index] ?? 0,
  key: block.keys[index] ?? 0,
  otherKeys: block.otherKeys?.get(index),
  idempotent: block.idempotent[index] === 1,
  json: block.json,
  start: block.bounds[2 * index] ?? 0,
  end: block.bounds[2 * index + 1] ?? 0,
});

const largeBytes = 1 << 21;
/** Maximum bytes of the rows of a batch with several blocks. */
const rowBytesMaximum = 1 << 22;
const noBody: Buffer = Buffer.alloc(0);

/**
 * The records of one request, and its body, which grows while the batch is filled. The memory is
 * reused, because objects per record would live as long as a request and end in the old generation.
 */
export class Batch {
  readonly #frame: BodyFrame;
  readonly #maximumBytes: number;
  /** Free body buffers, used as a stack: the last one is most likely in the CPU cache. */
  readonly #spare: Buffer[];
  /** Block and row of each record. */
  readonly #blocks: RowBlock[] = [];
  #rows = new Int32Array(16);
  /** Key of each record; the array has spare room at the end. */
  keys = new Int32Array(16);
  readonly #otherKeys = new Map<number, ReadonlySet<number>>();
  /** Start in the body and idempotence of each record. */
  #starts = new Int32Array(16);
  #idempotent = new Uint8Array(16);
  /** Fingerprints of events, if they are remembered; 2 numbers for each record. */
  #fingerprints = new Int32Array(0);
  /** Whether the records are events, which share no request with others. */
  holdsEvents = false;
  /** Whether the intent to send its events is in the event memory. */
  isRemembered = false;
  #size = 0;
  #body: Buffer = noBody;
  #end = 0;
  /** Bytes of the rows, which stay in memory until their outcomes: their text, and the bounds of their cells. */
  #rowBytes = 0;

  constructor({ frame, bytes }: BodyShape, spare: Buffer[]) {
    this.#frame = frame;
    this.#maximumBytes = bytes;
    this.#spare = spare;
    this.clear();
  }

  /** Empties the batch. */
  clear(): void {
    this.#size = 0;
    this.#rowBytes = 0;
    this.holdsEvents = false;
    this.isRemembered = false;
    this.#blocks.length = 0;
    this.#otherKeys.clear();
    if (this.#body === noBody) this.#body = this.#spare.pop() ?? Buffer.allocUnsafeSlow(4096);
    this.#end = this.#frame.open.copy(this.#body);
  }

  /** Releases the body. Keys and sources of the records stay available. */
  releaseBody(): void {
    this.#spare.push(this.#body);
    this.#body = noBody;
  }

  get size(): number {
    return this.#size;
  }

  /** Other keys of records that have several. */
  get otherKeys(): OtherKeys {
    return this.#otherKeys;
  }

  /** Whether sending the batch twice has the same effect as sending it once. */
  get isIdempotent(): boolean {
    return !this.#idempotent.subarray(0, this.#size).includes(0);
  }

  /** Bytes in memory until the records have their outcomes: the body, and the rows it was made of. */
  get memoryBytes(): number {
    return this.#end + this.#rowBytes;
  }

  /** Whether it takes too much memory to keep many like it until their outcomes are on disk. */
  get isLarge(): boolean {
    return this.memoryBytes > largeBytes;
  }

  /** Whether its rows take so much memory that no more should be added: those of a wide table take more than its body. */
  get hasManyRowBytes(): boolean {
    return this.#rowBytes > rowBytesMaximum;
  }

  /** Returns the body's size if a record of `more` bytes is added. */
  bytesWith(more: number): number {
    return this.#end + more + 1 + this.#frame.close.length;
  }

  add(record: BatchRecord): void {
    const { rows, row, key, otherKeys, idempotent, json, start, end, fingerprint } = record;
    this.#appendText(1, { json, start, end });
    if (fingerprint) this.#setFingerprints(fingerprint);
    this.keys[this.#size] = key;
    if (otherKeys) this.#otherKeys.set(this.#size, otherKeys);
    this.#starts[this.#size] = this.#end - (end - start);
    this.#idempotent[this.#size] = idempotent ? 1 : 0;
    this.#rows[this.#size] = row;
    this.#blocks.push(rows);
    this.#rowBytes += bytesOfRows(rows, row, row);
    this.#size += 1;
  }

  /** Adds neighbors of a block. Their texts are one byte apart, which becomes the comma. */
  addRun(block: RecordBlock, from: number, to: number, ordered: boolean): void {
    const { rows, row, json, bounds, keys, idempotent, fingerprints } = block;
    const start = bounds[2 * from] ?? 0;
    const end = bounds[2 * to - 1] ?? 0;
    this.#appendText(to - from, { json, start, end });
    if (fingerprints) this.#setFingerprints(fingerprints.subarray(2 * from, 2 * to));
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
    if (block.otherKeys) this.#addOtherKeys(block.otherKeys, from, to);
    this.#idempotent.set(idempotent.subarray(from, to), first);
    this.#rowBytes += bytesOfRows(rows, row[from] ?? 0, row[to - 1] ?? 0);
    this.#size += to - from;
  }

  /** Adds the other keys of neighbors, which become the next records. */
  #addOtherKeys(all: OtherKeys, from: number, to: number): void {
    for (let index = from; index < to; index += 1) {
      const keys = all.get(index);
      if (keys) this.#otherKeys.set(this.#size + index - from, keys);
    }
  }

  /** Appends the text of `records` records. */
  #appendText(records: number, { json, start, end }: Pick<BatchRecord, 'json' | 'start' | 'end'>) {
    this.#reserve(records, end - start);
    if (this.#size > 0) {
      this.#body[this.#end] = comma;
      this.#end += 1;
    }
    this.#end += json.copy(this.#body, this.#end, start, end);
  }

  /** Returns the request body; valid until the batch is cleared. */
  body(): Buffer {
    const { close } = this.#frame;
    close.copy(this.#body, this.#end);
    return this.#body.subarray(0, this.#end + close.length);
  }

  /** Returns start and end of each record's text in the body. */
  bounds(): Int32Array {
    const bounds = new Int32Array(2 * this.#size);
    for (let position = 0; position < this.#size; position += 1) {
      bounds[2 * position] = this.#starts[position]!;
      bounds[2 * position + 1] = this.#endOf(position);
    }
    return bounds;
  }

  /** Returns the fingerprints of these events (default: all), which are remembered. */
  fingerprints(positions?: readonly number[]): Int32Array {
    const all = this.#fingerprints.subarray(0, 2 * this.#size);
    if (!positions) return all;
    return Int32Array.from(positions.flatMap((at) => [all[2 * at]!, all[2 * at + 1]!]));
  }

  isIdempotentAt(position: number): boolean {
    return this.#idempotent[position] === 1;
  }

  /** Yields the sources of the records as runs of neighboring rows. */
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

  /** Returns the block and row of a record. */
  source(position: number): [rows: RowBlock, row: number] {
    const rows = this.#blocks[position];
    if (!rows) throw new RangeError(`record ${position} does not exist`);
    return [rows, this.#rows[position] ?? 0];
  }

  record(position: number): BatchRecord {
    const [rows, row] = this.source(position);
    return {
      rows,
      row,
      key: this.keys[position] ?? noKey,
      otherKeys: this.#otherKeys.get(position),
      idempotent: this.isIdempotentAt(position),
      json: this.#body,
      start: this.#starts[position] ?? 0,
      end: this.#endOf(position),
      ...(this.#fingerprints.length > 0 && {
        fingerprint: [
          this.#fingerprints[2 * position] ?? 0,
          this.#fingerprints[2 * position + 1] ?? 0,
        ],
      }),
    };
  }

  /** Sets the fingerprints of the records from here on. */
  #setFingerprints(fingerprints: ArrayLike<number>): void {
    const from = 2 * this.#size;
    const needed = from + fingerprints.length;
    if (needed > this.#fingerprints.length) {
      this.#fingerprints = grown(this.#fingerprints, new Int32Array(2 * needed));
    }
    this.#fingerprints.set(fingerprints, from);
  }

  #endOf(position: number): number {
    return position === this.#size - 1 ? this.#end : (this.#starts[position + 1] ?? 0) - 1;
  }

  /** Copies the records at these positions to another batch. */
  pick(positions: readonly number[]): Batch {
    const picked = new Batch({ frame: this.#frame, bytes: this.#maximumBytes }, this.#spare);
    picked.holdsEvents = this.holdsEvents;
    picked.isRemembered = this.isRemembered;
    for (const position of positions) picked.add(this.record(position));
    return picked;
  }

  positions(): number[] {
    return Array.from({ length: this.#size }, (_, position) => position);
  }

  /** Reserves memory for more records with `bytes` bytes in total, commas included. */
  #reserve(records: number, bytes: number): void {
    const needed = this.bytesWith(bytes);
    if (needed > this.#body.length) {
      // Doubling a large body leaves much garbage, so from a quarter on it gets the maximum.
      const preferred =
        needed > this.#maximumBytes / 4 ? this.#maximumBytes : 2 * this.#body.length;
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, preferred));
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

/** Returns the bytes of rows `first` to `last`: their text, and the bounds of their cells. */
function bytesOfRows({ bounds, cells }: RowBlock, first: number, last: number): number {
  const text = (bounds[2 * last + 1] ?? 0) - (bounds[2 * first] ?? 0);
  if (!cells) return text;
  const perRow = 2 * Int32Array.BYTES_PER_ELEMENT * cells.header.length;
  return text + (last - first + 1) * perRow * (cells.uncleaned ? 2 : 1);
}

/** Copies the numbers to a larger array. */
function grown<T extends Int32Array | Uint8Array>(numbers: T, larger: T): T {
  larger.set(numbers);
  return larger;
}

/** Formats the lines of the records for a log, e.g. `users.csv:2-1001 (1000 records)`. */
export function batchLocation(batch: Batch): string {
  const { size } = batch;
  const [source, from] = locationAt(batch, 0);
  const [lastSource, to] = locationAt(batch, size - 1);
  if (size === 1) return `${source}:${from}`;
  const end = source === lastSource ? String(to) : `${lastSource}:${to}`;
  return `${source}:${from}-${end} (${size} records)`;
}

function locationAt(batch: Batch, position: number): readonly [source: string, line: number] {
  const [rows, row] = batch.source(position);
  return [rows.source, rows.lines[row] ?? 0];
}
