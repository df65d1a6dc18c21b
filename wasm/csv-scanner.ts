// The cells of CSV records, for `src/text/csv-scanner.ts`:
//
//     text     = *([record / remark] end)
//     record   = cell *(delimiter cell)
//     remark   = comment *(any byte but LF and CR)
//     end      = LF / CR / CRLF / end of text
//     cell     = plain / quoted
//     plain    = *(any byte but LF, CR and those of delimiter and quote)
//     quoted   = quote *(any byte but those of quote and escape / escaped) quote
//     escaped  = escape any byte / quote quote    ; the second where the escape is the quote
//
// With a comma, QUOTE and no comment this is RFC 4180. Most bytes mean nothing here. Those that may are found 64 at a time, as
// the bits of a word, and no others are looked at. A position is counted from the start of the text.

// Where an instance that cuts and writes CSV has what. First tables of a fixed size, then the text, and behind it, in a place
// that the caller names, the form of the records and what is written.

/** Many short records at once, or few wide ones. */
export const mostRecords: i32 = 4096;
export const mostCells: i32 = 65_536;

// The records that were cut: of each its line, its start and end, and those of its cells; see RowBlock in `src/input/row-block.ts`.
export const lines: i32 = 0;
export const bounds: i32 = lines + 4 * mostRecords;
export const cells: i32 = bounds + 8 * mostRecords;

/** Parse errors, five i32 each; see `addFailure`. */
export const failures: i32 = cells + 8 * mostCells;

// The records that were written: of each its row, its start and end, and the hash of its key; see RecordBlock.
export const rows: i32 = failures + 20 * mostRecords;
export const writtenBounds: i32 = rows + 4 * mostRecords;
export const keys: i32 = writtenBounds + 8 * mostRecords;

// The bytes that mark delimiter, quote, escape and comment.
export const markerBytes: i32 = 1024;
export const markers: i32 = keys + 4 * mostRecords;

export const text: i32 = markers + 4 * markerBytes;

const LF: i32 = 10;
const CR: i32 = 13;
const QUOTE: i32 = 34;
const BACKSLASH: i32 = 92;

// In place of a position: the record ends beyond the text, or breaks the rules of quoting.
const beyond: i32 = -1;
const strayQuote: i32 = -2;
const textAfterQuote: i32 = -3;
const openQuote: i32 = -4;

// The markers: how long each is, and its first byte, or -1 if there is none.
const delimiterAt: i32 = markers;
const quoteAt: i32 = markers + markerBytes;
const escapeAt: i32 = markers + 2 * markerBytes;
const commentAt: i32 = markers + 3 * markerBytes;
let delimiterLength: i32 = 0;
let quoteLength: i32 = 0;
let escapeLength: i32 = 0;
let commentLength: i32 = 0;
let delimiter: i32 = -1;
let quote: i32 = -1;
let escape: i32 = -1;
let comment: i32 = -1;
/** The first byte of each, 16 times; of a marker that there is none of, one that is looked for anyway. */
let delimiters: v128 = i8x16.splat(0);
let quotes: v128 = i8x16.splat(0);
let escapes: v128 = i8x16.splat(0);
/** Whether the escape is the quote. */
let doubles: bool = false;
/** Whether the delimiter's first byte has no meaning within quotes and is valid in a JSON string. */
let isDelimiterPlain: bool = false;

// The text, and what it should hold.
let length: i32 = 0;
let isLast: bool = false;
let columns: i32 = 0;
/** Whether scanning resumes after a quote that is never closed. */
let recovers: bool = false;

// Results: records, parse errors, position and line at which the last call stopped.
export let count: i32 = 0;
export let failureCount: i32 = 0;
export let at: i32 = 0;
export let line: i32 = 0;

// The last scanned record: its end, its cells, the line ends within it, and the position of its error.
export let end: i32 = 0;
export let width: i32 = 0;
export let lineEnds: i32 = 0;
export let failureAt: i32 = 0;
/** Start of its last cell; of the incomplete one if its end lies beyond the text. */
export let unfinished: i32 = 0;
/** Line ends before that cell. */
let lineEndsBefore: i32 = 0;
/** Whether its last cell is valid in a JSON string as it is. */
let isPlain: bool = false;

