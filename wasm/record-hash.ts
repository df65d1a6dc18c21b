// Hashes of records and of their keys, and fingerprints of events, for `src/text/record-hash.ts`, and hashes of pages: XXH64
// (https://github.com/Cyan4973/xxHash), with a seed that nobody who writes a record knows. Up to 7 bytes behind the text may be read.

import { forgetEscapes, hasEscape, scalarEnd, spaceEnd, spell, stringEnd } from './json-tokens';

const prime1: u64 = 0x9e3779b185ebca87;
const prime2: u64 = 0xc2b2ae3d27d4eb4f;
const prime3: u64 = 0x165667b19e3779f9;
const prime4: u64 = 0x85ebca77c2b2ae63;
const prime5: u64 = 0x27d4eb2f165667c5;

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

let seed: u64 = 0;

export function setSeed(low: u32, high: u32): void {
  seed = (<u64>high << 32) | <u64>low;
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
    const own = notNone(hash(start, end, seed));
    const key = kind == event ? own : kind == subscription ? addressKey(start, end) : identityKey(start, end);
    store<u64>(out + 16 * index, key);
    store<u64>(out + 16 * index + 8, own);
  }
}

/** Writes the hash of a key, whose namespace is a number, to `out`. Overwrites the key of an address. */
export function hashKey(start: usize, end: usize, space: u32, out: usize): void {
  const isAddress = space == 101 || space == 112 || space == 119; // e, p, w
  store<u64>(out, notNone(isAddress ? hashAddress(start, end, space) : hash(start, end, seed + space)));
}

/** Hashes a text with the seed alone. */
export function hashText(start: usize, end: usize): u64 {
  return hash(start, end, seed);
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
  return hash(from, end, seed + space);
}

function stringKey(start: usize, end: usize, space: u32): u64 {
  const stop = stringStop(start, end);
  return stop == 0 ? 0 : notNone(hash(start, stop, seed + space));
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

/** Added to the seed, so that equal texts of different types differ. */
const enum Type {
  key = 1,
  text,
  literal,
  number,
  list,
  object,
}

let cursor: i32 = 0;
/** Memory for a string without its escapes. */
let unescaped: i32 = 0;

/**
 * Writes the fingerprint of each record to `out`. The texts are valid JSON objects. The member `ts` does
 * not count if `ignoresTime`.
 */
export function fingerprintEvents(
  count: i32,
  bounds: i32,
  text: i32,
  out: i32,
  room: i32,
  ignoresTime: bool,
): void {
  unescaped = room;
  for (let index = 0; index < count; index += 1) {
    cursor = text + load<i32>(bounds + 8 * index);
    store<u64>(out + 8 * index, notNone(objectPrint(ignoresTime)));
  }
}

function valuePrint(): u64 {
  cursor = spaceEnd(cursor);
  const start = cursor;
  const byte = <i32>load<u8>(start);
  if (byte == QUOTE) return stringPrint(Type.text);
  if (byte == 0x7b) return objectPrint(false);
  if (byte == 0x5b) return listPrint();
  cursor = scalarEnd(start);
  return byte >= 0x61 ? hash(start, cursor, seed + Type.literal) : numberPrint(start, cursor);
}

function stringPrint(type: u64): u64 {
  const start = cursor + 1;
  forgetEscapes();
  cursor = stringEnd(start);
  if (!hasEscape) return hash(start, cursor - 1, seed + type);
  return hash(unescaped, spell(start, cursor - 1, unescaped), seed + type);
}

/** The members are added up, because their order means nothing. */
function objectPrint(ignoresTime: bool): u64 {
  let sum: u64 = seed + Type.object;
  cursor = spaceEnd(cursor + 1);
  while (<i32>load<u8>(cursor) != 0x7d) {
    const isTime = ignoresTime && load<u32>(cursor) == 0x22737422; // "ts"
    const key = stringPrint(Type.key);
    cursor = spaceEnd(cursor) + 1;
    const member = combined(key, valuePrint());
    if (!isTime) sum += member;
    cursor = spaceEnd(cursor);
    if (<i32>load<u8>(cursor) == 0x2c) cursor = spaceEnd(cursor + 1);
  }
  cursor += 1;
  return combined(sum, Type.object);
}

function listPrint(): u64 {
  let found: u64 = seed + Type.list;
  cursor = spaceEnd(cursor + 1);
  while (<i32>load<u8>(cursor) != 0x5d) {
    found = combined(found, valuePrint());
    cursor = spaceEnd(cursor);
    if (<i32>load<u8>(cursor) == 0x2c) cursor = spaceEnd(cursor + 1);
  }
  cursor += 1;
  return found;
}

/** Of the digits without zeros at both ends and the power of ten of the first: 1.50, 1.5 and 15e-1 are equal. */
function numberPrint(start: i32, end: i32): u64 {
  let digits: u64 = seed + Type.number;
  let zeros = 0;
  /** Power of ten of the first digit that counts. */
  let power: i64 = 0;
  let hasDigit = false;
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
    if (byte == 0x30) {
      if (hasDigit) zeros += 1;
      else if (isFraction) power -= 1;
      if (hasDigit && !isFraction) power += 1;
      continue;
    }
    for (; zeros > 0; zeros -= 1) digits = digits * prime1 + prime5;
    digits = digits * prime1 + prime5 + <u64>(byte - 0x30);
    if (!hasDigit) {
      hasDigit = true;
      if (isFraction) power -= 1;
    } else if (!isFraction) power += 1;
  }
  if (!hasDigit) return seed + Type.number;
  if (at < end) power += exponentAt(at + 1, end);
  const isNegative = <i32>load<u8>(start) == 0x2d;
  return combined(digits, <u64>(power * 2 + (isNegative ? 1 : 0)));
}

/** Larger exponents than the service can store wrap around. */
function exponentAt(from: i32, end: i32): i64 {
  const sign = <i32>load<u8>(from);
  let exponent: i64 = 0;
  for (let at = sign == 0x2d || sign == 0x2b ? from + 1 : from; at < end; at += 1) {
    exponent = exponent * 10 + <i64>(<i32>load<u8>(at) - 0x30);
  }
  return sign == 0x2d ? -exponent : exponent;
}

/** Mixes two hashes, of which the order counts. */
@inline
function combined(first: u64, second: u64): u64 {
  let found = rotl<u64>(first ^ round(0, second), 27) * prime1 + prime4;
  found = (found ^ (found >> 33)) * prime2;
  found = (found ^ (found >> 29)) * prime3;
  return found ^ (found >> 32);
}

function hash(start: usize, end: usize, by: u64): u64 {
  let at = start;
  let found: u64;
  if (end - start >= 32) {
    let lane1 = by + prime1 + prime2;
    let lane2 = by + prime2;
    let lane3 = by;
    let lane4 = by - prime1;
    for (; at + 32 <= end; at += 32) {
      lane1 = round(lane1, load<u64>(at));
      lane2 = round(lane2, load<u64>(at + 8));
      lane3 = round(lane3, load<u64>(at + 16));
      lane4 = round(lane4, load<u64>(at + 24));
    }
    found = rotl<u64>(lane1, 1) + rotl<u64>(lane2, 7) + rotl<u64>(lane3, 12) + rotl<u64>(lane4, 18);
    found = merged(merged(merged(merged(found, lane1), lane2), lane3), lane4);
  } else {
    found = by + prime5;
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
