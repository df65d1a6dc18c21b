/** A set of small whole numbers, a bit each. */
export class Bits {
  /** How many are in it. */
  count = 0;
  readonly #bytes: Uint8Array;

  constructor(size: number) {
    this.#bytes = new Uint8Array(Math.ceil(size / 8));
  }

  has(number: number): boolean {
    return ((this.#bytes[number >>> 3]! >>> (number & 7)) & 1) === 1;
  }

  set(number: number): void {
    if (this.has(number)) return;
    this.#bytes[number >>> 3]! |= 1 << (number & 7);
    this.count += 1;
  }
}
