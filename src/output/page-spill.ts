import { constants } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { fileError } from './file-error.js';
import { writeAll } from './file-sink.js';
import { ndjsonLines } from './ndjson.js';
import type { Checkpoint, RecordPage } from './output.js';

const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

/** Pages that arrived before their turn, in a file without a name: it goes when the process goes. */
export class PageSpill {
  readonly name: string;
  readonly rewindable = true;
  readonly #file: FileHandle;
  #pages: { readonly bytes: number; readonly count: number }[] = [];
  #position = 0;
  #records = 0;

  static async open(path: string): Promise<PageSpill> {
    try {
      const file = await open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      await rm(path);
      return new PageSpill(path, file);
    } catch (error) {
      throw fileError(path, 'created', error);
    }
  }

  private constructor(name: string, file: FileHandle) {
    this.name = name;
    this.#file = file;
  }

  async writePage(page: RecordPage): Promise<void> {
    const lines = ndjsonLines(page);
    try {
      await writeAll(this.#file, lines, this.#position);
    } catch (error) {
      throw fileError(this.name, 'written', error);
    }
    this.#pages.push({ bytes: lines.length, count: page.count });
    this.#position += lines.length;
    this.#records += page.count;
  }

  checkpoint(): Checkpoint {
    return { bytes: this.#position, records: this.#records };
  }

  rewind({ bytes, records }: Checkpoint): Promise<void> {
    while (this.#position > bytes) this.#position -= this.#pages.pop()?.bytes ?? this.#position;
    this.#records = records;
    return Promise.resolve();
  }

  /** The pages as they were written; each is good until the next one is asked for. */
  async *pages(): AsyncGenerator<RecordPage> {
    let buffer = Buffer.alloc(0);
    let position = 0;
    for (const { bytes, count } of this.#pages) {
      if (buffer.length < bytes) buffer = Buffer.allocUnsafe(bytes);
      const lines = buffer.subarray(0, bytes);
      await this.#read(lines, position);
      position += bytes;
      yield pageOfLines(lines, count);
    }
  }

  async discard(): Promise<void> {
    await this.#file.close();
  }

  async #read(lines: Buffer, position: number): Promise<void> {
    for (let done = 0; done < lines.length;) {
      const { bytesRead } = await this.#file.read(
        lines,
        done,
        lines.length - done,
        position + done,
      );
      if (bytesRead === 0) throw fileError(this.name, 'read', new Error('it was cut short'));
      done += bytesRead;
    }
  }
}

function pageOfLines(bytes: Buffer, count: number): RecordPage {
  const bounds = new Int32Array(2 * count);
  let start = 0;
  for (let i = 0; i < count; i += 1) {
    const end = bytes.indexOf(0x0a, start);
    bounds[2 * i] = start;
    bounds[2 * i + 1] = end;
    start = end + 1;
  }
  return { bytes, bounds, count };
}
