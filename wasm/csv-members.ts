// Writes cells of CSV rows as JSON, for `src/mapping/cell-writer.ts`, in AssemblyScript (TypeScript with the types of
// WebAssembly; https://www.assemblyscript.org):
//
//     member   = "," key ":" string
//     string   = QUOTE *(byte / BACKSLASH byte / \u00XX) QUOTE
//
// A cell is given by its bounds as in Cells (`src/input/rows.ts`): where the end is negative, there is something in it to
// escape, and quotes are doubled.
//
// Memory is laid out by the caller, in this order: the table of members, the text, the bounds of its cells, and what is
// written. Up to 7 bytes behind what is read and written may be touched.

const QUOTE: i32 = 34;
const BACKSLASH: i32 = 92;

/** Where the text begins, and the bounds of its cells. */
let text: usize = 0;
let bounds: usize = 0;

/** What stands for an empty cell; of no length if its member is left out. */
let empty: usize = 0;
let emptyLength: i32 = 0;

export function setEmpty(at: usize, length: i32): void {
  empty = at;
  emptyLength = length;
}

export function setBlock(textAt: usize, boundsAt: usize): void {
  text = textAt;
  bounds = boundsAt;
}

/** Writes a cell as a string to `to`; returns where that ends. */
export function writeString(cell: i32, to: usize): usize {
  const at = bounds + 8 * cell;
  return stringOf(load<i32>(at), load<i32>(at, 4), to);
}

/**
 * Writes the members whose table is at `member` to `memberEnd`, of the row whose first cell is `row`. A member is three
 * i32: its column, where `,"key":` is, and how long that is. The first one of an object, at `start`, has no comma.
 */
export function writeMembers(row: i32, member: usize, memberEnd: usize, start: usize, to: usize): usize {
  for (; member < memberEnd; member += 12) {
    const cell = bounds + 8 * (row + load<i32>(member));
    const from = load<i32>(cell);
    const end = load<i32>(cell, 4);
    if (from == end && emptyLength == 0) continue;
    const comma = to == start ? 1 : 0;
    to = copy(load<usize>(member, 4) + comma, load<i32>(member, 8) - comma, to);
    to = from == end ? copy(empty, emptyLength, to) : stringOf(from, end, to);
  }
  return to;
}

// @ts-ignore
@inline function stringOf(from: i32, end: i32, to: usize): usize {
  store<u8>(to, QUOTE);
  to = end < 0 ? escape(text + from, text + ~end, to + 1) : copy(text + from, end - from, to + 1);
  store<u8>(to, QUOTE);
  return to + 1;
}

// @ts-ignore
@inline function copy(from: usize, length: i32, to: usize): usize {
  const end = to + length;
  for (; to < end; to += 8, from += 8) store<u64>(to, load<u64>(from));
  return end;
}

function escape(from: usize, end: usize, to: usize): usize {
  for (; from < end; from += 1) {
    const byte = load<u8>(from);
    if (byte < 0x20) {
      to = writeControl(byte, to);
    } else {
      if (byte == QUOTE) from += 1; // its double
      if (byte == QUOTE || byte == BACKSLASH) {
        store<u8>(to, BACKSLASH);
        to += 1;
      }
      store<u8>(to, byte);
      to += 1;
    }
  }
  return to;
}

function writeControl(byte: i32, to: usize): usize {
  store<u8>(to, BACKSLASH);
  const letter = shortEscape(byte);
  if (letter != 0) {
    store<u8>(to, letter, 1);
    return to + 2;
  }
  const digit = byte & 15;
  store<u32>(to, 0x3030_75, 1); // u00
  store<u8>(to, 0x30 + (byte >> 4), 4);
  store<u8>(to, digit < 10 ? 0x30 + digit : 0x57 + digit, 5);
  return to + 6;
}

/** The letter of a control character that JSON has a short escape for, else 0. */
function shortEscape(byte: i32): i32 {
  if (byte == 0x08) return 0x62; // b
  if (byte == 0x09) return 0x74; // t
  if (byte == 0x0a) return 0x6e; // n
  if (byte == 0x0c) return 0x66; // f
  return byte == 0x0d ? 0x72 : 0; // r
}
