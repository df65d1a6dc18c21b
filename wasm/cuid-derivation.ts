// Makes cuids of texts, for `src/jobs/cuid/cuid-derivation.ts`. A text is the value, or value, NUL and device. Behind each of them
// `padding` bytes are written to.

import { addAll, addDigests, initial, pad, prepare, stateBytes } from './sha-256';

// Behind what SHA-256 takes: states, a block, starts and last blocks of four texts, what belongs to the texts.
const inner: i32 = 1536;
const outer: i32 = 1664;
const state: i32 = 1792;
const block: i32 = 1920;
const starts: i32 = 2048;
const lasts: i32 = 2064;
/** The place of the cuids that await their digests. */
const waiting: i32 = 2080;
export const room: i32 = 2112;
/** Bytes after a text that are overwritten. */
export const padding: i32 = 72;
/** Bytes from one cuid to the next. */
export const stride: i32 = 64;

const blockBytes: i32 = 64;
const NEWLINE: u8 = 0x0a;
const UNDERSCORE: u8 = 0x5f;
const LETTER_A: u8 = 0x61;
const LETTER_U: u8 = 0x75;
const LETTER_Z: u8 = 0x7a;

/** Characters of a cuid at most, and at least; of the digest in one that is readable, and of one that is a hash. */
const most: i32 = 50;
const fewest: i32 = 5;
const tailLength: i32 = 8;
const hashLength: i32 = 26;

let hasKey: bool = false;
/** How many cuids await their digests: up to four. */
let count: i32 = 0;

/** Sets the key of HMAC-SHA256 (RFC 2104). Call it once; `end` before `start` means no key. */
export function setKey(start: i32, end: i32): void {
  prepare();
  hasKey = end >= start;
  if (!hasKey) return;
  memory.fill(block, 0, blockBytes);
  if (end - start > blockBytes) {
    fourTimes(start, pad(start, end, 0));
    memory.copy(state, initial, stateBytes);
    addAll(starts, lasts, state);
    for (let word = 0; word < 8; word += 1) store<u32>(block + 4 * word, bswap<u32>(load<u32>(state + 16 * word)));
  } else {
    memory.copy(block, start, end - start);
  }
  fourTimes(block, block);
  mask(0x36, inner);
  mask(0x36 ^ 0x5c, outer);
}

/** One text four times. */
function fourTimes(start: i32, last: i32): void {
  v128.store(starts, i32x4.splat(start));
  v128.store(lasts, i32x4.splat(last));
}

function mask(by: u8, to: i32): void {
  for (let at = block; at < block + blockBytes; at += 1) store<u8>(at, load<u8>(at) ^ by);
  memory.copy(to, initial, stateBytes);
  addAll(starts, lasts, to);
}

/**
 * Makes cuids of `texts`, of which `bounds` say, three numbers each, where one begins, where its value ends, and where it ends. The
 * cuids go to `made`, one behind the other by `stride`; where each ends goes to `ends`.
 */
export function make(texts: i32, bounds: i32, made: i32, ends: i32): void {
  for (let index = 0; index < texts; index += 1) {
    const at = bounds + 12 * index;
    const start = load<i32>(at);
    const end = load<i32>(at, 8);
    const to = made + stride * index;
    const tail = hasKey ? head(to) : slug(start, load<i32>(at, 4), end, to);
    if (tail > 0) addDigest(start, end, tail);
    store<i32>(ends + 4 * index, tail > 0 ? tail + digestLength() : -tail);
  }
  if (count > 0) writeDigests();
}

@inline
function digestLength(): i32 {
  return hasKey ? hashLength : tailLength;
}

/** Converts the prefix of a hash; returns the end. */
@inline
function head(to: i32): i32 {
  store<u8>(to, LETTER_U);
  store<u8>(to, UNDERSCORE, 1);
  return to + 2;
}

