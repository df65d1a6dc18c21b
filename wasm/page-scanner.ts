// Pages of an export, one JSON object each, for `src/text/page-scanner.ts`: whether a page is JSON (RFC 8259), where its own
// members lie, and where the elements of its arrays do, which are its records.
//
// It takes 64 bytes at a time. A set of them is a u64, bit i for byte i, and the grammar is arithmetic on such sets, as in
// simdjson (https://arxiv.org/abs/1902.08318): only brackets, short escapes and numbers of unusual form are looked at one by
// one (with `json-tokens.ts`).
// What a block leaves to the next one stands in the globals, which change when the whole block is there and right; a
// block of which the page ends too early is read again when there is more.
//
// Memory: the two lists below; a byte per open container from 1 on (1 an object, 0 an array); a copy of that; then, from
// `page` on, the bytes of the page. A position is counted from there.

import { allocate } from './memory';
import {
  lowest,
  indexOf,
  all,
  parity,
  behind,
  carryOf,
  equal,
  equalButBit5,
  atMost,
  digitsIn,
  hexDigitsIn,
  hasControl,
} from './simd-byte-sets';
import { isEscape, isSpace, scalarEnd } from './json-tokens';

/** Results of `scanPage`; see `src/text/page-scanner.ts`. */
const enum Page {
  /** All bytes that are there are right, and it needs more. */
  goesOn,
  /** A list is full: to be called again once both are emptied. */
  isFull,
  /** Complete; only whitespace follows. */
  ended,
  /** Invalid at `stoppedAt`. */
  wrong,
  tooDeep,
  /** The page is not an object. */
  noObject,
}

/** Containers inside of each other. */
const deepest: i32 = 65536;
/** Bytes taken at a time. */
const block: i32 = 64;

/** Positions of the colons and commas of the page itself, and of its closing brace. */
const mostMarks: i32 = 512;
export const marks: i32 = allocate(4 * (mostMarks + block + 1));
export let markCount: i32 = 0;

/** Bounds of the elements of the page's arrays; for an element that is not a container, its start twice. */
const mostElements: i32 = 4096;
export const elements: i32 = allocate(8 * (mostElements + block + 1));
export let elementCount: i32 = 0;

const containers: i32 = allocate(deepest + 2);
const copyOfContainers: i32 = allocate(deepest + 2);
export const page: i32 = allocate(block);

export let stoppedAt: i32 = 0;

const oddPlaces: u64 = 0xaaaaaaaaaaaaaaaa;

/** Position of the next block, and the number of open containers. */
let position: i32 = 0;
let openContainers: i32 = 0;
let hasStarted: bool = false;
let hasEnded: bool = false;
/** All bits: the block begins inside of a text. */
let textCarry: u64 = 0;
// Bit 0: the block's first byte is escaped; continues a number or word; continues a key. Bits 0 to 3: is due as hex.
let escapeCarry: u64 = 0;
let bareCarry: u64 = 0;
let keyCarry: u64 = 0;
let hexCarry: u64 = 0;
// Bit 0: the block's first token stands behind an opening bracket, where a key or a value must come, behind a key.
let openCarry: u64 = 0;
let keyDueCarry: u64 = 0;
let valueDueCarry: u64 = 0;
let colonDueCarry: u64 = 0;

/** Starts another page. */
export function beginPage(): void {
  position = 0;
  hasStarted = hasEnded = false;
  emptyLists();
}

/** Empties the lists after they were copied; an unfinished element stays. */
export function emptyLists(): void {
  store<i32>(elements, load<i32>(elements + 8 * elementCount));
  markCount = elementCount = 0;
}

/** Goes over the page from where the last call ended to `end`, as far as its bytes are there. */
export function scanPage(end: i32): i32 {
  if (!hasStarted) {
    skipSpace(end);
    if (position == end) return Page.goesOn;
    if (byteAt(position) != 0x7b) return Page.noObject;
    hasStarted = true;
    enter(position + 1);
  }
  if (!hasEnded) {
    const came = scanBlocks(end);
    if (came != Page.ended) return came;
    hasEnded = true;
  }
  skipSpace(end);
  return position == end ? Page.ended : stop(Page.wrong, position);
}

