
// A table of what was accepted, for `src/text/baseline-table.ts`: 12 bytes of each entry, half of its key's hash and its record's.
// Each lies at the place that the other half of the key's hash names, or behind it. A record of 0 says that a place is empty.

const entryBytes: usize = 16;
const placeBytes: usize = 12;

// The two lowest bits of a record are flags, not part of its hash: the input contains its key, and a
// record of the key is sent.
const SEEN: u32 = 1;
const SENT: u32 = 2;
const flags: u64 = 3;

/** Results of looking up an entry. */
const unknown: u8 = 0;
const changed: u8 = 1;
const same: u8 = 2;

let table: usize = 0;
let places: u64 = 0;
/** Address after the last entry, and the last place, which stays empty. */
let next: usize = 0;
let last: usize = 0;

/** Result of prefetching in `compare`; exported, or the compiler would remove the reads. */
export let touched: u32 = 0;
/** Number of entries with the flag SEEN. */
export let seen: i32 = 0;

/** Starts an empty table of `count` places and `spare` more at the end. */
export function begin(at: usize, count: u32, spare: u32): void {
  table = next = at;
  places = <u64>count;
  last = at + placeBytes * (<usize>count + <usize>spare - 1);
}

/**
 * Adds entries of 16 bytes in the order of the high halves of their keys. Entries that find no place
 * stay unknown.
 */
export function add(entries: usize, count: i32): void {
  const end = entries + entryBytes * <usize>count;
  for (let at = entries; at < end; at += entryBytes) {
    next = max(next, placeOf(at));
    if (next >= last) return;
    store<u32>(next, load<u32>(at));
    store<u64>(next, recordOf(at), 4);
    next += placeBytes;
  }
}

/**
 * Writes the result for each entry, and marks it as seen. Where `mayRest` is 0, an equal record counts
 * as changed.
 */
export function compare(entries: usize, count: i32, mayRest: usize, found: usize): void {
  const end = entries + entryBytes * <usize>count;
  // Reads all places first: the processor fetches several at once, and the loop below does not wait for
  // each.
  let read: u32 = 0;
  for (let at = entries; at < end; at += entryBytes) read ^= load<u32>(placeOf(at));
  touched = read;
  for (let index = 0; index < count; index += 1) {
    const at = entries + entryBytes * <usize>index;
    const place = find(at);
    const record = load<u64>(place, 4);
    let how = unknown;
    if (record != 0) {
      const marks = <u32>record;
      const rests = load<u8>(mayRest + index) == 1 && (marks & SENT) == 0;
      how = rests && (record & ~flags) == recordOf(at) ? same : changed;
      if ((marks & SEEN) == 0) seen += 1;
      store<u32>(place, marks | SEEN | (how == changed ? SENT : 0), 4);
    }
    store<u8>(found + index, how);
  }
}

/** Whether the key of this entry is in the table and was not seen before; marks it as seen. */
export function isMissed(entry: usize): bool {
  const place = find(entry);
  const marks = load<u32>(place, 4);
  if (load<u64>(place, 4) == 0 || (marks & SEEN) != 0) return false;
  store<u32>(place, marks | SEEN, 4);
  return true;
}

/** Writes for each entry whether its key is in the table. */
export function has(entries: usize, count: i32, found: usize): void {
  for (let index = 0; index < count; index += 1) {
    store<u8>(found + index, u8(load<u64>(find(entries + entryBytes * <usize>index), 4) != 0));
  }
}

/** Returns the place of an entry, or an empty one. */
@inline
function find(entry: usize): usize {
  const key = load<u32>(entry);
  let place = placeOf(entry);
  while (load<u64>(place, 4) != 0 && load<u32>(place) != key) place += placeBytes;
  return place;
}

@inline
function placeOf(entry: usize): usize {
  return table + placeBytes * <usize>((<u64>load<u32>(entry, 4) * places) >> 32);
}

@inline
function recordOf(entry: usize): u64 {
  const record = load<u64>(entry, 8) & ~flags;
  return record == 0 ? flags + 1 : record;
}
