// What spreadsheets run when they open a cell. Numbers and phone numbers are exempt:
//
//     formula   = (control / *" " ("=" / "@" / "+" / "-" / full-width "＝" "＠" "＋" "－")) *byte    ; that is not
//     number    = *" " ("+" / "-") *(DIGIT / " " / "." / "," / "(" / ")" / "/" / "-") DIGIT [("e" / "E") ["+" / "-"] 1*DIGIT]
//
// Some spreadsheets remove leading spaces first, and Excel reads full-width signs as formulas in East Asian locales.

import { digitsEnd, escapeEnd, spellEscape, scalarEnd, stringEnd } from './json-tokens';
import { allocate } from './memory';

export function isFormula(start: i32, end: i32): bool {
  if (start == end) return false;
  if (load<u8>(start) < 0x20) return true;
  let at = start;
  while (at < end && load<u8>(at) == 0x20) at += 1;
  if (at == end) return false;
  const first = load<u8>(at);
  if (first == 0x2b || first == 0x2d) return !isPlainNumber(at + 1, end);
  return first == 0x3d || first == 0x40 || (first == 0xef && isFullWidthSign(at, end));
}

/** Whether the character at `at` is one of ＋ － ＝ ＠ (EF BC and 8B, 8D, 9D or A0). */
function isFullWidthSign(at: i32, end: i32): bool {
  if (end - at < 3 || load<u8>(at, 1) != 0xbc) return false;
  const last = load<u8>(at, 2);
  return last == 0x8b || last == 0x8d || last == 0x9d || last == 0xa0;
}

function isPlainNumber(start: i32, end: i32): bool {
  store<u8>(end, 0); // ends digits, and is none
  let at = start;
  while (isOfNumber(load<u8>(at))) at += 1;
  if (at == start || !isDigit(load<u8>(at - 1))) return false;
  if ((load<u8>(at) | 0x20) == 0x65) {
    const sign = load<u8>(at, 1);
    const digits = sign == 0x2b || sign == 0x2d ? at + 2 : at + 1;
    at = digitsEnd(digits);
    if (at == digits) return false;
  }
  return at == end;
}

function isOfNumber(byte: i32): bool {
  return isDigit(byte) || byte == 0x20 || (byte >= 0x28 && byte <= 0x2f && byte != 0x2a && byte != 0x2b);
}

function isDigit(byte: i32): bool {
  return byte >= 0x30 && byte <= 0x39;
}

// JSON values as the text of cells of a CSV (RFC 4180): strings without escapes, numbers as they are spelled, null as
// nothing, objects and arrays as JSON. A cell is a range of the text where it stands there as it is to be written: a string
// with a comma even with its quotes. Any other cell is written to a scratch.

/** Bounds of the last cell. */
export let cellStart: i32 = 0;
export let cellEnd: i32 = 0;
/** Cells so far that a spreadsheet would run. */
export let formulas: i32 = 0;
let escapesFormulas: bool = false;

let room: i32 = 0;
let scratch: i32 = 0;
/** Address for the next cell. */
let next: i32 = 0;

export function escapeFormulas(): void {
  escapesFormulas = true;
}

export function setFormulas(count: i32): void {
  formulas = count;
}

/** Forgets the cells of the previous record; the next may double all of its bytes. */
export function forgetCells(recordBytes: i32): void {
  const needed = 3 * recordBytes + 128;
  if (needed > room) {
    room = 2 * needed;
    scratch = allocate(room);
  }
  next = scratch;
}

/**
 * Writes the value at `at` as a cell, and returns the end of the value. With `keepsType`, a string that looks like another
 * value is quoted.
 */
export function readCell(at: i32, keepsType: bool): i32 {
  const first = load<u8>(at);
  if (first == 0x22) {
    const end = readString(at);
    if (keepsType && looksTyped(cellStart, cellEnd)) addQuotes();
    return end;
  }
  if ((first | 0x20) == 0x7b) return readJson(at);
  cellStart = at;
  const end = scalarEnd(at);
  cellEnd = first == 0x6e ? at : end; // null
  return end;
}

export function valueEnd(at: i32): i32 {
  const first = load<u8>(at);
  if (first == 0x22) return stringEnd(at + 1);
  return (first | 0x20) == 0x7b ? containerEnd(at) : scalarEnd(at);
}

/** Quotes the last cell, which has none: around it are the quotes of its JSON string, or room for them. */
function addQuotes(): void {
  cellStart -= 1;
  store<u8>(cellStart, 0x22);
  store<u8>(cellEnd, 0x22);
  cellEnd += 1;
}

/** Whether a cell without quotes looks like a number, a boolean, an array or an object of JSON. */
function looksTyped(start: i32, end: i32): bool {
  const first = load<u8>(start);
  if (first == 0x5b || first == 0x7b) return true;
  if (first == 0x74) return end - start == 4 && load<u32>(start) == 0x65757274; // true
  if (first == 0x66) return end - start == 5 && load<u32>(start, 1) == 0x65736c61; // false
  let at = first == 0x2d ? start + 1 : start;
  if (at >= end || !isDigit(load<u8>(at))) return false;
  if (load<u8>(at) == 0x30 && at + 1 < end && isDigit(load<u8>(at, 1))) return false; // 007
  let before = 0;
  for (; at < end; at += 1) {
    const byte = <i32>load<u8>(at);
    const isSign = (byte == 0x2b || byte == 0x2d) && before == 0x65;
    before = byte | 0x20;
    if (!isDigit(byte) && byte != 0x2e && before != 0x65 && !isSign) return false;
  }
  return true;
}

