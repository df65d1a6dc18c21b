const words = new Set(['true', 'false', 'null']);

/** Whether `bytes[start, end)` is a JSON number, `true`, `false` or `null` (RFC 8259, 3 and 6). */
export function isBareToken(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start]! >= 0x61) return words.has(bytes.toString('latin1', start, end));
  let at = bytes[start] === 0x2d ? start + 1 : start;
  const integerEnd = afterDigits(bytes, at, end);
  if (integerEnd === at || (bytes[at] === 0x30 && integerEnd > at + 1)) return false;
  at = integerEnd;
  if (at < end && bytes[at] === 0x2e) {
    const fractionEnd = afterDigits(bytes, at + 1, end);
    if (fractionEnd === at + 1) return false;
    at = fractionEnd;
  }
  if (at < end && (bytes[at]! | 0x20) === 0x65) {
    at += 1;
    if (at < end && (bytes[at] === 0x2b || bytes[at] === 0x2d)) at += 1;
    const exponentEnd = afterDigits(bytes, at, end);
    if (exponentEnd === at) return false;
    at = exponentEnd;
  }
  return at === end;
}

function afterDigits(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at]! >= 0x30 && bytes[at]! <= 0x39) at += 1;
  return at;
}
