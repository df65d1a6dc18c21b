// Writes CSV rows as records in JSON, for `src/mapping/upload-csv.ts`:
//
//     record   = head [member *("," member)] "}}" ","
//     head     = opening string middle / what the caller writes
//     member   = key ":" (string / "true" / "false" / what the caller writes / what stands for an empty cell)
//     string   = QUOTE *(byte / BACKSLASH byte / \u00XX) QUOTE
//
// `write` returns where the caller has to write, and continues behind it when called again.
//
// The text and the bounds of its cells are where they were cut (`csv-scanner.ts`); the form of the records and the room for what
// is written lie behind the text. Up to 7 bytes behind what is read and written may be touched.

import { cells, keys, rows, text, writtenBounds } from './csv-scanner';

const QUOTE: i32 = 34;
const BACKSLASH: i32 = 92;
const DELETE: i32 = 127;

// Returned by `write` instead of a column.
const done: i32 = -1;
const full: i32 = -2;
const head: i32 = -3;

// The form: numbers of 32 bits, and behind them the texts, whose places are counted from its start. First, for heads: the column
// of the key, or -1 if the caller writes them all, the most bytes it may have, and the seed of its hash; place and length of the
// opening and of the middle. Then the members, six numbers each: column, kind, place and length of `,"key":`, and of what stands
// for an empty cell, which is of no length where the member is left out.
const members: usize = 28;
const memberBytes: usize = 24;
const isString: i32 = 0;
const isBoolean: i32 = 1;
const isAddress: i32 = 3;
/** The member stands in full where others have their key. */
const isConstant: i32 = 4;

// The block.
let form: usize = 0;
let columns: i32 = 0;
let pickedCount: i32 = 0;
let membersEnd: usize = 0;

/** Number of selected rows that were written or skipped. */
let out: usize = 0;
export let count: i32 = 0;

/** How many of the rows that were picked were written, or given up. */
let passed: i32 = 0;
// The row that is being written: the member that comes next, where its record begins, and where that one's first member
// does, or 0 if it follows next.
let row: i32 = 0;
export let key: i32 = 0;
export let start: usize = 0;
let member: usize = 0;
let firstMember: usize = 0;
/** How far `write` has come. */
let at: usize = 0;

/** Functions, because the host takes much longer to read a global than to call a function. */
export function currentRow(): i32 {
  return row;
}

export function currentEnd(): usize {
  return at;
}

/**
 * Takes up the block that was cut last: where form and what is written lie, and how much there is of each. `rows` has the indexes of
 * the rows to write. Those of the rows that were written go there, too, over some that were read.
 */
export function begin(formAt: usize, outAt: usize, rowCount: i32, columnCount: i32, memberCount: i32): void {
  form = formAt;
  out = outAt;
  pickedCount = rowCount;
  columns = columnCount;
  membersEnd = form + members + memberBytes * memberCount;
  count = 0;
  passed = 0;
  member = 0;
}

/**
 * Continues at `to`, with room for a row at least while that is not behind `last`. Returns `done`, `full` if there may be
 * too little room for the next row, `head` if the caller has to write that, or the column of a cell that it has to.
 */
export function write(to: usize, last: usize): i32 {
  at = to;
  while (passed < pickedCount) {
    if (member == 0) {
      if (at > last) return full;
      row = load<i32>(4 * passed, rows);
      start = at;
      member = form + members;
      firstMember = 0;
      if (!writeHead()) return head;
    }
    const column = writeMembers();
    if (column >= 0) return column;
    endRecord();
  }
  return done;
}

/** Gives up the row that the caller could not write. */
export function skip(): void {
  passed += 1;
  member = 0;
}

function endRecord(): void {
  store<u16>(at, 0x7d7d); // }}
  store<u8>(at, 0x2c, 2); // a comma, so that neighbours can be copied into a request together
  store<i32>(4 * count, row, rows);
  store<i32>(8 * count, start - out, writtenBounds);
  store<i32>(8 * count, at + 2 - out, writtenBounds + 4);
  store<i32>(4 * count, key, keys);
  at += 3;
  count += 1;
  skip();
}

