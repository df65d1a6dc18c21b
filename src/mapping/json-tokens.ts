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
