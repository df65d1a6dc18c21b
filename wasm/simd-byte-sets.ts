
// Sets of the 64 bytes of a block, which are four vectors: a u64, bit i for byte i. See `page-scanner.ts`.

// @ts-ignore
@inline export function lowest(set: u64): u64 {
  return set & (0 - set);
}

// @ts-ignore
@inline export function indexOf(bit: u64): i32 {
  return ctz(bit) as i32;
}

// @ts-ignore
@inline export function all(one: i32): u64 {
  return 0 - (one as u64);
}

/** From each odd bit on to the next one, without that. */
// @ts-ignore
@inline export function parity(set: u64): u64 {
  set ^= set << 1;
  set ^= set << 2;
  set ^= set << 4;
  set ^= set << 8;
  set ^= set << 16;
  return set ^ (set << 32);
}

/** The bytes after those of `set`, past whitespace: the sum carries a bit through a run. */
// @ts-ignore
@inline export function behind(set: u64, carry: u64, spaces: u64): u64 {
  return (((set << 1) | carry) + spaces) & ~spaces;
}

/** Whether the byte after one of them is in the next block. */
// @ts-ignore
@inline export function carryOf(set: u64, carry: u64, spaces: u64): u64 {
  if ((spaces >>> 63) == 0) return set >>> 63;
  return (((set << 1) | carry) + spaces < spaces) as u64;
}

// @ts-ignore
@inline function setOf(a: v128, b: v128, c: v128, d: v128): u64 {
  const low = i8x16.bitmask(a) | (i8x16.bitmask(b) << 16);
  const high = i8x16.bitmask(c) | (i8x16.bitmask(d) << 16);
  return (low as u32 as u64) | ((high as u32 as u64) << 32);
}

// @ts-ignore
@inline export function equal(a: v128, b: v128, c: v128, d: v128, byte: i8): u64 {
  const splat = i8x16.splat(byte);
  return setOf(i8x16.eq(a, splat), i8x16.eq(b, splat), i8x16.eq(c, splat), i8x16.eq(d, splat));
}

// @ts-ignore
@inline export function equalButBit5(a: v128, b: v128, c: v128, d: v128, byte: i8): u64 {
  const bit = i8x16.splat(0x20);
  return equal(v128.or(a, bit), v128.or(b, bit), v128.or(c, bit), v128.or(d, bit), byte);
}

// @ts-ignore
@inline export function atMost(a: v128, b: v128, c: v128, d: v128, byte: i8): u64 {
  const most = i8x16.splat(byte);
  return setOf(i8x16.le_u(a, most), i8x16.le_u(b, most), i8x16.le_u(c, most), i8x16.le_u(d, most));
}

// @ts-ignore
@inline export function digitsIn(a: v128, b: v128, c: v128, d: v128): u64 {
  const zero = i8x16.splat(0x30);
  return atMost(i8x16.sub(a, zero), i8x16.sub(b, zero), i8x16.sub(c, zero), i8x16.sub(d, zero), 9);
}

// @ts-ignore
@inline export function hexDigitsIn(a: v128, b: v128, c: v128, d: v128): u64 {
  const bit = i8x16.splat(0x20);
  const first = i8x16.splat(0x61);
  const letters = atMost(
    i8x16.sub(v128.or(a, bit), first),
    i8x16.sub(v128.or(b, bit), first),
    i8x16.sub(v128.or(c, bit), first),
    i8x16.sub(v128.or(d, bit), first),
    5,
  );
  return digitsIn(a, b, c, d) | letters;
}

// @ts-ignore
@inline export function hasControl(a: v128, b: v128, c: v128, d: v128): bool {
  const smallest = i8x16.min_u(i8x16.min_u(a, b), i8x16.min_u(c, d));
  return v128.any_true(i8x16.le_u(smallest, i8x16.splat(0x1f)));
}
