import { EngagectlError } from '../errors.js';
import { columnError, type Column } from './columns.js';
import { setKey, nameError, notStringFailure } from './identity.js';
import { refuseOtherThanTexts, timeReader, writeTypedValue } from './cell-types.js';
import { quoteForShell } from '../wording.js';
import { jsonToken } from '../text/json-parser.js';
import { quoteValue, TextSlice } from '../text/text-slice.js';
import type { RecordBuilder } from './record-block.js';
import {
  isPhoneNumber,
  type CellType,
  type Expectations,
  type UploadMapping,
} from './upload-mapping.js';

/** Indexes of the cells that are parts of a record, or -1. */
export interface HeadCells {
  identity: number;
  objectId: number;
  ts: number;
  evtName: number;
}

/** A row of named cells: a CSV row, or a flat JSON object with its members as cells. */
export interface FlatRow {
  readonly parts: HeadCells;
  name(index: number): string;
  /** Whether the cell is an empty CSV cell, "" or null. */
  isEmpty(index: number): boolean;
  /** False for JSON numbers, literals, objects and arrays. */
  isString(index: number): boolean;
  /** Returns the content of a string, or the text of another value. */
  text(index: number): TextSlice;
  /** Rows of a CSV, also from a rejects file: returns why a text is a placeholder and not an identifier; see `placeholderReason`. */
  placeholderReason?(text: TextSlice): string | undefined;
  /** JSON rows only: returns a hint about a similar column that the row has instead, or ''. */
  similarColumnHint?(name: string): string;
  /** Writes the string as JSON; that of a JSON row as written. */
  writeString(index: number): void;
}

/**
 * Throws E-USAGE if --map renames the key: the column would be sent as the key all the same, and not under the other
 * name. Also if a key or the name of the event has a type that is not a text.
 */
export function refuseWrongKeys({ identity, objectId, map, types, kind }: UploadMapping): void {
  for (const [role, column] of Object.entries({ identity, objectId })) {
    const key = column === undefined ? undefined : map.get(column);
    if (key === undefined || key === role) continue;
    throw new EngagectlError(
      'E-USAGE',
      `column ${JSON.stringify(column)} cannot be sent as ${JSON.stringify(key)}`,
      {
        why: `it is sent as the ${role} of the user, and a column is sent once`,
        fix: 'omit it from --map, or add a copy of the column to the input',
      },
    );
  }
  const names = [...map].flatMap(([column, key]) => (key === 'evtName' ? column : []));
  const ofEvent = kind === 'event' ? ['evtName', ...names] : [];
  refuseOtherThanTexts(types, [identity, objectId ?? identity, ...ofEvent]);
}

const openIdentity = Buffer.from('"identity":');
const openObjectId = Buffer.from('"objectId":');
export const openProfileData = Buffer.from(',"type":"profile","profileData":{');
export const openEvent = Buffer.from(',"type":"event","evtName":');
const openTs = Buffer.from(',"ts":');
const openEvtData = Buffer.from(',"evtData":{');

/**
 * Writes the start of an upload record up to the members of its data (docs/service-api.md, Undocumented behavior);
 * returns an error if the row cannot be a record.
 */
export function writeRecordHead(
  row: FlatRow,
  records: RecordBuilder,
  options: UploadMapping,
): string | undefined {
  records.isEvent = options.kind === 'event';
  records.out.byte(jsonToken.openObject);
  return writeKeys(row, records, options) ?? writeType(row, records, options);
}

/** Writes identity and objectId. At least one is required; the identity determines the order of records. */
function writeKeys(row: FlatRow, records: RecordBuilder, options: UploadMapping) {
  const { identity, objectId } = options;
  const { out } = records;
  const { parts } = row;
  const hasIdentity = parts.identity >= 0 && !row.isEmpty(parts.identity);
  const hasObjectId = parts.objectId >= 0 && !row.isEmpty(parts.objectId);
  if (!hasIdentity && !hasObjectId) {
    const names = objectId === undefined ? `"${identity}"` : `"${identity}" and "${objectId}"`;
    return `column ${names}: the value is empty or missing${row.similarColumnHint?.(identity) ?? ''}`;
  }
  if (hasObjectId) {
    out.raw(openObjectId);
    const failure = writeKey(row, parts.objectId, { part: 'objectId', records, options });
    if (failure !== undefined) return failure;
    if (hasIdentity) out.byte(jsonToken.comma);
  }
  if (!hasIdentity) return undefined;
  out.raw(openIdentity);
  return writeKey(row, parts.identity, { part: 'identity', records, options });
}

/** Where a key is written, and which. */
interface KeyTarget {
  readonly part: 'identity' | 'objectId';
  readonly records: RecordBuilder;
  readonly options: UploadMapping;
}

