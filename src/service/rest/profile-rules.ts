import { recordCodes } from '../../contract/codes.js';
import { limits } from '../../contract/limits.js';
import {
  isArray,
  isNumber,
  isObject,
  stringOf,
  type Members,
  exceedsBytes,
  scalarExceedsBytes,
  scalarsIn,
} from '../raw-json.js';
import { isEmail, isPhone } from '../store/addresses.js';
import { isDeletion, isOperator, isValidOperator } from './operators.js';
import type { Fault } from './record-fault.js';

const fault = (code: number, what: string): Fault => ({
  code,
  error: `Profile data is incorrect. ${what}`,
});

/** No code is listed for these: they get that of a wrong structure. */
const structure = (what: string): Fault => fault(recordCodes.eventStructure, what);
const faults = {
  key: structure('A key is longer than 120 bytes.'),
  value: structure('A value is longer than 512 bytes.'),
  operator: structure('An operator is not valid.'),
  operatorOnDefault: structure('An operator other than $delete is for custom fields.'),
};

/** What the field must be, and its fault when it is something else. */
type Rule = readonly [isValid: (text: string) => boolean, code: number, what: string];

const oneOf =
  (...words: readonly string[]) =>
  (text: string): boolean =>
    words.includes(text);
const isAge = (text: string): boolean => /^\d{1,3}$/.test(text) && Number(text) <= 150;

/** The default fields (service-facts, Upload); without a rule anything goes. All other keys are custom, but flags. */
const defaultFields: ReadonlyMap<string, Rule | undefined> = new Map<string, Rule | undefined>([
  ['Name', undefined],
  ['DOB', undefined],
  ['Photo', undefined],
  ['Tz', undefined],
  ['Email', [isEmail, recordCodes.email, 'Email is not valid.']],
  ['Phone', [isPhone, recordCodes.phone, 'Phone number is not valid.']],
  ['Gender', [oneOf('M', 'F'), recordCodes.gender, 'Gender needs to be M/F.']],
  ['Age', [isAge, recordCodes.age, 'Age is invalid.']],
  ['Employed', [oneOf('Y', 'N'), recordCodes.employed, 'Employed needs to be Y/N.']],
  ['Married', [oneOf('Y', 'N'), recordCodes.married, 'Married needs to be Y/N.']],
  [
    'Education',
    [
      oneOf('School', 'College', 'Graduate'),
      recordCodes.education,
      // Two full stops, as recorded.
      'Education needs to be School/College/Graduate..',
    ],
  ],
]);

/** Whether the field counts as one of the account's own. */
export const isCustomKey = (key: string): boolean =>
  !defaultFields.has(key) && !key.startsWith('MSG-');

/** `data`: the members of profileData. Addresses are looked at before all else (service-facts, Answers). */
export function faultOfProfile(data: Members): Fault | undefined {
  for (const key of ['Email', 'Phone']) {
    const found = faultOfMember(key, data.get(key) ?? 'null');
    if (found) return found;
  }
  for (const [key, value] of data) {
    const found = exceedsBytes(key, limits.profileKeyBytes)
      ? faults.key
      : faultOfMember(key, value);
    if (found) return found;
  }
  return undefined;
}

function faultOfMember(key: string, value: string): Fault | undefined {
  if (isOperator(value)) return faultOfOperator(key, value);
  return faultOfField(defaultFields.get(key), value) ?? faultOfValue(value);
}

/** A default field is none of those that are lists or sums: an operator could only spoil it. */
function faultOfOperator(key: string, value: string): Fault | undefined {
  if (!isValidOperator(value)) return faults.operator;
  const isDefault = defaultFields.has(key) && !isDeletion(value);
  return isDefault ? faults.operatorOnDefault : faultOfValue(value);
}

/** Null, which unsets a field, always passes. A CSV without types has an age as text. */
function faultOfField(rule: Rule | undefined, value: string): Fault | undefined {
  if (!rule || value === 'null') return undefined;
  const [isValid, code, what] = rule;
  const text = isNumber(value) ? value : stringOf(value);
  return text !== undefined && isValid(text) ? undefined : fault(code, what);
}

/** Nested objects, and arrays of anything, are kept as they are: nothing documented forbids them. */
function faultOfValue(value: string): Fault | undefined {
  const scalars = isArray(value) || isObject(value) ? scalarsIn(value) : [value];
  return scalars.some((scalar) => scalarExceedsBytes(scalar, limits.profileValueBytes))
    ? faults.value
    : undefined;
}
