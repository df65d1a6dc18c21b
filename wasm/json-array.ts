// Where an element of an array ends, for `src/input/json-array-splitter.ts`: by its strings and nesting alone. Whether what is in between is
// It does not validate JSON. It can resume where the previous part of the text ended.

import { base } from './json-parser';
import { othersIn } from './json-tokens';

// Returned instead of a position: the element ends beyond the text, or a string in it contains a line
// break, which is invalid JSON and usually means that a quote is missing.
const beyond: i32 = -1;
const lineBreak: i32 = -2;

let depth: i32 = 0;
let isInString: bool = false;
/** Position at which to resume with more text, or position of the line break. */
export let stoppedAt: i32 = 0;

/** Another element begins. */
export function beginElement(): void {
  depth = 0;
  isInString = false;
}

/** Returns the end of the element, or of its rest, that starts at `from` in a text that ends at `to`. */
export function elementEnd(from: i32, to: i32): i32 {
  const end = base + to;
  let at = base + from;
  for (; at < end; at += 1) {
    if (isInString) {
      while (at + 8 <= end && othersIn(load<u64>(at)) == 0) at += 8;
      if (at == end) break;
      const byte = load<u8>(at);
      if (byte == 0x22) {
        isInString = false;
        if (depth == 0) return at + 1 - base;
      } else if (byte == 0x5c) {
        if (at + 1 == end) break;
        at += 1;
      } else if (byte == 0x0a) return stop(at, lineBreak);
    } else {
      const byte = load<u8>(at);
      const letter = byte | 0x20; // of [ and ] makes { and }
      if (byte == 0x22) isInString = true;
      else if (letter == 0x7b) depth += 1;
      else if (depth == 0) {
        if (byte <= 0x20 || byte == 0x2c || letter == 0x7d) return at - base;
      } else if (letter == 0x7d) {
        depth -= 1;
        if (depth == 0) return at + 1 - base;
      }
    }
  }
  return stop(at, beyond);
}

function stop(at: i32, why: i32): i32 {
  stoppedAt = at - base;
  return why;
}
