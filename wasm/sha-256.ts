// SHA-256 (FIPS 180-4), for `wasm/cuid.ts`. A state is eight u32. The first 544 bytes of the memory are taken.

const constants: i32 = 0;
/** Of a block of 64 bytes: what its 64 rounds add, without the constants. */
const schedule: i32 = 256;
/** The state of a hash of nothing yet. */
export const initial: i32 = 512;

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
  v128.store(initial, i32x4(0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a));
  v128.store(initial, i32x4(0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19), 16);
}

/** Hashes the text up to `end`, before which `before` bytes led to the state `from`. 72 bytes behind it are written to. */
export function finish(from: i32, before: i32, start: i32, end: i32, state: i32): void {
  const last = start + ((end - start + 8) & -64);
  memory.fill(end, 0, last + 64 - end);
  store<u8>(end, 0x80);
  store<u64>(last, bswap<u64>(<u64>(before + end - start) << 3), 56);
  add(from, start, state);
  for (let block = start + 64; block <= last; block += 64) add(state, block, state);
}

/** Adds a block of 64 bytes to the state `from`, which leads to `state`. */
export function add(from: i32, block: i32, state: i32): void {
  for (let at = 0; at < 64; at += 4) store<u32>(schedule + at, bswap<u32>(load<u32>(block + at)));
  for (let at = schedule + 64; at < schedule + 256; at += 4) {
    const late = load<u32>(at - 8);
    const early = load<u32>(at - 60);
    const lateBits = rotr<u32>(late, 17) ^ rotr<u32>(late, 19) ^ (late >> 10);
    const earlyBits = rotr<u32>(early, 7) ^ rotr<u32>(early, 18) ^ (early >> 3);
    store<u32>(at, load<u32>(at - 64) + earlyBits + load<u32>(at - 28) + lateBits);
  }
  let a = load<u32>(from);
  let b = load<u32>(from, 4);
  let c = load<u32>(from, 8);
  let d = load<u32>(from, 12);
  let e = load<u32>(from, 16);
  let f = load<u32>(from, 20);
  let g = load<u32>(from, 24);
  let h = load<u32>(from, 28);
  // Eight rounds, after which each number has its name again.
  for (let at = 0; at < 256; at += 32) {
    h += low(e, f, g, at);
    d += h;
    h += high(a, b, c);
    g += low(d, e, f, at + 4);
    c += g;
    g += high(h, a, b);
    f += low(c, d, e, at + 8);
    b += f;
    f += high(g, h, a);
    e += low(b, c, d, at + 12);
    a += e;
    e += high(f, g, h);
    d += low(a, b, c, at + 16);
    h += d;
    d += high(e, f, g);
    c += low(h, a, b, at + 20);
    g += c;
    c += high(d, e, f);
    b += low(g, h, a, at + 24);
    f += b;
    b += high(c, d, e);
    a += low(f, g, h, at + 28);
    e += a;
    a += high(b, c, d);
  }
  store<u32>(state, load<u32>(from) + a);
  store<u32>(state, load<u32>(from, 4) + b, 4);
  store<u32>(state, load<u32>(from, 8) + c, 8);
  store<u32>(state, load<u32>(from, 12) + d, 12);
  store<u32>(state, load<u32>(from, 16) + e, 16);
  store<u32>(state, load<u32>(from, 20) + f, 20);
  store<u32>(state, load<u32>(from, 24) + g, 24);
  store<u32>(state, load<u32>(from, 28) + h, 28);
}

@inline
function low(e: u32, f: u32, g: u32, at: i32): u32 {
  const bits = rotr<u32>(e, 6) ^ rotr<u32>(e, 11) ^ rotr<u32>(e, 25);
  return bits + (g ^ (e & (f ^ g))) + load<u32>(constants + at) + load<u32>(schedule + at);
}

@inline
function high(a: u32, b: u32, c: u32): u32 {
  const bits = rotr<u32>(a, 2) ^ rotr<u32>(a, 13) ^ rotr<u32>(a, 22);
  return bits + ((a & b) | (c & (a | b)));
}
