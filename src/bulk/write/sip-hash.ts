/**
 * HalfSipHash-2-4, a keyed hash for machines of 32 bits (Aumasson and Bernstein): who does not know
 * the key cannot make two texts meet. The first two numbers are its 64-bit tag, the third one comes
 * of another four rounds. Leaves no garbage behind, as a hash of `node:crypto` does for each text.
 */
export class SipHash {
  readonly words = new Uint32Array(3);
  readonly #key: readonly [number, number];

  constructor(key: readonly [number, number]) {
    this.#key = key;
  }

  /** Hashes `bytes[start, end)` into `words`. */
  hash(bytes: Uint8Array, start: number, end: number): void {
    const [k0, k1] = this.#key;
    // In four variables: in an array they would take three times as long.
    let v0 = k0 | 0;
    let v1 = k1 ^ 0xee;
    let v2 = 0x6c79_6765 ^ k0;
    let v3 = 0x7465_6462 ^ k1;
    const count = ((end - start) >>> 2) + 1;
    for (let step = 0; step < count + this.words.length; step += 1) {
      const made = step - count; // number of the word that is made, once the text is taken
      const word = made < 0 ? wordAt(bytes, start, start + 4 * step, end) : 0;
      if (made === 0) v2 ^= 0xee;
      if (made > 0) v1 ^= 0xdd;
      v3 ^= word;
      for (let round = made < 0 ? 2 : 4; round > 0; round -= 1) {
        v0 = (v0 + v1) | 0;
        v1 = rotated(v1, 5) ^ v0;
        v2 = (v2 + v3) | 0;
        v3 = rotated(v3, 8) ^ v2;
        v0 = (rotated(v0, 16) + v3) | 0;
        v3 = rotated(v3, 7) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = rotated(v1, 13) ^ v2;
        v2 = rotated(v2, 16);
      }
      v0 ^= word;
      if (made >= 0) this.words[made] = v1 ^ v3;
    }
  }
}

/** Four bytes, the least significant one first; of the last word the highest one is the length. */
function wordAt(bytes: Uint8Array, start: number, at: number, end: number): number {
  if (at + 4 <= end) {
    return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
  }
  let word = (end - start) << 24;
  for (let byte = 0; at + byte < end; byte += 1) word |= bytes[at + byte]! << (8 * byte);
  return word;
}

const rotated = (word: number, by: number): number => (word << by) | (word >>> (32 - by));
