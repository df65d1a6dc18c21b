import type { ErrorName } from './errors.js';

export type CuidRule =
  | 'required'
  | 'type'
  | 'length'
  | 'first-character'
  | 'alphabet'
  | 'number-separator-number'
  | 'no-letter'
  | 'underscores';

export interface CuidFinding {
  readonly rule: CuidRule;
  readonly severity: 'error' | 'warning';
  /** Error that the SDK returns for it; null for a warning. */
  readonly errorName: ErrorName | null;
  readonly message: string;
}

/**
 * Validates a cuid. Returns errors in the order in which the SDK checks them, or else warnings. Uniqueness per
 * user and device is not checked.
 */
export function validateCuid(cuid: unknown): readonly CuidFinding[] {
  if (cuid !== undefined && cuid !== null && typeof cuid !== 'string')
    return [error('type', 'CUID_INVALID', `must be a string, not a ${typeof cuid}`)];
  if (!cuid) return [error('required', 'CUID_MISSING', 'is missing: expected a non-empty string')];
  const errors = errorsOf(cuid);
  return errors.length > 0 ? errors : warningsOf(cuid);
}

/** Whether the value is a valid cuid: 5 to 50 letters, digits and `_` (specification, initProperties). */
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
    found.push(invalid('alphabet', 'may contain only ASCII letters, digits and _'));
  if (/^\d+_\d+$/.test(cuid))
    found.push(invalid('number-separator-number', 'must not be two numbers with _ between them'));
  return found;
}

function warningsOf(cuid: string): CuidFinding[] {
  const found: CuidFinding[] = [];
  if (!/[A-Za-z]/.test(cuid))
    found.push(warning('no-letter', 'has no letter, so it is easily mistaken for a number'));
  if (/_$|__/.test(cuid)) found.push(warning('underscores', 'ends with _ or has two in a row'));
  return found;
}

/** Returns the length in code points. */
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