function writeKey(row: FlatRow, index: number, target: KeyTarget): string | undefined {
  const { part, records, options } = target;
  const name = row.name(index);
  const type = options.types.get(name);
  const text = row.text(index);
  const isNumber = !row.isString(index) && /^[-\d]/.test(text.toString());
  const isPhone = isPhoneNumber(type);
  const isSpelled = isNumber && (type === 'string' || isPhone);
  if (!row.isString(index) && !isSpelled) {
    const advice = isNumber ? ` (--types ${quoteForShell(`${name}:string`)} accepts it)` : '';
    return columnError(name, `${notStringFailure(text)}${advice}`);
  }
  const failure = isPhone ? writePhoneKey(text, type, target) : setKey(part, text, records);
  if (failure !== undefined) return columnError(name, failure);
  if (isPhone) return undefined;
  const placeholder = row.placeholderReason?.(text);
  if (placeholder !== undefined) return columnError(name, `${quoteValue(text)} ${placeholder}`);
  if (isSpelled) records.out.string(text.toString());
  else row.writeString(index);
  return undefined;
}

const number = new TextSlice();

/** Writes a key that is a phone number. */
function writePhoneKey(
  text: TextSlice,
  type: CellType,
  { part, records, options }: KeyTarget,
): string | undefined {
  const { out } = records;
  const start = out.length + 1;
  return (
    writeTypedValue(text, type, records, options.zone) ??
    setKey(part, number.of(out.bytes, start, out.length - 1), records)
  );
}

/** Writes everything between the keys and the members of the data. */
function writeType(row: FlatRow, records: RecordBuilder, options: UploadMapping) {
  const { out } = records;
  if (options.kind === 'profile') {
    out.raw(openProfileData);
    return undefined;
  }
  out.raw(openEvent);
  const failure = writeEventName(row, records, options);
  if (failure !== undefined) return failure;
  out.raw(openTs);
  const tsFailure = writeTs(row, records, options);
  out.raw(openEvtData);
  return tsFailure;
}

function writeEventName(row: FlatRow, { out }: RecordBuilder, { eventName }: UploadMapping) {
  const index = row.parts.evtName;
  if (index >= 0 && !row.isEmpty(index)) {
    const failure = row.isString(index) ? nameError(row.text(index)) : 'the value is not a string';
    if (failure !== undefined) return columnError(row.name(index), failure);
    row.writeString(index);
  } else if (eventName === undefined) {
    return 'evtName is missing: set the name of the event with --event-name <name>';
  } else {
    out.string(eventName);
  }
  return undefined;
}

function writeTs(row: FlatRow, records: RecordBuilder, { tsNow, types, zone }: UploadMapping) {
  const { out } = records;
  const index = row.parts.ts;
  if (index < 0 || row.isEmpty(index)) {
    if (tsNow === undefined) return 'ts is missing: add it, or use --ts now';
    out.ascii(String(tsNow));
    records.hasUploadTime = true;
    return undefined;
  }
  const text = row.text(index);
  const instant = timeReader(types.get(row.name(index)))(text, zone);
  if (typeof instant === 'string')
    return columnError(row.name(index), `${quoteValue(text)} ${instant}`);
  if (instant < 0) return columnError(row.name(index), `${quoteValue(text)} is before 1970`);
  out.ascii(String(instant));
  return undefined;
}

/** Maximum number of values listed in a message. */
const maxListed = 8;

/** Returns all violations of the mapping file's expectations, or undefined. `columns` are those of the row's cells. */
export function checkExpectations(
  row: FlatRow,
  columns: readonly Column[],
  { required }: Expectations,
): string | undefined {
  const failures: string[] = [];
  for (const name of required) {
    const index = columns.findIndex((column) => column.name === name);
    const isMissing = index < 0 || row.isEmpty(index);
    if (isMissing) failures.push(columnError(name, 'a value is required'));
  }
  for (let index = 0; index < columns.length; index++) {
    const { name, isUnexpected, values } = columns[index]!;
    if (isUnexpected)
      failures.push(columnError(name, 'the mapping file does not list this column'));
    if (!values || row.isEmpty(index)) continue;
    const text = row.text(index);
    if (values.has(text.toString())) continue;
    failures.push(columnError(name, `${quoteValue(text)} is not one of ${quotedList(values)}`));
  }
  return failures.length > 0 ? failures.join('; ') : undefined;
}

function quotedList(values: ReadonlySet<string>): string {
  const listed = [...values].slice(0, maxListed).map((value) => JSON.stringify(value));
  const more = values.size - listed.length;
  return more > 0 ? `${listed.join(', ')} and ${more} more` : listed.join(', ');
}
