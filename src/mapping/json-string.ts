import { isHexDigit, token } from './json-tokens.js';

/** Bytes of a string that stand for themselves. */
export const isPlain = new Uint8Array(256).fill(1, 0x20);
isPlain[token.quote] = 0;
isPlain[token.backslash] = 0;

const isEscapable = new Uint8Array(256);
for (const letter of '"\\/bfnrt') isEscapable[letter.charCodeAt(0)] = 1;

/**
 * From a byte within a JSON string to the one behind its closing quote, or ~position of the
 * first byte that may not be there.
 */
export function scanString(bytes: Uint8Array, at: number, limit: number): number {
  while (at < limit) {
    const byte = bytes[at]!;
    if (isPlain[byte] === 1) at++;
    else if (byte === token.quote) return at + 1;
    else if (byte !== token.backslash) return ~at;
    else {
      at = scanEscape(bytes, at + 1, limit);
      if (at < 0) return at;
    }
  }
  return ~at;
}

/** What is wrong with the string in which `scanString` did not get past `at`. */
export function stringFault(bytes: Uint8Array, at: number, limit: number): string {
  if (at >= limit) return 'ends within a string';
  if (bytes[at]! < 0x20) return 'has a control character within a string';
  return 'has an escape that JSON does not know';
}

/** From the byte behind the backslash to the end of the escape. */
function scanEscape(bytes: Uint8Array, at: number, limit: number): number {
  if (at >= limit) return ~at;
  if (isEscapable[bytes[at]!] === 1) return at + 1;
  if (bytes[at] !== token.u) return ~at;
  for (let digit = at + 1; digit <= at + 4; digit++) {
    if (digit >= limit || !isHexDigit(bytes[digit]!)) return ~digit;
  }
  return at + 5;
}
