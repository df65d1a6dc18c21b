// The places of records that have columns of a CSV: `profileData.City` is the place of the member City of the place
// profileData. What stands in a place is a cell, an object of further places, or both.
//
// Memory of a place, whose address is its number: its column, or -1; the next place of its parent, in order of appearance,
// and its own first and last member; where its name starts and ends as it was spelled first; its parent; where its name
// without escapes ends, which is behind all that. Place and name are found by a table as in `memory.ts`, whose entries are of
// a parent. Then, of each column, its place.

import {
  allocate,
  entryBytes,
  firstEntry,
  hashOf,
  isNamed,
  mixed,
  mostQuick,
  nextEntry,
  setEntry,
} from './memory';
import { hash as keyedHash } from './record-hash';
import { spell, spaceEnd, stringEnd } from './json-tokens';
import { cellEnd, cellStart, forgetCells, readCell, valueEnd } from './csv-cell-writer';

const placeBytes: i32 = 32;
const nameSlack: i32 = 16;

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

/** Start of the name as first spelled in JSON, without quotes; `spellingEnd` is its end. */
export function spellingOf(place: i32): i32 {
  return load<i32>(place, 16);
}

export function spellingEnd(place: i32): i32 {
  return load<i32>(place, 20);
}

/** Whether the key after the quote at `start` has the spelling of the place's name. */
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
  const quick = placeWith(mixed(hashOf(name, nameEnd), parent), parent, name, nameEnd);
  if (quick != 0 || count <= mostQuick) return quick;
  return placeWith(keyedHash(name, nameEnd, parent), parent, name, nameEnd);
}

