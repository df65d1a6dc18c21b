import { namesOfPath } from '../contract/file-formats.js';
import { columnError } from './columns.js';
import { openEvent, openProfileData } from './flat-row.js';
import { quoteValue, TextSlice } from '../text/text-slice.js';
import { setKey, nameError, notStringFailure } from './identity.js';
import { parseExportedTimestamp, epochDigits } from './timestamps.js';
import { JsonParser, jsonToken } from '../text/json-parser.js';
import {
  isMap,
  parseLossless,
  stringifyLossless,
  type LosslessJson,
} from '../text/lossless-json.js';
import { keyParts, type KeyPart } from '../text/record-hash.js';
import type { TimeZone } from '../time-zone.js';
import type { RecordBlock, RecordBuilder } from './record-block.js';
import { isPhoneNumber, type UploadMapping } from './upload-mapping.js';

/** Members of an exported profile beside profileData, and the profile fields they are uploaded as. */
const profileFields = (
  [
    ['email', 'Email'],
    ['name', 'Name'],
    ['phone', 'Phone'],
  ] as const
).map(([from, to]) => ({ from, to, prefix: Buffer.from(`,"${to}":`) }));

const openKey = { identity: Buffer.from('{"identity":'), objectId: Buffer.from('{"objectId":') };
/** Parser of an object inside the record. */
const inner = new JsonParser();
const text = new TextSlice();

/** Members by which a JSON record has another shape than a row of columns. */
export const shapeMembers = new Set(['type', 'profileData', 'event_props']);

/** Members of an exported profile beside profileData, and the kind of their values: flat rows may use these names. */
const marksOfExports = [
  ['events', jsonToken.openObject],
  ['platformInfo', jsonToken.openArray],
  ['all_identities', jsonToken.openArray],
] as const;

/** Whether the record is an exported profile. A number named `events` does not make it one. */
export const isExportedProfile = (json: JsonParser): boolean =>
  json.find('profileData') >= 0 ||
  marksOfExports.some(([name, kind]) => {
    const index = json.find(name);
    return index >= 0 && json.kindOf(index) === kind;
  });

/** Whether an object is a record of the service or of an export, and not one of another program with a `type` of its own. */
export function isRecord(row: object): boolean {
  const members = row as Readonly<Record<string, unknown>>;
  return (
    ['event_props', 'profileData'].some((name) => Object.hasOwn(row, name)) ||
    marksOfExports.some(([name, kind]) => kindOf(members[name]) === kind) ||
    members['type'] === 'profile' ||
    members['type'] === 'event'
  );
}

function kindOf(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return Array.isArray(value) ? jsonToken.openArray : jsonToken.openObject;
}

/** Warnings about parts of exported profiles that an upload does not send, by kind. */
export type ProfileLosses = Map<'identities' | 'members', string>;

/**
 * Writes a profile that endpoint 4 or 5 exported as an upload record; returns an error if it cannot. Adds what is lost
 * to `lost`.
 */
export function writeExportedProfile(
  json: JsonParser,
  records: RecordBuilder,
  lost: ProfileLosses,
): string | undefined {
  if (!lost.has('identities') && hasFurtherIdentities(json)) lost.set('identities', identities);
  const { out } = records;
  records.idempotent = !json.hasOperator;
  const failure = writeProfileKey(json, records);
  if (failure !== undefined) return failure;
  out.raw(openProfileData);
  const dataStart = out.length;
  const data = json.find('profileData');
  const hasData = data >= 0 && json.kindOf(data) !== jsonToken.n;
  if (hasData) {
    if (!readObject(json, data)) return 'profileData is not an object';
    if (inner.count > 0) out.raw(json.bytes, inner.start + 1, inner.end - 1);
  }
  for (const { from, to, prefix } of profileFields) {
    const index = json.find(from);
    if (index < 0 || json.isEmptyAt(index) || (hasData && inner.find(to) >= 0)) continue;
    out.raw(prefix, out.length === dataStart ? 1 : 0);
    copyValue(json, index, records);
  }
  out.byte(jsonToken.closeObject);
  out.byte(jsonToken.closeObject);
  return undefined;
}

