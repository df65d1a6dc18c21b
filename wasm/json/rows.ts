// Records as rows of a CSV, whose columns are the places of `places.ts`. The records are known to be JSON.
//
// Memory: what was done, for `src/output/csv-rows.ts`; the text of some records, and where each of them starts and ends (two
// i32); the rows, and where each of them ends (i32), both from the start of the rows. Of the record at hand: for each column
// where its cell starts and ends (two i32), and a bit that says whether it has one.

import { allocate } from './memory';
import { cellEnd, cellStart, forgetCells, formulas, readCell, setFormulas, valueEnd } from './cells';
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
} from './places';
import { spaceEnd, stringEnd } from './tokens';

/** Five i32: number of rows, of their columns; where the rows are, their bytes, where their ends are. */
export const flattened: i32 = allocate(20);

/** Behind a text and rows: as much as is read and written at a time, and a bit. */
const slack: i32 = 64;

let textRoom: i32 = 0;
let text: i32 = 0;
let scratch: i32 = 0;
let mostRecords: i32 = 0;
let bounds: i32 = 0;
let ends: i32 = 0;
let rowsRoom: i32 = 1 << 20;
let rows: i32 = 0;

let mostCells: i32 = 0;
let cells: i32 = 0;
let filled: i32 = 0;

/** Whether the columns there are when it is set remain the only ones. */
let isFixed: bool = false;

export function fixColumns(): void {
  isFixed = true;
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
    ends = allocate(4 * mostRecords);
  }
  return bounds;
}

/**
 * Writes records from `from` on as rows, as long as there is room and no further column. Returns the first record that is
 * left over, or `count`.
 */
export function flatten(from: i32, count: i32): i32 {
  if (rows == 0) rows = allocate(rowsRoom);
  let width = columnCount;
  let to = rows;
  let index = from;
  for (; index < count; index += 1) {
    const start = load<i32>(bounds + 8 * index);
    const bytes = load<i32>(bounds + 8 * index, 4) - start;
    const earlier = formulas;
    forgetCells(bytes);
    clearRow();
    walk(root, text + start + 1);

    const isFirst = index == from;
    const needed = 3 * bytes + columnCount + slack;
    if (to + needed > rows + rowsRoom || (columnCount != width && !isFirst)) {
      if (!isFirst) {
        setFormulas(earlier);
        break;
      }
      if (needed > rowsRoom) {
        rowsRoom = 2 * needed;
        to = rows = allocate(rowsRoom);
      }
    }
    width = columnCount;
    to = joinCells(to);
    store<i32>(ends + 4 * (index - from), to - rows);
  }
  store<i32>(flattened, index - from);
  store<i32>(flattened, max(1, width), 4);
  store<i32>(flattened, rows, 8);
  store<i32>(flattened, to - rows, 12);
  store<i32>(flattened, ends, 16);
  return index;
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
      if (place == 0 && !isFixed) place = addPlace(parent, at + 1, end - 1);
    }
    if (place != 0) expected = placeBehind(place);
    at = spaceEnd(spaceEnd(end) + 1);
    at = spaceEnd(place == 0 ? valueEnd(at) : readValue(place, at));
    if (load<u8>(at) == 0x2c) at = spaceEnd(at + 1);
  }
  return at + 1;
}

function readValue(place: i32, at: i32): i32 {
  let column = columnOf(place);
  if (load<u8>(at) == 0x7b && !(isFixed && column >= 0)) return walk(place, at + 1);
  if (column < 0) {
    if (isFixed) return valueEnd(at);
    column = giveColumn(place);
    if (column >= mostCells) growRow();
  }
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
  if (columnCount > mostCells) growRow();
  memory.fill(filled, 0, ((columnCount + 63) >> 6) << 3);
}

function growRow(): void {
  const old = mostCells;
  const oldCells = cells;
  const oldFilled = filled;
  mostCells = (2 * columnCount + 63) & ~63;
  cells = allocate(8 * mostCells);
  filled = allocate(mostCells >> 3);
  memory.copy(cells, oldCells, 8 * old);
  memory.copy(filled, oldFilled, old >> 3);
}
