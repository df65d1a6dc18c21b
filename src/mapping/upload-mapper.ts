import {
  resolveColumn,
  columnError,
  optionalColumns,
  columnsWithSameKey,
  type ColumnRole,
  type Column,
} from './columns.js';
import { writeExportedEvent, writeExportedProfile, writeTypedRecord } from './api-records.js';
import { readInputRecord } from './rejects-input.js';
import { JsonParser, jsonToken } from '../text/json-parser.js';
import {
  validationError,
  RecordBuilder,
  type RejectReason,
  type KeyPlaces,
  type Mapper,
  type RecordBlock,
} from './record-block.js';
import { misspelledColumns } from './preview/field-spelling.js';
import { CsvUploadMapper } from './upload-csv.js';
import { writeRecordHead, checkExpectations, type FlatRow, type HeadCells } from './flat-row.js';
import { TextSlice, equalBytes } from '../text/text-slice.js';
import { emptyValue, writeTypedValue } from './cell-types.js';
import { quoteForShell } from '../wording.js';
import type { RowBlock } from '../input/row-block.js';
import type { UploadMapping } from './upload-mapping.js';

export { type UploadMapping } from './upload-mapping.js';

/** Rows to upload records (endpoint 1): profiles and events. */
export function uploadMapper(options: UploadMapping): Mapper {
  const json = new UploadJson(options);
  let opened: CsvUploadMapper | undefined;
  const csv = (): CsvUploadMapper => (opened ??= new CsvUploadMapper(options));
  return {
    keys: keysOf(options),
    check: (header, source) => csv().useHeader(header, source),
    doubts: (header) =>
      options.kind === 'event'
        ? []
        : misspelledColumns(header.map((name) => resolveColumn(name, options))),
    unseen: () => json.unseen(),
    map: (rows, picked) =>
      rows.cells ? csv().build(rows, rows.cells, picked) : json.build(rows, picked),
  };
}

/** Whatever a JSON row may become: with another column for the key it depends on what the row is. */
function keysOf(options: UploadMapping): KeyPlaces {
  const placed = (header: readonly string[], wanted: ColumnRole): number =>
    header.findIndex((name) => resolveColumn(name, options).role === wanted);
  return {
    cells: (header) => ({ key: [placed(header, 'identity'), placed(header, 'objectId')] }),
    member: placed(['identity'], 'identity') === 0 ? 'identity' : undefined,
  };
}

/** Of records that have no columns. */
const shapeFault =
  'the mapping file expects columns, and this is a record of the service or of an export';
const noType = 'the record has event properties but no "type": add "type":"event" to it';
const profileMarks = ['profileData', 'events', 'platformInfo', 'all_identities'];
/** Members that a flat row has not. */
export const recordMembers: readonly string[] = ['type', 'event_props', ...profileMarks];

/** JSON rows to upload records. A line of a rejects file has the record within it looked at. */
class UploadJson {
  readonly #json = new JsonParser();
  readonly #row: FlatJsonRow;
  readonly #records = new RecordBuilder();
  readonly #options: UploadMapping;

  constructor(options: UploadMapping) {
    this.#options = options;
    this.#row = new FlatJsonRow(this.#json, this.#records, options);
  }

  /** Columns that only rows could have had. */
  unseen(): readonly string[] {
    return this.#row.unseen();
  }

  build(rows: RowBlock, picked: Int32Array | undefined): RecordBlock {
    return this.#records.build(rows, (row) => this.#write(rows, row), picked);
  }

