import { recordCodes, reservedEventNames } from '../../contract/error-codes.js';
import { limits } from '../../contract/limits.js';
import {
  parseElements,
  isArray,
  isObject,
  parseMembers,
  exceedsBytes,
  scalarExceedsBytes,
  integerOf,
  isNumber,
  isString,
  stringOf,
  scalarsIn,
  type Members,
} from '../raw-json.js';
import { isEmail, isPhone } from '../store/profiles.js';

/** Thrown for a rejected record, of which nothing is stored (service-facts, Codes per record). */
export class RecordError extends Error {
  readonly code: number;

  constructor(code: number, text: string) {
    super(text);
    this.name = 'RecordError';
    this.code = code;
  }
}

const eventFailure = (code: number, what: string) =>
  new RecordError(code, `Event data is incorrect. ${what}`);
const { eventStructure } = recordCodes;
const eventFailures = {
  noName: new RecordError(
    recordCodes.eventNameMissing,
    'Event Name is incorrect. ErrorCode: 509 - Event name is mandatory.',
  ),
  reservedName: new RecordError(
    recordCodes.reservedEventName,
    'Event Name is incorrect. ErrorCode: 513 - Trying to raise a restricted system event.',
  ),
  nameText: eventFailure(eventStructure, 'The event name is not valid text.'),
  structure: eventFailure(eventStructure, 'evtData is not a flat object.'),
  key: eventFailure(eventStructure, 'A property key is longer than 120 bytes.'),
  value: eventFailure(eventStructure, 'A property value is longer than 512 bytes.'),
  properties: eventFailure(recordCodes.tooManyEventProperties, 'More than 256 properties.'),
};

const reserved = new Set<string>(reservedEventNames);

/** Throws RecordError for the name of an event that uploads must not use. */
export function checkNotReserved(name: string): void {
  if (reserved.has(name)) throw eventFailures.reservedName;
}

/** Validates an event; `props` is evtData as JSON text. Throws RecordError. */
export function checkEvent(name: string, props: string): void {
  if (name === '') throw eventFailures.noName;
  if (!name.isWellFormed()) throw eventFailures.nameText;
  if (!isObject(props)) throw eventFailures.structure;
  const members = parseMembers(props);
  if (members.size > limits.eventProperties) throw eventFailures.properties;
  for (const [key, value] of members) {
    if (exceedsBytes(key, limits.eventPropertyKeyBytes)) throw eventFailures.key;
    const isItems = isArray(value) && name === 'Charged' && key === 'Items';
    if (isItems ? !parseElements(value).every(isFlatObject) : isNested(value))
      throw eventFailures.structure;
    if (!isItems && scalarExceedsBytes(value, limits.eventPropertyValueBytes))
      throw eventFailures.value;
  }
}

const isNested = (value: string): boolean => isArray(value) || isObject(value);

const isFlatObject = (text: string): boolean =>
  isObject(text) && ![...parseMembers(text).values()].some(isNested);

interface Operator {
  readonly accepts: (operand: string) => boolean;
  /** Returns the new JSON text of the field; undefined deletes the field. */
  readonly apply: (current: string | undefined, operand: string) => string | undefined;
}

const isFiniteNumber = (text: string): boolean => isNumber(text) && Number.isFinite(Number(text));
const isStrings = (text: string): boolean => isArray(text) && parseElements(text).every(isString);

/** Operators of profileData (service-facts, Upload), on JSON texts. */
const operators: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['$set', { accepts: isStrings, apply: (_, operand) => multiValue(parseElements(operand)) }],
  ['$add', { accepts: isStrings, apply: addStrings }],
  ['$remove', { accepts: isStrings, apply: removeStrings }],
  ['$incr', { accepts: isFiniteNumber, apply: (current, operand) => sum(current, operand, 1) }],
  ['$decr', { accepts: isFiniteNumber, apply: (current, operand) => sum(current, operand, -1) }],
  ['$delete', { accepts: (operand) => integerOf(operand) === 1, apply: () => undefined }],
]);

/** Whether the value is an object with a key that begins with `$`. */
const isOperator = (value: string): boolean =>
  isObject(value) &&
  /"(?:\$|\\)/.test(value) &&
  [...parseMembers(value).keys()].some((key) => key.startsWith('$'));

/** Returns the new JSON text of a field; undefined deletes it. `value`: plain, or a valid operator. */
export function applyOperator(current: string | undefined, value: string): string | undefined {
  if (!isOperator(value)) return isStrings(value) ? multiValue(parseElements(value)) : value;
  const [[name, operand] = ['', '']] = parseMembers(value);
  return operators.get(name)?.apply(current, operand);
}

