// Checks one JSON text after the other (RFC 8259), for `src/mapping/json-text.ts`:
//
//     text  = space value space    ; `json/value.ts`, whose tokens are in `json/tokens.ts`
//
// Where the members of its topmost object lie is kept in `json/members.ts`, which keys its objects have in `json/keys.ts`.
//
// Memory: what was found out, then regions that only ever grow by moving to new memory (`json/memory.ts`): those of the
// files named above, and the texts. A place is an address in here; a position is what the caller counts by, `base`
// less than its place.

import { fail, fault, Fault, faultAt, forgetFault } from './json/fault';
import { forgetKeys } from './json/keys';
import { allocate } from './json/memory';
import { base, forgetMembers, memberCount, members, setBase } from './json/members';
import { spaceEnd } from './json-tokens';
import { forgetHalves, spell } from './json/spelling';
import { hasOperator, names, readValue, repeatEnd, repeatStart } from './json-parser';

export { hasHalf } from './json/spelling';
export { deepest } from './json-parser';

/** Eight i32: start, end, number of members, their place, operator or not, what is wrong, where, end of a repeated key. */
const found: i32 = 0;

// The text, and room behind it for its strings without escapes, which are never longer than it is. Both may be read a bit
// beyond their end.
const slack: i32 = 16;
let textBytes: i32 = -1;
let text: i32 = 0;

/** Where to put `bytes` bytes of text, the first of which is at the position `first`. */
export function reserve(bytes: i32, first: i32): i32 {
  if (bytes > textBytes) {
    textBytes = max(bytes, 2 * textBytes);
    text = allocate(2 * (textBytes + slack));
  }
  setBase(text - first);
  return text;
}

/** Reads the text between two positions; what it found out stands in `found`. */
export function read(start: i32, end: i32): void {
  forgetFault();
  forgetKeys();
  forgetMembers();
  const limit = base + end;
  const behind = load<u8>(limit);
  store<u8>(limit, 0); // ends every token, and is none
  const first = spaceEnd(base + start);
  const last = readValue(first, text + textBytes + slack);
  if (last != 0) {
    const next = spaceEnd(last);
    if (next < limit) fail(Fault.goesOn, next);
    else if (repeatStart != 0) fail(Fault.repeatsKey, repeatStart - 1);
  }
  store<u8>(limit, behind);

  store<i32>(found, first - base);
  store<i32>(found, last - base, 4);
  store<i32>(found, memberCount, 8);
  store<i32>(found, members, 12);
  store<i32>(found, i32(hasOperator), 16);
  store<i32>(found, fault, 20);
  store<i32>(found, faultAt - base, 24);
  store<i32>(found, repeatEnd - base, 28);
}

/** Where what `unescape` wrote ends. */
export let unescapedEnd: i32 = 0;

/** Writes what stands between two positions of a string of the text, without escapes, and returns where. */
export function unescape(start: i32, end: i32): i32 {
  forgetHalves();
  unescapedEnd = spell(base + start, base + end, names);
  return names;
}
