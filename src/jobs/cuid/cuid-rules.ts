import { validateCuid, type CuidFinding } from '../../calling/validate-cuid.js';
import type { Stretch } from '../../text/cuid-set.js';

const none: readonly CuidFinding[] = [];

/** What is to be said of a cuid by itself (calling SDK, initProperties); for most of them nothing. */
export function cuidFindings({ bytes, start, end }: Stretch): readonly CuidFinding[] {
  if (isUnremarkable(bytes, start, end)) return none;
  return validateCuid(bytes.toString('utf8', start, end));
}

const underscore = 0x5f;

/** Nothing is to be said of it: `validateCuid` on bytes, which says no more than that. */
export function isUnremarkable(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 5 || end - start > 50) return false;
  let hasLetter = false;
  let last = underscore; // none may stand at the beginning
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]!;
    const lower = byte | 0x20;
    if (lower >= 0x61 && lower <= 0x7a) hasLetter = true;
    else if (byte === underscore ? last === underscore : byte < 0x30 || byte > 0x39) return false;
    last = byte;
  }
  return hasLetter && last !== underscore;
}
