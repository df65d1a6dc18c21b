
// Memory that is never given back: regions lie one behind the other, and one that has to grow moves to a new one.

/** The numbers for the caller are before it; see `json-parser.ts`. */
let heap: i32 = 40;

/** New memory of zeros. */
export function allocate(bytes: i32): i32 {
  const start = heap;
  heap += (bytes + 7) & ~7;
  const missing = heap - (memory.size() << 16);
  if (missing > 0 && memory.grow((missing + 0xffff) >> 16) < 0) unreachable();
  return start;
}

// Hash tables of names, a name being a key without its escapes. One of 2^bits entries is at most half full. An entry is an
// i64 that says what it is of (0 where there is none), the hash of its name (u64), and where that starts and ends (i32).
//
// Who writes a text can make any number of names whose `hashOf` meets. So only the first `mostQuick` names are found by it,
// and others by the keyed hash of `record-hash.ts`.

export const entryBytes: i32 = 24;
export const mostQuick: i32 = 256;

// @ts-ignore
@inline export function firstEntry(table: i32, bits: i32, hash: u64): i32 {
  return table + entryBytes * <i32>(hash >> (64 - bits));
}

// @ts-ignore
@inline export function nextEntry(table: i32, bits: i32, entry: i32): i32 {
  const next = entry + entryBytes;
  return next == table + (entryBytes << bits) ? table : next;
}

// @ts-ignore
@inline export function setEntry(entry: i32, what: i64, hash: u64, name: i32, end: i32): void {
  store<i64>(entry, what);
  store<u64>(entry, hash, 8);
  store<i32>(entry, name, 16);
  store<i32>(entry, end, 20);
}

export function isNamed(entry: i32, hash: u64, name: i32, end: i32): bool {
  if (load<u64>(entry, 8) != hash) return false;
  let other = load<i32>(entry, 16);
  if (load<i32>(entry, 20) - other != end - name) return false;
  for (let at = name; at < end; at += 1) {
    if (load<u8>(at) != load<u8>(other)) return false;
    other += 1;
  }
  return true;
}

export function hashOf(name: i32, end: i32): u64 {
  let hash: u64 = 0;
  let at = name;
  for (; at + 8 <= end; at += 8) hash = mixed(hash, load<u64>(at));
  return mixed(hash, firstBits(load<u64>(at), <u64>(8 * (end - at))));
}

// @ts-ignore
@inline export function mixed(hash: u64, word: u64): u64 {
  return (rotl(hash, 23) ^ word) * 0x9e3779b97f4a7c15;
}

/** Returns the lowest bits of a word, at most 63. */
// @ts-ignore
@inline export function firstBits(word: u64, bits: u64): u64 {
  return word & ((1 << bits) - 1);
}
