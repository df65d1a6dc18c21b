// Makes cuids of texts, for `src/jobs/cuid/cuid-maker.ts`. A text is the value, or value, NUL and device.

import { add, finish, initial, prepare } from './sha-256';

// Behind what SHA-256 takes: states, a block, what was made, the text.
const inner: i32 = 576;
const outer: i32 = 608;
const digest: i32 = 640;
const block: i32 = 704;
export const made: i32 = 832;
export const text: i32 = 896;
/** Bytes behind the text that are written to. */
export const padding: i32 = 72;

const blockBytes: i32 = 64;
const UNDERSCORE: u8 = 0x5f;
const LETTER_A: u8 = 0x61;
const LETTER_U: u8 = 0x75;
const LETTER_Z: u8 = 0x7a;

/** Characters of a cuid at most, and at least; of the digest in one that is readable, and of one that is a hash. */
const most: i32 = 50;
const fewest: i32 = 5;
const tailLength: i32 = 8;
const hashLength: i32 = 26;

/** Of HMAC-SHA256 (RFC 2104), which is where the text is; to be called once, where there is none with an end of -1. */
export function setKey(end: i32): void {
  prepare();
  if (end < 0) return;
  memory.fill(block, 0, blockBytes);
  if (end - text > blockBytes) {
    finish(initial, 0, text, end, digest);
    storeDigest(block);
  } else {
    memory.copy(block, text, end - text);
  }
  mask(0x36);
  add(initial, block, inner);
  mask(0x36 ^ 0x5c);
  add(initial, block, outer);
}

function mask(by: u8): void {
  for (let at = block; at < block + blockBytes; at += 1) store<u8>(at, load<u8>(at) ^ by);
}

/** Makes a keyed hash of the text up to `end`; returns where it ends. */
export function hash(end: i32): i32 {
  finish(inner, blockBytes, text, end, digest);
  storeDigest(block);
  finish(outer, blockBytes, block, block + 32, digest);
  store<u8>(made, LETTER_U);
  store<u8>(made, UNDERSCORE, 1);
  return writeDigest(made + 2, hashLength);
}

/** Makes a readable cuid of the text up to `end`, whose value goes to `valueEnd`; returns where it ends. */
export function slug(valueEnd: i32, end: i32): i32 {
  let to = made;
  if (!hasLetter(end)) {
    store<u8>(to, LETTER_U);
    store<u8>(to, UNDERSCORE, 1);
    to += 2;
  }
  const first = to;
  const limit = made + most + 1;
  // `a_b` with `c` and `a` with `b_c` would be one.
  const mayJoin = valueEnd == end;
  let isWhole = true;
  let isGap = false;
  for (let at = text; at < end && to < limit; at += 1) {
    const byte = load<u8>(at);
    if (isPlain(byte)) {
      if (isGap && to > first) store<u8>(to++, UNDERSCORE);
      store<u8>(to++, byte);
      isGap = false;
    } else {
      if (isGap || at == text || !(at == valueEnd || (mayJoin && byte == UNDERSCORE))) isWhole = false;
      isGap = true;
    }
  }
  const length = to - made;
  if (isWhole && !isGap && length >= fewest && length <= most) return to;
  to = made + min(length, most - 1 - tailLength);
  if (load<u8>(to - 1) == UNDERSCORE) to -= 1;
  store<u8>(to, UNDERSCORE);
  finish(initial, 0, text, end, digest);
  return writeDigest(to + 1, tailLength);
}

function hasLetter(end: i32): bool {
  for (let at = text; at < end; at += 1) if (isLetter(load<u8>(at))) return true;
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

function storeDigest(to: i32): void {
  for (let at = 0; at < 32; at += 4) store<u32>(to + at, bswap<u32>(load<u32>(digest + at)));
}

/** The first characters of the digest in base 32 (RFC 4648), in lower case; returns where they end. */
function writeDigest(to: i32, length: i32): i32 {
  for (let at = 0; at < length; at += 1) {
    const bit = 5 * at;
    const pair = rotl<u64>(load<u64>(digest + 4 * (bit >> 5)), 32);
    const five = <i32>(pair >> (59 - (bit & 31))) & 31;
    store<u8>(to + at, five < 26 ? LETTER_A + <u8>five : 24 + <u8>five);
  }
  return to + length;
}
