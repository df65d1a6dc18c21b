import { constants } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import type { RowRun } from './csv-rows.js';
import { fileError } from './file-error.js';
import { writeAll } from './file-sink.js';

const { O_RDWR, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;

/** Width, number of rows, bytes of the rows: three 32-bit numbers before each run. */
const headBytes = 12;

/**
 * Rows that wait in a file (0600) until all columns are known. A row holds the cells of the
 * columns known when it was written, and these keep their places: all it lacks is commas.
 */
export class CsvSpool {
  readonly path: string;
  position = 0;
  readonly #file: FileHandle;

  static async open(path: string): Promise<CsvSpool> {
    try {
      return new CsvSpool(path, await open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600));
    } catch (error) {
      throw fileError(path, 'created', error);
    }
  }

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  /** Adds runs as one commit. */
  async write(runs: readonly RowRun[]): Promise<void> {
    const commit = Buffer.concat(
      runs.flatMap(({ width, bytes, ends }) => {
        const head = Buffer.from(Int32Array.of(width, ends.length, bytes.length).buffer);
        return [head, Buffer.from(Int32Array.from(ends).buffer), bytes];
      }),
    );
    try {
      await writeAll(this.#file, commit, this.position);
    } catch (error) {
      throw fileError(this.path, 'written', error);
    }
    this.position += commit.length;
  }

  truncate(position: number): void {
    this.position = position;
  }

  /** The rows from the first on, each filled up to `width` cells. */
  async *rows(width: number): AsyncGenerator<Buffer> {
    for (let at = 0; at < this.position;) {
      const [cells = 0, count = 0, bytes = 0] = numbers(await this.#read(at, headBytes));
      const ends = numbers(await this.#read(at + headBytes, 4 * count));
      const rows = await this.#read(at + headBytes + 4 * count, bytes);
      at += headBytes + 4 * count + bytes;
      yield cells === width ? rows : filledUp(rows, ends, width - cells);
    }
  }

  async close({ keep }: { readonly keep: boolean }): Promise<void> {
    await this.#file.close();
    if (!keep) await rm(this.path, { force: true });
  }

  async #read(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    for (let done = 0; done < length;) {
      const { bytesRead } = await this.#file.read(bytes, done, length - done, position + done);
      if (bytesRead === 0) throw fileError(this.path, 'read', new Error('it was cut short'));
      done += bytesRead;
    }
    return bytes;
  }
}

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
