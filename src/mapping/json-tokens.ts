/** Bytes with a meaning in JSON. */
export const token = {
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  openArray: 0x5b,
  openObject: 0x7b,
  closeObject: 0x7d,
  minus: 0x2d,
  plus: 0x2b,
  point: 0x2e,
  zero: 0x30,
  nine: 0x39,
  /** First letters of the literals. */
  t: 0x74,
  f: 0x66,
  n: 0x6e,
} as const;

export const isDigit = (byte: number): boolean => byte >= token.zero && byte <= token.nine;

/** Position behind the digits from `at` on. */
export function skipDigits(bytes: Uint8Array, at: number, limit: number): number {
  while (at < limit && isDigit(bytes[at]!)) at++;
  return at;
}

/**
 * Position behind the JSON number that starts at `at`, or ~position where a digit is missing.
 * What follows the number is not looked at.
 */
export function scanNumber(bytes: Uint8Array, at: number, limit: number): number {
  if (at < limit && bytes[at] === token.minus) at++;
  const integer = skipDigits(bytes, at, limit);
  if (integer === at) return ~at;
  // a number has no leading zeros: in 01 the number is the 0, and the 1 is one too many
  at = bytes[at] === token.zero ? at + 1 : integer;
  if (at < limit && bytes[at] === token.point) {
    const fraction = skipDigits(bytes, at + 1, limit);
    if (fraction === at + 1) return ~fraction;
    at = fraction;
  }
  if (at >= limit || (bytes[at]! | 0x20) !== 0x65) return at;
  at++;
  if (at < limit && (bytes[at] === token.minus || bytes[at] === token.plus)) at++;
  const exponent = skipDigits(bytes, at, limit);
  return exponent === at ? ~at : exponent;
}
