import type { TextDigest } from './row-block.js';

/** Numbers of an input: where its text ends, and the place behind its last record. */
const numbersEach = 4;
/** Bytes of an input: its flags, its digest, and that of its head. */
const bytesEach = 13;
const flags = { known: 1, endsInLine: 2, ended: 4 } as const;

/** What is known of the texts of inputs, by input. They are kept as numbers: there may be many thousands. */
export class TextDigests {
  #numbers = new Float64Array(0);
  #bytes = Buffer.alloc(0);
  readonly #states = new Map<number, string>();

  /** With room for so many, where that is known. */
  constructor(inputs = 0) {
    this.#makeRoom(inputs);
  }

  /** In the place of what was known of this input before. */
  set({ input, offset, hash, endsInLine, ended }: TextDigest): void {
    this.#makeRoom(input + 1);
    const { end, head } = ended ?? {};
    const known = flags.known | (endsInLine ? flags.endsInLine : 0) | (ended ? flags.ended : 0);
    this.#numbers.set(
      [offset, end?.offset ?? 0, end?.line ?? 0, end?.ordinal ?? 0],
      input * numbersEach,
    );
    this.#bytes[input * bytesEach] = known;
    this.#bytes.write(hash + (head ?? ''), input * bytesEach + 1, 'hex');
    if (end?.state === undefined) this.#states.delete(input);
    else this.#states.set(input, end.state);
  }

  /** Takes those of inputs of which nothing is known yet. */
  fillUp(others: Iterable<TextDigest>): void {
    for (const digest of others) if (!this.get(digest.input)) this.set(digest);
  }

  get(input: number): TextDigest | undefined {
    const at = input * bytesEach;
    const known = this.#bytes[at] ?? 0;
    if (known === 0) return undefined;
    const [offset = 0, endOffset = 0, line = 0, ordinal = 0] = this.#numbers.subarray(
      input * numbersEach,
    );
    const hash = this.#bytes.toString('hex', at + 1, at + 5);
    const endsInLine = (known & flags.endsInLine) > 0;
    if ((known & flags.ended) === 0) return { input, offset, hash, endsInLine };
    const state = this.#states.get(input);
    const end = { input, offset: endOffset, line, ordinal, ...(state !== undefined && { state }) };
    const head = this.#bytes.toString('hex', at + 5, at + bytesEach);
    return { input, offset, hash, endsInLine, ended: { end, head } };
  }

  /** All that are known, by input. */
  *[Symbol.iterator](): Generator<TextDigest> {
    for (let input = 0; input * bytesEach < this.#bytes.length; input += 1) {
      const digest = this.get(input);
      if (digest) yield digest;
    }
  }

  #makeRoom(inputs: number): void {
    if (this.#bytes.length >= inputs * bytesEach) return;
    const room = Math.max(inputs, Math.ceil((1.5 * this.#bytes.length) / bytesEach));
    const [numbers, bytes] = [this.#numbers, this.#bytes];
    this.#numbers = new Float64Array(room * numbersEach);
    this.#numbers.set(numbers);
    this.#bytes = Buffer.alloc(room * bytesEach);
    bytes.copy(this.#bytes);
  }
}
