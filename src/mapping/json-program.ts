import { limits } from '../contract/limits.js';
import { openTextProgram, type WasmMemory, type WasmNumber } from '../text/text-program.js';
import { epochDigits } from './instants.js';
import { keySeeds } from './key-hash.js';

/** What `wasm/json-text.ts` exports. */
export interface JsonProgram {
  readonly memory: WasmMemory;
  /** Objects and arrays within each other; deeper texts are refused. */
  readonly deepest: WasmNumber;
  /** Where to put a text of so many bytes, the first of which is called `first` from then on. */
  reserveJson(bytes: number, first: number): number;
  /** Makes room for so many names that are looked for, numbered from 0. */
  want(count: number): void;
  /** Where to put a name of so many bytes, to be told to `wantName`. */
  nameRoom(bytes: number): number;
  wantName(start: number, end: number, number: number): void;
  /** Reads what was put there from `start` to `end`. */
  readJson(start: number, end: number): void;
  /** Writes what stands between these places of a string somewhere else, without escapes; returns where. */
  unescape(start: number, end: number): number;
  readonly unescapedEnd: WasmNumber;
  /** Whether half of a surrogate pair was escaped there. */
  readonly hasHalf: WasmNumber;
  /** What may be passed: most bytes of an identity, the seed of its hash, most digits of a time. */
  expectUpload(identityBytes: number, identitySeed: number, tsDigits: number): void;
  /** Where to put the bounds of so many rows. */
  rowTable(count: number): number;
  /** Passes rows of that table; returns the first one that it read and did not pass, or their count. */
  passRows(row: number, count: number): number;
}

/** An instance of the program, which looks for these names, numbered by their places. */
export function openJsonProgram(names: readonly string[]): JsonProgram {
  const program = openTextProgram() as JsonProgram;
  program.expectUpload(limits.identityLength, keySeeds.identity, epochDigits);
  program.want(names.length);
  for (const [number, name] of names.entries()) {
    const bytes = Buffer.from(name);
    const start = program.nameRoom(bytes.length);
    Buffer.from(program.memory.buffer).set(bytes, start);
    program.wantName(start, start + bytes.length, number);
  }
  return program;
}
