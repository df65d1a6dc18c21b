// The tokens of JSON (RFC 8259, 2, 3, 6 and 7):
//
//     string  = QUOTE *(byte / BACKSLASH escape) QUOTE    ; a byte is no quote, backslash or control character
//     escape  = QUOTE / BACKSLASH / "/" / "b" / "f" / "n" / "r" / "t" / "u" 4HEXDIG
//     scalar  = number / "true" / "false" / "null"
//     number  = ["-"] ("0" / DIGIT1-9 *DIGIT) ["." 1*DIGIT] [("e" / "E") ["-" / "+"] 1*DIGIT]
//     space   = *(%x20 / %x0A / %x0D / %x09)
//
// Each function takes the place where a token begins and returns the one behind it, or 0 with a failure. Strings are passed
// over 8 bytes at a time. The text must end with a byte that none of them takes.

// What is wrong with a text, by the numbers that `src/text/json-parser.ts` has the words for, and the place where.

export const enum Failure {
  none,
  // what should be there
  value,
  digit,
  key,
  colon,
  commaOrBrace,
  commaOrBracket,
  // what is there
  inString,
  tooDeep,
  goesOn,
  repeatsKey,
}

export let failure: i32 = Failure.none;
export let failureAt: i32 = 0;

/** Records an error and returns 0, which is never a position in a text. */
export function fail(what: Failure, at: i32): i32 {
  failure = what;
  failureAt = at;
  return 0;
}

export function forgetFailure(): void {
  failure = Failure.none;
}

/** Whether a string had an escape since `forgetEscapes`. */
export let hasEscape: bool = false;

// @ts-ignore
@inline export function forgetEscapes(): void {
  hasEscape = false;
}

/** From inside a string, returns the position after its closing quote, or 0. */
// @ts-ignore
@inline export function stringEnd(from: i32): i32 {
  let at = from;
  while (true) {
    let others = othersIn(load<u64>(at));
    while (others == 0) {
      at += 8;
      others = othersIn(load<u64>(at));
    }
    at += <i32>(ctz(others) >> 3);
    const byte = load<u8>(at);
    if (byte == 0x22) return at + 1;
    if (byte != 0x5c) return fail(Failure.inString, at);
    hasEscape = true;
    at = afterEscape(at + 1);
    if (at == 0) return 0;
  }
}

/** Bytes that are a quote, a backslash or a control character: the lowest bit that is set is the top bit of the first. */
// @ts-ignore
@inline export function othersIn(word: u64): u64 {
  const quotes = word ^ 0x0202020202020202; // a quote becomes 0x20, and control characters stay below
  const backslashes = word ^ 0x5c5c5c5c5c5c5c5c;
  const isQuote = (quotes - 0x2121212121212121) & ~quotes;
  const isBackslash = (backslashes - 0x0101010101010101) & ~backslashes;
  return (isQuote | isBackslash) & 0x8080808080808080;
}

function afterEscape(letterAt: i32): i32 {
  const letter = load<u8>(letterAt);
  if (letter != 0x75) return isEscape(letter) ? letterAt + 1 : fail(Failure.inString, letterAt);
  for (let digit = letterAt + 1; digit <= letterAt + 4; digit += 1) {
    if (!isHexDigit(load<u8>(digit))) return fail(Failure.inString, digit);
  }
  return letterAt + 5;
}

/** Whether a backslash and this byte are an escape. */
export function isEscape(byte: i32): bool {
  if (byte == 0x22 || byte == 0x5c || byte == 0x2f) return true;
  return byte == 0x62 || byte == 0x66 || byte == 0x6e || byte == 0x72 || byte == 0x74; // b f n r t
}

export function isHexDigit(byte: i32): bool {
  const letter = byte | 0x20;
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66);
}

// @ts-ignore
@inline function isDigit(byte: i32): bool {
  return byte >= 0x30 && byte <= 0x39;
}