function addStrings(current: string | undefined, operand: string): string {
  return multiValue([...stringsOf(current), ...parseElements(operand)]);
}

function removeStrings(current: string | undefined, operand: string): string {
  const removed = new Set(parseElements(operand).map(stringOf));
  return multiValue(stringsOf(current).filter((text) => !removed.has(stringOf(text))));
}

/** Returns the distinct strings, at most the last 100. */
function multiValue(strings: readonly string[]): string {
  // The first position and the first spelling of a string are kept.
  const distinct = new Map<string | undefined, string>();
  for (const text of strings) if (!distinct.has(stringOf(text))) distinct.set(stringOf(text), text);
  return `[${[...distinct.values()].slice(-limits.multiValueStrings).join(',')}]`;
}

/** Returns the strings of a multi-value. A single string counts as a multi-value of one. */
function stringsOf(current: string | undefined): string[] {
  if (isString(current)) return [current];
  return current !== undefined && isStrings(current) ? parseElements(current) : [];
}

/** Adds whole numbers exactly, of any size. A field that is not a number counts as 0. */
function sum(current: string | undefined, operand: string, sign: 1 | -1): string {
  const start = isNumber(current) ? current : '0';
  if (isInteger(start) && isInteger(operand)) {
    return String(BigInt(start) + BigInt(sign) * BigInt(operand));
  }
  const result = Number(start) + sign * Number(operand);
  if (Number.isFinite(result)) return JSON.stringify(result);
  throw new RecordError(
    recordCodes.eventStructure,
    'Profile data is incorrect. A sum is too large.',
  );
}

const isInteger = (text: string): boolean => /^-?\d+$/.test(text);

const profileFailure = (code: number, what: string) =>
  new RecordError(code, `Profile data is incorrect. ${what}`);

/** Failures without a documented code use that of a wrong structure. */
const structure = (what: string) => profileFailure(recordCodes.eventStructure, what);
const profileFailures = {
  key: structure('A key is longer than 120 bytes.'),
  value: structure('A value is longer than 512 bytes.'),
  operator: structure('An operator is not valid.'),
  operatorOnDefault: structure('An operator other than $delete is for custom fields.'),
};

/** Validation of a field, with the code and text of its error. */
type Rule = readonly [isValid: (text: string) => boolean, code: number, what: string];

const oneOf =
  (...words: readonly string[]) =>
  (text: string): boolean =>
    words.includes(text);
const isAge = (text: string): boolean => /^\d{1,3}$/.test(text) && Number(text) <= 150;

/** Default fields (service-facts, Upload); undefined accepts any value. All other keys except flags are custom. */
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

/** Whether the field is a custom field of the account. */
export const isCustomKey = (key: string): boolean =>
  !defaultFields.has(key) && !key.startsWith('MSG-');

/**
 * Validates the members of profileData. Throws RecordError for the first invalid member; addresses are
 * checked first (service-facts, Answers).
 */
export function checkProfile(data: Members): void {
  for (const key of ['Email', 'Phone']) checkMember(key, data.get(key) ?? 'null');
  for (const [key, value] of data) {
    if (exceedsBytes(key, limits.profileKeyBytes)) throw profileFailures.key;
    checkMember(key, value);
  }
}

/** Accepts nested objects and arrays of any values: the specification does not forbid them. */
function checkMember(key: string, value: string): void {
  if (isOperator(value)) checkOperator(key, value);
  else checkField(defaultFields.get(key), value);
  const scalars = isArray(value) || isObject(value) ? scalarsIn(value) : [value];
  if (scalars.some((scalar) => scalarExceedsBytes(scalar, limits.profileValueBytes)))
    throw profileFailures.value;
}

/** Rejects operators on default fields, because none of them is a list or a counter. */
function checkOperator(key: string, value: string): void {
  const [[name, operand] = ['', ''], ...others] = parseMembers(value);
  if (others.length > 0 || !operators.get(name)?.accepts(operand)) throw profileFailures.operator;
  if (defaultFields.has(key) && name !== '$delete') throw profileFailures.operatorOnDefault;
}

/** Accepts null, which unsets a field, and numbers as text, as a CSV without types has them. */
function checkField(rule: Rule | undefined, value: string): void {
  if (!rule || value === 'null') return;
  const [isValid, code, what] = rule;
  const text = isNumber(value) ? String(integerOf(value)) : stringOf(value);
  if (text === undefined || !isValid(text)) throw profileFailure(code, what);
}
