import { recordCodes, reservedEventNames } from '../../contract/error-codes.js';
import { limits } from '../../contract/limits.js';
import {
  elementsOf,
  isArray,
  isObject,
  membersOf,
  exceedsBytes,
  scalarExceedsBytes,
} from '../raw-json.js';
import { RecordFault } from './record-fault.js';

const fault = (code: number, what: string) =>
  new RecordFault(code, `Event data is incorrect. ${what}`);
const { eventStructure } = recordCodes;
const faults = {
  noName: new RecordFault(
    recordCodes.eventNameMissing,
    'Event Name is incorrect. ErrorCode: 509 - Event name is mandatory.',
  ),
  reservedName: new RecordFault(
    recordCodes.reservedEventName,
    'Event Name is incorrect. ErrorCode: 513 - Trying to raise a restricted system event.',
  ),
  nameText: fault(eventStructure, 'The event name is no valid text.'),
  structure: fault(eventStructure, 'evtData is not a flat object.'),
  key: fault(eventStructure, 'A property key is longer than 120 bytes.'),
  value: fault(eventStructure, 'A property value is longer than 512 bytes.'),
  properties: fault(recordCodes.tooManyEventProperties, 'More than 256 properties.'),
};

const reserved = new Set<string>(reservedEventNames);

/** `props`: evtData as JSON text. Throws its RecordFault. */
export function checkEvent(name: string, props: string): void {
  if (name === '') throw faults.noName;
  if (reserved.has(name)) throw faults.reservedName;
  if (!name.isWellFormed()) throw faults.nameText;
  if (!isObject(props)) throw faults.structure;
  const members = membersOf(props);
  if (members.size > limits.eventProperties) throw faults.properties;
  for (const [key, value] of members) {
    if (exceedsBytes(key, limits.eventPropertyKeyBytes)) throw faults.key;
    const isItems = isArray(value) && name === 'Charged' && key === 'Items';
    if (isItems ? !elementsOf(value).every(isFlatObject) : isNested(value)) throw faults.structure;
    if (!isItems && scalarExceedsBytes(value, limits.eventPropertyValueBytes)) throw faults.value;
  }
}

const isNested = (value: string): boolean => isArray(value) || isObject(value);

const isFlatObject = (text: string): boolean =>
  isObject(text) && ![...membersOf(text).values()].some(isNested);
