// Hashes of records and of their keys, and fingerprints of events, for `src/text/record-hash.ts`: SipHash-1-3 (Aumasson and
// Bernstein), with a secret of 128 bits. Who writes records and does not know it cannot make two of them meet. Up to 7 bytes
// behind the text may be read. Hashes of pages are at the end.

import { firstBits } from './memory';
import { forgetEscapes, hasEscape, scalarEnd, spaceEnd, spell, stringEnd } from './json-tokens';

const QUOTE: i32 = 34;
const PLUS: i32 = 43;
const BACKSLASH: i32 = 92;
const COLON: i32 = 58;
const SPACE: i32 = 32;

/** `"identit` and `y"`, as numbers. */
const identityStart: u64 = 0x7469746e65646922;
const identityEnd: u16 = 0x2279;

/** Kinds of records; see `recordKinds` in `src/text/record-hash.ts`. */
const event: u8 = 1;
const subscription: u8 = 2;

/** The state before the first word: the secret, mixed with the constants. */
let start0: u64 = 0;
let start1: u64 = 0;
let start2: u64 = 0;
let start3: u64 = 0;

export function setSecret(low0: u32, high0: u32, low1: u32, high1: u32): void {
  const key0 = (<u64>high0 << 32) | <u64>low0;
  const key1 = (<u64>high1 << 32) | <u64>low1;
  start0 = key0 ^ 0x736f6d6570736575;
  start1 = key1 ^ 0x646f72616e646f6d;
  start2 = key0 ^ 0x6c7967656e657261;
  start3 = key1 ^ 0x7465646279746573;
}

/**
 * Writes the hash of the key and the hash of the record for each record to `out`. Bounds are relative to
 * `text`; `kinds` are the kinds of the records. The hash of a key that is not found at once, or has
 * escapes, is 0.
 */
export function hashRecords(count: i32, bounds: usize, kinds: usize, text: usize, out: usize): void {
  for (let index = 0; index < count; index += 1) {
    const start = text + load<u32>(bounds + 8 * index);
    const end = text + load<u32>(bounds + 8 * index + 4);
    const kind = load<u8>(kinds + index);
    const own = notNone(hash(start, end, 0));
    const key = kind == event ? own : kind == subscription ? addressKey(start, end) : identityKey(start, end);
    store<u64>(out + 16 * index, key);
    store<u64>(out + 16 * index + 8, own);
  }
}

/** Writes the hash of a key, whose namespace is a number, to `out`. Overwrites the key of an address. */
export function hashKey(start: usize, end: usize, space: u32, out: usize): void {
  const isAddress = space == 101 || space == 112 || space == 119; // e, p, w
  store<u64>(out, notNone(isAddress ? hashAddress(start, end, space) : hash(start, end, space)));
}

/** 0 says that there is none. */
@inline
function notNone(found: u64): u64 {
  return found == 0 ? 1 : found;
}

/** Hashes the key of a record that starts with the member identity, which precedes all other keys. */
function identityKey(start: usize, end: usize): u64 {
  let at = skipSpace(start + 1, end);
  if (at + 10 > end || load<u64>(at) != identityStart || load<u16>(at + 8) != identityEnd) return 0;
  at = skipSpace(at + 10, end);
  if (at >= end || <i32>load<u8>(at) != COLON) return 0;
  at = skipSpace(at + 1, end);
  if (at >= end || <i32>load<u8>(at) != QUOTE) return 0;
  return stringKey(at + 1, end, 105); // i
}

/**
 * Hashes the key of `{"type":"email","value":"a@example.test",…`: the namespace is the first letter of
 * the type. Overwrites the address.
 */
function addressKey(start: usize, end: usize): u64 {
  const space = load<u8>(start + 9);
  let at = start + 10;
  while (at < end && <i32>load<u8>(at) != QUOTE) at += 1;
  const from = at + 11;
  const to = stringStop(from, end);
  return to == 0 ? 0 : notNone(hashAddress(from, to, space));
}

/** Hashes an address, equally for its spellings: letters in either case, with or without a leading plus. */
function hashAddress(start: usize, end: usize, space: u32): u64 {
  for (let at = start; at < end; at += 1) {
    const byte = load<u8>(at);
    if (byte >= 65 && byte <= 90) store<u8>(at, byte | 0x20);
  }
  const from = start < end && <i32>load<u8>(start) == PLUS ? start + 1 : start;
  return hash(from, end, space);
}

function stringKey(start: usize, end: usize, space: u32): u64 {
  const stop = stringStop(start, end);
  return stop == 0 ? 0 : notNone(hash(start, stop, space));
}

