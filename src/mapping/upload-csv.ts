import {
  allRows,
  validationError,
  RecordBuilder,
  type RecordBlock,
  type RejectedRow,
} from './record-block.js';
import {
  writeRecordHead,
  checkExpectations,
  openProfileData,
  type FlatRow,
  type HeadCells,
} from './flat-row.js';
import { lowercaseText, placeholderReason } from '../text/cell-cleaning.js';
import { TextSlice } from '../text/text-slice.js';
import {
  constantMembers,
  type ConstantMembers,
  emptyValue,
  typeWriter,
  writeString,
  writeWith,
  type Write,
} from './cell-types.js';
import { columnError, resolveColumns, type Column } from './columns.js';
import { limits } from '../contract/limits.js';
import { addressKeys, keySeeds, strayCharacterError } from './identity.js';
import { CsvProgram } from '../text/csv-scanner.js';
import { JsonWriter } from '../text/json-writer.js';
import type { Cells, RowBlock } from '../input/row-block.js';
import { isPhoneNumber, type UploadMapping } from './upload-mapping.js';

/** Maps CSV rows to upload records. As a FlatRow, it is the row being written. */
export class CsvUploadMapper implements FlatRow {
  readonly #options: UploadMapping;
  readonly #constants: ConstantMembers;
  readonly #writer = new CsvRecordWriter();
  readonly #records = new RecordBuilder(this.#writer.out);
  /** Scratch output for the remaining cells of rejected rows. */
  readonly #scratch = new RecordBuilder();
  readonly #text = new TextSlice();
  #header: readonly string[] | undefined;
  #columns: readonly Column[] = [];
  /** Writers of the types of columns, by column. */
  readonly #writers: (Write | undefined)[] = [];
  parts: HeadCells = { identity: -1, objectId: -1, ts: -1, evtName: -1 };
  /** Bytes and cell bounds of the block. */
  #bytes: Buffer = Buffer.alloc(0);
  #cleaning: RowBlock['cleaning'];
  #bounds: Int32Array = new Int32Array(0);
  #otherKeys = new Map<number, ReadonlySet<number>>();
  /** Index of the row's first cell in `#bounds`. */
  #first = 0;

  constructor(options: UploadMapping) {
    this.#options = options;
    this.#constants = constantMembers(options);
  }

