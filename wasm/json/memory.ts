// Memory that is never given back: regions lie one behind the other, and one that has to grow moves to a new one.

/** The numbers for the caller are before it; see `../json-text.ts`. */
let heap: i32 = 40;

/** New memory of zeros. */
export function allocate(bytes: i32): i32 {
  const start = heap;
  heap += (bytes + 7) & ~7;
  const missing = heap - (memory.size() << 16);
  if (missing > 0 && memory.grow((missing + 0xffff) >> 16) < 0) unreachable();
  return start;
}
