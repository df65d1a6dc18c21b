import { dayToUtc, type Day } from '../../contract/dates.js';
import { limits, objectIdPattern } from '../../contract/limits.js';
import {
  integerOf,
  parseMembers,
  stringOf,
  isObject,
  joinMembers,
  type Members,
} from '../raw-json.js';
import {
  updateProfile,
  addressOf,
  addressTypeOf,
  setBlocked,
  type ProfileKey,
  type Profile,
} from '../store/profiles.js';
import { addEvent } from '../store/events.js';
import { isDryRun } from './read-request.js';
import { writeRecords } from './write-records.js';
import { recordCodes } from '../../contract/error-codes.js';
import {
  checkEvent,
  checkNotReserved,
  checkProfile,
  RecordError,
  applyOperator,
  isCustomKey,
} from './record-validation.js';
import { channels } from '../../contract/record-fields.js';
import type { ServiceContext } from '../service.js';
import type { Database } from '../store/database.js';
import type { Deviations, Endpoint } from './rest-route.js';

/** Handles endpoint 1: profiles and events. `dryRun=1` returns the same response and changes nothing. */
export const uploadUserProfiles: Endpoint = ({ query, body, deviations }, service) => {
  const write = {
    most: limits.recordsPerUpload,
    check: (text: string) => parseUploadRecord(text, deviations),
    save: (_: Database, record: UploadRecord) => saveUpload(service, record),
    isDryRun: isDryRun(query),
  };
  return writeRecords(body, write, deviations, service);
};

export type Stores = Pick<ServiceContext, 'store' | 'clock' | 'settings' | 'zone'>;

/** Stores a validated record, or throws RecordError and stores nothing. */
export function saveUpload(service: Stores, record: UploadRecord): void {
  const { store, clock, zone } = service;
  const now = Math.floor(clock.now() / 1000);
  if (record.type === 'profile') return saveProfile(service, record, now);
  const ts = record.ts ?? now;
  const { keys, name, props } = record;
  const { id } = updateProfile(store, keys, (profile) => profile);
  addEvent(store, { name, profile: id, ts, props });
  const isInForce = ts >= zone.toEpoch(dayToUtc(unsubscribingSince) / 1000);
  if (name === 'Channel Unsubscribed' && isInForce) unsubscribeChannel(store, props);
}

/** First day on which the event acts as an Unsubscribe call (specification, Transitions). */
const unsubscribingSince: Day = 20200113;

/** Updates a profile. A record older than the profile only fills gaps, unless the variant says otherwise. */
function saveProfile(
  { store, settings }: Stores,
  { keys, data, ts = Number.MAX_SAFE_INTEGER }: Extract<UploadRecord, { type: 'profile' }>,
  now: number,
): void {
  updateProfile(store, keys, (profile) => {
    const isOlder = ts < profile.ts && settings.values.variants.olderProfile === 'fills';
    return {
      ...applyProfileData(profile, data, isOlder),
      ts: Math.max(Math.min(ts, now), profile.ts),
    };
  });
}

/**
 * Applies the Unsubscribe call of a Channel Unsubscribed event (specification, Transitions). The property
 * names are our interpretation: `Channel` (phone or sms, whatsapp, email) and `Address`. The call affects every
 * user with the address, not the user of the event.
 */
function unsubscribeChannel(store: Database, props: string): void {
  const members = parseMembers(props);
  const word = stringOf(members.get('Channel'))?.toLowerCase();
  const type = addressTypeOf(word === 'sms' ? 'phone' : word);
  const address = type && addressOf(type, stringOf(members.get('Address')));
  if (type && address !== undefined) setBlocked(store, { type, address, isBlocked: true });
}

/** A validated record of endpoint 1. */
export type UploadRecord = { readonly keys: readonly ProfileKey[] } & (
  | {
      readonly type: 'profile';
      /** Epoch seconds; undefined: the time of upload. */
      readonly ts: number | undefined;
      /** profileData; a value may be an operator. */
      readonly data: Members;
    }
  | {
      readonly type: 'event';
      readonly name: string;
      /** Epoch seconds; undefined: the time of upload. */
      readonly ts: number | undefined;
      /** evtData as JSON text. */
      readonly props: string;
    }
);

const failures = {
  type: new RecordError(recordCodes.recordType, 'Type is neither event nor profile.'),
  identity: new RecordError(recordCodes.identityMissing, 'Identity is missing.'),
  objectId: new RecordError(recordCodes.objectId, 'Object ID is not valid.'),
  profileData: new RecordError(
    recordCodes.eventStructure,
    'Profile data is incorrect. profileData is not an object.',
  ),
  timestamp: new RecordError(
    recordCodes.timestamp,
    'Timestamp should be present in the Unix Epoch format.',
  ),
};

const keyMembers = ['identity', 'objectId', 'FBID', 'GPID'];
/** Members of an upload record, by type. */
export const uploadMembers: Readonly<Record<UploadRecord['type'], readonly string[]>> = {
  profile: ['type', 'ts', ...keyMembers, 'profileData'],
  event: ['type', 'ts', ...keyMembers, 'evtName', 'evtData'],
};

/** Reports flags that `setFlag` ignores, also in a wrong spelling, by which they would become custom fields. */
function checkFlags(data: Members, deviations: Deviations): void {
  for (const [key, value] of data) {
    if (/^MSG-dnd/i.test(key)) deviations.ofRecord(`${key} cannot be set by an upload`);
    else if (/^MSG-/i.test(key) && value !== 'true' && value !== 'false')
      deviations.ofRecord(`${key} is neither true nor false`);
  }
}

/**
 * Parses and validates an element of `d` of endpoint 1. Throws RecordError for its first failure. Without
 * `deviations`, for seeds, accepts events that only the service may raise.
 */