/** Only a string with an escape, or perhaps a formula, is written anew. */
function readString(opening: i32): i32 {
  let at = opening + 1;
  const first = load<u8>(at);
  if (first == 0x3d || first == 0x40 || first == 0x2b || first == 0x2d) return rewriteString(opening); // = @ + -
  if (first == 0x20 || first == 0xef) return rewriteString(opening); // a space, or perhaps a full-width sign
  let commas = 0;
  while (true) {
    const bytes = v128.load(at);
    const stops = stopsIn(bytes);
    if (stops == 0) {
      commas |= matches(bytes, 0x2c);
      at += 16;
      continue;
    }
    commas |= matches(bytes, 0x2c) & ((stops & -stops) - 1);
    at += ctz(stops);
    if (load<u8>(at) == 0x5c) return rewriteString(opening);
    cellStart = commas == 0 ? opening + 1 : opening;
    cellEnd = commas == 0 ? at : at + 1;
    return at + 1;
  }
}

function rewriteString(opening: i32): i32 {
  let start = next + 2; // before it is room for a quote and an apostrophe
  let to = start;
  let at = opening + 1;
  let special = 0;
  while (true) {
    const bytes = v128.load(at);
    v128.store(to, bytes);
    const stops = stopsIn(bytes);
    if (stops == 0) {
      special |= matches(bytes, 0x2c);
      at += 16;
      to += 16;
      continue;
    }
    special |= matches(bytes, 0x2c) & ((stops & -stops) - 1);
    at += ctz(stops);
    to += ctz(stops);
    if (load<u8>(at) == 0x22) break;
    const end = spellEscape(at + 1, to);
    at = escapeEnd;
    const code = load<u8>(to);
    if (code == 0x22 || code == 0x2c || code == 0x0a || code == 0x0d) special = 1;
    if (code == 0x22) store<u8>(to, 0x22, 1);
    if (code == 0xed && load<u8>(to, 1) >= 0xa0) store<u32>(to, 0xbdbfef); // half of a surrogate pair: U+FFFD
    to = code == 0x22 ? to + 2 : end;
  }
  if (isFormula(start, to)) {
    formulas += 1;
    if (escapesFormulas) {
      start -= 1;
      store<u8>(start, 0x27);
    }
  }
  close(start, to, special != 0);
  return at + 1;
}

function readJson(opening: i32): i32 {
  const end = containerEnd(opening);
  const start = next + 1;
  let to = start;
  let special = 0;
  for (let at = opening; at < end;) {
    const bytes = v128.load(at);
    v128.store(to, bytes);
    const there = end - at < 16 ? (1 << (end - at)) - 1 : 0xffff;
    special |= matches(bytes, 0x2c) & there;
    const stops = (matches(bytes, 0x22) | matches(bytes, 0x0a) | matches(bytes, 0x0d)) & there;
    const plain = stops == 0 ? min(16, end - at) : ctz(stops);
    at += plain;
    to += plain;
    if (stops == 0) continue;
    if (load<u8>(at) == 0x22) {
      store<u16>(to, 0x2222);
      to += 2;
      special = 1;
    } // line breaks between tokens are dropped, as in NDJSON
    at += 1;
  }
  close(start, to, special != 0);
  return end;
}

/** Ends a cell before which there is room for a quote. */
function close(start: i32, end: i32, isQuoted: bool): void {
  if (isQuoted) {
    store<u8>(start - 1, 0x22);
    store<u8>(end, 0x22);
  }
  cellStart = isQuoted ? start - 1 : start;
  cellEnd = isQuoted ? end + 1 : end;
  next = end + 1;
}

function containerEnd(opening: i32): i32 {
  let depth = 0;
  let at = opening;
  while (true) {
    const bytes = v128.load(at);
    const lower = v128.or(bytes, i8x16.splat(0x20));
    const stops = matches(bytes, 0x22) | matches(lower, 0x7b) | matches(lower, 0x7d);
    if (stops == 0) {
      at += 16;
      continue;
    }
    at += ctz(stops);
    const byte = <i32>load<u8>(at);
    if (byte == 0x22) {
      at = stringEnd(at + 1);
      continue;
    }
    at += 1;
    depth += (byte & 2) - 1; // { and [ have this bit
    if (depth == 0) return at;
  }
}

// @ts-ignore
@inline function matches(bytes: v128, byte: i8): i32 {
  return i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(byte)));
}

/** Quotes and backslashes. */
// @ts-ignore
@inline function stopsIn(bytes: v128): i32 {
  const quotes = i8x16.eq(bytes, i8x16.splat(0x22));
  return i8x16.bitmask(v128.or(quotes, i8x16.eq(bytes, i8x16.splat(0x5c))));
}
