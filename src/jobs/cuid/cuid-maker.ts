import { CellText } from '../../mapping/cell-text.js';
import {
  openTextProgram,
  reserve,
  type WasmMemory,
  type WasmNumber,
} from '../../text/text-program.js';

/** What `wasm/cuid.ts` exports. */
interface CuidProgram {
  readonly memory: WasmMemory;
  /** Where to put a text, how many bytes behind it are written to, and where the cuid is then. */
  readonly cuidText: WasmNumber;
  readonly cuidPadding: WasmNumber;
  readonly madeCuid: WasmNumber;
  /** The end of a key; negative where there is none. */
  setCuidKey(end: number): void;
  /** Of the text up to `end`; where the cuid ends. */
  hashCuid(end: number): number;
  slugCuid(valueEnd: number, end: number): number;
}

/** Longer texts are copied by a call, which costs as much as this many bytes by themselves. */
const shortCopy = 48;

/**
 * Makes a cuid of a value and, where a user has several, the name of a device. With a key it says
 * nothing of the value to who does not have the key: HMAC-SHA256. Without one it is readable: what
 * a cuid cannot hold becomes `_`, and whenever something is lost by that, a digest of the whole
 * follows, so that what differs stays different. The work is done by `wasm/cuid.ts`.
 */
export class CuidMaker {
  readonly #program = openTextProgram() as CuidProgram;
  readonly #text: number;
  readonly #made: number;
  readonly #padding: number;
  readonly #hasKey: boolean;
  readonly #cuid = new CellText();
  #memory: Buffer;

  /** Throws E-WEBASSEMBLY. */
  constructor(key?: Buffer) {
    const { memory, cuidText, madeCuid, cuidPadding } = this.#program;
    this.#text = cuidText.value;
    this.#made = madeCuid.value;
    this.#padding = cuidPadding.value;
    this.#memory = Buffer.from(memory.buffer);
    this.#hasKey = key !== undefined;
    const end = key ? this.#put(this.#text, new CellText().of(key, 0, key.length)) : -1;
    this.#program.setCuidKey(end);
  }

  /** The cuid is lent until the next call. */
  make(value: CellText, device: CellText | undefined): CellText {
    const valueEnd = this.#put(this.#text, value);
    const end = device ? this.#putDevice(valueEnd, device) : valueEnd;
    const program = this.#program;
    const made = this.#hasKey ? program.hashCuid(end) : program.slugCuid(valueEnd, end);
    return this.#cuid.of(this.#memory, this.#made, made);
  }

  /** Behind a NUL. */
  #putDevice(at: number, device: CellText): number {
    const end = this.#put(at + 1, device);
    this.#memory[at] = 0;
    return end;
  }

  /** Copies the text to this place of the memory; returns its end there. */
  #put(at: number, text: CellText): number {
    // Half a surrogate pair becomes U+FFFD, as in all text.
    if (text.broken) {
      const whole = Buffer.from(text.toString());
      return this.#put(at, new CellText().of(whole, 0, whole.length));
    }
    const { bytes, start, end } = text;
    const { memory } = this.#program;
    const length = end - start;
    reserve(memory, at + length + this.#padding);
    if (this.#memory.length === 0) this.#memory = Buffer.from(memory.buffer);
    if (length > shortCopy) bytes.copy(this.#memory, at, start, end);
    else for (let n = 0; n < length; n += 1) this.#memory[at + n] = bytes[start + n]!;
    return at + length;
  }
}
