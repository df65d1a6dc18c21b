// The cuids met so far, for `src/text/cuid-set.ts`, and a place of each. A slot is two tags of a cuid and the place, 12 bytes; one
// without a place is free. The tags are 40 bits of a keyed hash of the text in lower case, and 24 bits of which letters are in upper case.

const slotBytes: usize = 12;
/** Bits of the second tag that distinguish texts that differ only by case. */
const caseBits: u32 = 0xffffff;

/** How a text was met before. */
const duplicate: u8 = 1;
const twin: u8 = 2;

let slots: u64 = 0;
let end: usize = 0;
let key0: u32 = 0;
let key1: u32 = 0;
let caseFactor: u32 = 0;

export let size: i32 = 0;
/** Result of prefetching in `addAll`; exported, or the compiler would remove the reads. */
export let touched: u32 = 0;

/** The table lies at 0. */
export function begin(count: u32, low: u32, high: u32, factor: u32): void {
  slots = <u64>count;
  end = slotBytes * <usize>count;
  key0 = low;
  key1 = high;
  caseFactor = factor | 1;
}

/**
 * Adds `count` texts by their bounds and places, and writes how and where each occurred before.
 * Overwrites 12 bytes per text at `tags`.
 */
export function addAll(count: i32, bounds: usize, places: usize, hows: usize, firsts: usize, tags: usize): void {
  for (let index = 0; index < count; index += 1) {
    const at = bounds + 8 * index;
    hash(load<u32>(at), load<u32>(at, 4), tags + slotBytes * index);
  }
  // One after the other without looking at them: the processor fetches several at once, and below need not wait for each.
  let read: u32 = 0;
  for (let index = 0; index < count; index += 1) read ^= load<u32>(load<u32>(tags + slotBytes * index), 8);
  touched = read;
  for (let index = 0; index < count; index += 1) {
    const how = add(tags + slotBytes * index, load<u32>(places + 4 * index), firsts + 4 * index);
    store<u8>(hows + index, how);
  }
}

/** `tags` are where to begin to look and the two tags; the place of what was met before goes to `first`. */
@inline
function add(tags: usize, place: u32, first: usize): u8 {
  const low = load<u32>(tags, 4);
  const high = load<u32>(tags, 8);
  let how: u8 = 0;
  let at = <usize>load<u32>(tags);
  for (let found = load<u32>(at, 8); found != 0; found = load<u32>(at, 8)) {
    const other = load<u32>(at, 4) ^ high;
    if (load<u32>(at) == low && (other & ~caseBits) == 0) {
      if (other == 0 || how == 0) store<u32>(first, found);
      if (other == 0) return duplicate;
      how = twin;
    }
    at += slotBytes;
    if (at == end) at = 0;
  }
  store<u32>(at, low);
  store<u32>(at, high, 4);
  store<u32>(at, place, 8);
  size += 1;
  return how;
}

/** HalfSipHash-2-4 (Aumasson and Bernstein): who does not know the key cannot make two texts meet. */
function hash(start: usize, stop: usize, tags: usize): void {
  // In four variables, not in globals: those would be written to memory.
  let v0 = key0;
  let v1 = key1 ^ 0xee;
  let v2 = 0x6c796765 ^ key0;
  let v3 = 0x74656462 ^ key1;
  let cases: u32 = 0;
  const words = <i32>((stop - start) >> 2) + 1;
  for (let step = 0; step < words + 3; step += 1) {
    const made = step - words; // number of the word that is made, once the text is taken
    let word: u32 = 0;
    if (made < 0) {
      const read = wordAt(start + 4 * step, stop);
      const upper = uppers(read);
      cases = (cases ^ fourBits(upper)) * caseFactor;
      word = read | (upper >> 2);
      if (made == -1) word |= <u32>(stop - start) << 24;
    } else if (made == 0) {
      v2 ^= 0xee;
    } else {
      v1 ^= 0xdd;
    }
    v3 ^= word;
    for (let round = made < 0 ? 2 : 4; round > 0; round -= 1) {
      v0 += v1;
      v1 = rotl<u32>(v1, 5) ^ v0;
      v2 += v3;
      v3 = rotl<u32>(v3, 8) ^ v2;
      v0 = rotl<u32>(v0, 16) + v3;
      v3 = rotl<u32>(v3, 7) ^ v0;
      v2 += v1;
      v1 = rotl<u32>(v1, 13) ^ v2;
      v2 = rotl<u32>(v2, 16);
    }
    v0 ^= word;
    if (made >= 0) store<u32>(tags + 4 * made, v1 ^ v3);
  }
  const slot = <u32>((<u64>load<u32>(tags, 8) * slots) >> 32);
  store<u32>(tags, (load<u32>(tags, 4) & ~caseBits) | (cases >> 8), 8);
  store<u32>(tags, load<u32>(tags), 4);
  store<u32>(tags, <u32>slotBytes * slot);
}

/** Four bytes, the least significant one first; of the last word those that are there. */
@inline
function wordAt(at: usize, stop: usize): u32 {
  if (at + 4 <= stop) return load<u32>(at);
  let word: u32 = 0;
  for (let byte: usize = 0; at + byte < stop; byte += 1) word |= <u32>load<u8>(at + byte) << <u32>(8 * byte);
  return word;
}

/** The highest bit of each byte that is a letter from A to Z. */
@inline
function uppers(word: u32): u32 {
  const low = word & 0x7f7f7f7f;
  return ((low + 0x3f3f3f3f) ^ (low + 0x25252525)) & ~word & 0x80808080;
}

@inline
function fourBits(upper: u32): u32 {
  return ((upper >> 7) * 0x10204080) >> 28;
}
