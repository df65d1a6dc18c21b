// The inside of an object or array in a page, for `src/bulk/export/wasm-bytes.ts`, in AssemblyScript (TypeScript
// with the types of WebAssembly; https://www.assemblyscript.org): where it ends, and whether it is JSON (RFC 8259).
//
// It takes 64 bytes at a time. A set of them is a u64, bit i for byte i, and the grammar is arithmetic on such sets, as in
// simdjson (https://arxiv.org/abs/1902.08318): only brackets, escapes and numbers of unusual form are looked at one by one
// (with `json/tokens.ts`).
// What a block leaves to the next one stands in the globals, which change when the whole block is there and right; a
// block of which the page ends too early is read again when there is more.
//
// Memory: a byte per open container from 1 on (1 an object, 0 an array); a copy of that; then, from `page` on, the bytes
// of the page. A position is counted from there.

import { isEscape, isHexDigit, isSpace, scalarEnd } from './json/tokens';

// Told by position. Both throw.
declare function refuse(at: i32): void;
declare function refuseDepth(): void;

/** Containers inside of each other, the one that is entered included: 1000 with the two around it. */
const deepest: i32 = 998;
const copyOfContainers: i32 = 1024;
export const page: i32 = 2048;

const oddPlaces: u64 = 0xaaaaaaaaaaaaaaaa;

/** Where the next block begins, and how many containers are open there. */
let position: i32 = 0;
let openContainers: i32 = 0;
/** All bits: the block begins inside of a text. */
let textCarry: u64 = 0;
// Bit 0: the block's first byte is escaped; goes on with a number or word; goes on with a key.
let escapeCarry: u64 = 0;
let bareCarry: u64 = 0;
let keyCarry: u64 = 0;
// Bit 0: the block's first token stands behind an opening bracket, where a key or a value must come, behind a key.
let openCarry: u64 = 0;
let keyDueCarry: u64 = 0;
let valueDueCarry: u64 = 0;
let colonDueCarry: u64 = 0;

/**
 * Begins with the inside of a container at `start`, behind its bracket; a `start` of 0 goes on with the last one.
 * Returns the position behind the container, 0 when the bytes to `end` are not all of it.
 */
