import path from 'node:path';
import { TextSlice } from '../../text/text-slice.js';
import { instantiateTextProgram } from '../../text/wasm-program.js';
import { reserve, type WasmMemory, type WasmNumber } from '../../wasm.js';
import { EngagectlError } from '../../errors.js';
import { readTextFile } from '../../files/read-file.js';
import { fileErrorReason } from '../../files/file-errors.js';
import type { JobContext } from '../job-context.js';

/** What `wasm/cuid-derivation.ts` exports. */
interface CuidProgram {
  readonly memory: WasmMemory;
  /** Where the memory is free. */
  readonly cuidRoom: WasmNumber;
  /** How many bytes behind a text are written to, and from one cuid to the next. */
  readonly cuidPadding: WasmNumber;
  readonly cuidStride: WasmNumber;
  /** There is no key where `end` is before `start`. */
  setCuidKey(start: number, end: number): void;
  makeCuids(count: number, bounds: number, made: number, ends: number): void;
}

/** Longer texts are copied by a call, which costs as much as this many bytes by themselves. */
const shortCopy = 48;

/**
 * Makes cuids of values and, where a user has several, the names of devices. With a key they say
 * nothing of the value to who does not have the key: HMAC-SHA256. Without one they are readable: what
 * a cuid cannot hold becomes `_`, and whenever something is lost by that, a digest of the whole
 * follows, so that what differs stays different. They are made many at a time, by `wasm/cuid-derivation.ts`.
 */
export class CuidMaker {
  readonly #program = instantiateTextProgram() as CuidProgram;
  readonly #stride: number;
  readonly #padding: number;
  readonly #cuid = new TextSlice();
  #memory = Buffer.alloc(0);
  /** Of each text three numbers, and where its cuid ends. */
  #bounds = new Int32Array(0);
  #ends = new Int32Array(0);
  /** There is room for so many, of which so many were put. */
  #room = 0;
  #count = 0;
  /** Where the cuids are. */
  #made = 0;
  /** Where the next text goes. */
  #next = 0;

  /** Throws E-WEBASSEMBLY. */
  constructor(key?: Buffer) {
    this.#stride = this.#program.cuidStride.value;
    this.#padding = this.#program.cuidPadding.value;
    this.begin(0);
    const start = this.#next;
    const end = key ? this.#put(start, new TextSlice().of(key, 0, key.length)) : -1;
    this.#program.setCuidKey(start, end);
  }

  /** Makes room for so many texts; those that were put before are gone. */
  begin(count: number): void {
    this.#room = count;
    this.#count = 0;
    const { made, texts } = this.#places();
    this.#made = made;
    this.#next = texts;
    this.#reserve(this.#next);
  }

  put(value: TextSlice, device: TextSlice | undefined): void {
    const valueEnd = this.#put(this.#next, value);
    const end = device ? this.#putDevice(valueEnd, device) : valueEnd;
    const at = 3 * this.#count;
    this.#bounds[at] = this.#next;
    this.#bounds[at + 1] = valueEnd;
    this.#bounds[at + 2] = end;
    this.#count += 1;
    this.#next = end + this.#padding;
  }

  /** Makes a cuid of each text that was put. */
  make(): void {
    const { bounds, ends } = this.#places();
    this.#program.makeCuids(this.#count, bounds, this.#made, ends);
  }

  /** All that were made, and what lies between them. */
  get cuids() {
    const end = this.#made + this.#stride * this.#count;
    return { bytes: this.#memory, start: this.#made, end };
  }

  /** A cuid that was made, lent until the next call. */
  cuid(index: number): TextSlice {
    const start = this.#made + this.#stride * index;
    return this.#cuid.of(this.#memory, start, this.#ends[index]!);
  }

  #places() {
    const bounds = this.#program.cuidRoom.value;
    const ends = bounds + 12 * this.#room;
    const made = ends + 4 * this.#room;
    return { bounds, ends, made, texts: made + this.#stride * this.#room };
  }

  /** Behind a NUL. */
  #putDevice(at: number, device: TextSlice): number {
    const end = this.#put(at + 1, device);
    this.#memory[at] = 0;
    return end;
  }

  /** Copies the text to this place of the memory; returns its end there. */
  #put(at: number, text: TextSlice): number {
    // Half a surrogate pair becomes U+FFFD, as in all text.
    if (text.broken) {
      const whole = Buffer.from(text.toString());
      return this.#put(at, new TextSlice().of(whole, 0, whole.length));
    }
    const { bytes, start, end } = text;
    const length = end - start;
    if (at + length + this.#padding > this.#memory.length) this.#reserve(at + length);
    const memory = this.#memory;
    if (length > shortCopy) bytes.copy(memory, at, start, end);
    else for (let n = 0; n < length; n += 1) memory[at + n] = bytes[start + n]!;
    return at + length;
  }

  /** Makes the memory so long, and as long again. */
  #reserve(end: number): void {
    const { memory } = this.#program;
    reserve(memory, 2 * end + this.#padding);
    this.#memory = Buffer.from(memory.buffer);
    const { bounds, ends } = this.#places();
    this.#bounds = new Int32Array(memory.buffer, bounds, 3 * this.#room);
    this.#ends = new Int32Array(memory.buffer, ends, this.#room);
  }
}

/** Characters of the shortest key that cannot be found by trying. */
const fewest = 16;

interface KeyOptions {
  readonly style?: 'slug' | 'hash';
  readonly keyFile?: string;
}

/** The key of the style `hash`; undefined for another one. Throws E-USAGE, E-CONFIG. */
export async function loadCuidKey(
  { style, keyFile }: KeyOptions,
  { runtime: { cwd, signal }, words }: JobContext,
): Promise<Buffer | undefined> {
  const option = words.option('keyFile', '<file>');
  if (keyFile === undefined) {
    if (style !== 'hash') return undefined;
    throw new EngagectlError('E-USAGE', `the style hash needs ${option}`, {
      why: 'who has no key could try out addresses and numbers until their cuids appear',
      fix: 'make a key once and keep it: openssl rand -hex 32 > cuid.key',
    });
  }
  if (style === 'slug') {
    throw new EngagectlError('E-USAGE', 'the style slug takes no key', {
      why: 'a slug is readable: it hides nothing',
      fix: `leave out ${option}`,
    });
  }
  const text = await readTextFile(path.resolve(cwd, keyFile), signal).catch((cause: unknown) => {
    if (cause instanceof EngagectlError) throw cause;
    throw new EngagectlError('E-CONFIG', `the key cannot be read from ${keyFile}`, {
      why: fileErrorReason(cause),
      fix: `name a readable file with ${option}`,
      file: keyFile,
      cause,
    });
  });
  const key = text.replace(/\r?\n$/, '');
  if (key.length >= fewest) return Buffer.from(key);
  throw new EngagectlError(
    'E-CONFIG',
    `the key in ${keyFile} is shorter than ${fewest} characters`,
    {
      why: 'it could be found by trying',
      fix: 'make one, and keep it: openssl rand -hex 32 > cuid.key',
      file: keyFile,
    },
  );
}