/** Returns the position of the quote that ends a string, or 0 if it has escapes or does not end. */
function stringStop(start: usize, end: usize): usize {
  for (let at = start; at < end; at += 1) {
    const byte = <i32>load<u8>(at);
    if (byte == BACKSLASH) return 0;
    if (byte == QUOTE) return at;
  }
  return 0;
}

function skipSpace(from: usize, end: usize): usize {
  let at = from;
  while (at < end && <i32>load<u8>(at) <= SPACE) at += 1;
  return at;
}

// Fingerprints: equal for texts of equal JSON values, whatever the order of members, white space, escapes and spelling of numbers.

/** Before a text, so that equal texts of different types differ. */
const enum Type {
  key = 1,
  text,
  literal,
  number,
  list,
  object,
  end,
}

let cursor: i32 = 0;
/** Memory for a string without its escapes, and for the digits of a number. */
let room: i32 = 0;

/**
 * Writes the fingerprint of each record to `out`. The texts are valid JSON objects. The member `ts` does
 * not count in those with 1 in `uploadTimes`, if that is not 0.
 */
export function fingerprintEvents(
  count: i32,
  bounds: i32,
  text: i32,
  out: i32,
  roomAt: i32,
  uploadTimes: i32,
): void {
  room = roomAt;
  for (let index = 0; index < count; index += 1) {
    cursor = text + load<i32>(bounds + 8 * index);
    const ignoresTime = uploadTimes != 0 && load<u8>(uploadTimes + index) != 0;
    store<u64>(out + 8 * index, notNone(objectPrint(0, ignoresTime)));
  }
}

/** `place`: the hash of all that is before the value and says where it is. */
function valuePrint(place: u64): u64 {
  cursor = spaceEnd(cursor);
  const start = cursor;
  const byte = <i32>load<u8>(start);
  if (byte == QUOTE) return stringPrint(place + Type.text);
  if (byte == 0x7b) return objectPrint(place, false);
  if (byte == 0x5b) return listPrint(place);
  cursor = scalarEnd(start);
  return byte >= 0x61 ? hash(start, cursor, place + Type.literal) : numberPrint(start, cursor, place + Type.number);
}

function stringPrint(before: u64): u64 {
  const start = cursor + 1;
  forgetEscapes();
  cursor = stringEnd(start);
  if (!hasEscape) return hash(start, cursor - 1, before);
  return hash(room, spell(start, cursor - 1, room), before);
}

/** The members are added up, because their order means nothing. */
function objectPrint(place: u64, ignoresTime: bool): u64 {
  const own = hash(0, 0, place + Type.object);
  let sum = own;
  cursor = spaceEnd(cursor + 1);
  while (<i32>load<u8>(cursor) != 0x7d) {
    const isTime = ignoresTime && load<u32>(cursor) == 0x22737422; // "ts"
    const key = stringPrint(own + Type.key);
    cursor = spaceEnd(cursor) + 1;
    const member = valuePrint(key);
    if (!isTime) sum += member;
    cursor = spaceEnd(cursor);
    if (<i32>load<u8>(cursor) == 0x2c) cursor = spaceEnd(cursor + 1);
  }
  cursor += 1;
  return hash(0, 0, sum + Type.end);
}

function listPrint(place: u64): u64 {
  let found = hash(0, 0, place + Type.list);
  cursor = spaceEnd(cursor + 1);
  while (<i32>load<u8>(cursor) != 0x5d) {
    found = valuePrint(found);
    cursor = spaceEnd(cursor);
    if (<i32>load<u8>(cursor) == 0x2c) cursor = spaceEnd(cursor + 1);
  }
  cursor += 1;
  return hash(0, 0, found + Type.end);
}

/** Of the digits without zeros at both ends and the power of ten of the first: 1.50, 1.5 and 15e-1 are equal. */
function numberPrint(start: i32, end: i32, before: u64): u64 {
  let to = room;
  /** Where the digits without zeros at the end stop. */
  let stop = room;
  /** Power of ten of the first digit that counts. */
  let power: i64 = 0;
  let isFraction = false;
  let at = start;
  for (; at < end; at += 1) {
    const byte = <i32>load<u8>(at);
    if (byte == 0x2d) continue;
    if (byte == 0x2e) {
      isFraction = true;
      continue;
    }
    if ((byte | 0x20) == 0x65) break;
    const isFirst = to == room;
    if (isFraction ? isFirst : !isFirst) power += isFraction ? -1 : 1;
    if (isFirst && byte == 0x30) continue;
    store<u8>(to, byte);
    to += 1;
    if (byte != 0x30) stop = to;
  }
  if (stop == room) return hash(room, room, before);
  if (at < end) power += exponentAt(at + 1, end);
  const isNegative = <i32>load<u8>(start) == 0x2d;
  store<i64>(stop, power * 2 + (isNegative ? 1 : 0));
  return hash(room, stop + 8, before);
}

