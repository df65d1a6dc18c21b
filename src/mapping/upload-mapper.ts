import {
  resolveColumn,
  columnError,
  columnsOfJson,
  columnsWithSameKey,
  NestedColumns,
  objectsAround,
  type ColumnRole,
  type Column,
} from './columns.js';
import {
  blockedAddresses,
  hasBlockedAddress,
  isExportedProfile,
  noteUnknownMember,
  otherKeyFailure,
  shapeMembers,
  unchangedFailure,
  writeExportedEvent,
  writeExportedProfile,
  writeTypedRecord,
  type ProfileLosses,
} from './api-records.js';
import {
  changedIdentity,
  cleanedValue,
  exportAsTable,
  exportedKind,
  ExportedRecords,
  guessedTypes,
  isEventRow,
  isMappedByUser,
  refuseRespelledKey,
  unsentColumns,
} from './exported-csv.js';
import { factsOfLine, isUnwrapped, readInputRecord, type RejectsReading } from './rejects-input.js';
import { JsonParser, jsonToken } from '../text/json-parser.js';
import {
  validationError,
  RecordBuilder,
  type RejectReason,
  type KeyLocation,
  type Mapper,
  type RecordBlock,
} from './record-block.js';
import { misspelledColumns } from './preview/field-spelling.js';
import { CsvUploadMapper } from './upload-csv.js';
import {
  checkExpectations,
  refuseWrongKeys,
  writeRecordHead,
  type FlatRow,
  type HeadCells,
} from './flat-row.js';
import { TextSlice, equalBytes } from '../text/text-slice.js';
import {
  constantMembers,
  emptyValue,
  typeOfValue,
  writeString,
  writeTypedValue,
} from './cell-types.js';
import { addressKeys, strayCharacterError } from './identity.js';
import {
  cleanText,
  lowercaseText,
  placeholderReason,
  type CellCleaning,
} from '../text/cell-cleaning.js';
import { quoteForShell } from '../wording.js';
import type { Cells, RowBlock } from '../input/row-block.js';
import { isPhoneNumber, type UploadMapping } from './upload-mapping.js';

export { type UploadMapping } from './upload-mapping.js';

/**
 * Maps rows to upload records (endpoint 1): profiles and events. Throws E-USAGE if --map renames the key, or --types
 * makes it something other than a text.
 */
export function uploadMapper(options: UploadMapping): Mapper {
  refuseWrongKeys(options);
  const json = new UploadJson(options);
  let opened: CsvUploadMapper | undefined;
  let isBlocked = false;
  const csv = (): CsvUploadMapper => (opened ??= new CsvUploadMapper(options));
  const isExported = isExportFor(options);
  return {
    keys: keysOf(options),
    isExport: isExported,
    isMistakable: (header) => isExported(header) || header.some((name) => shapeMembers.has(name)),
    check: (header, source) => {
      if (isExported(header)) refuseRespelledKey(header, source);
      else csv().useHeader(header, source);
    },
    notes: (header) =>
      isExported(header)
        ? [
            'recognized as a CSV export; lists, and numbers and booleans without quotes, are sent as such',
          ]
        : [],
    warnings: (header) => {
      if (isExported(header)) return unsentColumns(header, options);
      const columns = header.map((name) => resolveColumn(name, options));
      const misspelled = options.kind === 'event' ? [] : misspelledColumns(columns);
      return [...exportAsTable(header, columns), ...misspelled];
    },
    namedColumns: columnsOfJson(options),
    unseenColumns: () => json.unseenColumns(),
    listsFurtherIdentities: () => json.listsFurtherIdentities,
    losses: () => [...json.losses(), ...(isBlocked ? [blockedAddresses] : [])],
    map: (rows, picked) => {
      const block =
        rows.cells && !isExported(rows.cells.header)
          ? csv().build(rows, rows.cells, picked)
          : json.build(rows, picked);
      isBlocked ||= hasBlockedAddress(block);
      return block;
    },
  };
}

/** Returns whether a header is read as that of a CSV export. */
const isExportFor =
  (options: UploadMapping) =>
  (header: readonly string[]): boolean =>
    exportedKind(header, options) !== undefined;

/**
 * Returns the key location. With another identity column, the key of a JSON row depends on the row's shape; in lower
 * case or as a phone number, it depends on the record.
 */