const identities = 'some users have further identities in all_identities, which are not sent';
/** Warning about flags that the service takes without effect. */
export const blockedAddresses =
  'some users have blocked addresses (MSG-dnd… is true), and an upload does not block them: unsubscribe these addresses with "subscribe"';

/** Members of an exported profile (specification, User profile object), and those that commands of this tool add. */
const exportedMembers = [
  'identity',
  'profileData',
  'email',
  'name',
  'all_identities',
  'events',
  'platformInfo',
  'phone',
  'objectId',
  'reachability',
];

/** Notes a member that exported profiles do not have, and that is dropped. */
export function noteUnknownMember(json: JsonParser, lost: ProfileLosses): void {
  if (lost.has('members')) return;
  let others = json.count;
  for (const name of exportedMembers) {
    if (json.find(name) >= 0) others -= 1;
    if (others === 0) return;
  }
  const names = Array.from({ length: json.count }, (_, index) => json.nameAt(index));
  const other = names.find((name) => !exportedMembers.includes(name));
  if (other === undefined) return;
  lost.set(
    'members',
    `some exported profiles have a member ${JSON.stringify(other)} beside profileData, which is not sent: move it into profileData if it is a property`,
  );
}

const blockedFlag = /"MSG-dnd\w*"\s*:\s*true/;

/** Whether a profile of the block has the flag of an address that is unsubscribed. */
export function hasBlockedAddress({ json, bounds, count, kinds }: RecordBlock): boolean {
  if (json.subarray(0, bounds[2 * count - 1] ?? 0).indexOf('MSG-dnd') < 0) return false; // 50 times as fast as with the quote
  for (let at = 0; at < count; at++) {
    if (kinds[at] === 1) continue;
    if (blockedFlag.test(json.toString('latin1', bounds[2 * at], bounds[2 * at + 1]))) return true;
  }
  return false;
}

/** Whether an exported profile lists more than one identity. */
function hasFurtherIdentities(json: JsonParser): boolean {
  const index = json.find('all_identities');
  if (index < 0 || json.kindOf(index) !== jsonToken.openArray) return false;
  const comma = json.bytes.indexOf(jsonToken.comma, json.valueStart(index));
  const hasComma = comma >= 0 && comma < json.valueEnd(index);
  return hasComma && (JSON.parse(json.valueText(index)) as unknown[]).length > 1;
}

function writeProfileKey(json: JsonParser, records: RecordBuilder): string | undefined {
  const index = json.find('identity');
  if (index >= 0 && !json.isEmptyAt(index)) {
    if (!json.stringAt(index, text)) return notStringError('identity', json, index);
    return writeKey('identity', json, index, records);
  }
  const objectId = firstObjectId(json);
  if (objectId === undefined) return 'the exported profile has neither identity nor objectId';
  const id = Buffer.from(objectId);
  const failure = setKey('objectId', text.ofCell(id, 0, id.length), records);
  records.out.ascii(`{"objectId":"${objectId}"`);
  return failure === undefined ? undefined : `platformInfo: objectId: ${failure}`;
}

/** Returns the objectId of the first device that has one: the only key of users who never logged in. */
function firstObjectId(json: JsonParser): string | undefined {
  const index = json.find('platformInfo');
  if (index < 0 || json.kindOf(index) !== jsonToken.openArray) return undefined;
  const entries = JSON.parse(json.valueText(index)) as readonly ({
    readonly objectId?: unknown;
  } | null)[];
  const ids = entries.map((entry) => entry?.objectId);
  return ids.find((id): id is string => typeof id === 'string' && id !== '');
}

