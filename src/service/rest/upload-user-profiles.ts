import { dayToUtc, type Day } from '../../contract/dates.js';
import { limits, objectIdPattern } from '../../contract/limits.js';
import { parseMembers, stringOf, isObject, joinMembers, type Members } from '../raw-json.js';
import { updateProfile, type ProfileKey, type Profile } from '../store/profiles.js';
import { addEvent } from '../store/events.js';
import { addressOf, addressTypeOf, setBlocked } from '../store/addresses.js';
import { isDryRun } from './read-request.js';
import { writeRecords } from './write-records.js';
import { recordCodes } from '../../contract/error-codes.js';
import {
  checkEvent,
  checkProfile,
  RecordError,
  applyOperator,
  isCustomKey,
} from './record-validation.js';
import { channels } from '../../contract/record-fields.js';
import type { ServiceContext } from '../service.js';
import type { Database } from '../store/database.js';
import type { Endpoint } from './rest-route.js';

/** Endpoint 1: profiles and events. `dryRun=1` answers the same and changes nothing. */
export const uploadUserProfiles: Endpoint = ({ query, body }, service) => {
  const write = {
    most: limits.recordsPerUpload,
    check: parseUploadRecord,
    save: (_: Database, record: UploadRecord) => saveUpload(service, record),
    isDryRun: isDryRun(query),
  };
  return writeRecords(body, write, service);
};

type Stores = Pick<ServiceContext, 'store' | 'clock' | 'variants' | 'zone'>;

/** Stores a checked record. Throws a RecordFault, and has stored nothing then. */
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

/** Since this day the event is an Unsubscribe call (specification, Transitions). */
const unsubscribingSince: Day = 20200113;

/** What says that it is older than the profile fills its gaps alone, unless the variant has it overwrite. */
function saveProfile(
  { store, variants }: Stores,
  { keys, data, ts = Number.MAX_SAFE_INTEGER }: Extract<UploadRecord, { type: 'profile' }>,
  now: number,
): void {
  updateProfile(store, keys, (profile) => {
    const isOlder = ts < profile.ts && variants.olderProfile === 'fills';
    return {
      ...applyProfileData(profile, data, isOlder),
      ts: Math.max(Math.min(ts, now), profile.ts),
    };
  });
}

/**
 * The Unsubscribe call that the event stands for (specification, Transitions). The names of its
 * properties are our reading: `Channel` (phone or sms, whatsapp, email) and `Address`. It acts on
 * the address and so on everybody who has it, not on the user who did the event.
 */
function unsubscribeChannel(store: Database, props: string): void {
  const members = parseMembers(props);
  const word = stringOf(members.get('Channel'))?.toLowerCase();
  const type = addressTypeOf(word === 'sms' ? 'phone' : word);
  const address = type && addressOf(type, stringOf(members.get('Address')));
  if (type && address !== undefined) setBlocked(store, { type, address, isBlocked: true });
}

/** A checked record of endpoint 1. */
type UploadRecord = { readonly keys: readonly ProfileKey[] } & (
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

const faults = {
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

/** Reads one element of `d` of endpoint 1. Throws its first RecordFault. */
export function parseUploadRecord(text: string): UploadRecord {
  if (!isObject(text)) throw faults.type;
  const record = parseMembers(text);
  const type = stringOf(record.get('type'));
  if (type !== 'profile' && type !== 'event') throw faults.type;
  const keys = keysOf(record);
  const ts = record.get('ts');
  // More than 11 digits are milliseconds; 0 is no time either (service-facts, Answers).
  if (ts !== undefined && !/^[1-9]\d{0,10}$/.test(ts)) throw faults.timestamp;
  const seconds = ts === undefined ? undefined : Number(ts);
  if (type === 'profile') {
    const profileData = record.get('profileData');
    if (!isObject(profileData)) throw faults.profileData;
    const data = parseMembers(profileData);
    checkProfile(data);
    return { type, keys, data, ts: seconds };
  }
  const name = stringOf(record.get('evtName')) ?? '';
  const props = record.get('evtData') ?? '{}';
  checkEvent(name, props);
  return { type, keys, name, ts: seconds, props };
}

/** Characters are counted, not the halves of which some consist. */
const isIdentity = (text: string): boolean =>
  text.isWellFormed() &&
  (text.length <= limits.identityLength || text.length - pairsIn(text) <= limits.identityLength);

const pairsIn = (text: string): number => text.match(/[\u{10000}-\u{10FFFF}]/gu)?.length ?? 0;

/** The identifiers of a record; the first one decides where a new profile's data goes. */
function keysOf(record: Members): ProfileKey[] {
  const keys: ProfileKey[] = [];
  if (record.has('identity')) {
    const value = stringOf(record.get('identity'));
    if (!value || !isIdentity(value)) throw faults.identity;
    keys.push({ kind: 'identity', value });
  }
  if (record.has('objectId')) {
    const value = stringOf(record.get('objectId'));
    if (value === undefined || !objectIdPattern.test(value)) throw faults.objectId;
    keys.push({ kind: 'objectId', value });
  }
  for (const name of ['FBID', 'GPID']) {
    const value = stringOf(record.get(name));
    if (value && !value.isWellFormed()) throw faults.identity;
    if (value) keys.push({ kind: 'social', value: `${name}:${value}` });
  }
  if (keys.length === 0) throw faults.identity;
  return keys;
}

/**
 * The profile after an upload of these values and operators (checked before). `gapsOnly`: what it has
 * already stays. Throws a RecordFault when it would have too many fields.
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
  if (phone !== null) subscribeUnlessSet(fields, ['sms', 'whatsapp']);
  if (email !== null) subscribeUnlessSet(fields, ['email']);
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

/** Both spellings of a user-level flag (States; service-facts, Upload) → the one it is stored under. */
const userFlags: ReadonlyMap<string, string> = new Map(
  Object.values(channels).flatMap(({ user }) => user.map((name) => [name, user[0]] as const)),
);
const addressFlags = new Set<string>(Object.values(channels).flatMap(({ address }) => address));

/**
 * A user-level flag is true or false, nothing else. Address-level flags are set by endpoint 2 and
 * Channel Unsubscribed alone: those in an upload (of an exported profile, say) are passed over.
 */
function setFlag(fields: Members, key: string, value: string): void {
  if (addressFlags.has(key)) return;
  const flag = userFlags.get(key);
  if (flag === undefined) setField(fields, key, value);
  else if (value === 'true' || value === 'false') fields.set(flag, value);
}

/** Who has an address is subscribed at the user level until an upload says otherwise. */
function subscribeUnlessSet(fields: Members, names: readonly (keyof typeof channels)[]): void {
  for (const name of names) {
    const [flag] = channels[name].user;
    if (!fields.has(flag)) fields.set(flag, 'true');
  }
}