function keysOf(options: UploadMapping): KeyLocation {
  const { identity, objectId = 'objectId', lowercase, types } = options;
  const isChanged = (column: string): boolean =>
    lowercase.has(column) || isPhoneNumber(types.get(column));
  if (isChanged(identity) || isChanged(objectId))
    return { cells: () => undefined, member: undefined };
  const placed = (header: readonly string[], role: ColumnRole): number =>
    header.findIndex((name) => resolveColumn(name, options).role === role);
  return {
    cells: (header) =>
      exportedKind(header, options)
        ? undefined // the objectId is in the cell platformInfo
        : { key: [placed(header, 'identity'), placed(header, 'objectId')] },
    member: placed(['identity'], 'identity') === 0 ? 'identity' : undefined,
  };
}

const noType = 'the record has event properties but no "type": add "type":"event" to it';
/** Maps JSON rows to upload records. For a line of a rejects file, maps the inner record. */
class UploadJson {
  readonly #json = new JsonParser();
  readonly #row: FlatJsonRow;
  /** The same for rows of a table, of which a rejects file names the columns. */
  readonly #tableRow: FlatJsonRow;
  readonly #records = new RecordBuilder();
  readonly #options: UploadMapping;
  /** Header of the CSV export being read. */
  #header: readonly string[] | undefined;
  #exported = new ExportedRecords([]);
  readonly #nested: NestedColumns;
  readonly #isExport: (header: readonly string[]) => boolean;
  readonly #reading: RejectsReading;
  readonly #lost: ProfileLosses = new Map();
  /** Whether rows of an export show no types. */
  #isGuessed = false;
  /** Whether options name columns or events, so that a foreign `type` is a column. */
  readonly #isMapped: boolean;
  /** Why records that are sent unchanged are rejected, if they are. */
  readonly #unchangedFailure: string | undefined;

  constructor(options: UploadMapping) {
    this.#options = options;
    this.#unchangedFailure = unchangedFailure(options);
    this.#nested = new NestedColumns(columnsOfJson(options), options);
    const { identity, objectId = identity, retryUnknown, again = false } = options;
    this.#isExport = isExportFor(options);
    const columns = [identity, objectId];
    this.#reading = { retryUnknown, again, columns, isExport: this.#isExport };
    this.#isMapped = options.kind === 'event' || isMappedByUser(options);
    this.#row = new FlatJsonRow(this.#json, this.#records, options, this.#nested.isUsed);
    this.#tableRow = new FlatJsonRow(this.#json, this.#records, options, false);
  }

  /** Returns named columns that no flat row has had so far. */
  unseenColumns(): readonly string[] {
    return this.#row.unseenColumns();
  }

  get listsFurtherIdentities(): boolean {
    return this.#lost.has('identities');
  }