export function scalarEnd(start: i32): i32 {
  const word = load<u32>(start);
  if (word == 0x65757274 || word == 0x6c6c756e) return start + 4; // true, null
  if (word == 0x736c6166 && load<u8>(start, 4) == 0x65) return start + 5; // fals, e
  let at = load<u8>(start) == 0x2d ? start + 1 : start;
  let end = digitsEnd(at);
  if (end == at) return fail(at == start ? Failure.value : Failure.digit, at);
  if (load<u8>(at) == 0x30) end = at + 1; // no leading zeros: in 01 the number is the 0
  if (load<u8>(end) == 0x2e) {
    at = end + 1;
    end = digitsEnd(at);
    if (end == at) return fail(Failure.digit, at);
  }
  if ((load<u8>(end) | 0x20) == 0x65) {
    const sign = load<u8>(end, 1);
    at = sign == 0x2b || sign == 0x2d ? end + 2 : end + 1;
    end = digitsEnd(at);
    if (end == at) return fail(Failure.digit, at);
  }
  return end;
}

export function digitsEnd(start: i32): i32 {
  let at = start;
  while (isDigit(load<u8>(at))) at += 1;
  return at;
}

// @ts-ignore
@inline export function spaceEnd(start: i32): i32 {
  let at = start;
  while (isSpace(load<u8>(at))) at += 1;
  return at;
}

// @ts-ignore
@inline export function isSpace(byte: i32): bool {
  return byte <= 0x20 && (byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09);
}

// Keys without their escapes (RFC 8259, 7).

/** Whether half of a surrogate pair was written since `forgetHalves`. */
export let hasHalf: bool = false;

export function forgetHalves(): void {
  hasHalf = false;
}

/** End of the escape that was decoded last. */
export let escapeEnd: i32 = 0;

/** Writes the unescaped content between two positions of a string to `name`, and returns the end. */
export function spell(start: i32, end: i32, name: i32): i32 {
  let to = name;
  for (let at = start; at < end;) {
    const byte = load<u8>(at);
    at += 1;
    if (byte == 0x5c) {
      to = spellEscape(at, to);
      at = escapeEnd;
    } else {
      store<u8>(to, byte);
      to += 1;
    }
  }
  return to;
}

/** Writes the character of the escape with this letter to `to`, and returns the end. */
export function spellEscape(letterAt: i32, to: i32): i32 {
  const letter = load<u8>(letterAt);
  escapeEnd = letterAt + 1;
  if (letter != 0x75) {
    store<u8>(to, escaped(letter));
    return to + 1;
  }
  let code = hexAt(letterAt + 1);
  escapeEnd = letterAt + 5;
  if ((code & 0xfc00) == 0xd800 && load<u16>(escapeEnd) == 0x755c && (hexAt(letterAt + 7) & 0xfc00) == 0xdc00) {
    code = 0x10000 + ((code & 0x3ff) << 10) + (hexAt(letterAt + 7) & 0x3ff);
    escapeEnd += 6;
  }
  return storeCode(to, code);
}

/** Returns the character of a short escape. */
function escaped(letter: i32): i32 {
  if (letter == 0x62) return 0x08;
  if (letter == 0x66) return 0x0c;
  if (letter == 0x6e) return 0x0a;
  if (letter == 0x72) return 0x0d;
  return letter == 0x74 ? 0x09 : letter;
}

function hexAt(at: i32): i32 {
  let code = 0;
  for (let digit = at; digit < at + 4; digit += 1) {
    const byte = <i32>load<u8>(digit);
    code = (code << 4) + (byte & 15) + 9 * (byte >> 6);
  }
  return code;
}

/**
 * Writes a code point as UTF-8; half of a surrogate pair by the same scheme, so that different halves
 * stay different.
 */
function storeCode(to: i32, code: i32): i32 {
  if ((code & 0xfffff800) == 0xd800) hasHalf = true;
  if (code < 0x80) {
    store<u8>(to, code);
    return to + 1;
  }
  let at = to;
  if (code < 0x800) {
    store<u8>(at, 0xc0 | (code >> 6));
  } else {
    if (code > 0xffff) {
      store<u8>(at, 0xf0 | (code >> 18));
      at += 1;
      store<u8>(at, 0x80 | ((code >> 12) & 0x3f));
    } else store<u8>(at, 0xe0 | (code >> 12));
    at += 1;
    store<u8>(at, 0x80 | ((code >> 6) & 0x3f));
  }
  store<u8>(at, 0x80 | (code & 0x3f), 1);
  return at + 2;
}
