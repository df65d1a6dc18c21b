// Records as rows of a CSV, whose columns are the places of `places.ts`. The records are known to be JSON.
//
// Memory: the text of some records, and where each of them starts and ends (two i32); the rows. Of the record at hand: for each
// column where its cell starts and ends (two i32), and a bit that says whether it has one.

import { allocate } from './json/memory';
import { cellEnd, cellStart, forgetCells, readCell, valueEnd } from './csv-cell-writer';
import {
  addPlace,
  columnCount,
  columnOf,
  findPlace,
  firstMember,
  giveColumn,
  isSpelled,
  placeBehind,
  root,
  spellingEnd,
  spellingOf,
} from './json/places';
import { spaceEnd, stringEnd } from './json-tokens';

/** Behind a text and rows: as much as is read and written at a time, and a bit. */
const slack: i32 = 64;

let textRoom: i32 = 0;
let text: i32 = 0;
let scratch: i32 = 0;
let mostRecords: i32 = 0;
let bounds: i32 = 0;
let rowsRoom: i32 = 1 << 20;
/** Where the rows that were written last are. */
export let rows: i32 = 0;
export let rowsEnd: i32 = 0;

let mostCells: i32 = 0;
let cells: i32 = 0;
let filled: i32 = 0;

/** Whether an object that stands in a column's place is its cell: where columns were asked for. */
let takesObjects: bool = false;
/** Whether columns are looked for, and no cells. */
let isLearning: bool = false;

export function takeObjects(): void {
  takesObjects = true;
}

/** Where to put the text of records. */
export function recordRoom(bytes: i32): i32 {
  if (bytes + slack > textRoom) {
    textRoom = 2 * bytes + slack;
    text = allocate(textRoom);
    scratch = allocate(textRoom);
  }
  return text;
}

/** Where to put the bounds of so many records, counted from the start of their text. */
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
    const needed = 3 * bytes + columnCount + slack;
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

/** Reads the cells of an object's members, from behind its brace; returns where it ends. */
function walk(parent: i32, start: i32): i32 {
  let at = spaceEnd(start);
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
  return at + 1;
}

function readValue(place: i32, at: i32): i32 {
  const column = columnOf(place);
  if (load<u8>(at) == 0x7b && !(takesObjects && column >= 0)) return walk(place, at + 1);
  if (isLearning && column < 0) giveColumn(place);
  if (isLearning || column < 0) return valueEnd(at);
  const end = readCell(at);
  const cell = cells + 8 * column;
  store<i32>(cell, cellStart);
  store<i32>(cell, cellEnd, 4);
  const word = filled + 8 * (column >> 6);
  store<u64>(word, load<u64>(word) | ((<u64>1) << (column & 63)));
  return end;
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
