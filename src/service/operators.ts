import { limits } from '../contract/limits.js';
import {
  elementsOf,
  isArray,
  isNumber,
  isObject,
  isString,
  membersOf,
  type Members,
} from './raw-json.js';

type Operator = '$add' | '$remove' | '$set' | '$incr' | '$decr' | '$delete';

const isStrings = (text: string): boolean => isArray(text) && elementsOf(text).every(isString);

const operandChecks: Readonly<Record<Operator, (operand: string) => boolean>> = {
  $add: isStrings,
  $remove: isStrings,
  $set: isStrings,
  $incr: isNumber,
  $decr: isNumber,
  $delete: (operand) => operand === '1' || operand === 'true',
};

/** Whether the value is an object with a key that begins with `$`. */
export const isOperator = (value: string): boolean => isObject(value) && /^\{\s*"\$/.test(value);

export function isValidOperator(value: Members): boolean {
  const [entry] = value;
  return (
    value.size === 1 &&
    entry !== undefined &&
    isKnown(entry[0]) &&
    operandChecks[entry[0]](entry[1])
  );
}

const isKnown = (name: string): name is Operator => Object.hasOwn(operandChecks, name);

/** The field's new JSON text; undefined deletes the field. `value` passed isValidOperator. */
export function applyOperator(current: string | undefined, value: string): string | undefined {
  const [name, operand] = [...membersOf(value)][0] as [Operator, string];
  switch (name) {
    case '$delete':
      return undefined;
    case '$incr':
      return sum(current, operand, 1);
    case '$decr':
      return sum(current, operand, -1);
    case '$set':
      return multiValue(elementsOf(operand));
    case '$add':
      return multiValue([...stringsOf(current), ...elementsOf(operand)]);
    case '$remove': {
      const removed = new Set(elementsOf(operand));
      return multiValue(stringsOf(current).filter((text) => !removed.has(text)));
    }
  }
}

/** A plain value as stored: a multi-value keeps the latest 100 of its strings. */
export const storedValue = (value: string): string =>
  isStrings(value) ? multiValue(elementsOf(value)) : value;

/** Distinct strings, the oldest dropped beyond 100. */
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
  return JSON.stringify(Number(start) + sign * Number(operand));
}

const isInteger = (text: string): boolean => /^-?\d+$/.test(text);