  #write(rows: RowBlock, row: number): RejectReason | undefined {
    const fault = readInputRecord(this.#json, rows, row, this.#options.retryUnknown);
    if (fault) return fault;
    if (this.#json.kind !== jsonToken.openObject)
      return validationError('a record is a JSON object');
    const error = this.#writeRecord();
    return error === undefined ? undefined : validationError(error);
  }

  /** The shapes of a record (contract §2, upload), told apart by their members in this order. */
  #writeRecord(): string | undefined {
    const json = this.#json;
    const records = this.#records;
    const type = json.find('type');
    const isExported = profileMarks.some((mark) => json.find(mark) >= 0);
    const isEvent = json.find('event_props') >= 0;
    const isFlat = type < 0 && !isEvent && !isExported;
    if (this.#options.expected && !isFlat) return shapeFault;
    if (type >= 0) return writeTypedRecord(json, type, records);
    if (isEvent) return writeExportedEvent(json, records, this.#options);
    if (isExported) return writeExportedProfile(json, records);
    return this.#row.next() ?? this.#row.write(); // like a CSV row
  }
}

/** Names remembered with what the options say about them; beyond that they are forgotten. */
const mostColumns = 10_000;

/** The flat object that a JsonText has read, as a row whose cells are its members. */
class FlatJsonRow implements FlatRow {
  readonly parts: HeadCells = { identity: -1, objectId: -1, ts: -1, evtName: -1 };
  readonly #json: JsonParser;
  readonly #records: RecordBuilder;
  readonly #options: UploadMapping;
  readonly #text = new TextSlice();
  /** By key as written, without its quotes. */
  readonly #known = new Map<string, Column>();
  /** Of the member at each place, in the record before: mostly the same again. */
  readonly #columns: Column[] = [];
  readonly #spellings: Buffer[] = [];
  /** Columns that options name and that have not occurred; empty too where there was no row at all. */
  readonly #awaited: Set<string>;
  #hasRows = false;

  constructor(json: JsonParser, records: RecordBuilder, options: UploadMapping) {
    this.#json = json;
    this.#records = records;
    this.#options = options;
    this.#awaited = new Set(optionalColumns(options));
  }

  unseen(): readonly string[] {
    return this.#hasRows ? [...this.#awaited] : [];
  }

  /** Moves on to the object that `json` has read last; says why it is no row. */
  next(): string | undefined {
    const { parts } = this;
    parts.identity = parts.objectId = parts.ts = parts.evtName = -1;
    let spare = -1;
    this.#hasRows = true;
    for (let index = 0; index < this.#json.count; index++) {
      const { role, name } = this.#columnAt(index);
      if (role !== 'data' && role !== 'none') parts[role] = index;
      else if (role === 'data' && name === 'objectId') spare = index;
    }
    // without --object-id, a record is keyed by its objectId only where it has no identity
    if (this.#options.objectId === undefined && parts.identity < 0) parts.objectId = spare;
    if (this.#options.map.size === 0) return undefined; // only --map can give two members one key
    const [, second] = columnsWithSameKey(this.#columns.slice(0, this.#json.count)) ?? [];
    return second && columnError(second.name, `another column is sent as "${second.key}" too`);
  }

  name(index: number): string {
    return this.#columns[index]!.name;
  }

  isEmpty(index: number): boolean {
    return this.#json.isEmptyAt(index);
  }

  isString(index: number): boolean {
    return this.#json.kindOf(index) === jsonToken.quote;
  }

  text(index: number): TextSlice {
    const json = this.#json;
    const string = json.stringAt(index, this.#text);
    return string ?? this.#text.ofCell(json.bytes, json.valueStart(index), json.valueEnd(index));
  }

  instead(name: string): string {
    const columns = this.#columns.slice(0, this.#json.count);
    const other = columns.find((column) => column.name.toLowerCase() === name.toLowerCase());
    return other && other.name !== name
      ? `; the row has "${other.name}": --identity ${quoteForShell(other.name)}`
      : '';
  }

  writeString(index: number): void {
    this.#copy(index);
  }

  /** Writes it as an upload record, or says why it cannot be one. */
  write(): string | undefined {
    const { out } = this.#records;
    const head = writeRecordHead(this, this.#records, this.#options);
    const members = this.#writeMembers();
    const { expected } = this.#options;
    const columns = this.#columns.slice(0, this.#json.count);
    const unexpected = expected && checkExpectations(this, columns, expected);
    out.byte(jsonToken.closeObject);
    out.byte(jsonToken.closeObject);
    const faults = [head, unexpected, members].filter((fault) => fault !== undefined);
    return faults.length > 0 ? faults.join('; ') : undefined;
  }

  #writeMembers(): string | undefined {
    const { out } = this.#records;
    const dataStart = out.length;
    const faults: string[] = [];
    if (this.#json.hasOperator) this.#records.idempotent = false;
    for (let index = 0; index < this.#json.count; index++) {
      const { role, name, type, prefix } = this.#columns[index]!;
      if (role !== 'data' || index === this.parts.objectId) continue;
      if (this.#isEventData(index)) {
        faults.push(columnError(name, noType));
        continue;
      }
      const isEmpty = this.isEmpty(index);
      const empty = isEmpty ? emptyValue(type, this.#options) : undefined;
      if (isEmpty && empty === undefined) continue;
      out.raw(prefix, out.length === dataStart ? 1 : 0);
      if (empty) out.raw(empty);
      else {
        const fault = this.#writeValue(index, type);
        if (fault !== undefined) faults.push(columnError(name, fault));
      }
    }
    return faults.length > 0 ? faults.join('; ') : undefined;
  }

  /** The properties of a record whose `type` is missing: event properties cannot be objects. */
  #isEventData(index: number): boolean {
    return (
      this.#options.kind === 'event' &&
      this.#columns[index]!.name === 'evtData' &&
      this.#json.kindOf(index) === jsonToken.openObject
    );
  }

  /** As written, unless a type was declared for it. */
  #writeValue(index: number, type: Column['type']): string | undefined {
    const kind = this.#json.kindOf(index);
    const isNested = kind === jsonToken.openObject || kind === jsonToken.openArray;
    const isAsDeclared =
      type === undefined ||
      (type === 'string' && kind === jsonToken.quote) ||
      (type === 'json' && isNested);
    if (isAsDeclared) return this.#copy(index);
    if (isNested) return `an object or array is no ${type}`;
    return writeTypedValue(this.text(index), type, this.#records, this.#options.zone);
  }

  #copy(index: number): undefined {
    const json = this.#json;
    this.#records.out.raw(json.bytes, json.valueStart(index), json.valueEnd(index));
  }

  /** What the options say about the member; most records have the same members as the one before. */
  #columnAt(index: number): Column {
    const { bytes } = this.#json;
    const [start, end] = [this.#json.keyStart(index), this.#json.keyEnd(index)];
    const before = this.#spellings[index];
    if (before !== undefined && equalBytes(bytes, start, end, before)) {
      return this.#columns[index]!;
    }
    const spelling = bytes.toString('utf8', start, end);
    let column = this.#known.get(spelling);
    if (column === undefined) {
      if (this.#known.size >= mostColumns) this.#known.clear();
      column = resolveColumn(JSON.parse(`"${spelling}"`) as string, this.#options);
      this.#awaited.delete(column.name);
      this.#known.set(spelling, column);
    }
    this.#columns[index] = column;
    this.#spellings[index] = Buffer.from(spelling);
    return column;
  }
}
