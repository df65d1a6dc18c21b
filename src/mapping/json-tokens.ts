/** Bytes with a meaning in JSON. */
export const token = {
  quote: 0x22,
  comma: 0x2c,
  openArray: 0x5b,
  openObject: 0x7b,
  closeObject: 0x7d,
  /** First letters of the literals. */
  t: 0x74,
  f: 0x66,
  n: 0x6e,
} as const;
