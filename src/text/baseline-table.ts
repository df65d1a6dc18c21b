import { hashWords } from './record-hash.js';
import { instantiateTextProgram, reserve, type WasmMemory, type WasmNumber } from '../wasm.js';

/** Exports of `wasm/baseline-table.ts`. */
interface EntryProgram {
  readonly memory: WasmMemory;
  readonly seenEntries: WasmNumber;
  beginEntries(table: number, count: number, spare: number): void;
  addEntries(entries: number, count: number): void;
  compareEntries(entries: number, count: number, mayRest: number, found: number): void;
  isMissedEntry(entry: number): number;
  hasEntries(entries: number, count: number, found: number): void;
}

const entryBytes = 4 * hashWords;
const placeBytes = 12;
/** Extra places at the end for entries displaced by collisions. */
const spare = 4096;

/** More places than entries shorten the search; many entries get fewer, to save memory. */
const placesFor = (count: number): number =>
  Math.ceil(Math.max(1.1 * count, Math.min((3 / 2) * count, 4_000_000)));

/**
 * Entries in memory, about 13 bytes each, in `wasm/baseline-table.ts`. The place of an entry stands for
 * part of its key: of five million keys, two may be confused, but never their records.
 */
export class BaselineTable {
  readonly #program = instantiateTextProgram() as EntryProgram;
  /** Address of the entries passed to a call; after the table. */
  readonly #given: number;

  /** Creates a table for `count` entries. Throws E-WEBASSEMBLY. */
  constructor(count: number) {
    const places = placesFor(count);
    this.#given = roundUp(placeBytes * (places + spare));
    reserve(this.#program.memory, this.#given);
    this.#program.beginEntries(0, places, spare);
  }

  /** Adds entries in the order of their keys. */
  add(entries: Int32Array): void {
    this.#program.addEntries(this.#give(entries), entries.length / hashWords);
  }

  /** See KnownEntries. */
  compare(entries: Int32Array, mayRest: Uint8Array): Uint8Array {
    const count = entries.length / hashWords;
    const restAt = this.#given + entryBytes * count;
    const foundAt = restAt + count;
    const { memory } = this.#program;
    reserve(memory, foundAt + count);
    new Uint8Array(memory.buffer, restAt, count).set(mayRest.subarray(0, count));
    this.#program.compareEntries(this.#give(entries), count, restAt, foundAt);
    return new Uint8Array(memory.buffer, foundAt, count);
  }

  has(entries: Int32Array): Uint8Array {
    const count = entries.length / hashWords;
    const foundAt = this.#given + entryBytes * count;
    const { memory } = this.#program;
    reserve(memory, foundAt + count);
    this.#program.hasEntries(this.#give(entries), count, foundAt);
    return new Uint8Array(memory.buffer, foundAt, count);
  }

  isMissed(entry: Int32Array): boolean {
    return this.#program.isMissedEntry(this.#give(entry)) === 1;
  }

  get seen(): number {
    return this.#program.seenEntries.value;
  }

  /** Nothing to do: its memory is garbage-collected. */
  close(): void {}

  #give(entries: Int32Array): number {
    const { memory } = this.#program;
    reserve(memory, this.#given + 4 * entries.length);
    new Int32Array(memory.buffer, this.#given, entries.length).set(entries);
    return this.#given;
  }
}

const roundUp = (bytes: number): number => Math.ceil(bytes / entryBytes) * entryBytes;