/** Sets the markers, whose bytes were written before. */
export function useMarkers(ofDelimiter: i32, ofQuote: i32, ofEscape: i32, ofComment: i32, escapeIsQuote: bool): void {
  delimiterLength = ofDelimiter;
  quoteLength = ofQuote;
  escapeLength = ofEscape;
  commentLength = ofComment;
  doubles = escapeIsQuote;
  delimiter = firstOf(delimiterAt, ofDelimiter);
  quote = firstOf(quoteAt, ofQuote);
  escape = firstOf(escapeAt, ofEscape);
  comment = firstOf(commentAt, ofComment);
  delimiters = lookedFor(delimiter);
  quotes = lookedFor(quote);
  escapes = lookedFor(escape);
  isDelimiterPlain =
    delimiter >= 0x20 && delimiter != QUOTE && delimiter != BACKSLASH && delimiter != quote && delimiter != escape;
}

function firstOf(marker: i32, bytes: i32): i32 {
  return bytes > 0 ? load<u8>(marker) : -1;
}

function lookedFor(first: i32): v128 {
  return i8x16.splat(<i8>(first < 0 ? QUOTE : first));
}

/** Starts a text that begins between two records. */
export function begin(textLength: i32, columnCount: i32, last: bool, recoversQuotes: bool): void {
  store<u8>(textLength, LF, text); // ends every cell
  length = textLength;
  isLast = last;
  recovers = recoversQuotes;
  columns = columnCount;
  count = 0;
  failureCount = 0;
}

/**
 * Splits records from the start of the text, which is on line `startLine`, until the tables are full or
 * the text ends. After a quoting error it resumes after the line of the error, because the lines before
 * may be inside a quoted cell. It stops at a quote that is never closed, since every later line may be
 * inside it.
 */
export function cut(startLine: i32): void {
  const room = min(mostRecords, mostCells / columns);
  line = startLine;
  seek(0);
  while (at < length && count + failureCount < room) {
    end = record();
    if (end == beyond) return;
    if (end == openQuote && !recovers) {
      addFailure(end, failureAt);
      return;
    }
    const next = afterLineEnd(end < 0 ? endOfLine(failureAt) : end);
    if (next == beyond) return;
    if (end < 0) addFailure(end, failureAt);
    else if (end != at && width > 0) {
      if (width == columns) addRecord();
      else addFailure(width, end);
    }
    line += lineEnds + 1;
    if (end < 0) seek(next);
    else passTo(next);
    at = next;
  }
}

/** Scans the record at `start`, however wide. Returns the start of the next record, `beyond` or an error. */
export function scan(start: i32): i32 {
  seek(start);
  end = record();
  return nextRecord();
}

/** Scans the rest of a record from the start of a cell. */
export function scanCells(start: i32): i32 {
  seek(start);
  end = cellsFrom(start);
  return nextRecord();
}

/** Returns the start of the next record. If it lies beyond the text, the unfinished cell is scanned again with its line ends. */
function nextRecord(): i32 {
  const next = end < 0 ? end : afterLineEnd(end);
  if (next == beyond) lineEnds = lineEndsBefore;
  return next;
}

function addRecord(): void {
  store<u32>(4 * count, line, lines);
  store<i32>(8 * count, at, bounds);
  store<i32>(8 * count, end, bounds + 4);
  count += 1;
}

/**
 * Adds a parse error: a wrong number of cells and the end of the record; or a quoting error, its
 * position, and its line relative to the first.
 */
function addFailure(what: i32, where: i32): void {
  const failure = failures + 20 * failureCount;
  store<i32>(failure, what);
  store<i32>(failure, where, 4);
  store<i32>(failure, at, 8);
  store<i32>(failure, line, 12);
  store<i32>(failure, lineEnds, 16);
  failureCount += 1;
}

