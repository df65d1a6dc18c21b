/** Whether `bytes[start, end)` are those of `other`. */
export function sameBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  other: Uint8Array,
): boolean {
  if (end - start !== other.length) return false;
  for (let at = 0; at < other.length; at++) if (bytes[start + at] !== other[at]) return false;
  return true;
}
