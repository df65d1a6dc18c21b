// SHA-256 (FIPS 180-4) of four texts at a time, for `wasm/cuid-derivation.ts`: every number is a vector with one of each text. A state is eight
// vectors. The first 1536 bytes of the memory are taken.

const constants: i32 = 0;
/** Message schedule of a block of 64 bytes: the words that its 64 rounds add, without the constants. */
const schedule: i32 = 256;
/** The state of hashes of nothing yet. */
export const initial: i32 = 1280;
const before: i32 = 1408;
/** Bytes of a state. */
export const stateBytes: i32 = 128;

/** To be called once. */
export function prepare(): void {
  v128.store(constants, i32x4(0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5));
  v128.store(constants, i32x4(0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5), 16);
  v128.store(constants, i32x4(0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3), 32);
  v128.store(constants, i32x4(0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174), 48);
  v128.store(constants, i32x4(0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc), 64);
  v128.store(constants, i32x4(0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da), 80);
  v128.store(constants, i32x4(0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7), 96);
  v128.store(constants, i32x4(0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967), 112);
  v128.store(constants, i32x4(0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13), 128);
  v128.store(constants, i32x4(0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85), 144);
  v128.store(constants, i32x4(0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3), 160);
  v128.store(constants, i32x4(0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070), 176);
  v128.store(constants, i32x4(0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5), 192);
  v128.store(constants, i32x4(0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3), 208);
  v128.store(constants, i32x4(0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208), 224);
  v128.store(constants, i32x4(0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2), 240);
  splat(0, 0x6a09e667);
  splat(1, 0xbb67ae85);
  splat(2, 0x3c6ef372);
  splat(3, 0xa54ff53a);
  splat(4, 0x510e527f);
  splat(5, 0x9b05688c);
  splat(6, 0x1f83d9ab);
  splat(7, 0x5be0cd19);
}

function splat(word: i32, value: u32): void {
  v128.store(initial + 16 * word, i32x4.splat(value));
}

/**
 * Writes the padding after a text that `before` hashed bytes precede; returns the start of its last
 * block.
 */
export function pad(start: i32, end: i32, before: i32): i32 {
  const last = start + ((end - start + 8) & -64);
  memory.fill(end, 0, last + 64 - end);
  store<u8>(end, 0x80);
  store<u64>(last, bswap<u64>(<u64>(before + end - start) << 3), 56);
  return last;
}

/** Adds to `state` all blocks of four texts: `starts` are of their first blocks, `lasts` of their last ones. */
export function addAll(starts: i32, lasts: i32, state: i32): void {
  let at = v128.load(starts);
  const last = v128.load(lasts);
  for (;;) {
    takeBlocks(i32x4.min_s(at, last));
    memory.copy(before, state, stateBytes);
    addSchedule(state, state);
    const isOver = i32x4.gt_s(at, last);
    // The state of a finished text stays.
    for (let word = 0; word < stateBytes; word += 16) {
      v128.store(state + word, v128.bitselect(v128.load(before + word), v128.load(state + word), isOver));
    }
    at = i32x4.add(at, i32x4.splat(64));
    if (!v128.any_true(i32x4.le_s(at, last))) return;
  }
}

/** Puts a block of each text into the schedule. */
@inline
function takeBlocks(at: v128): void {
  const first = i32x4.extract_lane(at, 0);
  const second = i32x4.extract_lane(at, 1);
  const third = i32x4.extract_lane(at, 2);
  const fourth = i32x4.extract_lane(at, 3);
  for (let byte = 0; byte < 64; byte += 4) {
    const words = i32x4.replace_lane(
      i32x4.replace_lane(
        i32x4.replace_lane(i32x4.splat(load<i32>(first + byte)), 1, load<i32>(second + byte)),
        2,
        load<i32>(third + byte),
      ),
      3,
      load<i32>(fourth + byte),
    );
    v128.store(schedule + 4 * byte, v128.shuffle<u8>(words, words, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
  }
}

/** Adds the block that is the digests `state` to the states `from`, before which one block was hashed: the end of HMAC. */
export function addDigests(from: i32, state: i32): void {
  memory.copy(schedule, state, stateBytes);
  memory.fill(schedule + stateBytes, 0, stateBytes);
  v128.store(schedule + stateBytes, i32x4.splat(0x80000000));
  v128.store(schedule + 240, i32x4.splat((64 + 32) << 3));
  addSchedule(from, state);
}

/** Adds the block whose words are in `schedule` to the states `from`, which leads to `state`. */
function addSchedule(from: i32, state: i32): void {
  for (let at = schedule + 256; at < schedule + 1024; at += 16) {
    const late = v128.load(at - 32);
    const early = v128.load(at - 240);
    const lateBits = xor3(rotr(late, 17), rotr(late, 19), i32x4.shr_u(late, 10));
    const earlyBits = xor3(rotr(early, 7), rotr(early, 18), i32x4.shr_u(early, 3));
    v128.store(at, add4(v128.load(at - 256), earlyBits, v128.load(at - 112), lateBits));
  }
  let a = v128.load(from);
  let b = v128.load(from, 16);
  let c = v128.load(from, 32);
  let d = v128.load(from, 48);
  let e = v128.load(from, 64);
  let f = v128.load(from, 80);
  let g = v128.load(from, 96);
  let h = v128.load(from, 112);
  for (let round = 0; round < 64; round += 1) {
    const bits = xor3(rotr(e, 6), rotr(e, 11), rotr(e, 25));
    const chosen = v128.bitselect(f, g, e);
    const word = i32x4.add(v128.load32_splat(constants + 4 * round), v128.load(schedule + 16 * round));
    const low = add4(h, bits, chosen, word);
    const most = v128.or(v128.and(a, b), v128.and(c, v128.or(a, b)));
    const high = i32x4.add(xor3(rotr(a, 2), rotr(a, 13), rotr(a, 22)), most);
    h = g;
    g = f;
    f = e;
    e = i32x4.add(d, low);
    d = c;
    c = b;
    b = a;
    a = i32x4.add(low, high);
  }
  v128.store(state, i32x4.add(v128.load(from), a));
  v128.store(state, i32x4.add(v128.load(from, 16), b), 16);
  v128.store(state, i32x4.add(v128.load(from, 32), c), 32);
  v128.store(state, i32x4.add(v128.load(from, 48), d), 48);
  v128.store(state, i32x4.add(v128.load(from, 64), e), 64);
  v128.store(state, i32x4.add(v128.load(from, 80), f), 80);
  v128.store(state, i32x4.add(v128.load(from, 96), g), 96);
  v128.store(state, i32x4.add(v128.load(from, 112), h), 112);
}

@inline
function rotr(words: v128, by: i32): v128 {
  return v128.or(i32x4.shr_u(words, by), i32x4.shl(words, 32 - by));
}

@inline
function xor3(a: v128, b: v128, c: v128): v128 {
  return v128.xor(v128.xor(a, b), c);
}

@inline
function add4(a: v128, b: v128, c: v128, d: v128): v128 {
  return i32x4.add(i32x4.add(a, b), i32x4.add(c, d));
}