  /** Resolves the columns of a header. Throws like `resolveColumns`. */
  useHeader(header: readonly string[], source: string): void {
    if (header === this.#header) return;
    const columns = resolveColumns(header, this.#options, source);
    const roles = columns.map(({ role }) => role);
    this.parts = {
      identity: roles.indexOf('identity'),
      objectId: roles.indexOf('objectId'),
      ts: roles.indexOf('ts'),
      evtName: roles.indexOf('evtName'),
    };
    this.#writer.setForm(recordTemplate(columns, this.#options, this.#constants.json));
    this.#columns = columns;
    this.#writers.length = 0;
    this.#header = header;
  }

  build(rows: RowBlock, cells: Cells, picked = allRows(rows)): RecordBlock {
    this.useHeader(cells.header, rows.source);
    this.#bytes = rows.bytes;
    this.#cleaning = rows.cleaning;
    this.#bounds = cells.bounds;
    const writer = this.#writer;
    const isEvent = this.#options.kind === 'event';
    const isIdempotent = !isEvent && this.#constants.idempotent ? 1 : 0;
    const idempotent = new Uint8Array(picked.length).fill(isIdempotent);
    let uploadTimes: Uint8Array | undefined;
    const rejects: RejectedRow[] = [];
    this.#otherKeys = new Map();
    writer.setBlock(rows, cells, picked);
    for (let place = writer.next(); place !== DONE; place = writer.next()) {
      const { row } = writer;
      this.#first = 2 * row * this.#columns.length;
      this.#records.idempotent = true;
      this.#records.hasUploadTime = false;
      const error = this.#write(place);
      if (!this.#records.idempotent) idempotent[writer.count] = 0;
      if (this.#records.hasUploadTime)
        (uploadTimes ??= new Uint8Array(picked.length))[writer.count] = 1;
      if (error === undefined) continue;
      rejects.push({ row, ...validationError(this.#allFailures(place, error)) });
      writer.skip();
      this.#otherKeys.delete(writer.count);
      // for the next row
      idempotent[writer.count] = isIdempotent;
      if (uploadTimes) uploadTimes[writer.count] = 0;
    }
    const { count } = writer;
    const kinds = new Uint8Array(count).fill(isEvent ? 1 : 0);
    const { bytes: json } = writer.out;
    const { parseErrors } = rows;
    const otherKeys = this.#otherKeys.size > 0 ? this.#otherKeys : undefined;
    const kept = { idempotent, kinds, uploadTimes, otherKeys, rejects, parseErrors };
    return { rows, count, ...writer.records, json, ...kept };
  }

  name(index: number): string {
    return this.#columns[index]!.name;
  }

  isEmpty(index: number): boolean {
    const at = this.#first + 2 * index;
    return this.#bounds[at] === this.#bounds[at + 1];
  }

  isString(): true {
    return true;
  }

  text(index: number): TextSlice {
    const at = this.#first + 2 * index;
    const text = this.#text.ofCell(this.#bytes, this.#bounds[at]!, this.#bounds[at + 1]!);
    return this.#columns[index]!.isLowercased ? lowercaseText(text) : text;
  }

  placeholderReason(text: TextSlice): string | undefined {
    return placeholderReason(text, this.#cleaning);
  }

  writeString(index: number): void {
    writeString(this.text(index), this.#records);
  }

  /** Returns `first` and the errors of all later cells of the row. */
  #allFailures(place: number, first: string): string {
    const failures = [first];
    for (let index = place === HEAD ? 0 : place + 1; index < this.#columns.length; index++) {
      const column = this.#columns[index]!;
      if (column.role !== 'data' || kindOf(column) === kinds.string || this.isEmpty(index))
        continue;
      const failure = this.#writeCell(index, column, this.#scratch);
      if (failure !== undefined) failures.push(columnError(column.name, failure));
      this.#scratch.out.length = 0;
    }
    return failures.join('; ');
  }

  /** Writes a cell that is neither plain text nor empty. */
  #writeCell(index: number, { type, key }: Column, records: RecordBuilder): string | undefined {
    const text = this.text(index);
    if (type !== undefined && type !== 'string') {
      const write = (this.#writers[index] ??= typeWriter(type));
      return writeWith(write, text, records, this.#options.zone);
    }
    const failure = addressKeys.has(key) ? strayCharacterError(text) : undefined;
    return failure ?? writeString(text, records);
  }

  /** Sets the keys of the record that is written next. */
  #setKeys({ key, otherKeys }: RecordBuilder): void {
    this.#writer.key = key;
    if (otherKeys) this.#otherKeys.set(this.#writer.count, otherKeys);
  }

  /** Writes the parts that need JavaScript: the head of a record, or a cell with a type. */
  #write(place: number): string | undefined {
    if (place === HEAD) {
      const { expected } = this.#options;
      const unexpected = expected && checkExpectations(this, this.#columns, expected);
      this.#records.clearKeys();
      const error = writeRecordHead(this, this.#records, this.#options);
      this.#setKeys(this.#records);
      return unexpected !== undefined && error !== undefined
        ? `${error}; ${unexpected}`
        : (error ?? unexpected);
    }
    const column = this.#columns[place]!;
    const failure = this.#writeCell(place, column, this.#records);
    return failure === undefined ? undefined : columnError(column.name, failure);
  }
}

/** Template of the records of a CSV, in the binary form that `wasm/csv-record-writer.ts` reads. */
interface RecordTemplate {
  /** 32-bit numbers, followed by the texts to whose positions and lengths they refer. */
  readonly bytes: Buffer;
  readonly members: number;
}

const numberBytes = Int32Array.BYTES_PER_ELEMENT;
const headNumbers = 7;
const memberNumbers = 6;
const opening = Buffer.from('{"identity":');

/** Returns the template of records with these columns. */
export function recordTemplate(
  columns: readonly Column[],
  options: UploadMapping,
  constants: string,
): RecordTemplate {
  const data = [...columns.entries()].filter(([, { role }]) => role === 'data');
  const texts: Buffer[] = [];
  const members = data.length + (constants === '' ? 0 : 1);
  let at = numberBytes * (headNumbers + memberNumbers * members);
  const placed = (text: Buffer | undefined): [place: number, length: number] => {
    if (!text) return [at, 0];
    texts.push(text);
    at += text.length;
    return [at - text.length, text.length];
  };
  const numbers = Int32Array.of(
    keyColumn(columns, options),
    limits.identityLength, // the limit counts characters, so a key of so many bytes is never too long
    keySeeds.identity,
    ...[opening, openProfileData].flatMap(placed),
    ...(constants === ''
      ? []
      : [0, kinds.constant, ...[Buffer.from(`,${constants}`), undefined].flatMap(placed)]),
    ...data.flatMap(([index, column]) => [
      index,
      kindOf(column),
      ...[column.prefix, emptyValue(column.type, options)].flatMap(placed),
    ]),
  );
  return { bytes: Buffer.concat([Buffer.from(numbers.buffer), ...texts]), members };
}

/** Returns the key column if the head of a record consists of it alone and needs no other check; otherwise -1. */
function keyColumn(columns: readonly Column[], { kind, expected, types }: UploadMapping): number {
  const isKeyedTwice = columns.some(({ role }) => role === 'objectId');
  if (kind === 'event' || isKeyedTwice || expected) return -1;
  const isAsRead = ({ name, isLowercased }: Column): boolean =>
    !isLowercased && !isPhoneNumber(types.get(name));
  return columns.findIndex((column) => column.role === 'identity' && isAsRead(column));
}

/**
 * Kinds of members: `address` is a string that this module checks unless it is surely valid, `typed` is written here,
 * and `constant` has its value in its prefix.
 */
const kinds = { string: 0, boolean: 1, typed: 2, address: 3, constant: 4 } as const;

function kindOf({ type, key, isLowercased }: Column): number {
  if (isLowercased) return kinds.typed;
  if (type === undefined || type === 'string')
    return addressKeys.has(key) ? kinds.address : kinds.string;
  return type === 'boolean' ? kinds.boolean : kinds.typed;
}

/** Returned by `next` instead of a column. */
const DONE = -1;
const FULL = -2;
const HEAD = -3;

/** Bytes after the members. */
const closing = 3;
/** Maximum escaped length of one byte: \\u0000. */
const longestEscape = 6;

/**
 * Writes the rows of one block after the other to `out` as records, except for the parts that the caller must
 * write. The work is done by `wasm/csv-record-writer.ts`, in the memory in which the block was scanned and which
 * mostly still contains its text and cells.
 */
class CsvRecordWriter {
  readonly out = new JsonWriter((length) => this.#outOf(length));
  #program = new CsvProgram();
  #form: RecordTemplate = { bytes: Buffer.alloc(0), members: 0 };
  /** Start of the output in the memory. */
  #outAt = 0;
  /** Maximum output per row: without its cells, and with them. */
  #formBytes = 0;
  #rowBytes = 0;

  /** Sets the template for the following blocks. */
  setForm(form: RecordTemplate): void {
    this.#form = form;
    this.#formBytes = form.bytes.length + 2 * (form.members + 1) + closing;
  }

  /** Starts a block with these rows; overwrites the previous output. */
  setBlock({ bytes }: RowBlock, { header, program, bounds }: Cells, rows: Int32Array): void {
    if (program) this.#program = program;
    const { code } = this.#program;
    this.#program.hold(bytes, bounds);
    const formAt = code.text.value + roundUp(bytes.length + 1, numberBytes);
    this.#outAt = formAt + this.#form.bytes.length;
    this.#rowBytes = longestEscape * bytes.length + this.#formBytes;
    this.out.length = 0;
    this.out.bytes = this.#outOf(this.#rowBytes);
    this.#form.bytes.copy(this.#program.bytes(formAt, this.#form.bytes.length));
    this.#program.numbers(code.rows.value, rows.length).set(rows);
    code.beginRecords(formAt, this.#outAt, rows.length, header.length, this.#form.members);
  }

  /**
   * Continues after the caller's output until the caller must write again: returns HEAD for
   * everything before the members, the column of a cell for its value, or DONE at the end.
   */
  next(): number {
    const { out } = this;
    const { code } = this.#program;
    for (;;) {
      out.reserve(this.#rowBytes);
      const last = this.#outAt + out.bytes.length - this.#rowBytes;
      const stop = code.writeRows(this.#outAt + out.length, last);
      this.#goTo(code.currentEnd());
      if (stop !== FULL) return stop;
    }
  }

  /** Discards the row. */
  skip(): void {
    const { code } = this.#program;
    code.skipRow();
    this.#goTo(code.writtenStart.value);
  }

  /** Index of the row being written. */
  get row(): number {
    return this.#program.code.currentRow();
  }

  /** Sets the key of the record whose head the caller wrote. */
  set key(key: number) {
    this.#program.code.writtenKey.value = key;
  }

  /** Number of records written. */
  get count(): number {
    return this.#program.code.writtenCount.value;
  }

  /** Row, bounds in `out`, and key of the records written. */
  get records(): Pick<RecordBlock, 'row' | 'bounds' | 'keys'> {
    const { code } = this.#program;
    const { count } = this;
    return {
      row: this.#program.numbers(code.rows.value, count).slice(),
      bounds: this.#program.numbers(code.writtenBounds.value, 2 * count).slice(),
      keys: this.#program.numbers(code.keys.value, count).slice(),
    };
  }

  #goTo(place: number): void {
    this.out.length = (place >>> 0) - this.#outAt;
  }

  /** Returns the output, which is at the end of the memory. */
  #outOf(length: number): Buffer {
    this.#program.reserve(this.#outAt + length);
    return this.#program.restFrom(this.#outAt);
  }
}

const roundUp = (length: number, unit: number): number => Math.ceil(length / unit) * unit;
