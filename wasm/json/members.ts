// The members of a text's topmost object.
//
// Memory: the members, each seven i32: key from and to, value from and to, by position and without quotes around the key;
// whether the value has escapes; and the places of the key's name, which is the key without its escapes.

import { allocate } from './memory';
import { forgetEscapes, hasEscape } from '../json-tokens';

const memberBytes: i32 = 28;
let most: i32 = 64;
export let members: i32 = allocate(memberBytes * most);
export let memberCount: i32 = 0;

/** By how much places of the text are more than positions. */
export let base: i32 = 0;

export function setBase(bytes: i32): void {
  base = bytes;
}

/** Before a text. */
export function forgetMembers(): void {
  memberCount = 0;
}

/** Adds a member by the places of its key, its value, which ends where `endMember` says, and its name. */
// @ts-ignore
@inline export function addMember(key: i32, keyEnd: i32, value: i32, name: i32, nameEnd: i32): void {
  if (memberCount == most) grow();
  const member = members + memberBytes * memberCount;
  store<i32>(member, key - base);
  store<i32>(member, keyEnd - base, 4);
  store<i32>(member, value - base, 8);
  store<i32>(member, name, 20);
  store<i32>(member, nameEnd, 24);
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