/** Makes a readable cuid; returns where the digest goes or, where none is needed, where the cuid ends, below 0. */
function slug(start: i32, valueEnd: i32, end: i32, made: i32): i32 {
  let to = hasLetter(start, end) ? made : head(made);
  const first = to;
  const limit = made + most + 1;
  // `a_b` with `c` and `a` with `b_c` would be one.
  const mayJoin = valueEnd == end;
  let isWhole = true;
  let isGap = false;
  for (let at = start; at < end && to < limit; at += 1) {
    const byte = load<u8>(at);
    if (isPlain(byte)) {
      if (isGap && to > first) store<u8>(to++, UNDERSCORE);
      store<u8>(to++, byte);
      isGap = false;
    } else {
      if (isGap || at == start || !(at == valueEnd || (mayJoin && byte == UNDERSCORE))) isWhole = false;
      isGap = true;
    }
  }
  const length = to - made;
  if (isWhole && !isGap && length >= fewest && length <= most) return -to;
  to = made + min(length, most - 1 - tailLength);
  if (load<u8>(to - 1) == UNDERSCORE) to -= 1;
  store<u8>(to, UNDERSCORE);
  return to + 1;
}

function hasLetter(start: i32, end: i32): bool {
  for (let at = start; at < end; at += 1) if (isLetter(load<u8>(at))) return true;
  return false;
}

@inline
function isPlain(byte: u8): bool {
  return isLetter(byte) || (byte >= 0x30 && byte <= 0x39);
}

@inline
function isLetter(byte: u8): bool {
  const lower = byte | 0x20;
  return lower >= LETTER_A && lower <= LETTER_Z;
}

/**
 * Writes rows to `to`, each with a cuid behind it: row, delimiter, cuid, newline. `places` say four numbers each: where a row begins
 * and ends, and where its cuid does. Returns where the last one ends.
 */
export function append(rows: i32, places: i32, delimiter: i32, delimiterEnd: i32, to: i32): i32 {
  for (let place = places; place < places + 16 * rows; place += 16) {
    to = copy(load<i32>(place), load<i32>(place, 4), to);
    to = copy(delimiter, delimiterEnd, to);
    to = copy(load<i32>(place, 8), load<i32>(place, 12), to);
    store<u8>(to++, NEWLINE);
  }
  return to;
}

@inline
function copy(start: i32, end: i32, to: i32): i32 {
  memory.copy(to, start, end - start);
  return to + end - start;
}

/** The digest of this text is to go to `tail`: four of them are made at a time. */
function addDigest(start: i32, end: i32, tail: i32): void {
  store<i32>(starts + 4 * count, start);
  store<i32>(lasts + 4 * count, pad(start, end, hasKey ? blockBytes : 0));
  store<i32>(waiting + 4 * count, tail);
  count += 1;
  if (count == 4) writeDigests();
}

function writeDigests(): void {
  for (let lane = count; lane < 4; lane += 1) {
    store<i32>(starts + 4 * lane, load<i32>(starts));
    store<i32>(lasts + 4 * lane, load<i32>(lasts));
  }
  memory.copy(state, hasKey ? inner : initial, stateBytes);
  addAll(starts, lasts, state);
  if (hasKey) addDigests(outer, state);
  for (let lane = 0; lane < count; lane += 1) writeDigest(state + 4 * lane, load<i32>(waiting + 4 * lane), digestLength());
  count = 0;
}

/** The first characters in base 32 (RFC 4648), in lower case, of a digest whose words lie 16 bytes apart. */
function writeDigest(words: i32, to: i32, length: i32): void {
  for (let at = 0; at < length; at += 1) {
    const bit = 5 * at;
    const word = words + 16 * (bit >> 5);
    const pair = (<u64>load<u32>(word) << 32) | <u64>load<u32>(word, 16);
    const five = <i32>(pair >> (59 - (bit & 31))) & 31;
    store<u8>(to + at, five < 26 ? LETTER_A + <u8>five : 24 + <u8>five);
  }
}