/** Writes an event that endpoint 7 exported as an upload record; returns an error if it cannot. */
export function writeExportedEvent(
  json: JsonParser,
  records: RecordBuilder,
  options: UploadMapping,
): string | undefined {
  const { out } = records;
  records.isEvent = true;
  const props = json.find('event_props');
  if (json.kindOf(props) !== jsonToken.openObject) return 'event_props is not an object';
  const failure =
    writeEventKey(json, records) ??
    writeEventName(json, records, options) ??
    writeTs(json, records, options);
  out.ascii(',"evtData":');
  copyValue(json, props, records);
  out.byte(jsonToken.closeObject);
  return failure;
}

function writeEventKey(json: JsonParser, records: RecordBuilder): string | undefined {
  const index = json.find('profile');
  if (index < 0 || !readObject(json, index)) return 'profile is not an object';
  for (const part of ['identity', 'objectId'] as const) {
    const key = inner.find(part);
    if (key < 0 || !inner.stringAt(key, text) || text.isEmpty) continue;
    const failure = writeKey(part, inner, key, records);
    return failure === undefined ? undefined : `profile: ${failure}`;
  }
  return 'profile has neither identity nor objectId';
}

function writeEventName(json: JsonParser, records: RecordBuilder, { eventName }: UploadMapping) {
  const index = json.find('event_name');
  records.out.raw(openEvent);
  if (index >= 0) {
    copyValue(json, index, records);
    return eventNameError(json, index, 'event_name');
  }
  if (eventName === undefined) return 'event_name is missing: set it with --event-name <name>';
  records.out.string(eventName);
  return undefined;
}

function writeTs(json: JsonParser, { out }: RecordBuilder, { zone }: UploadMapping) {
  const index = json.find('ts');
  if (index < 0) return 'ts is missing';
  const value =
    json.stringAt(index, text) ??
    text.ofCell(json.bytes, json.valueStart(index), json.valueEnd(index));
  const instant = parseExportedTimestamp(value, zone);
  if (typeof instant === 'string') return `ts: ${quoteValue(value)} ${instant}`;
  out.ascii(`,"ts":${instant}`);
  return zoneError(json, instant, zone);
}

/** Returns why `ts` is not the time of the event: `ts_utc` says that it was exported in another time zone. */
function zoneError(json: JsonParser, instant: number, zone: TimeZone): string | undefined {
  const index = json.find('ts_utc');
  const utc = index < 0 ? undefined : json.stringAt(index, text)?.toString();
  const seconds = utc?.endsWith('Z') ? Date.parse(utc) / 1000 : NaN; // a spreadsheet may have changed it
  if (Number.isNaN(seconds) || seconds === instant) return undefined;
  return `ts is not the time of ts_utc in ${zone.name}: add --timezone with the zone of the account it was exported from`;
}

/** Records that are sent unchanged: in the format of the service, or of an export. */
export type UnchangedShape = 'typed' | 'exported event' | 'exported profile';

/** Error for records without columns. */
const shapeFailure =
  'the mapping file expects columns, but this is an upload record or an exported record';
/** Options that would change what is sent, with what each does. */
const changes = [
  ['constants', '--set adds to'],
  ['drop', '--drop changes only'],
  ['only', '--only changes only'],
  ['map', '--map changes only'],
  ['lowercase', '--lowercase changes only'],
] as const;

/** Returns why records that are sent unchanged are rejected: options expect columns, or would change them. */
export function unchangedFailure({
  types,
  identity,
  ...options
}: UploadMapping): string | undefined {
  if (options.expected) return shapeFailure;
  const change = isPhoneNumber(types.get(identity))
    ? '--types changes the identity only of'
    : changes.find(([name]) => options[name]?.size)?.[1];
  return (
    change &&
    `${change} flat rows, but this is an upload record or an exported record, which is sent unchanged`
  );
}

/**
 * Returns an error if the columns that identify the user differ from the keys of a record that is sent unchanged, in value
 * or kind: whoever writes properties of a user must not choose another user with members such as profileData.
 */
