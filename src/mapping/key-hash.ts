const prime = 16_777_619;

/** FNV-1a over bytes, 32 bit, signed. */
export function hashBytes(bytes: Uint8Array, start: number, end: number, seed = -2_128_831_035) {
  let hash = seed;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, prime);
  return hash;
}

/** Seeds that keep the keys of different namespaces apart: "1" as identity and as objectId. */
export const keySeeds = {
  identity: -2_128_831_035,
  objectId: 0x1000_0001,
  FBID: 0x2000_0003,
  GPID: 0x3000_0005,
  subscription: 0x4000_0007,
} as const;

/** A hash as the key of a record: 31 bit, never negative. */
export const recordKey = (hash: number): number => hash & 0x7fff_ffff;
