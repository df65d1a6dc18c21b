// Which shard rows fall to, for `src/text/shard-finder.ts`: FNV-1a 64 (http://www.isthe.com/chongo/tech/comp/fnv) of their keys,
// modulo the number of shards. A row that belongs to another shard is not looked at any further. Shards are counted from 1 on.

import { beginElement, elementEnd } from './json-array';
import { base } from './json-parser';
import { othersIn } from './json-tokens';

const offset: u64 = 0xcbf29ce484222325;
const prime: u64 = 0x100000001b3;

const QUOTE: i32 = 34;
const COMMA: i32 = 44;
const COLON: i32 = 58;
const SPACE: i32 = 32;
const OPEN_OBJECT: i32 = 123;

/** Instead of a shard: only the record made of the row has the key. */
const unknown: i32 = 0;

let shards: u64 = 1;

export function setShards(count: u32): void {
  shards = count;
}

/** Returns the shard of a key. */
export function shardOf(start: usize, end: usize): i32 {
  return shardWith(hashed(start, end, offset));
}

/**
 * Of rows of so many cells, whose bounds are as in Cells, counted from `text`. The key is the first cell of two that is not
 * empty, or none: that is the first shard's. Before the key goes another cell, in lower case, and a NUL; or, where that is empty,
 * what `out` has. Each of these cells is a column, or -1. `out` gets the shards.
 */
export function shardsOfCells(
  text: usize,
  cells: usize,
  rows: i32,
  columns: i32,
  first: i32,
  second: i32,
  before: i32,
  emptyLength: i32,
  out: usize,
): void {
  const ofEmpty = hashed(out, out + emptyLength, offset);
  for (let row = 0; row < rows; row += 1) {
    const cellsOfRow = cells + 8 * row * columns;
    let key = cellsOfRow + 8 * first;
    if (first < 0 || isEmpty(key)) key = second < 0 ? 0 : cellsOfRow + 8 * second;
    let shard = 1;
    if (key != 0 && !isEmpty(key)) {
      const cell = cellsOfRow + 8 * before;
      const hash = before < 0 || isEmpty(cell) ? ofEmpty : step(hashedLower(cell, text), 0);
      shard = shardWith(hashedCell(key, text, hash));
    }
    store<i32>(out + 4 * row, shard);
  }
}

/**
 * Writes the shards of JSON texts, whose bounds are relative to `text`, by the member with this name if
 * it is a plain string.
 */
export function shardsOfLines(text: usize, bounds: usize, rows: i32, name: usize, nameLength: i32, out: usize): void {
  for (let row = 0; row < rows; row += 1) {
    const start = text + load<u32>(bounds + 8 * row);
    const end = text + load<u32>(bounds + 8 * row + 4);
    const key = memberAt(start, end, name, nameLength) + 1;
    const keyEnd: usize = key == 1 ? 0 : plainEnd(key, end);
    store<i32>(out + 4 * row, keyEnd > key ? shardOf(key, keyEnd) : unknown);
  }
}

/** The string that is the value of the member, in an object with plain names up to there; else 0. */
function memberAt(start: usize, end: usize, name: usize, nameLength: i32): usize {
  if (<i32>load<u8>(start) != OPEN_OBJECT) return 0;
  let at = spaceEnd(start + 1, end);
  while (at < end && <i32>load<u8>(at) == QUOTE) {
    const nameEnd = plainEnd(at + 1, end);
    if (nameEnd == 0) return 0;
    const isIt = nameEnd - at - 1 == nameLength && memory.compare(at + 1, name, nameLength) == 0;
    at = spaceEnd(nameEnd + 1, end);
    if (at >= end || <i32>load<u8>(at) != COLON) return 0;
    at = spaceEnd(at + 1, end);
    if (isIt) return at < end && <i32>load<u8>(at) == QUOTE ? at : 0;
    beginElement();
    const valueEnd = elementEnd(<i32>at - base, <i32>end - base);
    if (valueEnd < 0) return 0;
    at = spaceEnd(base + valueEnd, end);
    if (at >= end || <i32>load<u8>(at) != COMMA) return 0;
    at = spaceEnd(at + 1, end);
  }
  return 0;
}

/** The quote that closes a string without escapes, else 0. */
function plainEnd(start: usize, end: usize): usize {
  let at = start;
  while (at < end) {
    const others = othersIn(load<u64>(at));
    if (others == 0) {
      at += 8;
      continue;
    }
    at += <usize>(ctz(others) >> 3);
    return at < end && <i32>load<u8>(at) == QUOTE ? at : 0;
  }
  return 0;
}

function spaceEnd(from: usize, end: usize): usize {
  let at = from;
  while (at < end && <i32>load<u8>(at) <= SPACE) at += 1;
  return at;
}

// @ts-ignore
@inline
function isEmpty(cell: usize): bool {
  return load<i32>(cell) == load<i32>(cell, 4);
}

/** Hashes the content of a cell; a negative end means doubled quotes. */
function hashedCell(cell: usize, text: usize, from: u64): u64 {
  const start = text + load<i32>(cell);
  const end = load<i32>(cell, 4);
  if (end >= 0) return hashed(start, text + end, from);
  let hash = from;
  for (let at = start; at < text + ~end; at += 1) {
    const byte = load<u8>(at);
    hash = step(hash, byte);
    if (byte == QUOTE) at += 1; // its double
  }
  return hash;
}

function hashedLower(cell: usize, text: usize): u64 {
  const end = load<i32>(cell, 4);
  let hash = offset;
  for (let at = text + load<i32>(cell); at < text + (end < 0 ? ~end : end); at += 1) {
    const byte = load<u8>(at);
    hash = step(hash, byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte);
  }
  return hash;
}

function hashed(start: usize, end: usize, from: u64): u64 {
  let hash = from;
  for (let at = start; at < end; at += 1) hash = step(hash, load<u8>(at));
  return hash;
}

// @ts-ignore
@inline
function step(hash: u64, byte: u64): u64 {
  return (hash ^ byte) * prime;
}

// @ts-ignore
@inline
function shardWith(hash: u64): i32 {
  return <i32>(hash % shards) + 1;
}
