import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
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
  get position(): number {
    return this.#sink.position;
  }

  async write(bytes: Buffer): Promise<void> {
    await this.#sink.write(await compress(bytes));
  }

  truncate(position: number): Promise<void> {
    return this.#sink.truncate(position);
  }

  /** A file without any member would be no gzip file. */
  async finish(): Promise<void> {
    if (this.position === 0) await this.write(Buffer.alloc(0));
    await this.#sink.finish();
  }

  abort(): Promise<void> {
    return this.#sink.abort();
  }
}
