/** One of several processes that share the records of an input. */
export interface Shard {
  /** From 1 on. */
  readonly index: number;
  readonly count: number;
}

const two32 = 2 ** 32;
const offset = { high: 0xcbf2_9ce4, low: 0x8422_2325 };
/** The prime is 2^40 + this. */
const primeLow = 0x1b3;

/**
 * FNV-1a, 64 bit, of some bytes (contract §9). The prime is multiplied by in two halves, each of
 * which a double holds exactly.
 */
export class KeyHash {
  #high = offset.high;
  #low = offset.low;

  reset(): this {
    this.#high = offset.high;
    this.#low = offset.low;
    return this;
  }

  add(bytes: Uint8Array, start: number, end: number): this {
    let high = this.#high;
    let low = this.#low;
    for (let at = start; at < end; at++) {
      low = (low ^ bytes[at]!) >>> 0;
      const product = low * primeLow;
      const rest = product >>> 0;
      high = (high * primeLow + (product - rest) / two32 + low * 256) >>> 0;
      low = rest;
    }
    this.#high = high;
    this.#low = low;
    return this;
  }

  /** Which of so many shards, from 1 on; at most 2^20 of them. */
  shardOf(count: number): number {
    return (((this.#high % count) * (two32 % count) + (this.#low % count)) % count) + 1;
  }
}