export function pass(start: i32, isObject: bool, end: i32): i32 {
  if (start > 0) enter(start, isObject);
  for (; position < end; position += 64) {
    const at = position;
    const a = v128.load(at, page);
    const b = v128.load(at, page + 16);
    const c = v128.load(at, page + 32);
    const d = v128.load(at, page + 48);
    const there = end - at >= 64 ? -1 : ((1 as u64) << (end - at)) - 1;
    let wrong: u64 = 0;
    /** What needs bytes that are not there yet. */
    let open: u64 = ~there;

    // Of a row of backslashes every second one is escaped, and the byte behind it if their number is odd: the
    // difference turns the bits of each row that begins at an odd place, and the xor those of the others.
    const backslashes = equal(a, b, c, d, 0x5c);
    const first = backslashes & ~escapeCarry;
    const escapes = (((first << 1) | oddPlaces) - first) ^ oddPlaces;
    const escaped = escapes ^ (backslashes | escapeCarry);
    const allQuotes = equal(a, b, c, d, 0x22);
    let named = escaped & ~(allQuotes | backslashes) & there;
    while (named != 0) {
      const bit = lowest(named);
      const size = nameSize(at + indexOf(bit), end);
      if (size == 0) wrong |= bit;
      if (size < 0) open |= bit;
      named ^= bit;
    }

    // A text from its quote on, without the quote that ends it.
    const quotes = allQuotes & ~escaped;
    const text = parity(quotes) ^ textCarry;
    const textStarts = quotes & text;
    const textEnds = quotes & ~text;
    let spaces = equal(a, b, c, d, 0x20);
    if (hasControl(a, b, c, d)) {
      wrong |= atMost(a, b, c, d, 0x1f) & text;
      spaces |= equal(a, b, c, d, 0x09) | equal(a, b, c, d, 0x0a) | equal(a, b, c, d, 0x0d);
    }
    spaces &= ~text;
    const commas = equal(a, b, c, d, 0x2c) & ~text;
    const colons = equal(a, b, c, d, 0x3a) & ~text;
    const opens = equalButBit5(a, b, c, d, 0x7b) & ~text; // [ {
    const closes = equalButBit5(a, b, c, d, 0x7d) & ~text; // ] }

    // Numbers, true, false and null: what is nothing else. Integers are right as they are, but for zeros in front.
    const bare = ~(text | textEnds | spaces | commas | colons | opens | closes);
    const bareStarts = bare & ~((bare << 1) | bareCarry);
    const zeros = equal(a, b, c, d, 0x30);
    let unusual = ((bare & ~digitsIn(a, b, c, d)) | (bareStarts & zeros)) & there;
    while (unusual != 0) {
      const bit = lowest(unusual);
      const from = at + indexOf(bit);
      const after = bareEnd(from, end);
      if (after >= end) open |= bit;
      else if (after == from || !isBare(from, after)) {
        wrong |= bit;
        break;
      }
      if (after >= at + 64) break;
      unusual &= (-1 as u64) << (after - at);
    }

    // Brackets, one by one, and with them the set of all bytes in objects, opening brace included.
    if (open != 0) memory.copy(copyOfContainers, 0, openContainers + 1);
    let depth = openContainers;
    let isInObject: i32 = load<u8>(depth);
    let inObject = all(isInObject);
    let ended: u64 = 0;
    let brackets = (opens | closes) & there;
    while (brackets != 0) {
      const bit = lowest(brackets);
      const isBrace = (byteAt(at + indexOf(bit)) >> 5) & 1;
      if ((opens & bit) != 0) {
        depth += 1;
        if (depth > deepest) refuseDepth();
        isInObject = isBrace;
        store<u8>(depth, isInObject);
      } else {
        if (isBrace != isInObject) wrong |= bit;
        depth -= 1;
        isInObject = load<u8>(depth);
        if (depth == 0) {
          ended = bit;
          break;
        }
      }
      inObject = (inObject & (bit - 1)) | (all(isInObject) & (0 - bit));
      brackets &= brackets - 1;
    }

    // What may stand behind what.
    const keyWanted = (commas | opens) & inObject;
    const valueWanted = ((commas | opens) & ~inObject) | colons;
    const keyDue = behind(keyWanted, keyDueCarry, spaces);
    const valueDue = behind(valueWanted, valueDueCarry, spaces);
    const keyRuns = ((keyDue & textStarts) | keyCarry) + text; // adding to the first bit of a run sets the one behind it
    const keyEnds = keyRuns & textEnds;
    const colonDue = behind(keyEnds, colonDueCarry, spaces);
    const empty = behind(opens, openCarry, spaces) & closes;
    const values = textStarts | bareStarts | opens;
    const separators = commas | closes;
    wrong |= keyDue & ~(textStarts | empty);
    wrong |= valueDue & ~(values | empty);
    wrong |= colonDue & ~colons;
    wrong |= (values | colons) & ~(keyDue | valueDue | colonDue); // behind a value

    if (ended != 0) {
      const before = ended | (ended - 1);
      open &= before;
      wrong &= before;
    }
    if (open != 0) {
      memory.copy(0, copyOfContainers, openContainers + 1);
      return 0;
    }
    if (wrong != 0) refuse(at + indexOf(lowest(wrong)));
    if (ended != 0) return at + indexOf(ended) + 1;

    openContainers = depth;
    textCarry = all((text >>> 63) as i32);
    escapeCarry = (escapes & backslashes) >>> 63;
    bareCarry = bare >>> 63;
    keyCarry = (keyRuns < text) as u64;
    keyDueCarry = carryOf(keyWanted, keyDueCarry, spaces);
    valueDueCarry = carryOf(valueWanted, valueDueCarry, spaces);
    colonDueCarry = carryOf(keyEnds, colonDueCarry, spaces);
    openCarry = carryOf(opens, openCarry, spaces);
  }
  return 0;
}

function enter(at: i32, isObject: bool): void {
  position = at;
  openContainers = 1;
  store<bool>(1, isObject);
  textCarry = escapeCarry = bareCarry = keyCarry = colonDueCarry = 0;
  openCarry = 1;
  keyDueCarry = isObject as u64;
  valueDueCarry = 1 - keyDueCarry;
}

// Sets.

// @ts-ignore
@inline function lowest(set: u64): u64 {
  return set & (0 - set);
}