export function otherKeyFailure(
  json: JsonParser,
  options: UploadMapping,
  shape: UnchangedShape,
): string | undefined {
  const columns = keyColumns(json, options, shape);
  const [column] = Object.values(columns);
  if (column === undefined) return undefined;
  const keys = keysSent(json, shape);
  const named: Partial<Record<KeyPart, string | undefined>> = {
    identity: valueOf(json, columns.identity),
    objectId: valueOf(json, columns.objectId),
  };
  const isNamed = named.identity !== undefined || named.objectId !== undefined;
  if (isNamed && keyParts.every((part) => keys[part] === named[part])) return undefined;
  const [what, user] = isNamed ? ['', 'another user'] : ['it is empty or missing, and ', 'a user'];
  return columnError(column, `${what}this record, which is sent unchanged, names ${user}`);
}

/**
 * Returns the columns that identify the user, by the kind of the key: those that options name, and for an exported event,
 * whose user is in `profile`, those beside it.
 */
function keyColumns(
  json: JsonParser,
  { identity, identityGiven, objectId }: UploadMapping,
  shape: UnchangedShape,
): { readonly identity?: string; readonly objectId?: string } {
  if (identityGiven || objectId !== undefined)
    return { ...(identityGiven && { identity }), ...(objectId !== undefined && { objectId }) };
  if (shape !== 'exported event') return {};
  const has = (name: string): boolean => json.find(name) >= 0;
  return {
    ...(has('identity') && { identity: 'identity' }),
    ...(has('objectId') && { objectId: 'objectId' }),
  };
}

/**
 * Returns what a column that identifies the user has: the member of that name, or the value at that path. Nothing if the
 * record has both: whoever writes members beside an object must not be able to stand in for it.
 */
function valueOf(json: JsonParser, column: string | undefined): string | undefined {
  if (column === undefined) return undefined;
  const path = namesOfPath(column);
  const has = (name: string): boolean => json.find(Buffer.from(name).toString('latin1')) >= 0;
  const isName = has(column);
  if (isName && column !== path[0] && has(path[0]!)) return undefined;
  const value = valueAt(json, isName ? [column] : path) ?? '';
  return (typeof value === 'string' ? value : stringifyLossless(value)) || undefined;
}

/** Returns the keys with which a record is sent, as the functions that write it choose them. */
function keysSent(json: JsonParser, shape: UnchangedShape): Readonly<Record<string, string>> {
  const at = (...names: string[]): LosslessJson | undefined => valueAt(json, names);
  if (shape === 'typed') return textsAmong(keyParts.map((part) => [part, at(part)]));
  const [identity, objectId] =
    shape === 'exported event'
      ? [at('profile', 'identity'), at('profile', 'objectId')]
      : [at('identity'), firstObjectId(json)];
  return isText(identity) ? { identity } : textsAmong([['objectId', objectId]]);
}

const textsAmong = (keys: readonly (readonly [KeyPart, LosslessJson | undefined])[]) =>
  Object.fromEntries(keys.filter((key): key is [KeyPart, string] => isText(key[1])));

const isText = (value: LosslessJson | undefined): value is string =>
  typeof value === 'string' && value !== '';

/** Returns the value at a path; undefined if there is none. */
function valueAt(json: JsonParser, [first, ...rest]: readonly string[]): LosslessJson | undefined {
  const index = json.find(Buffer.from(first!).toString('latin1'));
  if (index < 0 || json.isEmptyAt(index)) return undefined;
  let value: LosslessJson | undefined = parseLossless(json.valueText(index));
  for (const name of rest) value = isMap(value) ? value.get(name) : undefined;
  return value ?? undefined;
}

/** Writes the start of the record with its key, which was read into `text`. */
function writeKey(
  part: KeyPart & keyof typeof openKey,
  json: JsonParser,
  index: number,
  records: RecordBuilder,
): string | undefined {
  const failure = setKey(part, text, records);
  records.out.raw(openKey[part]);
  copyValue(json, index, records);
  return failure === undefined ? undefined : `${part}: ${failure}`;
}

/** Returns the error for a key that is not a string. */
const notStringError = (part: string, json: JsonParser, index: number): string =>
  `${part} ${notStringFailure(rawValue(json, index))}`;

