import { validateCuid } from './validate-cuid.js';

/** Whether the value names a user: 5 to 50 letters, digits and `_` (specification, initProperties). */
export const isCuid = (value: unknown): value is string =>
  validateCuid(value).every(({ severity }) => severity === 'warning');

/**
 * Whether the value says what a call is about: 1 to 64 letters and digits, with single spaces between
 * words. The specification says alphanumeric, and its own examples of use have words.
 */
export const isContext = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 64 && /^[A-Za-z0-9]+(?: [A-Za-z0-9]+)*$/.test(value);
