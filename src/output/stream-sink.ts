import { open, type FileHandle } from 'node:fs/promises';
import { fileError } from './file-error.js';
import { writeAll, type FileMark } from './marked-file.js';
import type { Sink } from './sink.js';

/** A FIFO or a device: written directly, and what is written cannot be taken back. */
export class StreamSink implements Sink {
  readonly name: string;
  readonly rewindable = false;
  readonly #file: FileHandle;
  #bytes = 0;
  #closed = false;

  static async open(name: string, path: string): Promise<StreamSink> {
    try {
      return new StreamSink(name, await open(path, 'w'));
    } catch (error) {
      throw fileError(name, 'opened', error);
    }
  }

  private constructor(name: string, file: FileHandle) {
    this.name = name;
    this.#file = file;
  }

  get mark(): FileMark {
    return { bytes: this.#bytes, crc: 0 };
  }

  async write(bytes: Buffer): Promise<void> {
    try {
      await writeAll(this.#file, bytes, null);
    } catch (error) {
      throw fileError(this.name, 'written', error);
    }
    this.#bytes += bytes.length;
  }

  truncate(): Promise<void> {
    throw new Error(`${this.name} cannot be taken back`);
  }

  async sync(): Promise<void> {} // what reads it decides

  publish(): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
  }
}