function skipSpace(end: i32): void {
  while (position < end && isSpace(byteAt(position))) position += 1;
}

function stop(came: i32, at: i32): i32 {
  stoppedAt = at;
  return came;
}

function scanBlocks(end: i32): i32 {
  for (; position < end; position += block) {
    if (markCount >= mostMarks || elementCount >= mostElements) return Page.isFull;
    const at = position;
    const a = v128.load(page + at);
    const b = v128.load(page + at, 16);
    const c = v128.load(page + at, 32);
    const d = v128.load(page + at, 48);
    const there = end - at >= 64 ? -1 : ((1 as u64) << (end - at)) - 1;
    let wrong: u64 = 0;
    /** Containers whose end needs bytes that have not arrived yet. */
    let open: u64 = ~there;

    // Of a row of backslashes every second one is escaped, and the byte behind it if their number is odd: the
    // difference turns the bits of each row that begins at an odd place, and the xor those of the others.
    const backslashes = equal(a, b, c, d, 0x5c);
    const first = backslashes & ~escapeCarry;
    const escapes = (((first << 1) | oddPlaces) - first) ^ oddPlaces;
    const escaped = escapes ^ (backslashes | escapeCarry);
    const allQuotes = equal(a, b, c, d, 0x22);
    const units = escaped & equal(a, b, c, d, 0x75) & there;
    let others = escaped & ~(allQuotes | backslashes | units) & there;
    for (; others != 0; others &= others - 1) {
      if (!isEscape(byteAt(at + indexOf(others)))) wrong |= lowest(others);
    }
    const hexDue = (units << 1) | (units << 2) | (units << 3) | (units << 4) | hexCarry;
    if (hexDue != 0) wrong |= hexDue & ~hexDigitsIn(a, b, c, d) & there;

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
      const starts = bareStarts & (bit | (bit - 1));
      const from = starts == 0 ? firstOf(at) : at + 63 - <i32>clz(starts);
      const after = bareEnd(from, end);
      if (after == 0) {
        wrong |= bit;
        break;
      }
      if (after >= end) open |= bit;
      if (after >= at + block) break;
      unusual &= (-1 as u64) << (after - at);
    }

    // Brackets, one by one, and with them the sets of all bytes in objects, opening brace included; of the page itself; of
    // its arrays.
    if (open != 0) memory.copy(copyOfContainers, containers, openContainers + 1);
    let depth = openContainers;
    let isInObject: i32 = load<u8>(containers + depth);
    let inObject = all(isInObject);
    let ofPage = all(i32(depth == 1));
    let ofArray = all(i32(depth == 2) & (isInObject ^ 1));
    let element = elements + 8 * elementCount;
    let ended: u64 = 0;
    for (let brackets = (opens | closes) & there; brackets != 0; brackets &= brackets - 1) {
      const bit = lowest(brackets);
      const place = at + indexOf(bit);
      const isBrace = (byteAt(place) >> 5) & 1;
      if ((opens & bit) != 0) {
        if (depth == 2 && isInObject == 0) store<i32>(element, place);
        depth += 1;
        if (depth > deepest) return stop(Page.tooDeep, place);
        isInObject = isBrace;
        store<u8>(containers + depth, isInObject);
      } else {
        if (isBrace != isInObject) wrong |= bit;
        depth -= 1;
        isInObject = load<u8>(containers + depth);
        if (depth == 2 && isInObject == 0) {
          store<i32>(element, place + 1, 4);
          element += 8;
        }
        if (depth == 0) {
          ended = bit;
          break;
        }
      }
      const from = 0 - bit;
      inObject = (inObject & ~from) | (all(isInObject) & from);
      if (depth > 3) continue;
      ofPage = (ofPage & ~from) | (all(i32(depth == 1)) & from);
      ofArray = (ofArray & ~from) | (all(i32(depth == 2) & (isInObject ^ 1)) & from);
    }

    // Which tokens may follow which.
    const keyStarts = (commas | opens) & inObject;
    const valueStarts = ((commas | opens) & ~inObject) | colons;
    const keyDue = behind(keyStarts, keyDueCarry, spaces);
    const valueDue = behind(valueStarts, valueDueCarry, spaces);
    const keyRuns = ((keyDue & textStarts) | keyCarry) + text; // adding to the first bit of a run sets the bit after it
    const keyEnds = keyRuns & textEnds;
    const colonDue = behind(keyEnds, colonDueCarry, spaces);
    const empty = behind(opens, openCarry, spaces) & closes;
    const values = textStarts | bareStarts | opens;
    const separators = commas | closes;
    wrong |= keyDue & ~(textStarts | empty);
    wrong |= valueDue & ~(values | empty);
    wrong |= colonDue & ~colons;
    wrong |= (values | colons) & ~(keyDue | valueDue | colonDue); // after a value

    const before = ended == 0 ? <u64>-1 : ended | (ended - 1);
    open &= before;
    wrong &= before;
    if (wrong != 0 && (open == 0 || lowest(wrong) < lowest(open))) return stop(Page.wrong, at + indexOf(wrong));
    if (open != 0) {
      memory.copy(containers, copyOfContainers, openContainers + 1);
      return Page.goesOn;
    }

    const openStart = load<i32>(element); // one that ends in a later block
    for (let strays = (textStarts | bareStarts) & ofArray & before; strays != 0; strays &= strays - 1) {
      store<i32>(element, at + indexOf(strays));
      store<i32>(element, at + indexOf(strays), 4);
      element += 8;
    }
    store<i32>(element, openStart);
    elementCount = (element - elements) >> 3;
    for (let set = ((commas | colons) & ofPage & before) | ended; set != 0; set &= set - 1) {
      store<i32>(marks + 4 * markCount, at + indexOf(set));
      markCount += 1;
    }
    if (ended != 0) {
      position = at + indexOf(ended) + 1;
      return Page.ended;
    }

    openContainers = depth;
    textCarry = all((text >>> 63) as i32);
    escapeCarry = (escapes & backslashes) >>> 63;
    bareCarry = bare >>> 63;
    keyCarry = (keyRuns < text) as u64;
    keyDueCarry = carryOf(keyStarts, keyDueCarry, spaces);
    valueDueCarry = carryOf(valueStarts, valueDueCarry, spaces);
    colonDueCarry = carryOf(keyEnds, colonDueCarry, spaces);
    openCarry = carryOf(opens, openCarry, spaces);
    hexCarry = (units >>> 63) | (units >>> 62) | (units >>> 61) | (units >>> 60);
  }
  return Page.goesOn;
}

