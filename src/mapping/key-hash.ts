const prime = 16_777_619;

/** FNV-1a, 32 bit, signed: from `hashStart` byte by byte through `hashNext`. */
export const hashStart = -2_128_831_035;
export const hashNext = (hash: number, byte: number): number => Math.imul(hash ^ byte, prime);

export function hashBytes(bytes: Uint8Array, start: number, end: number, seed = hashStart): number {
  let hash: number = seed;
  for (let at = start; at < end; at++) hash = hashNext(hash, bytes[at]!);
  return hash;
}

/** Seeds that keep the keys of different namespaces apart: "1" as identity and as objectId. */
export const keySeeds = {
  identity: hashStart,
  objectId: 0x1000_0001,
  FBID: 0x2000_0003,
  GPID: 0x3000_0005,
  subscription: 0x4000_0007,
} as const;

/** A hash as the key of a record: 31 bit, never negative. */
export const recordKey = (hash: number): number => hash & 0x7fff_ffff;
