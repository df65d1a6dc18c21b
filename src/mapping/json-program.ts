import { openTextProgram, type WasmMemory, type WasmNumber } from '../text/text-program.js';

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
}

/** An instance of the program, which looks for these names, numbered by their places. */
export function openJsonProgram(names: readonly string[]): JsonProgram {
  const program = openTextProgram() as JsonProgram;
  program.want(names.length);
  for (const [number, name] of names.entries()) {
    const bytes = Buffer.from(name);
    const start = program.nameRoom(bytes.length);
    Buffer.from(program.memory.buffer).set(bytes, start);
    program.wantName(start, start + bytes.length, number);
  }
  return program;
}
