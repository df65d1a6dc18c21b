// The tokens of a page, for `src/bulk/export/tokens-in-wasm.ts`, in AssemblyScript (TypeScript with the types of
// WebAssembly; https://www.assemblyscript.org). It does what `tokens-in-js.ts` does, three to four times as fast:
// strings and integers are passed over 16 bytes at a time. Tests hold the two against each other.
//
// Memory: a byte per open container from 1 on (1 an object, 0 an array), then, from `page` on, the bytes of the page.
// A position is counted from there.

// Told by position; see PageEvents. The last two throw.
declare function key(start: i32, end: i32): void;
declare function open(depth: i32, byte: i32, at: i32): void;
declare function close(depth: i32, at: i32): void;
declare function refuse(at: i32): void;
declare function refuseDepth(): void;

const deepest: i32 = 1000;
export const page: i32 = 1024;

// What the next byte belongs to, or what must come next.
const value: i32 = 0;
const valueOrClose: i32 = 1;
const keyOrClose: i32 = 2;
const keyOnly: i32 = 3;
const colon: i32 = 4;
const commaOrClose: i32 = 5;
const inKey: i32 = 6;
const inText: i32 = 7;
/** A number, true, false or null. */
const inBare: i32 = 8;
const finished: i32 = 9;

// Where scanning goes on, and in which state.
let lastAt: i32 = 0;
let lastState: i32 = value;
let lastDepth: i32 = 0;
let lastStart: i32 = 0;

export function restart(): void {
  pause(0, value, 0, 0);
}

export function isFinished(): bool {
  return lastState == finished;
}

/**
 * Goes on to `end`. One function with its state in local variables; a state whose token is mostly followed by that of
 * the next one falls through to it.
 */
export function scan(end: i32): void {
  v128.store(end, i8x16.splat(0), page); // ends every token
  let at = lastAt;
  let state = lastState;
  let depth = lastDepth;
  let start = lastStart;
  let isObject = load<bool>(depth);
  while (at < end) {
    switch (state) {
      case commaOrClose: {
        const byte = byteAt(at);
        at += 1;
        if (byte == 0x2c) {
          state = isObject ? keyOnly : value;
        } else if (byte == (isObject ? 0x7d : 0x5d)) {
          depth -= 1;
          isObject = load<bool>(depth);
          if (depth < 3) close(depth, at);
          if (depth == 0) state = finished;
        } else if (!isSpace(byte)) refuse(at);
        break;
      }
      case keyOrClose:
      case keyOnly: {
        const byte = byteAt(at);
        if (byte == 0x7d && state == keyOrClose) {
          state = commaOrClose;
          break;
        }
        start = at;
        at += 1;
        if (byte != 0x22) {
          if (!isSpace(byte)) refuse(at);
          break;
        }
        state = inKey;
      }
      case inKey: {
        at = textEnd(at, end);
        if (byteAt(at) != 0x22) {
          if (at < end && byteAt(at) != 0x5c) refuse(at);
          return pause(at, state, depth, start);
        }
        at += 1;
        if (depth == 1) key(start, at);
        state = colon;
        if (at >= end) break;
      }
      case colon: {
        const byte = byteAt(at);
        at += 1;
        if (byte != 0x3a) {
          if (!isSpace(byte)) refuse(at);
          break;
        }
        state = value;
        if (at >= end) break;
      }
      case value:
      case valueOrClose: {
        const byte = byteAt(at);
        if (isSpace(byte)) {
          at += 1;
          break;
        }
        if (byte == 0x5d && state == valueOrClose) {
          state = commaOrClose;
          break;
        }
        if (depth < 3) open(depth, byte, at);
        start = at;
        if (byte == 0x7b || byte == 0x5b) {
          depth += 1;
          if (depth > deepest) refuseDepth();
          isObject = byte == 0x7b;
          store<bool>(depth, isObject);
          state = isObject ? keyOrClose : valueOrClose;
          at += 1;
          break;
        }
        if (byte != 0x22) {
          const last = shortIntegerEnd(at);
          if (last == at) {
            if (endsBare(byte)) refuse(at);
            state = inBare;
            break;
          }
          at = last;
          if (depth == 1) close(1, at);
          state = commaOrClose;
          if (byteAt(at) == 0x2c) {
            at += 1;
            state = isObject ? keyOnly : value;
          }
          break;
        }
        at += 1;
        state = inText;
      }
      case inText: {
        at = textEnd(at, end);
        if (byteAt(at) != 0x22) {
          if (at < end && byteAt(at) != 0x5c) refuse(at);
          return pause(at, state, depth, start);
        }
        at += 1;
        if (depth == 1) close(1, at);
        state = commaOrClose;
        if (byteAt(at) == 0x2c && at < end) {
          at += 1;
          state = isObject ? keyOnly : value;
        }
        break;
      }
      case inBare: {
        while (at < end && !endsBare(byteAt(at))) at += 1;
        if (at >= end) break;
        if (bareEnd(start) != at) refuse(start);
        if (depth == 1) close(1, at);
        state = commaOrClose;
        break;
      }
      default: {
        if (!isSpace(byteAt(at))) refuse(at);
        at += 1;
      }
    }
  }
  pause(at, state, depth, start);
}