// @ts-ignore
@inline function indexOf(bit: u64): i32 {
  return ctz(bit) as i32;
}

// @ts-ignore
@inline function all(one: i32): u64 {
  return 0 - (one as u64);
}

/** From each odd bit on to the next one, without that. */
// @ts-ignore
@inline function parity(set: u64): u64 {
  set ^= set << 1;
  set ^= set << 2;
  set ^= set << 4;
  set ^= set << 8;
  set ^= set << 16;
  return set ^ (set << 32);
}

/** The bytes behind those of `set`, beyond spaces: the sum carries a bit through a run of them. */
// @ts-ignore
@inline function behind(set: u64, carry: u64, spaces: u64): u64 {
  return (((set << 1) | carry) + spaces) & ~spaces;
}

/** Whether the byte behind one of them is in the next block. */
// @ts-ignore
@inline function carryOf(set: u64, carry: u64, spaces: u64): u64 {
  if ((spaces >>> 63) == 0) return set >>> 63;
  return (((set << 1) | carry) + spaces < spaces) as u64;
}

// @ts-ignore
@inline function setOf(a: v128, b: v128, c: v128, d: v128): u64 {
  const low = i8x16.bitmask(a) | (i8x16.bitmask(b) << 16);
  const high = i8x16.bitmask(c) | (i8x16.bitmask(d) << 16);
  return (low as u32 as u64) | ((high as u32 as u64) << 32);
}

// @ts-ignore
@inline function equal(a: v128, b: v128, c: v128, d: v128, byte: i8): u64 {
  const wanted = i8x16.splat(byte);
  return setOf(i8x16.eq(a, wanted), i8x16.eq(b, wanted), i8x16.eq(c, wanted), i8x16.eq(d, wanted));
}

// @ts-ignore
@inline function equalButBit5(a: v128, b: v128, c: v128, d: v128, byte: i8): u64 {
  const bit = i8x16.splat(0x20);
  return equal(v128.or(a, bit), v128.or(b, bit), v128.or(c, bit), v128.or(d, bit), byte);
}

// @ts-ignore
@inline function atMost(a: v128, b: v128, c: v128, d: v128, byte: i8): u64 {
  const most = i8x16.splat(byte);
  return setOf(i8x16.le_u(a, most), i8x16.le_u(b, most), i8x16.le_u(c, most), i8x16.le_u(d, most));
}

// @ts-ignore
@inline function digitsIn(a: v128, b: v128, c: v128, d: v128): u64 {
  const zero = i8x16.splat(0x30);
  return atMost(i8x16.sub(a, zero), i8x16.sub(b, zero), i8x16.sub(c, zero), i8x16.sub(d, zero), 9);
}

// @ts-ignore
@inline function hasControl(a: v128, b: v128, c: v128, d: v128): bool {
  const smallest = i8x16.min_u(i8x16.min_u(a, b), i8x16.min_u(c, d));
  return v128.any_true(i8x16.le_u(smallest, i8x16.splat(0x1f)));
}

// Single bytes.

function byteAt(at: i32): i32 {
  return load<u8>(at, page);
}

/** Bytes of an escape from its second one on; 0 if it is none, -1 if not all of it is there. */
function nameSize(at: i32, end: i32): i32 {
  if (byteAt(at) != 0x75) return isEscape(byteAt(at)) ? 1 : 0;
  for (let digit = at + 1; digit < at + 5; digit += 1) {
    if (digit >= end) return -1;
    if (!isHexDigit(byteAt(digit))) return 0;
  }
  return 5;
}

/** The first byte from `at` on that ends a number or word; `end` if none is there yet. */
function bareEnd(at: i32, end: i32): i32 {
  while (at < end && !endsBare(byteAt(at))) at += 1;
  return at;
}

function endsBare(byte: i32): bool {
  if (isSpace(byte)) return true;
  return byte == 0x2c || byte == 0x7d || byte == 0x5d || byte == 0x3a || byte == 0x22 || byte == 0x7b || byte == 0x5b;
}

/** Whether a number, `true`, `false` or `null` ends before `end`; one of its bytes is at `at`. */
function isBare(at: i32, end: i32): bool {
  while (!endsBare(byteAt(at - 1))) at -= 1;
  return scalarEnd(page + at) == page + end;
}
