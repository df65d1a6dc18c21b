// Keys without their escapes (RFC 8259, 7).

/** Whether half of a surrogate pair was written since `forgetHalves`. */
export let hasHalf: bool = false;

export function forgetHalves(): void {
  hasHalf = false;
}

/** Where the escape ends that was spelled last. */
export let escapeEnd: i32 = 0;

/** Writes what stands between these places of a string to `name`, without escapes, and returns where that ends. */
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

/** Writes what the escape with this letter stands for to `to`, and returns where that ends. */
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

/** What the letter of a short escape stands for. */
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

/** As UTF-8, and half of a surrogate pair by the same scheme, so that different halves stay different. */
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
