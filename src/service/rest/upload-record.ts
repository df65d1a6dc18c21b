import { recordCodes } from '../../contract/error-codes.js';
import { limits, objectIdPattern } from '../../contract/limits.js';
import { isObject, membersOf, stringOf, type Members } from '../raw-json.js';
import { checkEvent } from './event-rules.js';
import { checkProfile } from './record-validation.js';
import { RecordFault } from './record-fault.js';
import type { ProfileKey } from '../store/profiles.js';

/** A checked record of endpoint 1. */
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

const faults = {
  type: new RecordFault(recordCodes.recordType, 'Type is neither event nor profile.'),
  identity: new RecordFault(recordCodes.identityMissing, 'Identity is missing.'),
  objectId: new RecordFault(recordCodes.objectId, 'Object ID is not valid.'),
  profileData: new RecordFault(
    recordCodes.eventStructure,
    'Profile data is incorrect. profileData is not an object.',
  ),
  timestamp: new RecordFault(
    recordCodes.timestamp,
    'Timestamp should be present in the Unix Epoch format.',
  ),
};

/** Reads one element of `d` of endpoint 1. Throws its first RecordFault. */
export function checkUploadRecord(text: string): UploadRecord {
  if (!isObject(text)) throw faults.type;
  const record = membersOf(text);
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
    const data = membersOf(profileData);
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
