import { limits } from '../contract/limits.js';
import { isEmail, isPhone } from './addresses.js';
import { isOperator, isValidOperator } from './operators.js';
import type { ProfileKey } from './profile-keys.js';
import {
  elementsOf,
  isArray,
  isNumber,
  isObject,
  membersOf,
  stringOf,
  type Members,
} from './raw-json.js';
import { faults, type Fault } from './record-faults.js';
import type { ProfileRecord } from './upload-records.js';
import { exceedsBytes, scalarBytesExceed } from './value-bytes.js';

export function validateProfile(
  record: Members,
  keys: readonly ProfileKey[],
): ProfileRecord | Fault {
  const text = record.get('profileData');
  if (!isObject(text)) return faults.profileData;
  const data = membersOf(text);
  return faultOfData(data) ?? { type: 'profile', keys, data };
}

function faultOfData(data: Members): Fault | undefined {
  let customKeys = 0;
  for (const [key, value] of data) {
    if (exceedsBytes(key, limits.profileKeyBytes)) return faults.profileKey;
    const check = defaultFields.get(key);
    if (check === undefined && ++customKeys > limits.profileKeys) return faults.profileKeys;
    const fault = isOperator(value)
      ? faultOfOperator(value)
      : (check?.(value) ?? faultOfValue(value));
    if (fault) return fault;
  }
  return undefined;
}

/** Nested objects, and arrays of anything but strings, are kept as they are: nothing documented forbids them. */
function faultOfValue(value: string): Fault | undefined {
  if (isObject(value)) return undefined;
  const scalars = isArray(value) ? elementsOf(value) : [value];
  const tooLong = scalars.some((scalar) => scalarBytesExceed(scalar, limits.profileValueBytes));
  return tooLong ? faults.profileValue : undefined;
}

const faultOfOperator = (value: string): Fault | undefined =>
  isValidOperator(value) ? undefined : faults.operator;

type Check = (value: string) => Fault | undefined;

/** A check of the decoded string; null, which unsets a field, always passes. */
const text =
  (fault: Fault, isValid: (text: string) => boolean): Check =>
  (value) => {
    const decoded = stringOf(value);
    return value === 'null' || (decoded !== undefined && isValid(decoded)) ? undefined : fault;
  };

const oneOf = (fault: Fault, ...words: readonly string[]): Check =>
  text(fault, (word) => words.includes(word));

/** Age: a whole number up to 150, or the same as text, as a CSV without types has it. */
function checkAge(value: string): Fault | undefined {
  const written = isNumber(value) ? value : stringOf(value);
  const isAge = written !== undefined && /^\d{1,3}$/.test(written) && Number(written) <= 150;
  return isAge || value === 'null' ? undefined : faults.age;
}

const anything: Check = () => undefined;

/** The default profile fields (service-facts, Upload); all other keys are custom. */
const defaultFields: ReadonlyMap<string, Check> = new Map([
  ['Name', anything],
  ['Email', text(faults.email, isEmail)],
  ['Phone', text(faults.phone, isPhone)],
  ['Gender', oneOf(faults.gender, 'M', 'F')],
  ['DOB', anything],
  ['Age', checkAge],
  ['Photo', anything],
  ['Tz', anything],
  ['Employed', oneOf(faults.employed, 'Y', 'N')],
  ['Married', oneOf(faults.married, 'Y', 'N')],
  ['Education', oneOf(faults.education, 'School', 'College', 'Graduate')],
]);
