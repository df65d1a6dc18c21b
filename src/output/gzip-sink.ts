import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FileMark } from './marked-file.js';
import type { Sink } from './sink.js';

const compress = promisify(gzip);

/**
 * Compresses each write to a gzip member of its own, off the main thread: a commit ends where
 * a member ends, so that cutting the file back to a commit leaves a valid file.
 */
export class GzipSink implements Sink {
  readonly #sink: Sink;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  get name(): string {
    return this.#sink.name;
  }
  get rewindable(): boolean {
    return this.#sink.rewindable;
  }
  get mark(): FileMark {
    return this.#sink.mark;
  }

  async write(bytes: Buffer): Promise<void> {
    await this.#sink.write(await compress(bytes));
  }

  truncate(mark: FileMark): Promise<void> {
    return this.#sink.truncate(mark);
  }

  sync(): Promise<void> {
    return this.#sink.sync();
  }

  publish(): Promise<void> {
    return this.#sink.publish();
  }

  close(): Promise<void> {
    return this.#sink.close();
  }
}
