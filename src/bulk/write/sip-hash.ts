/**
 * HalfSipHash-2-4, a keyed hash for machines of 32 bits (Aumasson and Bernstein): who does not know
 * the key cannot make two texts meet. The first two numbers are its 64-bit tag, the third one comes
 * of another four rounds. Leaves no garbage behind, as a hash of `node:crypto` does for each text.
 */
export class SipHash {
  readonly words = new Uint32Array(3);
  readonly #state = new Int32Array(4);
  readonly #key: readonly [number, number];

  constructor(key: readonly [number, number]) {
    this.#key = key;
  }

  /** Hashes `bytes[start, end)` into `words`. */
  hash(bytes: Uint8Array, start: number, end: number): void {
    const [k0, k1] = this.#key;
    const v = this.#state;
    v[0] = k0;
    v[1] = k1 ^ 0xee;
    v[2] = 0x6c79_6765 ^ k0;
    v[3] = 0x7465_6462 ^ k1;
    let at = start;
    for (; at + 4 <= end; at += 4) absorb(v, wordAt(bytes, at, 4));
    absorb(v, ((end - start) << 24) | wordAt(bytes, at, end - at));
    v[2] ^= 0xee;
    for (let word = 0; word < this.words.length; word += 1) {
      if (word > 0) v[1] ^= 0xdd;
      for (let round = 0; round < 4; round += 1) mix(v);
      this.words[word] = v[1] ^ v[3];
    }
  }
}

/** Up to four bytes, the least significant one first. */
function wordAt(bytes: Uint8Array, at: number, count: number): number {
  let word = 0;
  for (let byte = 0; byte < count; byte += 1) word |= bytes[at + byte]! << (8 * byte);
  return word;
}

function absorb(v: Int32Array, word: number): void {
  v[3]! ^= word;
  mix(v);
  mix(v);
  v[0]! ^= word;
}

function mix(v: Int32Array): void {
  let v0 = (v[0]! + v[1]!) | 0;
  let v1 = rotated(v[1]!, 5) ^ v0;
  let v2 = (v[2]! + v[3]!) | 0;
  let v3 = rotated(v[3]!, 8) ^ v2;
  v0 = (rotated(v0, 16) + v3) | 0;
  v3 = rotated(v3, 7) ^ v0;
  v2 = (v2 + v1) | 0;
  v1 = rotated(v1, 13) ^ v2;
  v[0] = v0;
  v[1] = v1;
  v[2] = rotated(v2, 16);
  v[3] = v3;
}

const rotated = (word: number, by: number): number => (word << by) | (word >>> (32 - by));
