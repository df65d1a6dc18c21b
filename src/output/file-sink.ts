import { rm } from 'node:fs/promises';
import { MarkedFile, type FileMark } from './marked-file.js';
import { publish } from './publish.js';
import type { Sink } from './sink.js';
import { partialExists, type FileTarget } from './target.js';

interface FileSinkOptions {
  readonly overwrite: boolean;
  /** Go on from here in a partial that an earlier process left. */
  readonly resume?: FileMark | undefined;
}

/**
 * A file under its partial name, 0600, which gets its final name at the end and not before:
 * whoever finds the final name finds a whole document.
 */
export class FileSink implements Sink {
  readonly rewindable = true;
  readonly #target: FileTarget;
  readonly #overwrite: boolean;
  readonly #file: MarkedFile;
  #closed = false;

  static async open(target: FileTarget, options: FileSinkOptions): Promise<FileSink> {
    return new FileSink(target, options, await openPartial(target, options));
  }

  private constructor(target: FileTarget, { overwrite }: FileSinkOptions, file: MarkedFile) {
    this.#target = target;
    this.#overwrite = overwrite;
    this.#file = file;
  }

  get name(): string {
    return this.#target.name;
  }
  get mark(): FileMark {
    return this.#file.mark;
  }

  write(bytes: Buffer): Promise<void> {
    return this.#file.write(bytes);
  }

  truncate(mark: FileMark): Promise<void> {
    return this.#file.truncate(mark);
  }

  sync(): Promise<void> {
    return this.#file.sync();
  }

  async publish(): Promise<void> {
    this.#closed = true;
    await this.#file.close();
    await publish(this.#target, { overwrite: this.#overwrite });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
    if (this.mark.bytes === 0) await rm(this.#target.partial, { force: true });
  }
}

async function openPartial(target: FileTarget, { resume }: FileSinkOptions): Promise<MarkedFile> {
  if (resume) return MarkedFile.resume(target.partial, resume);
  try {
    return await MarkedFile.create(target.partial);
  } catch (error) {
    // It was not there when the run began: another process was faster.
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    throw code === 'EEXIST' ? partialExists(target) : error;
  }
}
