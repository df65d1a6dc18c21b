// A set of 31-bit keys for `src/bulk/write/key-set.ts`, in AssemblyScript (TypeScript with the types of WebAssembly;
// https://www.assemblyscript.org). Open addressing, linear probing: a key stands in the slot that its low bits name, or
// behind it, and no free slot lies between. At most half of them is taken, and no more are there than that takes: they
// compete with the text for the processor's cache.
//
// The memory holds the keys that the caller passes, and behind them the slots, which are named by their place in bytes.

/** Most keys that are passed at once. */
export const most: i32 = 4096;

const slots: usize = 4 * most;
const free: i32 = -1;

/** Of a place: bytes of all slots, less one. */
let mask: i32 = 64 * 1024 - 1;
let size: i32 = 0;

reserve(<i32>slots + mask + 1);
memory.fill(slots, 0xff, mask + 1);

/** Adds the first `count` keys that were passed, up to one that is there already; returns how many. */
export function add(count: i32): i32 {
  while (8 * (size + count) > mask) grow();
  const ring = mask;
  let added = 0;
  for (; added < count; added += 1) {
    const key = load<i32>(4 * added);
    const at = find(key, ring);
    if (keyAt(at) != free) break;
    put(at, key);
  }
  size += added;
  return added;
}

/** Takes out those of the first `count` keys that were passed that are there. */
export function remove(count: i32): void {
  const ring = mask;
  for (let index = 0; index < count; index += 1) {
    const at = find(load<i32>(4 * index), ring);
    if (keyAt(at) == free) continue;
    close(at, ring);
    size -= 1;
  }
}

/** Where the key is, or would be. */
// @ts-ignore
@inline function find(key: i32, ring: i32): i32 {
  let at = (4 * key) & ring;
  for (let other = keyAt(at); other != free && other != key; other = keyAt(at)) at = (at + 4) & ring;
  return at;
}

/** Moves the keys behind the gap forward, so that each is still found from its own slot on. */
// @ts-ignore
@inline function close(gap: i32, ring: i32): void {
  let at = (gap + 4) & ring;
  for (let key = keyAt(at); key != free; key = keyAt(at)) {
    if (((at - 4 * key) & ring) >= ((at - gap) & ring)) {
      put(gap, key);
      gap = at;
    }
    at = (at + 4) & ring;
  }
  put(gap, free);
}

/** Twice the slots: the old ones lie behind the new ones while their keys are put in again. */
function grow(): void {
  const bytes = mask + 1;
  const old = 2 * bytes;
  reserve(<i32>slots + old + bytes);
  memory.copy(slots + old, slots, bytes);
  memory.fill(slots, 0xff, old);
  mask = old - 1;
  for (let from = old; from < old + bytes; from += 4) {
    const key = keyAt(from);
    if (key != free) put(find(key, mask), key);
  }
}

/** Makes the memory at least so long. */
function reserve(bytes: i32): void {
  const missing = bytes - (memory.size() << 16);
  if (missing > 0 && memory.grow((missing + 0xffff) >> 16) < 0) unreachable();
}

// @ts-ignore
@inline function keyAt(at: i32): i32 {
  return load<i32>(at, slots);
}

// @ts-ignore
@inline function put(at: i32, key: i32): void {
  store<i32>(at, key, slots);
}
