// The cells of CSV records, for `src/input/csv-scanner.ts`, in AssemblyScript (TypeScript with the types of WebAssembly;
// https://www.assemblyscript.org):
//
//     text     = *([record] end)
//     record   = cell *(delimiter cell)
//     end      = LF / CR / CRLF / end of text
//     cell     = plain / quoted
//     plain    = *(any byte but QUOTE, LF, CR and the delimiter)
//     quoted   = QUOTE *(any byte but QUOTE / QUOTE QUOTE) QUOTE
//
// which is RFC 4180 with any delimiter of one byte, or none. Most bytes mean nothing here. Those that may are found 64 at
// a time, as the bits of a word, and no others are looked at.
//
// Memory: the tables, then, from `text` on, the bytes that are cut. A position is counted from there.

// The tables: of each record its line, its start and end, and those of its cells; see RowBlock in `src/input/rows.ts`.
// How many they have room for stands in `src/input/cell-scanner.ts` too.
const mostRecords: i32 = 4096;
const mostCells: i32 = 65_536;
export const lines: i32 = 0;
export const bounds: i32 = lines + 4 * mostRecords;
export const cells: i32 = bounds + 8 * mostRecords;
export const text: i32 = cells + 8 * mostCells;

const LF: i32 = 10;
const CR: i32 = 13;
const QUOTE: i32 = 34;
const BACKSLASH: i32 = 92;

// In place of a position: the record ends beyond the text, or breaks the rules of quoting.
const beyond: i32 = -1;
const strayQuote: i32 = -2;
const textAfterQuote: i32 = -3;
const openQuote: i32 = -4;

// The text, and what it should hold.
let length: i32 = 0;
let isLast: bool = false;
let columns: i32 = 0;
let delimiter: i32 = 0;
let isDelimiterPlain: bool = false;
let delimiters: u64 = 0;

// What was found: records, where the last call stopped, and on which line.
export let count: i32 = 0;
export let at: i32 = 0;
export let line: i32 = 0;
/** Records and faults for which there is room. */
let room: i32 = 0;

// Of the record scanned last: its cells, the line ends within them, and where its fault lies.
export let width: i32 = 0;
let lineEnds: i32 = 0;
export let faultAt: i32 = 0;
/** Whether its last cell can stand in a JSON string as it is. */
let isPlain: bool = false;

/** A delimiter of -1 is none. */
export function begin(textLength: i32, columnCount: i32, delimiterByte: i32, last: bool): void {
  store<u8>(textLength, LF, text); // ends every cell
  length = textLength;
  isLast = last;
  columns = columnCount;
  delimiter = delimiterByte;
  isDelimiterPlain = delimiterByte >= 0x20 && delimiterByte != BACKSLASH;
  delimiters = inEachByte(delimiterByte < 0 ? QUOTE : delimiterByte);
  count = 0;
  room = min(mostRecords, mostCells / columnCount);
}

/** Returns a fault, `beyond`, or the end of a record of another width; see CellScanner. */
export function cut(start: i32, startLine: i32): i32 {
  seek(start);
  line = startLine;
  for (; at < length && room > 0; line += 1) {
    const end = record();
    const next = end < 0 ? end : afterLineEnd(end);
    if (next == beyond) break;
    const isBlank = end == at;
    if (next < 0 || (width != columns && !isBlank)) {
      room -= 1;
      return end;
    }
    if (!isBlank) addRecord(end);
    line += lineEnds;
    at = next;
  }
  return beyond;
}

function addRecord(end: i32): void {
  store<u32>(4 * count, line, lines);
  store<i32>(8 * count, at, bounds);
  store<i32>(8 * count, end, bounds + 4);
  count += 1;
  room -= 1;
}

export function scan(start: i32): i32 {
  seek(start);
  return record();
}