/** The end of the record at `at`, whose cells go to their table; or why it has none. A remark has no cells. */
function record(): i32 {
  const remark = markerAt(at, comment, commentAt, commentLength);
  if (remark == 0) return cellsFrom(at);
  width = 0;
  lineEnds = 0;
  lineEndsBefore = 0;
  return remark < 0 ? beyond : endOfLine(at);
}

// @ts-ignore
@inline function cellsFrom(start: i32): i32 {
  const first = 8 * columns * count;
  const room = first + 8 * columns;
  let from = start;
  width = 0;
  lineEnds = 0;
  while (true) {
    if (delimiterLength == 1) from = bareCells(from, first, room);
    isPlain = true;
    let cellEnd: i32;
    let next: i32; // end of the cell: after its closing quote, if it has one
    unfinished = from;
    lineEndsBefore = lineEnds;
    const opening = markerAt(from, quote, quoteAt, quoteLength);
    if (opening < 0) return beyond;
    if (opening > 0) {
      from += opening;
      cellEnd = quotedEnd(from);
      if (cellEnd < 0) return cellEnd;
      next = cellEnd + opening;
      passTo(next + 1);
    } else {
      cellEnd = plainEnd();
      if (cellEnd < 0) return cellEnd;
      next = cellEnd;
    }
    const to = first + 8 * width;
    if (to < room) {
      store<i32>(to, from, cells);
      store<i32>(to, isPlain ? cellEnd : ~cellEnd, cells + 4);
    }
    width += 1;
    const delimiting = markerAt(next, delimiter, delimiterAt, delimiterLength);
    if (delimiting < 0) return beyond;
    if (delimiting == 0) return endsLine(byteAt(next)) ? next : broken(textAfterQuote, next);
    from = next + delimiting;
    if (delimiting > 1) passTo(from);
  }
}

/**
 * Fast path for cells without special bytes that end in a one-byte delimiter, as most do; frequently
 * used values are in locals. Returns the start of the next cell.
 */
function bareCells(start: i32, first: i32, room: i32): i32 {
  let from = start;
  let to = first + 8 * width;
  let bits = notable;
  let base = block;
  while (byteAt(from) != quote) {
    while (bits == 0) {
      base += 64;
      bits = notableAt(base);
    }
    const p = base + <i32>ctz(bits);
    if (byteAt(p) != delimiter) break;
    bits &= bits - 1;
    if (to < room) {
      store<i32>(to, from, cells);
      store<i32>(to, p, cells + 4);
    }
    to += 8;
    from = p + 1;
  }
  notable = bits;
  block = base;
  width = (to - first) >> 3;
  return from;
}

/** Returns the end of the next unquoted cell. */
// @ts-ignore
@inline function plainEnd(): i32 {
  while (true) {
    const p = nextNotable();
    const delimiting = markerAt(p, delimiter, delimiterAt, delimiterLength);
    if (delimiting != 0) return delimiting < 0 ? beyond : p;
    if (endsLine(byteAt(p))) return p;
    const quoting = markerAt(p, quote, quoteAt, quoteLength);
    if (quoting != 0) return quoting < 0 ? beyond : broken(strayQuote, p);
    isPlain = false;
  }
}

/** Returns the closing quote of the cell whose content starts at `from`. */
// @ts-ignore
@inline function quotedEnd(from: i32): i32 {
  const before = lineEnds;
  passTo(from);
  while (true) {
    let p = nextNotable();
    if (p >= length) {
      lineEnds = before;
      return isLast ? broken(openQuote, from - quoteLength) : beyond;
    }
    if (byteAt(p) == delimiter && isDelimiterPlain) continue;
    const escaping = doubles ? doubledAt(p) : escapedAt(p);
    const closing = escaping == 0 ? markerAt(p, quote, quoteAt, quoteLength) : 0;
    if ((escaping | closing) < 0) return beyond;
    if (closing > 0) return p;
    if (escaping > 0) {
      p += escaping; // the last byte of what was escaped
      passTo(p + 1);
    }
    const byte = byteAt(p);
    if (byte == LF || (byte == CR && byteAt(p + 1) != LF)) lineEnds += 1;
    isPlain = false;
  }
}

