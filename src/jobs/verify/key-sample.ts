/** What was kept of one key. */
interface Kept<T> {
  readonly key: string;
  readonly priority: number;
  readonly value: T;
}

/**
 * A random sample of the distinct keys of a stream, with everything that came of each: the keys whose
 * hash under the seed is smallest. A key that is in the end was in from its first record on, since the
 * bar only falls; so one pass is enough, and a key that comes often is not likelier to be in.
 */
export class KeySample<T> {
  readonly #size: number;
  readonly #seed: number;
  #kept = new Map<string, Kept<T>>();
  #bar = Number.POSITIVE_INFINITY;

  /** `size`: keys in the end; twice as many are held on the way. */
  constructor({ size, seed }: { readonly size: number; readonly seed: number }) {
    this.#size = size;
    this.#seed = seed;
  }

  /** Whether no key was left out. */
  get isWhole(): boolean {
    return this.#bar === Number.POSITIVE_INFINITY && this.#kept.size <= this.#size;
  }

  get count(): number {
    return this.#kept.size;
  }

  /** Whether a key of this hash may be in the sample; `hash` has 31 bits or more. */
  wants(hash: number): boolean {
    return this.#priorityOf(hash) <= this.#bar;
  }

  /** What is kept of a key that is wanted; `make` begins it. */
  of(key: string, hash: number, make: () => T): T {
    const found = this.#kept.get(key);
    if (found) return found.value;
    const made = { key, priority: this.#priorityOf(hash), value: make() };
    this.#kept.set(key, made);
    if (this.#kept.size >= 2 * this.#size) this.#lowerBar();
    return made.value;
  }

  /** The sample, in an order that is random as well: a part of it from the beginning is a sample, too. */
  values(): T[] {
    return this.#sorted()
      .slice(0, this.#size)
      .map(({ value }) => value);
  }

  /** Keys that share the last priority stay: one of them, dropped now, might come back without its past. */
  #lowerBar(): void {
    const sorted = this.#sorted();
    this.#bar = sorted[this.#size - 1]!.priority;
    this.#kept = new Map(
      sorted.filter(({ priority }) => priority <= this.#bar).map((kept) => [kept.key, kept]),
    );
  }

  #sorted(): Kept<T>[] {
    return [...this.#kept.values()].toSorted(
      (a, b) => a.priority - b.priority || (a.key < b.key ? -1 : 1),
    );
  }

  /** The finalizer of MurmurHash3: every bit of hash and seed changes half of the bits. */
  #priorityOf(hash: number): number {
    let mixed = hash ^ this.#seed;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  }
}
