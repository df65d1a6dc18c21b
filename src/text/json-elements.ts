import { openTextProgram } from './wasm-program.js';
import type { WasmMemory, WasmNumber } from '../wasm.js';

/** What `wasm/json-element.ts` and `wasm/json-text.ts` export. */
interface ElementProgram {
  readonly memory: WasmMemory;
  reserveJson(bytes: number, first: number): number;
  beginElement(): void;
  elementEnd(from: number, to: number): number;
  readonly elementStop: WasmNumber;
}

/** In place of a position: the element ends beyond the text, or has a line break within a string. */
export const BEYOND = -1;
export const LINE_BREAK = -2;

/** Finds where elements of a JSON array end; whether they are JSON is not looked at. */
export class JsonElements {
  readonly #program = openTextProgram() as ElementProgram;
  #length = 0;

  /** Takes up a text. */
  load(text: Buffer): void {
    const at = this.#program.reserveJson(text.length, 0);
    text.copy(Buffer.from(this.#program.memory.buffer, at));
    this.#length = text.length;
  }

  /** Position behind the element that begins at `start`, BEYOND or LINE_BREAK. */
  end(start: number): number {
    this.#program.beginElement();
    return this.rest(start);
  }

  /** The same of the element that ended beyond the text before. */
  rest(from: number): number {
    return this.#program.elementEnd(from, this.#length);
  }

  /** Where the line break is, or where to go on when there is more text. */
  get stoppedAt(): number {
    return this.#program.elementStop.value;
  }
}
