const quote = 0x22;
const backslash = 0x5c;

/** Where the next token of valid JSON begins, from `at` on. */
export function skipSpace(bytes: Buffer, at: number): number {
  let next = at;
  while (bytes[next]! <= 0x20) next += 1;
  return next;
}

/** The end of the string whose opening quote stands at `at`. */
export function skipString(bytes: Buffer, at: number): number {
  let next = at + 1;
  for (let byte = bytes[next]!; byte !== quote; byte = bytes[next]!) {
    next += byte === backslash ? 2 : 1;
  }
  return next + 1;
}

/** The end of the value of valid JSON that begins at `at`. */
export function skipValue(bytes: Buffer, at: number): number {
  let depth = 0;
  let next = at;
  do {
    const byte = bytes[next]!;
    if (byte === quote) {
      next = skipString(bytes, next);
      continue;
    }
    if (byte === 0x7b || byte === 0x5b) depth += 1;
    else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    else if (depth === 0) return skipBare(bytes, next);
    next += 1;
  } while (depth > 0);
  return next;
}

/** The end of a number, `true`, `false` or `null`. */
export function skipBare(bytes: Buffer, at: number): number {
  let next = at;
  for (let byte = bytes[next]!; byte > 0x20; byte = bytes[next]!) {
    if (byte === 0x2c || byte === 0x7d || byte === 0x5d) break;
    next += 1;
  }
  return next;
}
