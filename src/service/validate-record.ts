import { limits, objectIdPattern } from '../contract/limits.js';
import type { EventRecord, ProfileRecord } from './upload-records.js';
import type { ProfileKey } from './profile-keys.js';
import { isObject, isNumber, membersOf, stringOf, type Members } from './raw-json.js';
import { faults, type Fault } from './record-faults.js';
import { validateEvent } from './validate-event.js';
import { validateProfile } from './validate-profile.js';

/** Reads one element of `d` of endpoint 1, or says what is wrong with it: its first fault only. */
export function validateRecord(text: string): ProfileRecord | EventRecord | Fault {
  if (!isObject(text)) return faults.type;
  const record = membersOf(text);
  const type = stringOf(record.get('type'));
  if (type !== 'profile' && type !== 'event') return faults.type;
  const keys = keysOf(record);
  if (!Array.isArray(keys)) return keys;
  if (!hasValidTimestamp(record)) return faults.timestamp;
  return type === 'profile' ? validateProfile(record, keys) : validateEvent(record, keys);
}

/** The identifiers of a record; the first one decides where a new profile's data goes. */
function keysOf(record: Members): ProfileKey[] | Fault {
  const keys: ProfileKey[] = [];
  if (record.has('identity')) {
    const value = stringOf(record.get('identity'));
    if (!value || value.length > limits.identityLength) return faults.identity;
    keys.push({ kind: 'identity', value });
  }
  if (record.has('objectId')) {
    const value = stringOf(record.get('objectId'));
    if (value === undefined || !objectIdPattern.test(value)) return faults.objectId;
    keys.push({ kind: 'objectId', value });
  }
  for (const name of ['FBID', 'GPID']) {
    const value = stringOf(record.get(name));
    if (value) keys.push({ kind: 'social', value: `${name}:${value}` });
  }
  return keys.length > 0 ? keys : faults.identity;
}

/** Epoch seconds: an integer of at most 11 digits. More digits are milliseconds. */
function hasValidTimestamp(record: Members): boolean {
  const ts = record.get('ts');
  return ts === undefined || (isNumber(ts) && /^\d{1,11}$/.test(ts));
}
