import { recordCodes } from '../../contract/codes.js';
import { limits } from '../../contract/limits.js';
import {
  elementsOf,
  isArray,
  isNumber,
  isObject,
  stringOf,
  type Members,
  exceedsBytes,
  scalarExceedsBytes,
} from '../raw-json.js';
import { isEmail, isPhone } from '../store/addresses.js';
import { isOperator, isValidOperator } from './operators.js';
import type { Fault } from './write-records.js';

const fault = (code: number, what: string): Fault => ({
  code,
  error: `Profile data is incorrect. ${what}`,
});

/** No code is listed for these: they get that of a wrong structure. */
const structure = (what: string): Fault => fault(recordCodes.eventStructure, what);
const faults = {
  key: structure('A key is longer than 120 bytes.'),
  keys: structure('More than 256 custom keys.'),
  value: structure('A value is longer than 512 bytes.'),
  operator: structure('An operator is not valid.'),
};

/** What the field must be, and its fault when it is something else. */
type Rule = readonly [isValid: (text: string) => boolean, code: number, what: string];

const oneOf =
  (...words: readonly string[]) =>
  (text: string): boolean =>
    words.includes(text);
const isAge = (text: string): boolean => /^\d{1,3}$/.test(text) && Number(text) <= 150;

/** The default fields (service-facts, Upload); without a rule anything goes. All other keys are custom. */
const defaultFields: ReadonlyMap<string, Rule | undefined> = new Map<string, Rule | undefined>([
  ['Name', undefined],
  ['DOB', undefined],
  ['Photo', undefined],
  ['Tz', undefined],
  ['Email', [isEmail, recordCodes.email, 'Email is not valid.']],
  ['Phone', [isPhone, recordCodes.phone, 'Phone is not valid.']],
  ['Gender', [oneOf('M', 'F'), recordCodes.gender, 'Gender is not M or F.']],
  ['Age', [isAge, recordCodes.age, 'Age is not valid.']],
  ['Employed', [oneOf('Y', 'N'), recordCodes.employed, 'Employed is not Y or N.']],
  ['Married', [oneOf('Y', 'N'), recordCodes.married, 'Married is not Y or N.']],
  [
    'Education',
    [
      oneOf('School', 'College', 'Graduate'),
      recordCodes.education,
      'Education is not one of School, College, Graduate.',
    ],
  ],
]);

/** `data`: the members of profileData. */
export function faultOfProfile(data: Members): Fault | undefined {
  let customKeys = 0;
  for (const [key, value] of data) {
    if (exceedsBytes(key, limits.profileKeyBytes)) return faults.key;
    if (!defaultFields.has(key) && ++customKeys > limits.profileKeys) return faults.keys;
    const found = isOperator(value)
      ? faultOfOperator(value)
      : (faultOfField(defaultFields.get(key), value) ?? faultOfValue(value));
    if (found) return found;
  }
  return undefined;
}

const faultOfOperator = (value: string): Fault | undefined =>
  isValidOperator(value) ? undefined : faults.operator;

/** Null, which unsets a field, always passes. A CSV without types has an age as text. */
function faultOfField(rule: Rule | undefined, value: string): Fault | undefined {
  if (!rule || value === 'null') return undefined;
  const [isValid, code, what] = rule;
  const text = isNumber(value) ? value : stringOf(value);
  return text !== undefined && isValid(text) ? undefined : fault(code, what);
}

/** Nested objects, and arrays of anything but strings, are kept as they are: nothing documented forbids them. */
function faultOfValue(value: string): Fault | undefined {
  if (isObject(value)) return undefined;
  const scalars = isArray(value) ? elementsOf(value) : [value];
  const isTooLong = scalars.some((scalar) => scalarExceedsBytes(scalar, limits.profileValueBytes));
  return isTooLong ? faults.value : undefined;
}
