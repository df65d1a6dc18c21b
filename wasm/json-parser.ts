// The keys of all objects of a text, which tell a key that its object has already.
//
// Memory: a table as in `memory.ts`, whose entries are of the number of an object. Objects are numbered through all texts,
// so that a key of an earlier text is free to be overwritten.

import {
  allocate,
  entryBytes,
  firstEntry,
  isNamed,
  mixed,
  mostQuick,
  nextEntry,
  setEntry,
  firstBits,
  hashOf,
} from './memory';
import { hash as keyedHash } from './record-hash';
import {
  forgetEscapes,
  hasEscape,
  fail,
  Failure,
  spell,
  othersIn,
  scalarEnd,
  spaceEnd,
  stringEnd,
  failure,
  failureAt,
  forgetFailure,
  forgetHalves,
} from './json-tokens';

let bits: i32 = 8;
let keys: i32 = allocate(entryBytes << bits);
let count: i32 = 0;
let firstObject: i64 = 1;
let nextObject: i64 = 1;

/** Forgets the keys of the previous text. */
export function forgetKeys(): void {
  count = 0;
  firstObject = nextObject;
}

/** The number of another object. */
// @ts-ignore
@inline export function newObject(): i64 {
  const object = nextObject;
  nextObject += 1;
  return object;
}

/** False if the object has a key of this name already. */
// @ts-ignore
@inline export function addKey(object: i64, nameHash: u64, name: i32, end: i32): bool {
  if (count == 1 << (bits - 1)) growKeys();
  let hash = mixed(nameHash, object);
  let entry = freeEntry(object, hash, name, end);
  if (count >= mostQuick && entry != 0) {
    hash = keyedHash(name, end, object);
    entry = freeEntry(object, hash, name, end);
  }
  if (entry == 0) return false;
  setEntry(entry, object, hash, name, end);
  count += 1;
  return true;
}

/** Returns where a key can be stored; 0 if the object has it. */
// @ts-ignore
@inline function freeEntry(object: i64, hash: u64, name: i32, end: i32): i32 {
  let entry = firstEntry(keys, bits, hash);
  while (load<i64>(entry) >= firstObject) {
    if (load<i64>(entry) == object && isNamed(entry, hash, name, end)) return 0;
    entry = nextEntry(keys, bits, entry);
  }
  return entry;
}

function growKeys(): void {
  let old = keys;
  const oldEnd = keys + (entryBytes << bits);
  bits += 1;
  keys = allocate(entryBytes << bits);
  for (; old < oldEnd; old += entryBytes) {
    if (load<i64>(old) < firstObject) continue;
    let entry = firstEntry(keys, bits, load<u64>(old, 8));
    while (load<i64>(entry) != 0) entry = nextEntry(keys, bits, entry);
    memory.copy(entry, old, entryBytes);
  }
}

// The members of a text's topmost object.
//
// Memory: the members, each seven i32: key from and to, value from and to, by position and without quotes around the key;
// whether the value has escapes; and the places of the key's name, which is the key without its escapes.

const memberBytes: i32 = 28;
let most: i32 = 64;
export let members: i32 = allocate(memberBytes * most);
export let memberCount: i32 = 0;

/** By how much places of the text are more than positions. */
export let base: i32 = 0;

export function setBase(bytes: i32): void {
  base = bytes;
}

/** Forgets the members of the previous text. */
export function forgetMembers(): void {
  memberCount = 0;
}

