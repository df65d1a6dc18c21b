/**
 * Whether the value names a user (specification, initProperties): 5 to 50 letters, digits and `_`,
 * beginning with a letter or a digit, and not of the form number, `_`, number.
 */
export const isCuid = (value: unknown): value is string =>
  typeof value === 'string' &&
  /^[A-Za-z0-9][A-Za-z0-9_]{4,49}$/.test(value) &&
  !/^\d+_\d+$/.test(value);

/**
 * Whether the value says what a call is about: 1 to 64 letters and digits, with single spaces between
 * words. The specification says alphanumeric, and its own examples of use have words.
 */
export const isContext = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 64 && /^[A-Za-z0-9]+(?: [A-Za-z0-9]+)*$/.test(value);
