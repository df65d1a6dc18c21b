import path from 'node:path';
import { TextSlice } from '../../text/text-slice.js';
import { instantiateTextProgram, reserve, type WasmMemory, type WasmNumber } from '../../wasm.js';
import { EngagectlError } from '../../errors.js';
import { readTextFile } from '../../files/read-file.js';
import { fileErrorReason } from '../../files/file-errors.js';
import type { JobContext } from '../job-context.js';

/** Exports of `wasm/cuid-derivation.ts`. */
interface CuidProgram {
  readonly memory: WasmMemory;
  /** Start of the free memory. */
  readonly cuidRoom: WasmNumber;
  /** Bytes written after a text, and bytes from one cuid to the next. */
  readonly cuidPadding: WasmNumber;
  readonly cuidStride: WasmNumber;
  /** An `end` before `start` means no key. */
  setCuidKey(start: number, end: number): void;
  makeCuids(count: number, bounds: number, made: number, ends: number): void;
}

/** Maximum bytes to copy in a loop; for longer texts, a copy call is faster. */
const shortCopy = 48;

/**
 * Derives cuids from values and optional device names. With a key, cuids are HMAC-SHA256 digests
 * that reveal nothing about the value. Without a key they are readable slugs: invalid characters
 * become `_`, followed by a digest if that loses information, so different values stay different.
 * Works on batches in `wasm/cuid-derivation.ts`.
 */
export class CuidMaker {
  readonly #program = instantiateTextProgram() as CuidProgram;
  readonly #stride: number;
  readonly #padding: number;
  readonly #cuid = new TextSlice();
  #memory = Buffer.alloc(0);
  /** Three offsets for each text, and the end of its cuid. */
  #bounds = new Int32Array(0);
  #ends = new Int32Array(0);
  /** Capacity of the batch, and texts in it. */
  #room = 0;
  #count = 0;
  /** Offset of the cuids. */
  #made = 0;
  /** Offset of the next text. */
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

  /** Starts a batch of at most `count` texts. */
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

  /** Derives the cuids of the batch. */
  make(): void {
    const { bounds, ends } = this.#places();
    this.#program.makeCuids(this.#count, bounds, this.#made, ends);
  }

  /** Memory that contains all cuids of the batch. */
  get cuids() {
    const end = this.#made + this.#stride * this.#count;
    return { bytes: this.#memory, start: this.#made, end };
  }

  /** Returns a cuid of the batch. The slice is reused by the next call. */
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

  /** Copies a device name, preceded by a NUL. */
  #putDevice(at: number, device: TextSlice): number {
    const end = this.#put(at + 1, device);
    this.#memory[at] = 0;
    return end;
  }

  /** Copies a text to an offset of the memory; returns its end. */
  #put(at: number, text: TextSlice): number {
    // A lone surrogate becomes U+FFFD, as in all text.
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

  /** Grows the memory to twice the required size. */
  #reserve(end: number): void {
    const { memory } = this.#program;
    reserve(memory, 2 * end + this.#padding);
    this.#memory = Buffer.from(memory.buffer);
    const { bounds, ends } = this.#places();
    this.#bounds = new Int32Array(memory.buffer, bounds, 3 * this.#room);
    this.#ends = new Int32Array(memory.buffer, ends, this.#room);
  }
}

/** Minimum length of a key that cannot be found by brute force. */
const fewest = 16;

interface KeyOptions {
  readonly style?: 'slug' | 'hash';
  readonly keyFile?: string;
}

/** Reads the key for the style `hash`; undefined for `slug`. Throws E-USAGE, E-CONFIG. */
export async function loadCuidKey(
  { style, keyFile }: KeyOptions,
  { runtime: { cwd, signal }, words }: JobContext,
): Promise<Buffer | undefined> {
  const option = words.option('keyFile', '<file>');
  if (keyFile === undefined) {
    if (style !== 'hash') return undefined;
    throw new EngagectlError('E-USAGE', `the style hash requires ${option}`, {
      why: 'without a key, addresses and numbers can be guessed from their cuids',
      fix: 'create a key once and keep it: openssl rand -hex 32 > cuid.key',
    });
  }
  if (style === 'slug') {
    throw new EngagectlError('E-USAGE', `the style slug cannot be combined with ${option}`, {
      why: 'a slug is readable and hides nothing',
      fix: `omit ${option}`,
    });
  }
  const text = await readTextFile(path.resolve(cwd, keyFile), signal).catch((cause: unknown) => {
    if (cause instanceof EngagectlError) throw cause;
    throw new EngagectlError('E-CONFIG', `the key file ${keyFile} cannot be read`, {
      why: fileErrorReason(cause),
      fix: `choose a readable file with ${option}`,
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
      why: 'a short key can be found by brute force',
      fix: 'create a new key and keep it: openssl rand -hex 32 > cuid.key',
      file: keyFile,
    },
  );
}
