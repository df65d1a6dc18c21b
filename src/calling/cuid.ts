import type { ErrorName } from './errors.js';

export type CuidRule =
  | 'required'
  | 'length'
  | 'first-character'
  | 'alphabet'
  | 'number-separator-number'
  | 'no-letter'
  | 'underscores';

export interface CuidFinding {
  readonly rule: CuidRule;
  readonly severity: 'error' | 'warning';
  /** What the SDK would answer; null for a warning. */
  readonly errorName: ErrorName | null;
  readonly message: string;
}

/**
 * What is to be said of a cuid: nothing, or errors in the order in which the SDK looks for them, or
 * warnings. That it is unique per user and device cannot be seen from one of them.
 */
export function validateCuid(cuid: unknown): readonly CuidFinding[] {
  if (typeof cuid !== 'string' || cuid === '')
    return [error('required', 'CUID_MISSING', 'is missing: a non-empty string is needed')];
  const errors = errorsOf(cuid);
  return errors.length > 0 ? errors : warningsOf(cuid);
}

/** Whether the value names a user: 5 to 50 letters, digits and `_` (specification, initProperties). */
export const isCuid = (value: unknown): value is string =>
  validateCuid(value).every(({ severity }) => severity === 'warning');

function errorsOf(cuid: string): CuidFinding[] {
  const found: CuidFinding[] = [];
  const length = lengthOf(cuid);
  if (length < 5 || length > 50)
    found.push(error('length', 'CUID_LENGTH', `must have 5 to 50 characters, not ${length}`));
  if (!/^[A-Za-z0-9]/.test(cuid))
    found.push(invalid('first-character', 'must begin with an ASCII letter or a digit'));
  if (/[^A-Za-z0-9_]/.test(cuid))
    found.push(invalid('alphabet', 'may hold ASCII letters, digits and _ only'));
  if (/^\d+_\d+$/.test(cuid))
    found.push(invalid('number-separator-number', 'must not be two numbers with _ between them'));
  return found;
}

function warningsOf(cuid: string): CuidFinding[] {
  const found: CuidFinding[] = [];
  if (!/[A-Za-z]/.test(cuid))
    found.push(warning('no-letter', 'has no letter: it is easily taken for a number'));
  if (/_$|__/.test(cuid)) found.push(warning('underscores', 'ends with _ or has two in a row'));
  return found;
}

/** Characters as people count them: a surrogate pair is one. */
const lengthOf = (text: string) =>
  text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);

const error = (rule: CuidRule, errorName: ErrorName, message: string): CuidFinding => ({
  rule,
  severity: 'error',
  errorName,
  message,
});

const invalid = (rule: CuidRule, message: string) => error(rule, 'CUID_INVALID', message);

const warning = (rule: CuidRule, message: string): CuidFinding => ({
  rule,
  severity: 'warning',
  errorName: null,
  message,
});