function pause(at: i32, state: i32, depth: i32, start: i32): void {
  lastAt = at;
  lastState = state;
  lastDepth = depth;
  lastStart = start;
}

function byteAt(at: i32): i32 {
  return load<u8>(at, page);
}

function isSpace(byte: i32): bool {
  return byte <= 0x20 && (byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09);
}

function endsBare(byte: i32): bool {
  if (isSpace(byte)) return true;
  return byte == 0x2c || byte == 0x7d || byte == 0x5d || byte == 0x3a || byte == 0x22 || byte == 0x7b || byte == 0x5b;
}

/** The closing quote of a text; where to go on with it, if that or all of an escape is not there yet. */
// @ts-ignore
@inline function textEnd(from: i32, end: i32): i32 {
  let at = plainEnd(from);
  while (byteAt(at) == 0x5c) {
    const next = at < end ? escapeEnd(at, end) : at;
    if (next == at) break;
    at = plainEnd(next);
  }
  return at;
}

/** The first quote, backslash or control character. */
// @ts-ignore
@inline function plainEnd(from: i32): i32 {
  let at = from;
  let others = othersAt(at);
  while (others == 0) {
    at += 16;
    others = othersAt(at);
  }
  return at + ctz(others);
}

/** A bit for each of 16 bytes that is a quote, a backslash or a control character. */
function othersAt(at: i32): i32 {
  const bytes = v128.load(at, page);
  const quotes = i8x16.eq(bytes, i8x16.splat(0x22));
  const backslashes = i8x16.eq(bytes, i8x16.splat(0x5c));
  const controls = i8x16.le_u(bytes, i8x16.splat(0x1f));
  return i8x16.bitmask(v128.or(v128.or(quotes, backslashes), controls));
}

/** Behind the escape that begins at `at`; `at` if not all of it is there yet. */
function escapeEnd(at: i32, end: i32): i32 {
  if (at + 2 > end) return at;
  const byte = byteAt(at + 1);
  if (byte != 0x75) {
    if (!isEscape(byte)) refuse(at + 1);
    return at + 2;
  }
  if (at + 6 > end) return at;
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    if (!isHexDigit(byteAt(digit))) refuse(digit);
  }
  return at + 6;
}

function isEscape(byte: i32): bool {
  if (byte == 0x22 || byte == 0x5c || byte == 0x2f) return true;
  return byte == 0x62 || byte == 0x66 || byte == 0x6e || byte == 0x72 || byte == 0x74; // b f n r t
}

function isHexDigit(byte: i32): bool {
  const letter = byte | 0x20;
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66);
}

function isDigit(byte: i32): bool {
  return byte >= 0x30 && byte <= 0x39;
}

/** Behind an integer of at most 15 digits before a comma or brace; `start` if there is anything else. */
function shortIntegerEnd(start: i32): i32 {
  const digits = i8x16.le_u(i8x16.sub(v128.load(start, page), i8x16.splat(0x30)), i8x16.splat(9));
  const end = start + ctz(~i8x16.bitmask(digits));
  const after = byteAt(end);
  if (after != 0x2c && after != 0x7d) return start;
  return byteAt(start) == 0x30 && end > start + 1 ? start : end;
}

/** Behind the number, `true`, `false` or `null` at `start` (RFC 8259, 3 and 6); -1 if it is none. */
function bareEnd(start: i32): i32 {
  const word = load<u32>(start, page);
  if (word == 0x65757274 || word == 0x6c6c756e) return start + 4; // true, null
  if (word == 0x736c6166 && byteAt(start + 4) == 0x65) return start + 5; // fals, e
  let at = byteAt(start) == 0x2d ? start + 1 : start;
  let end = digitsEnd(at);
  if (end == at || (byteAt(at) == 0x30 && end > at + 1)) return -1;
  if (byteAt(end) == 0x2e) {
    at = end + 1;
    end = digitsEnd(at);
    if (end == at) return -1;
  }
  if ((byteAt(end) | 0x20) == 0x65) {
    const sign = byteAt(end + 1);
    at = sign == 0x2b || sign == 0x2d ? end + 2 : end + 1;
    end = digitsEnd(at);
    if (end == at) return -1;
  }
  return end;
}

function digitsEnd(start: i32): i32 {
  let at = start;
  while (isDigit(byteAt(at))) at += 1;
  return at;
}