  losses(): readonly string[] {
    return [...this.#lost.values(), ...(this.#isGuessed ? [guessedTypes] : [])];
  }

  build(rows: RowBlock, picked: Int32Array | undefined): RecordBlock {
    this.#row.cleaning = this.#tableRow.cleaning = rows.cleaning;
    return this.#records.build(rows, (row) => this.#write(rows, row), picked);
  }

  #write(rows: RowBlock, row: number): RejectReason | undefined {
    let line: ReturnType<typeof factsOfLine> | undefined;
    let from: RecordSource = 'export';
    if (rows.cells) this.#readExported(rows, rows.cells, row);
    else {
      const failure = readInputRecord(this.#json, rows, row, this.#reading);
      if (failure) return failure;
      if (isUnwrapped(this.#json, rows, row)) line = factsOfLine(rows, row);
      from = !line?.columns ? 'json' : this.#nestColumns() ? 'export' : 'row';
    }
    this.#row.hadPlaceholder = this.#tableRow.hadPlaceholder = line?.hadPlaceholder === true;
    const unread = from === 'export' ? this.#exported.failure : undefined;
    if (unread !== undefined) return validationError(unread);
    if (this.#json.kind !== jsonToken.openObject)
      return validationError('a record must be a JSON object');
    const error =
      (from === 'export' && changedIdentity(this.#json)) ||
      this.#writeRecord(from, line !== undefined);
    return error ? validationError(error) : undefined;
  }

  /** Reads a row of a CSV export as the record that was exported. */
  #readExported(rows: RowBlock, cells: Cells, row: number): void {
    if (cells.header !== this.#header) {
      this.#header = cells.header;
      this.#exported = new ExportedRecords(cells.header, () => (this.#isGuessed = true));
    }
    this.#read(this.#exported.ofCells(rows, cells, row));
  }

  /** Nests the columns of a row of a CSV export, which are the members of a flat object; returns whether it is one. */
  #nestColumns(): boolean {
    const json = this.#json;
    if (json.kind !== jsonToken.openObject) return false;
    const names = Array.from({ length: json.count }, (_, index) => json.nameAt(index));
    if (!this.#isExport(names)) return false;
    const values = names.map((_, index) => cleanedValue(json, index, this.#row.cleaning));
    this.#exported = new ExportedRecords(names);
    this.#header = undefined;
    this.#read(this.#exported.of((index) => values[index], this.#row.cleaning));
    return true;
  }

  #read(text: string): void {
    const bytes = Buffer.from(text);
    if (!this.#json.read(bytes, 0, bytes.length))
      this.#exported.failure ??= `JSON ${this.#json.failure}`;
  }

  /** Writes the record by its shape (contract §2, upload), which its members determine in this order. */
  #writeRecord(from: RecordSource, isReject: boolean): string | undefined {
    const [json, records] = [this.#json, this.#records];
    const type = json.find('type');
    const isOfEvent = isEventRow((name) => json.find(name) >= 0, this.#options);
    const isExported = !isOfEvent && isExportedProfile(json);
    const isEvent = json.find('event_props') >= 0;
    const isTyped = type >= 0 && !(this.#isMapped && isForeign(json, type));
    const exported = isEvent ? 'exported event' : isExported ? 'exported profile' : undefined;
    const shape = from === 'row' ? undefined : isTyped ? 'typed' : exported;
    if (this.#unchangedFailure && shape) return this.#unchangedFailure;
    const failure = shape && otherKeyFailure(json, this.#options, shape);
    if (failure) return failure;
    if (shape === 'typed') return writeTypedRecord(json, type, records);
    if (shape === 'exported event') return writeExportedEvent(json, records, this.#options);
    // a table is warned of by its header
    if (shape !== undefined && from === 'json') noteUnknownMember(json, this.#lost);
    if (shape !== undefined) return writeExportedProfile(json, records, this.#lost);
    if (from === 'row') return this.#tableRow.next() ?? this.#tableRow.write();
    if (this.#options.eventName !== undefined && this.#options.kind === 'profile')
      return '--event-name names events, and this record is a profile: add --type event';
    // The few records of a rejects file may lack columns of their input.
    if (!isReject) this.#row.searchesColumns = true;
    return this.#nested.flatten(json) ?? this.#row.next() ?? this.#row.write(); // like a CSV row
  }
}

/** Where a record comes from: JSON, or a row of a CSV that is an export or not, which may be in a rejects file. */
type RecordSource = 'json' | 'row' | 'export';

const typeText = new TextSlice();
const dataMembers = ['profileData', 'evtName', 'evtData'];

/** Whether a record with a `type` is not in the format of the service. */
function isForeign(json: JsonParser, type: number): boolean {
  const word = json.stringAt(type, typeText)?.toString();
  const isKnown = word === 'profile' || word === 'event';
  return !isKnown || dataMembers.every((name) => json.find(name) < 0);
}

/** Maximum number of cached columns, whose names may have 400 bytes on average. */
const maxColumns = 10_000;

/** The flat object that a JsonParser has parsed, as a row with its members as cells. */
class FlatJsonRow implements FlatRow {
  readonly parts: HeadCells = { identity: -1, objectId: -1, ts: -1, evtName: -1 };
  readonly #json: JsonParser;
  readonly #records: RecordBuilder;
  readonly #options: UploadMapping;
  readonly #text = new TextSlice();
  /** Cached columns by key as written, without quotes. */
  readonly #known = new Map<string, Column>();
  /** Columns and key spellings of the previous record's members, which most records repeat. */
  readonly #columns: Column[] = [];
  readonly #spellings: Buffer[] = [];
  /** Bytes of the names that were added to these caches. */
  #nameBytes = 0;
  readonly #constants: Buffer;
  readonly #hasOperator: boolean;
  /** Columns that options name, but that have not occurred yet. */
  readonly #unseen: Set<string>;
  /** Whether its members are named by paths. */
  readonly #hasPaths: boolean;
  /** Whether columns that have not occurred are missing. */
  searchesColumns = false;
  /** How strings are cleaned; undefined if they are not. */
  cleaning: CellCleaning | undefined;
  /** Whether the row is a line of a rejects file whose record was rejected for a placeholder in a CSV. */
  hadPlaceholder = false;

  constructor(json: JsonParser, records: RecordBuilder, options: UploadMapping, hasPaths: boolean) {
    this.#json = json;
    this.#records = records;
    this.#options = options;
    const constants = constantMembers(options);
    this.#constants = Buffer.from(constants.json);
    this.#hasOperator = !constants.idempotent;
    this.#unseen = new Set(columnsOfJson(options));
    this.#hasPaths = hasPaths;
  }

  unseenColumns(): readonly string[] {
    return this.searchesColumns ? [...this.#unseen] : [];
  }

  /** Moves to the object that `json` has parsed; returns why it is not a valid row, or undefined. */
  next(): string | undefined {
    const { parts } = this;
    parts.identity = parts.objectId = parts.ts = parts.evtName = -1;
    let spare = -1;
    if (this.#nameBytes > 400 * maxColumns) {
      this.#nameBytes = this.#columns.length = this.#spellings.length = 0;
      this.#known.clear();
    }
    for (let index = 0; index < this.#json.count; index++) {
      const { role, name } = this.#columnAt(index);
      if (role !== 'data' && role !== 'none') parts[role] = index;
      else if (role === 'data' && name === 'objectId') spare = index;
    }
    // If no option names a key, objectId is that of records without identity.
    const { identityGiven, objectId } = this.#options;
    if (!identityGiven && objectId === undefined && parts.identity < 0) parts.objectId = spare;
    return this.#sameKeyFailure();
  }

  /** Returns why two members have one key, which only --map, --set and paths can cause. */
  #sameKeyFailure(): string | undefined {
    const { map, constants } = this.#options;
    if (map.size === 0 && constants.size === 0 && !this.#hasPaths) return undefined;
    const columns = this.#columns.slice(0, this.#json.count);
    const [, second] = columnsWithSameKey(columns) ?? [];
    if (second)
      return columnError(
        second.name,
        `another column is also sent as ${JSON.stringify(second.key)}`,
      );
    const set = columns.find(({ role, key }) => role === 'data' && constants.has(key));
    return (
      set &&
      columnError(
        set.name,
        `--set also sets ${JSON.stringify(set.key)}; --drop it, or set another key`,
      )
    );
  }

  name(index: number): string {
    return this.#columns[index]!.name;
  }

  isEmpty(index: number): boolean {
    const isEmpty = this.#json.isEmptyAt(index);
    return (
      isEmpty || (this.cleaning !== undefined && this.isString(index) && this.text(index).isEmpty)
    );
  }

  isString(index: number): boolean {
    return this.#json.kindOf(index) === jsonToken.quote;
  }

  text(index: number): TextSlice {
    const json = this.#json;
    const string = json.stringAt(index, this.#text);
    if (string && this.cleaning) cleanText(string, this.cleaning);
    if (string && this.#columns[index]!.isLowercased) lowercaseText(string);
    return string ?? this.#text.ofCell(json.bytes, json.valueStart(index), json.valueEnd(index));
  }

  placeholderReason(text: TextSlice): string | undefined {
    return this.hadPlaceholder ? placeholderReason(text, this.cleaning) : undefined;
  }

  similarColumnHint(name: string): string {
    const columns = this.#columns.slice(0, this.#json.count);
    const other = columns.find((column) => column.name.toLowerCase() === name.toLowerCase());
    return other && other.name !== name
      ? `; the row has ${JSON.stringify(other.name)}: --identity ${quoteForShell(other.name)}`
      : '';
  }

  writeString(index: number): void {
    const isChanged = this.cleaning !== undefined || this.#columns[index]!.isLowercased;
    const text = isChanged ? this.text(index) : undefined;
    // UTF-8 has no half of a surrogate pair: such a text stays as it was escaped.
    if (text && !text.broken) writeString(text, this.#records);
    else this.#copy(index);
  }

  /** Writes the row as an upload record; returns an error if it cannot be one. */
  write(): string | undefined {
    const { out } = this.#records;
    const head = writeRecordHead(this, this.#records, this.#options);
    const members = this.#writeMembers();
    const { expected } = this.#options;
    const columns = this.#columns.slice(0, this.#json.count);
    const unexpected = expected && checkExpectations(this, columns, expected);
    out.byte(jsonToken.closeObject);
    out.byte(jsonToken.closeObject);
    const failures = [head, unexpected, members].filter((failure) => failure !== undefined);
    return failures.length > 0 ? failures.join('; ') : undefined;
  }

  #writeMembers(): string | undefined {
    const { out } = this.#records;
    const dataStart = out.length;
    const failures: string[] = [];
    out.raw(this.#constants);
    if (this.#json.hasOperator || this.#hasOperator) this.#records.idempotent = false;
    for (let index = 0; index < this.#json.count; index++) {
      const { role, name, type, prefix } = this.#columns[index]!;
      if (role !== 'data' || index === this.parts.objectId) continue;
      if (this.#isEventData(index)) {
        failures.push(columnError(name, noType));
        continue;
      }
      const isEmpty = this.isEmpty(index);
      const empty = isEmpty ? emptyValue(type, this.#options) : undefined;
      if (isEmpty && empty === undefined) continue;
      out.raw(prefix, out.length === dataStart ? 1 : 0);
      if (empty) out.raw(empty);
      else {
        const failure = this.#writeValue(index, type);
        if (failure !== undefined) failures.push(columnError(name, failure));
      }
    }
    return failures.length > 0 ? failures.join('; ') : undefined;
  }

  /** Whether the member is the properties of a record whose `type` is missing: event properties cannot be objects. */
  #isEventData(index: number): boolean {
    return (
      this.#options.kind === 'event' &&
      this.#columns[index]!.name === 'evtData' &&
      this.#json.kindOf(index) === jsonToken.openObject
    );
  }

  /** Writes a value: as written, unless its column has a type. */
  #writeValue(index: number, type: Column['type']): string | undefined {
    const kind = this.#json.kindOf(index);
    const isNested = kind === jsonToken.openObject || kind === jsonToken.openArray;
    const isAsDeclared =
      type === undefined ||
      (type === 'string' && kind === jsonToken.quote) ||
      (type === 'json' && isNested) ||
      (type.startsWith('list(') && kind === jsonToken.openArray);
    if (isAsDeclared && kind !== jsonToken.quote) return this.#copy(index);
    if (isAsDeclared) return this.#writeText(index);
    if (isNested) return `an object or array cannot be sent as ${type}`;
    return writeTypedValue(
      this.text(index),
      typeOfValue(type, kind),
      this.#records,
      this.#options.zone,
    );
  }

  #writeText(index: number): string | undefined {
    const isAddress = addressKeys.has(this.#columns[index]!.key);
    const failure = isAddress ? strayCharacterError(this.text(index)) : undefined;
    if (failure === undefined) this.writeString(index);
    return failure;
  }

  #copy(index: number): undefined {
    const json = this.#json;
    this.#records.out.raw(json.bytes, json.valueStart(index), json.valueEnd(index));
  }

  /** Notes that a column occurs, and with it the objects around it that --only and --drop name. */
  #noteSeen(name: string): void {
    this.#unseen.delete(name);
    if (!this.#hasPaths) return;
    const { only, drop } = this.#options;
    for (const object of objectsAround(name, this.#options))
      if (only?.has(object) || drop.has(object)) this.#unseen.delete(object);
  }

  /** Returns the column of the member. Most records have the same members as the previous one. */
  #columnAt(index: number): Column {
    const { bytes } = this.#json;
    const [start, end] = [this.#json.keyStart(index), this.#json.keyEnd(index)];
    const before = this.#spellings[index];
    if (before && equalBytes(bytes, start, end, before)) return this.#columns[index]!;
    const spelling = bytes.toString('utf8', start, end);
    let column = this.#known.get(spelling);
    if (column === undefined) {
      if (this.#known.size >= maxColumns) this.#known.clear();
      const name = JSON.parse(`"${spelling}"`) as string;
      column = resolveColumn(name, this.#options, this.#hasPaths);
      this.#noteSeen(name);
      this.#known.set(spelling, column);
    }
    this.#columns[index] = column;
    this.#spellings[index] = Buffer.from(spelling);
    this.#nameBytes += end - start;
    return column;
  }
}