/** Enters the page object after its opening brace. */
function enter(at: i32): void {
  position = at;
  openContainers = 1;
  store<u8>(containers + 1, 1);
  textCarry = escapeCarry = bareCarry = keyCarry = hexCarry = colonDueCarry = valueDueCarry = 0;
  openCarry = keyDueCarry = 1;
}

// Single bytes.

// @ts-ignore
@inline function byteAt(at: i32): i32 {
  return load<u8>(page + at);
}

/** Returns the first byte of the number or literal that continues at `at`. */
function firstOf(at: i32): i32 {
  while (!endsBare(byteAt(at - 1))) at -= 1;
  return at;
}

/** Returns the end of a number, `true`, `false` or `null`; `end` if it may continue; 0 if it is invalid. */
function bareEnd(from: i32, end: i32): i32 {
  const after = scalarEnd(page + from) - page;
  if (after > from && after < end && endsBare(byteAt(after))) return after;
  let at = from;
  while (at < end && !endsBare(byteAt(at))) at += 1;
  return at == end ? end : 0;
}

function endsBare(byte: i32): bool {
  if (isSpace(byte)) return true;
  return byte == 0x2c || byte == 0x7d || byte == 0x5d || byte == 0x3a || byte == 0x22 || byte == 0x7b || byte == 0x5b;
}