/** Of exponents that make any number 0 or infinite, not all digits count. */
function exponentAt(from: i32, end: i32): i64 {
  const sign = <i32>load<u8>(from);
  let exponent: i64 = 0;
  for (let at = sign == 0x2d || sign == 0x2b ? from + 1 : from; at < end; at += 1) {
    if (exponent < 100_000_000_000_000_000) exponent = exponent * 10 + <i64>(<i32>load<u8>(at) - 0x30);
  }
  return sign == 0x2d ? -exponent : exponent;
}

/** SipHash-1-3 of a word and the text behind it. */
export function hash(start: usize, end: usize, first: u64): u64 {
  let v0 = start0;
  let v1 = start1;
  let v2 = start2;
  let v3 = start3;
  let at = start;
  let lastRounds = 3;
  // In four variables, not in globals: those would be written to memory.
  for (let word = first; ; at += 8) {
    v3 ^= word;
    v0 += v1;
    v1 = rotl<u64>(v1, 13) ^ v0;
    v2 += v3;
    v3 = rotl<u64>(v3, 16) ^ v2;
    v0 = rotl<u64>(v0, 32) + v3;
    v3 = rotl<u64>(v3, 21) ^ v0;
    v2 += v1;
    v1 = rotl<u64>(v1, 17) ^ v2;
    v2 = rotl<u64>(v2, 32);
    v0 ^= word;
    if (at <= end) {
      word = at + 8 <= end ? load<u64>(at) : lastWord(at, end, <u64>(8 + end - start));
      continue;
    }
    if (lastRounds == 0) break;
    if (lastRounds == 3) v2 ^= 0xff;
    lastRounds -= 1;
    word = 0;
  }
  return v0 ^ v1 ^ v2 ^ v3;
}

/** The bytes that are left; the highest one is the length. */
@inline
function lastWord(at: usize, end: usize, length: u64): u64 {
  return firstBits(load<u64>(at), <u64>(8 * (end - at))) | (length << 56);
}

// Pages: XXH64 (https://github.com/Cyan4973/xxHash), several times as fast, without a secret. It only finds a page that comes again:
// who can make two pages meet in it can as well make two equal pages.

const prime1: u64 = 0x9e3779b185ebca87;
const prime2: u64 = 0xc2b2ae3d27d4eb4f;
const prime3: u64 = 0x165667b19e3779f9;
const prime4: u64 = 0x85ebca77c2b2ae63;
const prime5: u64 = 0x27d4eb2f165667c5;

/** Hashes the records of a page. */
export function hashPage(start: usize, end: usize): u64 {
  let at = start;
  let found: u64;
  if (end - start >= 32) {
    let lane1 = prime1 + prime2;
    let lane2 = prime2;
    let lane3: u64 = 0;
    let lane4 = 0 - prime1;
    for (; at + 32 <= end; at += 32) {
      lane1 = round(lane1, load<u64>(at));
      lane2 = round(lane2, load<u64>(at + 8));
      lane3 = round(lane3, load<u64>(at + 16));
      lane4 = round(lane4, load<u64>(at + 24));
    }
    found = rotl<u64>(lane1, 1) + rotl<u64>(lane2, 7) + rotl<u64>(lane3, 12) + rotl<u64>(lane4, 18);
    found = merged(merged(merged(merged(found, lane1), lane2), lane3), lane4);
  } else {
    found = prime5;
  }
  found += <u64>(end - start);
  for (; at + 8 <= end; at += 8) {
    found = rotl<u64>(found ^ round(0, load<u64>(at)), 27) * prime1 + prime4;
  }
  if (at + 4 <= end) {
    found = rotl<u64>(found ^ (<u64>load<u32>(at) * prime1), 23) * prime2 + prime3;
    at += 4;
  }
  for (; at < end; at += 1) found = rotl<u64>(found ^ (<u64>load<u8>(at) * prime5), 11) * prime1;
  found = (found ^ (found >> 33)) * prime2;
  found = (found ^ (found >> 29)) * prime3;
  return found ^ (found >> 32);
}

@inline
function round(lane: u64, word: u64): u64 {
  return rotl<u64>(lane + word * prime2, 31) * prime1;
}

@inline
function merged(found: u64, lane: u64): u64 {
  return (found ^ round(0, lane)) * prime1 + prime4;
}
