import { instantiateTextProgram } from './wasm-program.js';
import { reserve, type WasmMemory, type WasmNumber } from '../wasm.js';

/** What `wasm/cuid-set.ts` exports. */
interface SetProgram {
  readonly memory: WasmMemory;
  readonly cuidCount: WasmNumber;
  beginCuids(slots: number, low: number, high: number, factor: number): void;
  // oxlint-disable-next-line max-params -- places in its memory
  addCuids(
    count: number,
    bounds: number,
    places: number,
    hows: number,
    firsts: number,
    tags: number,
  ): void;
}

/** Slots per cuid: what never grows is never there twice. Memory is taken as it is filled. */
const room = 1.2;
const slotBytes = 12;

/** `bytes[start, end)`. */
export interface ByteRange {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}
const nothing: ByteRange = { bytes: Buffer.alloc(0), start: 0, end: 0 };

/** Where a cuid was met before: as it is, or with other letters in upper case. */
export interface FoundDuplicate {
  readonly how: 'duplicate' | 'case-twin';
  readonly place: number;
}

/**
 * The cuids met so far, and a place of each: `most`, five million, and a block of input more in
 * 72 MB. They are put one by one and looked for together, so that the processor fetches many places
 * of that memory at once; see `wasm/cuid-set.ts`.
 */
export class CuidSet {
  readonly most: number;
  readonly #program = instantiateTextProgram() as SetProgram;
  /** Behind the table; where what belongs to the texts that were put begins. */
  readonly #table: number;
  #room = 0;
  #count = 0;
  #memory = Buffer.alloc(0);
  #bounds = new Uint32Array(0);
  #places = new Uint32Array(0);
  /** Where most texts are, and where that was copied to. */
  #area = nothing;
  #areaAt = 0;
  /** Where the next of the others goes. */
  #next = 0;

  /** `random` in [0, 1): the hashes have other keys in every run. Throws E-WEBASSEMBLY. */
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

  /** Makes room for so many texts, most of which lie in an area; those that were put before are gone. */
  begin(count: number, area: ByteRange): void {
    this.#room = count;
    this.#count = 0;
    this.#area = area;
    this.#areaAt = this.#table + count * perText;
    this.#next = this.#areaAt + area.end - area.start;
    this.#reserve(0);
    area.bytes.copy(this.#memory, this.#areaAt, area.start, area.end);
  }

  /** A text, met at `place`, from 1 on. */
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
   * Adds what was put; calls back for each text that was there already, by its number. One that is
   * the same stays with its first place, which is told; so is that of a twin.
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

  /** A text that was put. */
  textOf(index: number): string {
    return this.#memory.toString('utf8', this.#bounds[2 * index], this.#bounds[2 * index + 1]);
  }

  /** What belongs to the texts: bounds, places, where they were met first and how, and what is of use meanwhile. */
  #parts() {
    const [from, count] = [this.#table, this.#room];
    const tags = from + 16 * count;
    return [from, from + 8 * count, from + 12 * count, tags + slotBytes * count, tags] as const;
  }

  /** Makes room for so many bytes of text more. */
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

/** Numbers of four bytes: two bounds, place, first place, three tags; and how. */
const perText = 4 * 7 + 1;
const fewestBytes = 65_536;

const isMet = (how: number): boolean => how !== 0;
