import { open, type FileHandle } from 'node:fs/promises';
import { fileError } from './file-error.js';
import { writeAll } from './file-sink.js';
import type { Sink } from './sink.js';

/** A FIFO or a device: written directly, and what is written cannot be taken back. */
export class StreamSink implements Sink {
  readonly name: string;
  readonly rewindable = false;
  position = 0;
  readonly #file: FileHandle;
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

  async write(bytes: Buffer): Promise<void> {
    try {
      await writeAll(this.#file, bytes, null);
    } catch (error) {
      throw fileError(this.name, 'written', error);
    }
    this.position += bytes.length;
  }

  truncate(): Promise<void> {
    throw new Error(`${this.name} cannot be taken back`);
  }

  finish(): Promise<void> {
    return this.abort();
  }

  async abort(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
  }
}