/** Adds a member by the places of its key, its value, which ends where `endMember` says, and its name. */
// @ts-ignore
@inline export function addMember(key: i32, keyEnd: i32, value: i32, name: i32, nameEnd: i32): void {
  if (memberCount == most) growMembers();
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

function growMembers(): void {
  const grown = allocate(2 * memberBytes * most);
  memory.copy(grown, members, memberBytes * most);
  members = grown;
  most *= 2;
}

// One value of JSON (RFC 8259, 3 to 5), whose tokens are in `json-tokens.ts`; space may be around each of them:
//
//     value   = object / array / string / scalar
//     object  = "{" [member *("," member)] "}"
//     member  = string ":" value
//     array   = "[" [value *("," value)] "]"
//
// At most 200 objects and arrays are within each other. That an object has a key twice is noted and passed over: what
// is no JSON comes first.
//
// Memory: for each depth the number of the object that is open there, or `array` (i64).

export const deepest: i32 = 200;
const containers: i32 = allocate(8 * (deepest + 1));
const array: i64 = -1;

/** Whether any object has a key that is an operator. */
export let hasOperator: bool = false;

/** The first key that its object has already, without quotes; 0 if there is none. */
export let repeatStart: i32 = 0;
export let repeatEnd: i32 = 0;

/** Returns the position after the value that starts at `start`, or 0. */
function readValue(start: i32): i32 {
  hasOperator = false;
  repeatStart = 0;
  return valueEnd(start);
}

/** One loop for all depths. */
function valueEnd(start: i32): i32 {
  let at = start;
  let depth = 0;
  let object = array;
  store<i64>(containers, array);
  while (true) {
    const byte = load<u8>(at);
    if (byte == 0x22) {
      at = stringEnd(at + 1);
      if (at == 0) return 0;
    } else if (byte == 0x7b || byte == 0x5b) {
      if (depth == deepest) return fail(Failure.tooDeep, at);
      depth += 1;
      object = byte == 0x7b ? newObject() : array;
      store<i64>(containers + 8 * depth, object);
      at = spaceEnd(at + 1);
      if (load<u8>(at) != byte + 2) {
        if (byte == 0x7b) at = memberValue(at, object, depth);
        if (at == 0) return 0;
        continue;
      }
      at += 1;
      depth -= 1;
      object = load<i64>(containers + 8 * depth);
    } else {
      at = scalarEnd(at);
      if (at == 0) return 0;
    }

    // after a value: close its containers until another value follows
    while (true) {
      if (depth == 0) return at;
      const isObject = object != array;
      if (depth == 1 && isObject) endMember(at);
      at = spaceEnd(at);
      const next = load<u8>(at);
      if (next == 0x2c) {
        at = spaceEnd(at + 1);
        if (isObject) at = memberValue(at, object, depth);
        if (at == 0) return 0;
        break;
      }
      if (next != (isObject ? 0x7d : 0x5d)) return fail(isObject ? Failure.commaOrBrace : Failure.commaOrBracket, at);
      at += 1;
      depth -= 1;
      object = load<i64>(containers + 8 * depth);
    }
  }
}

/** Returns the start of the value of the member whose key starts at `quote`, or 0. */
// @ts-ignore
@inline function memberValue(quote: i32, object: i64, depth: i32): i32 {
  if (load<u8>(quote) != 0x22) return fail(Failure.key, quote);

  // most keys have no escapes, and are hashed on the way to their end
  const start = quote + 1;
  let end = start;
  let hash: u64 = 0;
  let word = load<u64>(end);
  let others = othersIn(word);
  while (others == 0) {
    hash = mixed(hash, word);
    end += 8;
    word = load<u64>(end);
    others = othersIn(word);
  }
  const bits = ctz(others) & 56;
  end += <i32>(bits >> 3);
  let name = start;
  let nameEnd = end;
  if (load<u8>(end) == 0x22) hash = mixed(hash, firstBits(word, bits));
  else {
    const after = stringEnd(end);
    if (after == 0) return 0;
    end = after - 1;
    name = unescapedPlace(start);
    nameEnd = spell(start, end, name);
    hash = hashOf(name, nameEnd);
  }

  if (!addKey(object, hash, name, nameEnd) && repeatStart == 0) {
    repeatStart = start;
    repeatEnd = end;
  }
  if (load<u8>(name) == 0x24 && isOperator(name, nameEnd)) hasOperator = true;

  let at = spaceEnd(end + 1);
  if (load<u8>(at) != 0x3a) return fail(Failure.colon, at);
  at = spaceEnd(at + 1);
  if (depth == 1) addMember(start, end, at, name, nameEnd);
  return at;
}

/** Whether a profile diverges that is sent twice with it: $add, $incr or $decr (service-facts, Upload). */
function isOperator(name: i32, end: i32): bool {
  const word = load<u32>(name);
  if (end - name == 4) return word == 0x6464_6124; // $add
  return end - name == 5 && (word == 0x636e_6924 || word == 0x6365_6424) && load<u8>(name, 4) == 0x72; // $inc, $dec; r
}

// Checks one JSON text after the other (RFC 8259), for `src/text/json-parser.ts`:
//
//     text  = space value space    ; a value as above, whose tokens are in `json-tokens.ts`
//
// Where the members of its topmost object lie is kept above, and which keys its objects have.
//
// Memory: what was found out, then regions that only ever grow by moving to new memory (`memory.ts`): those of the
// files named above, and the texts. A place is an address in here; a position is what the caller counts by, `base`
// less than its place.

export { hasHalf } from './json-tokens';

/** Eight i32: start, end, number of members, their place, operator or not, what is wrong, where, end of a repeated key. */
const found: i32 = 0;

// The text, and room behind it for its strings without escapes. As none gets longer by that, each has its place there as it
// has in the text, so that no string is ever written over another one. Both may be read a bit beyond their end.
const slack: i32 = 16;
let textBytes: i32 = -1;
let text: i32 = 0;

/** Returns the place of a string without its escapes. */
// @ts-ignore
@inline function unescapedPlace(start: i32): i32 {
  return start + textBytes + slack;
}

/** Returns the address for `bytes` bytes of text, the first of which has position `first`. */
export function reserve(bytes: i32, first: i32): i32 {
  if (bytes > textBytes) {
    textBytes = max(bytes, 2 * textBytes);
    text = allocate(2 * (textBytes + slack));
  }
  setBase(text - first);
  return text;
}

/** Parses the text between two positions; results are in `found`. */
export function read(start: i32, end: i32): void {
  forgetFailure();
  forgetKeys();
  forgetMembers();
  const limit = base + end;
  const behind = load<u8>(limit);
  store<u8>(limit, 0); // ends every token, and is none
  const first = spaceEnd(base + start);
  const last = readValue(first);
  if (last != 0) {
    const next = spaceEnd(last);
    if (next < limit) fail(Failure.goesOn, next);
    else if (repeatStart != 0) fail(Failure.repeatsKey, repeatStart - 1);
  }
  store<u8>(limit, behind);

  store<i32>(found, first - base);
  store<i32>(found, last - base, 4);
  store<i32>(found, memberCount, 8);
  store<i32>(found, members, 12);
  store<i32>(found, i32(hasOperator), 16);
  store<i32>(found, failure, 20);
  store<i32>(found, failureAt - base, 24);
  store<i32>(found, repeatEnd - base, 28);
}

/** End of the text that `unescape` wrote. */
export let unescapedEnd: i32 = 0;

/** Writes the unescaped content between two positions of a string, and returns its address. */
export function unescape(start: i32, end: i32): i32 {
  forgetHalves();
  const place = unescapedPlace(base + start);
  unescapedEnd = spell(base + start, base + end, place);
  return place;
}