/** Distance from `p` to the last byte of a doubled quote, 0 if there is none; otherwise `beyond`. */
// @ts-ignore
@inline function doubledAt(p: i32): i32 {
  const first = markerAt(p, quote, quoteAt, quoteLength);
  if (first <= 0) return first;
  const second = markerAt(p + first, quote, quoteAt, quoteLength);
  return second > 0 ? 2 * first - 1 : second;
}

/** Distance from `p` to the escaped byte, 0 if there is none; otherwise `beyond`. */
function escapedAt(p: i32): i32 {
  const bytes = markerAt(p, escape, escapeAt, escapeLength);
  if (bytes <= 0 || p + bytes < length) return bytes;
  return isLast ? 0 : beyond;
}

/** Length of the marker at `p`, or 0; `beyond` if the text ends within it. */
// @ts-ignore
@inline function markerAt(p: i32, first: i32, marker: i32, bytes: i32): i32 {
  if (byteAt(p) != first || p >= length) return 0;
  return bytes == 1 ? 1 : longMarkerAt(p, marker, bytes);
}

function longMarkerAt(p: i32, marker: i32, bytes: i32): i32 {
  for (let i = 1; i < bytes; i += 1) {
    if (p + i == length) return isLast ? 0 : beyond;
    if (byteAt(p + i) != load<u8>(marker + i)) return 0;
  }
  return bytes;
}

function broken(failure: i32, position: i32): i32 {
  failureAt = position;
  return failure;
}

/** Returns the end of the physical line at `position`, at most the end of the text. */
function endOfLine(position: i32): i32 {
  let p = position;
  while (!endsLine(byteAt(p))) p += 1;
  return p;
}

/**
 * Returns the position after the line end. If a CR ends the text, only the next byte distinguishes CR
 * from CRLF.
 */
function afterLineEnd(position: i32): i32 {
  if (position == length) return isLast ? position : beyond;
  if (byteAt(position) != CR) return position + 1;
  if (position + 1 == length) return isLast ? length : beyond;
  return byteAt(position + 1) == LF ? position + 2 : position + 1;
}

// @ts-ignore
@inline function endsLine(byte: i32): bool {
  return byte == LF || byte == CR;
}

// @ts-ignore
@inline function byteAt(position: i32): i32 {
  return load<u8>(position, text);
}

// A bit for each of the 64 bytes from `block` on: the byte may be special and was not processed yet.
let block: i32 = 0;
let notable: u64 = 0;

function seek(start: i32): void {
  at = start;
  block = start;
  notable = notableAt(start);
}

/** Returns the next byte that may be special. There always is one: the end of the text. */
// @ts-ignore
@inline function nextNotable(): i32 {
  while (notable == 0) {
    block += 64;
    notable = notableAt(block);
  }
  const position = block + <i32>ctz(notable);
  notable &= notable - 1;
  return position;
}

/** Skips the bytes before `position`. */
// @ts-ignore
@inline function passTo(position: i32): void {
  while (position - block >= 64) {
    block += 64;
    notable = notableAt(block);
  }
  notable &= (-1 as u64) << (position - block);
}

/** A bit for each of 64 bytes: it starts a marker, is a control character, or is invalid in a JSON string. */
function notableAt(position: i32): u64 {
  let bits: u64 = 0;
  for (let i = 0; i < 64; i += 16) bits |= <u64>(<u32>notableOf(v128.load(position + i, text))) << i;
  return bits;
}

// @ts-ignore
@inline function notableOf(bytes: v128): i32 {
  const unspeakable = v128.or(
    i8x16.lt_u(bytes, i8x16.splat(0x20)),
    v128.or(i8x16.eq(bytes, i8x16.splat(<i8>QUOTE)), i8x16.eq(bytes, i8x16.splat(<i8>BACKSLASH))),
  );
  const marking = v128.or(
    i8x16.eq(bytes, delimiters),
    v128.or(i8x16.eq(bytes, quotes), i8x16.eq(bytes, escapes)),
  );
  return i8x16.bitmask(v128.or(unspeakable, marking));
}
