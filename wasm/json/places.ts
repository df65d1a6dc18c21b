// The places of records that have columns of a CSV: `profileData.City` is the place of the member City of the place
// profileData. What stands in a place is a cell, an object of further places, or both.
//
// Memory of a place, whose address is its number: its column, or -1; the next place of its parent, in order of appearance,
// and its own first and last member; where its name starts and ends as it was spelled first; its parent; where its name
// without escapes ends, which is behind all that. Place and name are found by a table as in `names.ts`, whose entries are of
// a parent. Then, of each column, its place.

import { allocate } from './memory';
import { entryBytes, firstEntry, hashOf, isNamed, mixed, nextEntry, setEntry } from '../memory';
import { spell } from './spelling';

const placeBytes: i32 = 32;
const slack: i32 = 16;

let bits: i32 = 8;
let table: i32 = allocate(entryBytes << bits);
let count: i32 = 0;
let mostColumns: i32 = 64;
let columns: i32 = allocate(4 * mostColumns);
export let columnCount: i32 = 0;

export const root: i32 = newPlace(0, 0);

// @ts-ignore
@inline export function columnOf(place: i32): i32 {
  return load<i32>(place);
}

/** The place that mostly follows among the members of one parent; 0 if none does. */
// @ts-ignore
@inline export function placeBehind(place: i32): i32 {
  return load<i32>(place, 4);
}

// @ts-ignore
@inline export function firstMember(place: i32): i32 {
  return load<i32>(place, 8);
}

export function parentOf(place: i32): i32 {
  return load<i32>(place, 24);
}

/** Where the place's name starts as it is spelled in JSON, without quotes; `spellingEnd` is where it ends. */
export function spellingOf(place: i32): i32 {
  return load<i32>(place, 16);
}

export function spellingEnd(place: i32): i32 {
  return load<i32>(place, 20);
}

/** Whether the key behind the quote at `start` is spelled as the place's name was first. */
// @ts-ignore
@inline export function isSpelled(place: i32, start: i32): bool {
  let spelled = spellingOf(place);
  const end = spellingEnd(place);
  if (load<u8>(start + end - spelled) != 0x22) return false;
  for (; spelled + 8 <= end; spelled += 8) {
    if (load<u64>(spelled) != load<u64>(start)) return false;
    start += 8;
  }
  const rest = <u64>(8 * (end - spelled));
  return ((load<u64>(spelled) ^ load<u64>(start)) & ((1 << rest) - 1)) == 0;
}

/** The member of `parent` with the name that is spelled between these places; 0 if there is none. */
export function findPlace(parent: i32, start: i32, end: i32, scratch: i32): i32 {
  let name = start;
  let nameEnd = end;
  if (hasBackslash(start, end)) {
    name = scratch;
    nameEnd = spell(start, end, name);
  }
  const hash = mixed(hashOf(name, nameEnd), parent);
  let entry = firstEntry(table, bits, hash);
  while (load<i64>(entry) != 0) {
    if (load<i64>(entry) == parent && isNamed(entry, hash, name, nameEnd)) return load<i32>(entry, 16) - placeBytes;
    entry = nextEntry(table, bits, entry);
  }
  return 0;
}

/** Makes such a member, where there is none. */
export function addPlace(parent: i32, start: i32, end: i32): i32 {
  const size = end - start;
  const place = newPlace(parent, 2 * size + slack);
  const name = place + placeBytes;
  let nameEnd = spell(start, end, name);
  let spelling = name;
  if (nameEnd - name != size) {
    spelling = nameEnd + 1;
    memory.copy(spelling, start, size);
  }
  store<i32>(place, spelling, 16);
  store<i32>(place, spelling + size, 20);
  store<i32>(place, nameEnd, 28);

  const last = load<i32>(parent, 12);
  if (last == 0) store<i32>(parent, place, 8);
  else store<i32>(last, place, 4);
  store<i32>(parent, place, 12);

  if (count == 1 << (bits - 1)) grow();
  count += 1;
  addEntry(parent, mixed(hashOf(name, nameEnd), parent), name, nameEnd);
  return place;
}

/** Makes a column of a place that has none. */
export function giveColumn(place: i32): i32 {
  if (columnCount == mostColumns) {
    const grown = allocate(8 * mostColumns);
    memory.copy(grown, columns, 4 * mostColumns);
    columns = grown;
    mostColumns *= 2;
  }
  store<i32>(columns + 4 * columnCount, place);
  store<i32>(place, columnCount);
  columnCount += 1;
  return columnCount - 1;
}

export function placeOfColumn(column: i32): i32 {
  return load<i32>(columns + 4 * column);
}

function newPlace(parent: i32, nameBytes: i32): i32 {
  const place = allocate(placeBytes + nameBytes);
  store<i32>(place, -1);
  store<i32>(place, parent, 24);
  return place;
}

function hasBackslash(start: i32, end: i32): bool {
  for (; start < end; start += 1) if (load<u8>(start) == 0x5c) return true;
  return false;
}

function addEntry(parent: i64, hash: u64, name: i32, end: i32): void {
  let entry = firstEntry(table, bits, hash);
  while (load<i64>(entry) != 0) entry = nextEntry(table, bits, entry);
  setEntry(entry, parent, hash, name, end);
}

function grow(): void {
  let old = table;
  const oldEnd = table + (entryBytes << bits);
  bits += 1;
  table = allocate(entryBytes << bits);
  for (; old < oldEnd; old += entryBytes) {
    if (load<i64>(old) != 0) addEntry(load<i64>(old), load<u64>(old, 8), load<i32>(old, 16), load<i32>(old, 20));
  }
}
