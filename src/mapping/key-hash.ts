const prime = 16_777_619;

/** Seeds that keep the keys of different namespaces apart: "1" as identity and as objectId. */
export const keySeeds = {
  identity: -2_128_831_035,
  objectId: 0x1000_0001,
  FBID: 0x2000_0003,
  GPID: 0x3000_0005,
  subscription: 0x4000_0007,
} as const;

/** A text as the key of a record: its FNV-1a hash, 31 bit, as in `wasm/csv-records.ts`. */
export function keyOf(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let hash = seed;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, prime);
  return hash & 0x7fff_ffff;
}