function placeWith(hash: u64, parent: i32, name: i32, nameEnd: i32): i32 {
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
  const place = newPlace(parent, 2 * size + nameSlack);
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
  const isQuick = count < mostQuick;
  count += 1;
  addEntry(parent, isQuick ? mixed(hashOf(name, nameEnd), parent) : keyedHash(name, nameEnd, parent), name, nameEnd);
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

// Records as rows of a CSV, whose columns are the places above. The records are known to be JSON.
//
// Memory: the text of some records, and where each of them starts and ends (two i32); the rows. Of the record at hand: for each
// column where its cell starts and ends (two i32), and a bit that says whether it has one.

/** Space after a text and rows for reads and writes of whole blocks. */
const rowSlack: i32 = 64;

let textRoom: i32 = 0;
let text: i32 = 0;
let scratch: i32 = 0;
let mostRecords: i32 = 0;
let bounds: i32 = 0;
let rowsRoom: i32 = 1 << 20;
/** Address of the rows written last. */
export let rows: i32 = 0;
export let rowsEnd: i32 = 0;

let mostCells: i32 = 0;
let cells: i32 = 0;
let filled: i32 = 0;

/** Whether an object in a column's place is its cell, because columns were given. */
let takesObjects: bool = false;
/** Whether columns are looked for, and no cells. */
let isLearning: bool = false;

/** Objects around a value that are taken apart at most: one within more of them is a cell. Each takes some of the stack. */
const mostLevels: i32 = 100;
let level: i32 = 0;

/** Places in which strings are told from other values, and empty objects have cells. */
let typedPlace: i32 = 0;
let otherTypedPlace: i32 = 0;
let keepsTypes: bool = false;

/** Keeps the types of the values within a place; at most two places. */
export function keepTypes(place: i32): void {
  otherTypedPlace = typedPlace;
  typedPlace = place;
}

export function takeObjects(): void {
  takesObjects = true;
}

/** Returns the address for the text of records. */
export function recordRoom(bytes: i32): i32 {
  if (bytes + rowSlack > textRoom) {
    textRoom = 2 * bytes + rowSlack;
    text = allocate(textRoom);
    scratch = allocate(textRoom);
  }
  return text;
}

/** Returns the address for the bounds of records, relative to their text. */
export function boundsRoom(count: i32): i32 {
  if (count > mostRecords) {
    mostRecords = 2 * count;
    bounds = allocate(8 * mostRecords);
  }
  return bounds;
}

/** Makes a column of each place in the records that has none, and holds more than an object. */
export function learn(count: i32): void {
  isLearning = true;
  for (let index = 0; index < count; index += 1) walk(root, text + load<i32>(bounds + 8 * index) + 1);
  isLearning = false;
}

/** Writes records from `from` on as rows, as long as there is room. Returns the first that is left over, or `count`. */
export function flatten(from: i32, count: i32): i32 {
  if (rows == 0) rows = allocate(rowsRoom);
  rowsEnd = rows;
  for (let index = from; index < count; index += 1) {
    const start = load<i32>(bounds + 8 * index);
    const bytes = load<i32>(bounds + 8 * index, 4) - start;
    const needed = 3 * bytes + columnCount + rowSlack;
    if (rowsEnd + needed > rows + rowsRoom) {
      if (index > from) return index;
      rowsRoom = 2 * needed;
      rowsEnd = rows = allocate(rowsRoom);
    }
    forgetCells(bytes);
    clearRow();
    walk(root, text + start + 1);
    rowsEnd = joinCells(rowsEnd);
  }
  return count;
}

/** Reads the cells of an object's members, from after its brace; returns the end. */
function walk(parent: i32, start: i32): i32 {
  let at = spaceEnd(start);
  level += 1;
  const kept = keepsTypes;
  if (parent == typedPlace || parent == otherTypedPlace) keepsTypes = true;
  // Records of one kind mostly have the same members in the same order.
  let expected = firstMember(parent);
  while (load<u8>(at) != 0x7d) {
    let place = expected;
    let end: i32;
    if (place != 0 && isSpelled(place, at + 1)) {
      end = at + 2 + spellingEnd(place) - spellingOf(place);
    } else {
      end = stringEnd(at + 1);
      place = findPlace(parent, at + 1, end - 1, scratch);
      if (place == 0 && isLearning) place = addPlace(parent, at + 1, end - 1);
    }
    if (place != 0) expected = placeBehind(place);
    at = spaceEnd(spaceEnd(end) + 1);
    at = spaceEnd(place == 0 ? valueEnd(at) : readValue(place, at));
    if (load<u8>(at) == 0x2c) at = spaceEnd(at + 1);
  }
  keepsTypes = kept;
  level -= 1;
  return at + 1;
}

function readValue(place: i32, at: i32): i32 {
  const column = columnOf(place);
  if (load<u8>(at) == 0x7b && !isObjectCell(column, at)) return walk(place, at + 1);
  if (isLearning && column < 0) giveColumn(place);
  if (isLearning || column < 0) return valueEnd(at);
  const end = readCell(at, keepsTypes);
  const cell = cells + 8 * column;
  store<i32>(cell, cellStart);
  store<i32>(cell, cellEnd, 4);
  const word = filled + 8 * (column >> 6);
  store<u64>(word, load<u64>(word) | ((<u64>1) << (column & 63)));
  return end;
}

function isObjectCell(column: i32, at: i32): bool {
  return (takesObjects && column >= 0) || level == mostLevels || (keepsTypes && isEmptyObject(at));
}

function isEmptyObject(at: i32): bool {
  return load<u8>(spaceEnd(at + 1)) == 0x7d;
}

/** Writes the row to `to`, and returns where it ends. */
function joinCells(to: i32): i32 {
  const start = to;
  let column = 0;
  for (let first = 0; first < columnCount; first += 64) {
    let some = load<u64>(filled + (first >> 3));
    while (some != 0) {
      const next = first + <i32>ctz(some);
      some &= some - 1;
      to = addCommas(to, next - column);
      column = next;
      const cell = cells + 8 * next;
      let from = load<i32>(cell);
      const end = to + load<i32>(cell, 4) - from;
      for (let at = to; at < end; at += 16) {
        v128.store(at, v128.load(from));
        from += 16;
      }
      to = end;
    }
  }
  to = addCommas(to, max(0, columnCount - 1 - column));
  if (to == start) {
    store<u16>(to, 0x2222); // a line without anything would be no row to many readers
    to += 2;
  }
  store<u8>(to, 0x0a);
  return to + 1;
}

// @ts-ignore
@inline function addCommas(to: i32, count: i32): i32 {
  for (let done = 0; done < count; done += 16) v128.store(to + done, i8x16.splat(0x2c));
  return to + count;
}

function clearRow(): void {
  if (columnCount > mostCells) {
    mostCells = (2 * columnCount + 63) & ~63;
    cells = allocate(8 * mostCells);
    filled = allocate(mostCells >> 3);
  }
  memory.fill(filled, 0, ((columnCount + 63) >> 6) << 3);
}