export function parseUploadRecord(text: string, deviations?: Deviations): UploadRecord {
  if (!isObject(text)) throw failures.type;
  const record = parseMembers(text);
  const type = stringOf(record.get('type'));
  if (type !== 'profile' && type !== 'event') throw failures.type;
  const keys = keysOf(record);
  const ts = integerOf(record.get('ts'));
  // More than 11 digits are milliseconds; 0 is invalid, too (service-facts, Answers).
  const isTimestamp = ts !== undefined && ts > 0 && ts < 1e11;
  if (record.has('ts') && !isTimestamp) throw failures.timestamp;
  if (type === 'profile') {
    const profileData = record.get('profileData');
    if (!isObject(profileData)) throw failures.profileData;
    const data = parseMembers(profileData);
    checkProfile(data);
    if (deviations) checkFlags(data, deviations);
    deviations?.unknownMembers(record, uploadMembers.profile, 'record');
    return { type, keys, data, ts };
  }
  const name = stringOf(record.get('evtName')) ?? '';
  const props = record.get('evtData') ?? '{}';
  if (deviations) checkNotReserved(name);
  checkEvent(name, props);
  deviations?.unknownMembers(record, uploadMembers.event, 'record');
  return { type, keys, name, ts, props };
}

/** Counts characters, not UTF-16 code units. */
const isIdentity = (text: string): boolean =>
  text.isWellFormed() &&
  (text.length <= limits.identityLength || text.length - pairsIn(text) <= limits.identityLength);

const pairsIn = (text: string): number => text.match(/[\u{10000}-\u{10FFFF}]/gu)?.length ?? 0;

/** Returns the identifiers of a record, the primary one first. */
function keysOf(record: Members): ProfileKey[] {
  const keys: ProfileKey[] = [];
  if (record.has('identity')) {
    const value = stringOf(record.get('identity'));
    if (!value || !isIdentity(value)) throw failures.identity;
    keys.push({ kind: 'identity', value });
  }
  if (record.has('objectId')) {
    const value = stringOf(record.get('objectId'));
    if (value === undefined || !objectIdPattern.test(value)) throw failures.objectId;
    keys.push({ kind: 'objectId', value });
  }
  for (const name of ['FBID', 'GPID']) {
    const value = stringOf(record.get(name));
    if (value && !value.isWellFormed()) throw failures.identity;
    if (value) keys.push({ kind: 'social', value: `${name}:${value}` });
  }
  if (keys.length === 0) throw failures.identity;
  return keys;
}

/**
 * Returns the profile after an upload of these validated values and operators. `gapsOnly` keeps existing
 * values. Throws RecordError if the profile would have too many fields.
 */
function applyProfileData(profile: Profile, upload: Members, gapsOnly = false): Profile {
  const fields = parseMembers(`{${profile.data}}`);
  if (profile.email !== null) fields.set('Email', JSON.stringify(profile.email));
  if (profile.phone !== null) fields.set('Phone', JSON.stringify(profile.phone));
  if (profile.name !== null) fields.set('Name', profile.name);
  for (const [key, value] of upload) {
    if (gapsOnly && fields.has(userFlags.get(key) ?? key)) continue;
    if (key.startsWith('MSG-')) setFlag(fields, key, value);
    else setField(fields, key, value);
  }
  if (fields.size > limits.profileKeys) checkCount(fields.keys());
  const email = stringOf(taken(fields, 'Email')) ?? null;
  const phone = stringOf(taken(fields, 'Phone')) ?? null;
  const name = taken(fields, 'Name') ?? 'null';
  if (phone !== null) setAddress(fields, ['sms', 'whatsapp']);
  if (email !== null) setAddress(fields, ['email']);
  const data = joinMembers(fields);
  return { ...profile, email, phone, name: name === 'null' ? null : name, data };
}

function checkCount(keys: Iterable<string>): void {
  if ([...keys].filter(isCustomKey).length <= limits.profileKeys) return;
  const what = 'Profile data is incorrect. More than 256 custom keys.';
  throw new RecordError(recordCodes.eventStructure, what);
}

function taken(fields: Members, key: string): string | undefined {
  const value = fields.get(key);
  fields.delete(key);
  return value;
}

function setField(fields: Members, key: string, value: string): void {
  const changed = applyOperator(fields.get(key), value);
  if (changed === undefined) fields.delete(key);
  else fields.set(key, changed);
}

/** Spelling of a user-level flag (specification, States; service-facts, Upload) → stored spelling. */
const userFlags: ReadonlyMap<string, string> = new Map(
  Object.values(channels).flatMap(({ user }) => user.map((name) => [name, user[0]] as const)),
);
const addressFlags = new Set<string>(Object.values(channels).flatMap(({ address }) => address));

/**
 * Sets a flag. User-level flags other than true and false are ignored, and so are address-level flags,
 * which only endpoint 2 and Channel Unsubscribed set: uploads of exported profiles contain them.
 */
function setFlag(fields: Members, key: string, value: string): void {
  if (addressFlags.has(key)) return;
  const flag = userFlags.get(key);
  if (flag === undefined) setField(fields, key, value);
  else if (value === 'true' || value === 'false') fields.set(flag, value);
}

/**
 * Subscribes a user with an address at the user level unless the flag was uploaded. Drops address-level flags that
 * a seed gave the user without an address: those of the address count.
 */
function setAddress(fields: Members, names: readonly (keyof typeof channels)[]): void {
  for (const name of names) {
    const { user, address } = channels[name];
    if (!fields.has(user[0])) fields.set(user[0], 'true');
    fields.delete(address[0]);
  }
}
