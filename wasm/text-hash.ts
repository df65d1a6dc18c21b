// A hash of 64 bits for `src/input/text-hash.ts`, in AssemblyScript (TypeScript with the types of WebAssembly;
// https://www.assemblyscript.org), for text that another program may have changed, not for one that means to deceive.
// Four lanes take every fourth word of 8 bytes each, so that the processor multiplies for all of them at once. Each step
// is reversible: two texts of which a single word differs never have the same hash.
//
// The memory holds the lanes, the end of the text that fills no block, and room for text that the caller copies there;
// behind that it is the caller's.

import { mixed } from './json/names';

const laneBytes: i32 = 32;
const blockBytes: i32 = 32;
const end: i32 = laneBytes;

export const room: i32 = end + blockBytes;
export const roomBytes: i32 = 32 * 1024;

let endBytes: i32 = 0;
let bytes: f64 = 0;

/** Another text begins. */
export function begin(): void {
  memory.fill(0, 0, laneBytes);
  endBytes = 0;
  bytes = 0;
}

/** Takes in the text that lies there. */
export function update(at: i32, length: i32): void {
  bytes += length;
  const first = endBytes == 0 ? 0 : min(blockBytes - endBytes, length);
  const blocks = at + first;
  const rest = (length - first) & (blockBytes - 1);
  keep(at, first);
  takeIn(end, endBytes & -blockBytes);
  endBytes &= blockBytes - 1;
  takeIn(blocks, length - first - rest);
  keep(at + length - rest, rest);
}

/** Of all text so far. */
export function hash(): u64 {
  memory.fill(end + endBytes, 0, blockBytes - endBytes);
  let all = <u64>bytes;
  for (let at = 0; at < laneBytes + blockBytes; at += 8) all = mixed(all, load<u64>(at));
  return mixed(all, all >> 32);
}

function keep(at: i32, length: i32): void {
  memory.copy(end + endBytes, at, length);
  endBytes += length;
}

/** Whole blocks. */
function takeIn(at: i32, length: i32): void {
  let a = load<u64>(0);
  let b = load<u64>(8);
  let c = load<u64>(16);
  let d = load<u64>(24);
  for (const to = at + length; at < to; at += blockBytes) {
    a = mixed(a, load<u64>(at));
    b = mixed(b, load<u64>(at, 8));
    c = mixed(c, load<u64>(at, 16));
    d = mixed(d, load<u64>(at, 24));
  }
  store<u64>(0, a);
  store<u64>(8, b);
  store<u64>(16, c);
  store<u64>(24, d);
}
