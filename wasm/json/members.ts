// The members of a text's topmost object, and those names among them that the caller wants to find.
//
// Memory: the members, each six i32: key from and to, value from and to, by position and without quotes around the key;
// whether the value has escapes; the number of its name, if that is wanted, else -1. A table of the wanted names as in
// `names.ts`, whose entries are of a number + 1; and an i32 for each number, the index of the member that last had the name,
// which may be of an earlier text.

import { allocate } from './memory';
import { entryBytes, firstEntry, hashOf, isNamed, nextEntry, setEntry } from './names';
import { forgetEscapes, hasEscape } from './tokens';

const memberBytes: i32 = 24;
let most: i32 = 64;
export let members: i32 = allocate(memberBytes * most);
export let memberCount: i32 = 0;

let bits: i32 = 1;
let wanted: i32 = allocate(entryBytes << bits);
export let wantedAt: i32 = 0;

/** By how much places of the text are more than positions. */
export let base: i32 = 0;

/** Makes room for so many names that are wanted. */
export function want(count: i32): void {
  bits = 33 - clz(count);
  wanted = allocate(entryBytes << bits);
  wantedAt = allocate(4 * count);
}

export function wantName(name: i32, end: i32, number: i32): void {
  const hash = hashOf(name, end);
  let entry = firstEntry(wanted, bits, hash);
  while (load<i64>(entry) != 0) entry = nextEntry(wanted, bits, entry);
  setEntry(entry, number + 1, hash, name, end);
}

/** The number of the name, or -1 if it is not wanted. */
export function wantedNumber(hash: u64, name: i32, end: i32): i32 {
  let entry = firstEntry(wanted, bits, hash);
  while (load<i64>(entry) != 0) {
    if (isNamed(entry, hash, name, end)) return <i32>load<i64>(entry) - 1;
    entry = nextEntry(wanted, bits, entry);
  }
  return -1;
}

export function setBase(bytes: i32): void {
  base = bytes;
}

/** Before a text. */
export function forgetMembers(): void {
  memberCount = 0;
}

/** Adds a member by the places of its key and its value, which ends where `endMember` says. */
// @ts-ignore
@inline export function addMember(key: i32, keyEnd: i32, value: i32, number: i32): void {
  if (memberCount == most) grow();
  const member = members + memberBytes * memberCount;
  store<i32>(member, key - base);
  store<i32>(member, keyEnd - base, 4);
  store<i32>(member, value - base, 8);
  store<i32>(member, number, 20);
  if (number >= 0) store<i32>(wantedAt + 4 * number, memberCount);
  memberCount += 1;
  forgetEscapes();
}

// @ts-ignore
@inline export function endMember(at: i32): void {
  const member = members + memberBytes * (memberCount - 1);
  store<i32>(member, at - base, 12);
  store<i32>(member, i32(hasEscape), 16);
}

function grow(): void {
  const grown = allocate(2 * memberBytes * most);
  memory.copy(grown, members, memberBytes * most);
  members = grown;
  most *= 2;
}
