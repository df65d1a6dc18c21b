import { rm } from 'node:fs/promises';
import type { RowRun } from '../text/flattener.js';
import { MarkedFile, type FileMark } from './marked-file.js';

/** Width, number of rows, bytes of the rows: three 32-bit numbers before each run. */
const headBytes = 12;

/**
 * Rows that wait in a file until all columns are known. A row holds the cells of the columns
 * known when it was written, and these keep their places: all it lacks is commas.
 */
export class CsvSpool {
  readonly #file: MarkedFile;

  /** `resume`: goes on in a spool that an earlier process left. */
  static async open(path: string, resume: FileMark | undefined): Promise<CsvSpool> {
    return new CsvSpool(await (resume ? MarkedFile.resume(path, resume) : MarkedFile.create(path)));
  }

  private constructor(file: MarkedFile) {
    this.#file = file;
  }

  get mark(): FileMark {
    return this.#file.mark;
  }

  /** Adds runs of rows, each of which is good until the next one. */
  async write(runs: Iterable<RowRun>): Promise<void> {
    for (const { width, bytes, ends } of runs) {
      const head = Int32Array.of(width, ends.length, bytes.length);
      await this.#file.write(Buffer.concat([bytesOf(head), bytesOf(ends), bytes]));
    }
  }

  truncate(mark: FileMark): Promise<void> {
    return this.#file.truncate(mark);
  }

  sync(): Promise<void> {
    return this.#file.sync();
  }

  /** The rows from the first on, each filled up to `width` cells. */
  async *rows(width: number): AsyncGenerator<Buffer> {
    for (let at = 0; at < this.mark.bytes;) {
      const [cells = 0, count = 0, bytes = 0] = numbers(await this.#read(at, headBytes));
      const ends = numbers(await this.#read(at + headBytes, 4 * count));
      const rows = await this.#read(at + headBytes + 4 * count, bytes);
      at += headBytes + 4 * count + bytes;
      yield cells === width ? rows : filledUp(rows, ends, width - cells);
    }
  }

  async close({ keep }: { readonly keep: boolean }): Promise<void> {
    await this.#file.close();
    if (!keep) await rm(this.#file.path, { force: true });
  }

  async #read(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    await this.#file.read(bytes, position);
    return bytes;
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const numbers = ({ buffer, byteOffset, length }: Buffer): Int32Array =>
  new Int32Array(buffer, byteOffset, length / 4);

function filledUp(rows: Buffer, ends: Int32Array, missing: number): Buffer {
  const filled = Buffer.allocUnsafe(rows.length + ends.length * missing);
  let to = 0;
  let start = 0;
  for (const end of ends) {
    to += rows.copy(filled, to, start, end - 1);
    filled.fill(',', to, to + missing);
    to += missing;
    filled[to++] = 0x0a;
    start = end;
  }
  return filled;
}
