import { instantiateTextProgram, reserve, type WasmMemory, type WasmNumber } from '../wasm.js';

/** Exports of `wasm/cuid-set.ts`. */
interface SetProgram {
  readonly memory: WasmMemory;
  readonly cuidCount: WasmNumber;
  beginCuids(slots: number, low: number, high: number, factor: number): void;
  // oxlint-disable-next-line max-params -- addresses in its memory
  addCuids(
    count: number,
    bounds: number,
    places: number,
    hows: number,
    firsts: number,
    tags: number,
  ): void;
}

/** Slots per cuid of the open-addressing table, which never grows. Memory is committed as it is filled. */
const room = 1.2;
const slotBytes = 12;

/** `bytes[start, end)`. */
export interface ByteRange {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}
const nothing: ByteRange = { bytes: Buffer.alloc(0), start: 0, end: 0 };

/** How a cuid occurred before: identical, or with different case. */
export interface FoundDuplicate {
  readonly how: 'duplicate' | 'case-twin';
  readonly place: number;
}

/**
 * Set of cuids with the position of each: up to `most` (five million) and one block of input, in 72 MB.
 * Cuids are put one by one and looked up together, so that the CPU fetches many cache lines at once; see
 * `wasm/cuid-set.ts`.
 */
export class CuidSet {
  readonly most: number;
  readonly #program = instantiateTextProgram() as SetProgram;
  /** Size of the table, and start of the area after it. */
  readonly #table: number;
  #room = 0;
  #count = 0;
  #memory = Buffer.alloc(0);
  #bounds = new Uint32Array(0);
  #places = new Uint32Array(0);
  /** The buffer that contains most texts, and the address of its copy. */
  #area = nothing;
  #areaAt = 0;
  /** Address for the next text outside of that buffer. */
  #next = 0;

  /** `random` in [0, 1) keys the hashes, differently in each run. Throws E-WEBASSEMBLY. */
  constructor(random: () => number, most = 5_000_000) {
    this.most = most;
    const slots = Math.ceil(room * most);
    this.#table = slotBytes * slots;
    const key = () => Math.floor(random() * 2 ** 32);
    reserve(this.#program.memory, this.#table);
    this.#program.beginCuids(slots, key(), key(), key());
  }

  get size(): number {
    return this.#program.cuidCount.value;
  }

  /** Starts a block of `count` texts, most of which are in `area`. Discards the previous block. */
  begin(count: number, area: ByteRange): void {
    this.#room = count;
    this.#count = 0;
    this.#area = area;
    this.#areaAt = this.#table + count * perText;
    this.#next = this.#areaAt + area.end - area.start;
    this.#reserve(0);
    area.bytes.copy(this.#memory, this.#areaAt, area.start, area.end);
  }

  /** Adds a text to the block, found at `place`, 1-based. */
  put({ bytes, start, end }: ByteRange, place: number): void {
    const area = this.#area;
    const isThere = bytes === area.bytes && start >= area.start && end <= area.end;
    const at = isThere ? this.#areaAt + start - area.start : this.#copied(bytes, start, end);
    this.#bounds[2 * this.#count] = at;
    this.#bounds[2 * this.#count + 1] = at + end - start;
    this.#places[this.#count] = place;
    this.#count += 1;
  }

  #copied(bytes: Buffer, start: number, end: number): number {
    const at = this.#next;
    if (at + end - start > this.#memory.length) this.#reserve(end - start);
    bytes.copy(this.#memory, at, start, end);
    this.#next += end - start;
    return at;
  }

  /**
   * Adds the block to the set and calls back for each text that was already there, with its index. A
   * duplicate or case variant is reported with the position of its first occurrence.
   */
  add(met: (index: number, met: FoundDuplicate) => void): void {
    const count = this.#count;
    const [bounds, places, firsts, hows, tags] = this.#parts();
    this.#program.addCuids(count, bounds, places, hows, firsts, tags);
    const how = this.#memory.subarray(hows, hows + count);
    for (let index = how.findIndex(isMet); index >= 0 && index < count; index += 1) {
      if (how[index] === 0) continue;
      const place = this.#memory.readUInt32LE(firsts + 4 * index);
      met(index, { how: how[index] === 1 ? 'duplicate' : 'case-twin', place });
    }
  }

  /** Returns a text of the block. */
  textOf(index: number): string {
    return this.#memory.toString('utf8', this.#bounds[2 * index], this.#bounds[2 * index + 1]);
  }

  /** Addresses of the per-text arrays: bounds, places, first places, kinds of matches, and scratch space. */
  #parts() {
    const [from, count] = [this.#table, this.#room];
    const tags = from + 16 * count;
    return [from, from + 8 * count, from + 12 * count, tags + slotBytes * count, tags] as const;
  }

  /** Reserves memory for this many more bytes of text. */
  #reserve(length: number): void {
    const { memory } = this.#program;
    const texts = this.#next + length - this.#areaAt;
    reserve(memory, this.#areaAt + Math.max(2 * texts, fewestBytes));
    this.#memory = Buffer.from(memory.buffer);
    const [bounds, places] = this.#parts();
    this.#bounds = new Uint32Array(memory.buffer, bounds, 2 * this.#room);
    this.#places = new Uint32Array(memory.buffer, places, this.#room);
  }
}

/** 32-bit numbers per text: two bounds, place, first place, three tags; and one byte for the kind. */
const perText = 4 * 7 + 1;
const fewestBytes = 65_536;

const isMet = (how: number): boolean => how !== 0;
