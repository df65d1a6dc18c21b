import { limits } from '../../contract/limits.js';
import { recordCodes } from '../../contract/error-codes.js';
import { RecordFault } from './record-fault.js';
import { elementsOf, isArray, isNumber, isObject, isString, membersOf } from '../raw-json.js';

interface Operator {
  readonly accepts: (operand: string) => boolean;
  /** The field's new JSON text; undefined deletes the field. */
  readonly apply: (current: string | undefined, operand: string) => string | undefined;
}

const isFiniteNumber = (text: string): boolean => isNumber(text) && Number.isFinite(Number(text));
const isStrings = (text: string): boolean => isArray(text) && elementsOf(text).every(isString);

/** The operators of profileData (service-facts, Upload), on JSON texts. */
const operators: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['$set', { accepts: isStrings, apply: (_, operand) => multiValue(elementsOf(operand)) }],
  ['$add', { accepts: isStrings, apply: addStrings }],
  ['$remove', { accepts: isStrings, apply: removeStrings }],
  ['$incr', { accepts: isFiniteNumber, apply: (current, operand) => sum(current, operand, 1) }],
  ['$decr', { accepts: isFiniteNumber, apply: (current, operand) => sum(current, operand, -1) }],
  ['$delete', { accepts: (operand) => operand === '1', apply: () => undefined }],
]);

/** Whether the value is an object with a key that begins with `$`. */
export const isOperator = (value: string): boolean => isObject(value) && /^\{\s*"\$/.test(value);

export const isDeletion = (value: string): boolean => /^\{\s*"\$delete"/.test(value);

export function isValidOperator(value: string): boolean {
  const [[name, operand] = ['', '']] = membersOf(value);
  return membersOf(value).size === 1 && operators.get(name)?.accepts(operand) === true;
}

/** The field's new JSON text; undefined: it is gone. `value`: plain, or an operator that is valid. */
export function changedField(current: string | undefined, value: string): string | undefined {
  if (!isOperator(value)) return isStrings(value) ? multiValue(elementsOf(value)) : value;
  const [[name, operand] = ['', '']] = membersOf(value);
  return operators.get(name)?.apply(current, operand);
}

function addStrings(current: string | undefined, operand: string): string {
  return multiValue([...stringsOf(current), ...elementsOf(operand)]);
}

function removeStrings(current: string | undefined, operand: string): string {
  const removed = new Set(elementsOf(operand));
  return multiValue(stringsOf(current).filter((text) => !removed.has(text)));
}

/** Distinct strings, the latest 100 of them. */
const multiValue = (strings: readonly string[]): string =>
  `[${[...new Set(strings)].slice(-limits.multiValueStrings).join(',')}]`;

/** A single string counts as a multi-value of one. */
function stringsOf(current: string | undefined): string[] {
  if (isString(current)) return [current];
  return current !== undefined && isStrings(current) ? elementsOf(current) : [];
}

/** Whole numbers are added exactly, however large; a field that is no number counts as 0. */
function sum(current: string | undefined, operand: string, sign: 1 | -1): string {
  const start = isNumber(current) ? current : '0';
  if (isInteger(start) && isInteger(operand)) {
    return String(BigInt(start) + BigInt(sign) * BigInt(operand));
  }
  const result = Number(start) + sign * Number(operand);
  if (Number.isFinite(result)) return JSON.stringify(result);
  throw new RecordFault(
    recordCodes.eventStructure,
    'Profile data is incorrect. A sum is too large.',
  );
}

const isInteger = (text: string): boolean => /^-?\d+$/.test(text);
