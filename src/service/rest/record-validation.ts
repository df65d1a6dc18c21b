import { recordCodes } from '../../contract/error-codes.js';
import { limits } from '../../contract/limits.js';
import {
  isArray,
  isNumber,
  isObject,
  stringOf,
  exceedsBytes,
  scalarExceedsBytes,
  scalarsIn,
  type Members,
} from '../raw-json.js';
import { isEmail, isPhone } from '../store/addresses.js';
import { isDeletion, isOperator, isValidOperator } from './operators.js';
import { RecordFault } from './record-fault.js';

const fault = (code: number, what: string) =>
  new RecordFault(code, `Profile data is incorrect. ${what}`);

/** No code is listed for these: they get that of a wrong structure. */
const structure = (what: string) => fault(recordCodes.eventStructure, what);
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

/**
 * `data`: the members of profileData. Throws the RecordFault of the first that is wrong; addresses are looked
 * at before all else (service-facts, Answers).
 */
export function checkProfile(data: Members): void {
  for (const key of ['Email', 'Phone']) checkMember(key, data.get(key) ?? 'null');
  for (const [key, value] of data) {
    if (exceedsBytes(key, limits.profileKeyBytes)) throw faults.key;
    checkMember(key, value);
  }
}

/** Nested objects, and arrays of anything, are kept as they are: nothing documented forbids them. */
function checkMember(key: string, value: string): void {
  if (isOperator(value)) checkOperator(key, value);
  else checkField(defaultFields.get(key), value);
  const scalars = isArray(value) || isObject(value) ? scalarsIn(value) : [value];
  if (scalars.some((scalar) => scalarExceedsBytes(scalar, limits.profileValueBytes)))
    throw faults.value;
}

/** A default field is none of those that are lists or sums: an operator could only spoil it. */
function checkOperator(key: string, value: string): void {
  if (!isValidOperator(value)) throw faults.operator;
  if (defaultFields.has(key) && !isDeletion(value)) throw faults.operatorOnDefault;
}

/** Null, which unsets a field, always passes. A CSV without types has an age as text. */
function checkField(rule: Rule | undefined, value: string): void {
  if (!rule || value === 'null') return;
  const [isValid, code, what] = rule;
  const text = isNumber(value) ? value : stringOf(value);
  if (text === undefined || !isValid(text)) throw fault(code, what);
}
