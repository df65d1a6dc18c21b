import { reservedEventNames } from '../contract/codes.js';
import { limits } from '../contract/limits.js';
import type { ProfileKey } from './profile-keys.js';
import { elementsOf, isArray, isObject, membersOf, stringOf, type Members } from './raw-json.js';
import { faults, type Fault } from './record-faults.js';
import type { EventRecord } from './upload-records.js';
import { exceedsBytes, scalarBytesExceed } from './value-bytes.js';

const reserved = new Set<string>(reservedEventNames);

export function validateEvent(record: Members, keys: readonly ProfileKey[]): EventRecord | Fault {
  const name = stringOf(record.get('evtName'));
  if (!name) return faults.eventName;
  if (reserved.has(name)) return faults.reservedEvent;
  const props = record.get('evtData') ?? '{}';
  const fault = isObject(props) ? faultOfProperties(name, membersOf(props)) : faults.eventData;
  if (fault) return fault;
  const ts = record.get('ts');
  return { type: 'event', keys, name, ts: ts === undefined ? undefined : Number(ts), props };
}

function faultOfProperties(name: string, props: Members): Fault | undefined {
  if (props.size > limits.eventProperties) return faults.eventProperties;
  for (const [key, value] of props) {
    if (exceedsBytes(key, limits.eventPropertyKeyBytes)) return faults.eventKey;
    if (isArray(value) && name === 'Charged' && key === 'Items') {
      if (!elementsOf(value).every(isFlatObject)) return faults.eventData;
    } else if (isArray(value) || isObject(value)) return faults.eventData;
    else if (scalarBytesExceed(value, limits.eventPropertyValueBytes)) return faults.eventValue;
  }
  return undefined;
}

const isFlatObject = (text: string): boolean =>
  isObject(text) &&
  [...membersOf(text).values()].every((value) => !isArray(value) && !isObject(value));