/** Returns the JSON text of a value. */
const rawValue = (json: JsonParser, index: number): TextSlice =>
  typedText.of(json.bytes, json.valueStart(index), json.valueEnd(index));

function copyValue(json: JsonParser, index: number, { out }: RecordBuilder): void {
  out.raw(json.bytes, json.valueStart(index), json.valueEnd(index));
}

/** Reads the object of a member; false if it is not an object. */
function readObject(json: JsonParser, index: number): boolean {
  if (json.kindOf(index) !== jsonToken.openObject) return false;
  return inner.read(json.bytes, json.valueStart(index), json.valueEnd(index));
}

/** Kinds of keys; the last one present determines the order of records. */
const keys = keyParts.toReversed();
const [profile, event] = [Buffer.from('profile'), Buffer.from('event')];
const typedText = new TextSlice();

/** Checks the shape of a record with a `type`, and passes it on byte for byte. */
export function writeTypedRecord(
  json: JsonParser,
  typeIndex: number,
  records: RecordBuilder,
): string | undefined {
  const type = json.stringAt(typeIndex, typedText);
  records.isEvent = type?.is(event) === true;
  if (!records.isEvent && type?.is(profile) !== true) {
    return `type is ${quoteValue(type ?? rawValue(json, typeIndex))}, not "profile" or "event" (with --identity or --map, it is a property like others)`;
  }
  records.idempotent = !json.hasOperator;
  records.pass(json.bytes, json.start, json.end);
  const failures = [
    keyFailure(json, records),
    tsFailure(json),
    records.isEvent ? eventFailure(json) : objectFailure(json, 'profileData'),
  ].filter((failure) => failure !== undefined);
  return failures.length > 0 ? failures.join('; ') : undefined;
}

/** Validates every key of the record; the first of `keyParts` determines the order of records. */
function keyFailure(json: JsonParser, records: RecordBuilder): string | undefined {
  let hasKey = false;
  for (const part of keys) {
    const index = json.find(part);
    if (index < 0) continue;
    const value = json.stringAt(index, typedText);
    if (!value) return notStringError(part, json, index);
    const failure = setKey(part, value, records);
    if (failure !== undefined) return `${part}: ${failure}`;
    hasKey = true;
  }
  return hasKey ? undefined : missingMember(json, 'identity');
}

function tsFailure(json: JsonParser): string | undefined {
  const index = json.find('ts');
  if (index < 0) return undefined;
  const value = typedText.of(json.bytes, json.valueStart(index), json.valueEnd(index));
  if (value.end - value.start <= epochDigits && /^\d+$/.test(value.toString())) return undefined;
  return `ts: ${quoteValue(value)} is not a number of epoch seconds with at most ${epochDigits} digits`;
}

function eventFailure(json: JsonParser): string | undefined {
  const index = json.find('evtName');
  if (index < 0) return missingMember(json, 'evtName');
  return eventNameError(json, index, 'evtName') ?? objectFailure(json, 'evtData');
}

/** Returns why a member cannot be the name of an event, or undefined. */
function eventNameError(json: JsonParser, index: number, member: string): string | undefined {
  const value = json.stringAt(index, typedText);
  const failure = value ? nameError(value) : 'the value is not a string';
  return failure === undefined ? undefined : `${member}: ${failure}`;
}

function objectFailure(json: JsonParser, member: 'profileData' | 'evtData'): string | undefined {
  const index = json.find(member);
  if (index < 0) return member === 'evtData' ? undefined : missingMember(json, member);
  return json.kindOf(index) === jsonToken.openObject ? undefined : `${member} is not an object`;
}

/** Returns the error for a missing member, with its name in other letter case if the record has that. */
function missingMember(json: JsonParser, name: string): string {
  for (let index = 0; index < json.count; index++) {
    const key = json.nameAt(index);
    if (key.toLowerCase() !== name.toLowerCase()) continue;
    return `${name} is missing; the record has ${JSON.stringify(key)}: write it "${name}"`;
  }
  return `${name} is missing`;
}