/** The end of the record at `at`, whose cells go to their table; or why it has none. */
function record(): i32 {
  let to = 8 * columns * count;
  const toEnd = to + 8 * columns;
  let from = at;
  width = 0;
  lineEnds = 0;
  while (true) {
    isPlain = true;
    let end: i32;
    let next: i32; // what ends the cell: behind its closing quote, if it has one
    if (byteAt(from) == QUOTE) {
      from += 1;
      end = quotedEnd(from);
      if (end < 0) return end;
      next = end + 1;
      if (nextNotable() != next || !endsCell(byteAt(next))) return broken(textAfterQuote, next);
    } else {
      end = plainEnd();
      if (end < 0) return end;
      next = end;
    }
    if (to < toEnd) {
      store<i32>(to, from, cells);
      store<i32>(to, isPlain ? end : ~end, cells + 4);
    }
    to += 8;
    width += 1;
    if (byteAt(next) != delimiter) return next;
    from = next + 1;
  }
}

/** The end of the unquoted cell that comes next. */
// @ts-ignore
@inline function plainEnd(): i32 {
  while (true) {
    const p = nextNotable();
    const byte = byteAt(p);
    if (endsCell(byte)) return p;
    if (byte == QUOTE) return broken(strayQuote, p);
    isPlain = false;
  }
}

/** The quote that closes the cell whose content starts at `from`. */
// @ts-ignore
@inline function quotedEnd(from: i32): i32 {
  nextNotable(); // the opening quote
  while (true) {
    const p = nextNotable();
    const byte = byteAt(p);
    if (p == length) return isLast ? broken(openQuote, from - 1) : beyond;
    if (byte == delimiter && isDelimiterPlain) continue;
    if (byte == QUOTE) {
      if (byteAt(p + 1) != QUOTE) return p;
      nextNotable(); // its double
    }
    if (byte == LF || (byte == CR && byteAt(p + 1) != LF)) lineEnds += 1;
    isPlain = false;
  }
}

// @ts-ignore
@inline function endsCell(byte: i32): bool {
  return byte == delimiter || byte == LF || byte == CR;
}

function broken(fault: i32, position: i32): i32 {
  faultAt = position;
  return fault;
}

/** Behind the line end at `end`. At a CR that ends the text only the next byte tells CR from CRLF. */
function afterLineEnd(end: i32): i32 {
  if (end == length) return isLast ? end : beyond;
  if (byteAt(end) != CR) return end + 1;
  if (end + 1 == length) return isLast ? length : beyond;
  if (byteAt(end + 1) != LF) return end + 1;
  nextNotable(); // the LF
  return end + 2;
}

// @ts-ignore
@inline function byteAt(position: i32): i32 {
  return load<u8>(position, text);
}

// Of each of the 64 bytes from `block` on a bit: it may mean something, and is still ahead.
let block: i32 = 0;
let notable: u64 = 0;

function seek(start: i32): void {
  at = start;
  block = start;
  notable = notableAt(start);
}

/** The next byte that may mean something. There is always one: the end of the text is. */
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

function notableAt(position: i32): u64 {
  let bits: u64 = 0;
  for (let i = 0; i < 64; i += 8) bits |= notableOf(load<u64>(position + i, text)) << i;
  return bits;
}

/**
 * A bit for each of 8 bytes that is the delimiter, a quote, a backslash or below 0x20. Sums of 7 bits never carry over
 * to the next byte; the product gathers the eighth bits.
 */
// @ts-ignore
@inline function notableOf(bytes: u64): u64 {
  const low = bytes & inEachByte(0x7f);
  const others =
    (low + inEachByte(0x80 - 0x20)) &
    ((low ^ inEachByte(QUOTE)) + inEachByte(0x7f)) &
    ((low ^ inEachByte(BACKSLASH)) + inEachByte(0x7f)) &
    ((low ^ delimiters) + inEachByte(0x7f));
  return (((~(bytes | others) >> 7) & inEachByte(1)) * 0x0102_0408_1020_4080) >> 56;
}

// @ts-ignore
@inline function inEachByte(byte: i32): u64 {
  return <u64>byte * 0x0101_0101_0101_0101;
}
