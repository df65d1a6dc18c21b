import { CellText } from './cell-text.js';
import { hashBytes } from './key-hash.js';

const backslash = 0x5c;
const left = new CellText();
const right = new CellText();

/** A member's name to look for. */
export interface MemberName {
  /** As it stands between the quotes of a key. */
  readonly bytes: Buffer;
  /** Of its text. */
  readonly hash: number;
}

export function memberName(text: string): MemberName {
  const bytes = Buffer.from(JSON.stringify(text).slice(1, -1));
  return { bytes, hash: hashOfKey(bytes, 0, bytes.length) };
}

/** Hash of the text of the key whose content is `bytes[start, end)`, escapes resolved. */
export function hashOfKey(bytes: Buffer, start: number, end: number): number {
  const key = left.ofJson(bytes, start, end);
  return hashBytes(key.bytes, key.start, key.end);
}

/** Whether two keys say the same once their escapes are resolved: "a" and "\u0061" do. */
export function sameKey(
  a: Buffer,
  aStart: number,
  aEnd: number,
  b: Buffer,
  bStart: number,
  bEnd: number,
): boolean {
  if (sameBytes(a, aStart, aEnd, b, bStart, bEnd)) return true;
  if (!hasEscape(a, aStart, aEnd) && !hasEscape(b, bStart, bEnd)) return false;
  const one = left.ofJson(a, aStart, aEnd);
  const other = right.ofJson(b, bStart, bEnd);
  return (
    one.broken === other.broken &&
    sameBytes(one.bytes, one.start, one.end, other.bytes, other.start, other.end)
  );
}

export function sameBytes(
  a: Buffer,
  aStart: number,
  aEnd: number,
  b: Buffer,
  bStart: number,
  bEnd: number,
): boolean {
  if (aEnd - aStart !== bEnd - bStart) return false;
  for (let at = aStart, other = bStart; at < aEnd; at++, other++) {
    if (a[at] !== b[other]) return false;
  }
  return true;
}

function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === backslash) return true;
  return false;
}
