import { openTextProgram, reserve, type WasmMemory, type WasmNumber } from './text-program.js';

/** What `wasm/cuid-set.ts` exports. */
interface SetProgram {
  readonly memory: WasmMemory;
  readonly cuidCount: WasmNumber;
  beginCuids(slots: number, low: number, high: number, factor: number): void;
  // oxlint-disable-next-line max-params -- places in its memory
  addCuids(
    count: number,
    texts: number,
    ends: number,
    places: number,
    hows: number,
    firsts: number,
    tags: number,
  ): void;
}

/** Slots per cuid: what never grows is never there twice. Memory is taken as it is filled. */
const room = 1.2;
const slotBytes = 12;
/** Longer texts are copied by a call, which costs as much as this many bytes by themselves. */
const shortCopy = 48;

/** Where a cuid was met before: as it is, or with other letters in upper case. */
export interface Met {
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
  readonly #program = openTextProgram() as SetProgram;
  /** Behind the table; where what belongs to the texts that were put begins. */
  readonly #table: number;
  #room = 0;
  #count = 0;
  /** Where the texts begin and how long they are. */
  #texts = 0;
  #length = 0;
  #memory = Buffer.alloc(0);
  #ends = new Uint32Array(0);
  #places = new Uint32Array(0);

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

  /** Makes room for so many texts; those that were put before are gone. */
  begin(count: number): void {
    this.#room = count;
    this.#texts = this.#table + count * perText;
    this.#count = this.#length = 0;
    this.#reserve(0);
  }

  /** A text, met at `place`, from 1 on. */
  put(bytes: Buffer, start: number, end: number, place: number): void {
    const length = end - start;
    const at = this.#texts + this.#length;
    if (at + length > this.#memory.length) this.#reserve(length);
    const memory = this.#memory;
    if (length > shortCopy) bytes.copy(memory, at, start, end);
    else for (let n = 0; n < length; n += 1) memory[at + n] = bytes[start + n]!;
    this.#length += length;
    this.#ends[this.#count] = this.#length;
    this.#places[this.#count] = place;
    this.#count += 1;
  }

  /**
   * Adds what was put; calls back for each text that was there already, by its number. One that is
   * the same stays with its first place, which is told; so is that of a twin.
   */
  add(met: (index: number, met: Met) => void): void {
    const count = this.#count;
    const [ends, places, firsts, hows, tags] = this.#parts();
    this.#program.addCuids(count, this.#texts, ends, places, hows, firsts, tags);
    const how = this.#memory.subarray(hows, hows + count);
    for (let index = how.findIndex(isMet); index >= 0 && index < count; index += 1) {
      if (how[index] === 0) continue;
      const place = this.#memory.readUInt32LE(firsts + 4 * index);
      met(index, { how: how[index] === 1 ? 'duplicate' : 'case-twin', place });
    }
  }

  /** A text that was put. */
  textOf(index: number): string {
    const start = index === 0 ? 0 : this.#ends[index - 1]!;
    return this.#memory.toString('utf8', this.#texts + start, this.#texts + this.#ends[index]!);
  }

  /** What belongs to the texts: their ends, places, where they were met first and how, and what is of use meanwhile. */
  #parts() {
    const [from, count] = [this.#table, this.#room];
    return [
      from,
      from + 4 * count,
      from + 8 * count,
      from + 24 * count,
      from + 12 * count,
    ] as const;
  }

  /** Makes room for so many bytes of text more. */
  #reserve(length: number): void {
    const { memory } = this.#program;
    reserve(memory, this.#texts + Math.max(2 * (this.#length + length), fewestBytes));
    this.#memory = Buffer.from(memory.buffer);
    const [ends, places] = this.#parts();
    this.#ends = new Uint32Array(memory.buffer, ends, this.#room);
    this.#places = new Uint32Array(memory.buffer, places, this.#room);
  }
}

/** Numbers of four bytes: end, place, first place, three tags; and how. */
const perText = 4 * 6 + 1;
const fewestBytes = 65_536;

const isMet = (how: number): boolean => how !== 0;