/** Writes the head if its key is plain and surely good; the caller knows the rules about others. */
function writeHead(): bool {
  const column = load<i32>(form);
  if (column < 0) return false;
  const cell = cellAt(column);
  const from = load<i32>(cell);
  const end = load<i32>(cell, 4);
  if (end <= from || end - from > load<i32>(form, 4)) return false;
  if (mayBePlaceholder(text + from, text + end) || mayHaveStrays(text + from, text + end)) return false;
  let hash = load<i32>(form, 8);
  for (let p = text + from; p < text + end; p += 1) {
    const byte = load<u8>(p);
    if (byte == DELETE) return false;
    hash = (hash ^ byte) * 16_777_619;
  }
  key = hash & 0x7fff_ffff;
  const to = copy(form + load<usize>(form, 12), load<i32>(form, 16), at);
  at = copy(form + load<usize>(form, 20), load<i32>(form, 24), writeString(from, end, to));
  return true;
}

/**
 * Whether a key may be a placeholder of `src/text/cell-cleaning.ts`, such as NULL, #REF! or undefined, or one that a
 * program has changed: 7.0, 1.2E+11, '007 or ="007".
 */
function mayBePlaceholder(from: usize, end: usize): bool {
  const first = load<u8>(from);
  if (end - from <= 4 && (first < 0x30 || first > 0x39)) return true;
  if (first == 0x23 || first == 0x27 || first == 0x3d || load<u32>(from) == 0x6564_6e75) return true;
  return load<u16>(end - 2) == 0x302e || load<u8>(end - 3) == 0x2b || load<u8>(end - 4) == 0x2b;
}

/** Whether a text may have whitespace around it, or may contain invisible characters: all of those start with these bytes. */
function mayHaveStrays(from: usize, end: usize): bool {
  if (load<u8>(from) <= 0x20 || load<u8>(end - 1) <= 0x20) return true;
  for (let at = from; at < end; at += 1) {
    while ((load<u64>(at) & 0x8080_8080_8080_8080) == 0) {
      at += 8;
      if (at >= end) return false;
    }
    const byte = load<u8>(at);
    if (byte < 0xc2) continue;
    if (byte == 0xc2 || byte == 0xcd || byte == 0xd8 || (byte >= 0xdb && byte <= 0xdc) || (byte >= 0xe0 && byte <= 0xe3) || byte >= 0xef) return true;
  }
  return false;
}

/** Writes members up to the column returned, whose cell the caller has to write, or all: then it returns -1. */
function writeMembers(): i32 {
  let to = at;
  let next = member;
  let caller = -1;
  if (firstMember == 0) firstMember = to;
  for (; next < membersEnd && caller < 0; next += memberBytes) {
    const column = load<i32>(next);
    const cell = cellAt(column);
    const from = load<i32>(cell);
    const end = load<i32>(cell, 4);
    const emptyLength = load<i32>(next, 20);
    const kind = load<i32>(next, 4);
    if (from == end && emptyLength == 0 && kind != isConstant) continue;
    const comma = to == firstMember ? 1 : 0;
    to = copy(form + load<usize>(next, 8) + comma, load<i32>(next, 12) - comma, to);
    if (from == end) to = copy(form + load<usize>(next, 16), emptyLength, to);
    else if (kind == isString || (kind == isAddress && end > from && !mayHaveStrays(text + from, text + end))) to = writeString(from, end, to);
    else if (kind == isConstant) continue;
    else if (kind == isBoolean && saysBoolean(text + from, end - from)) to = copy(text + from, end - from, to);
    else caller = column;
  }
  member = next;
  at = to;
  return caller;
}

/** The bounds of a cell of the row, as in Cells: a negative end is that of a cell to escape, in which quotes are doubled. */
// @ts-ignore
@inline function cellAt(column: i32): usize {
  return cells + 8 * (row * columns + column);
}

function saysBoolean(at: usize, length: i32): bool {
  if (length == 4) return load<u32>(at) == 0x6575_7274; // true
  return length == 5 && load<u32>(at) == 0x736c_6166 && load<u8>(at, 4) == 0x65; // fals, e
}

// @ts-ignore
@inline function writeString(from: i32, end: i32, to: usize): usize {
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
