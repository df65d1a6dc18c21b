import { rm } from 'node:fs/promises';
import {
  emptyFileCheckpoint,
  CheckpointFile,
  type FileCheckpoint,
  type FileRules,
} from './checkpoint-file.js';
import { ndjsonLines } from './ndjson-format.js';
import type { OptionName } from '../errors.js';
import type { Checkpoint, RecordPage } from './output.js';

/** Bytes per read; more if a record is longer. */
const blockBytes = 1 << 20;
const newline = 0x0a;

/** Pages on disk as NDJSON lines, until their slice's turn or the end of the document. */
export class SpillFile {
  readonly rewindable = true;
  readonly #file: CheckpointFile;
  #records = 0;

  /** Creates an unlinked file, which disappears with the process. */
  static async openNameless(path: string, option: OptionName): Promise<SpillFile> {
    const file = await CheckpointFile.create(path, option);
    try {
      await rm(path);
    } catch (error) {
      await file.close();
      throw error;
    }
    return new SpillFile(file);
  }

  /** Opens a file that another process can resume, truncated to `resume` if it exists. */
  static async open(
    path: string,
    resume: Checkpoint | undefined,
    rules: FileRules,
  ): Promise<SpillFile> {
    const file = await CheckpointFile.resume(path, resume ?? emptyFileCheckpoint, rules);
    const spill = new SpillFile(file);
    spill.#records = resume?.records ?? 0;
    return spill;
  }

  private constructor(file: CheckpointFile) {
    this.#file = file;
  }

  get name(): string {
    return this.#file.path;
  }
  get mark(): FileCheckpoint {
    return this.#file.mark;
  }

  async writePage(page: RecordPage): Promise<void> {
    await this.#file.write(ndjsonLines(page));
    this.#records += page.count;
  }

  checkpoint(): Checkpoint {
    return { ...this.mark, records: this.#records };
  }

  async rewind(checkpoint: Checkpoint): Promise<void> {
    await this.#file.truncate(checkpoint);
    this.#records = checkpoint.records;
  }

  sync(): Promise<void> {
    return this.#file.sync();
  }

  /** Yields all records in pages of any size; each is valid until the next is requested. */
  async *pages(): AsyncGenerator<RecordPage> {
    const { bytes: end } = this.mark;
    let buffer = Buffer.allocUnsafe(Math.min(blockBytes, end));
    for (let at = 0; at < end;) {
      const block = buffer.subarray(0, Math.min(buffer.length, end - at));
      await this.#file.read(block, at);
      const length = block.lastIndexOf(newline) + 1;
      if (length === 0) {
        buffer = Buffer.allocUnsafe(2 * buffer.length);
        continue;
      }
      at += length;
      yield pageOfLines(block.subarray(0, length));
    }
  }

  /** Closes the file; removes it if empty. */
  async close(): Promise<void> {
    if (this.mark.bytes === 0) await this.discard();
    else await this.#file.close();
  }

  /** Closes and removes the file. Returns a warning if it cannot be removed. */
  async discard(): Promise<string | undefined> {
    await this.#file.close();
    return removeSpent(this.#file.path);
  }
}

function pageOfLines(bytes: Buffer): RecordPage {
  const bounds: number[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(newline, start);
    bounds.push(start, end);
    start = end + 1;
  }
  return { bytes, bounds: Int32Array.from(bounds), count: bounds.length / 2 };
}

/**
 * Removes a file. A failure does not fail the export; returns a warning instead.
 */
async function removeSpent(path: string): Promise<string | undefined> {
  try {
    await rm(path, { force: true });
    return undefined;
  } catch (error) {
    return `cannot remove the temporary file ${path}: ${(error as Error).message}`;
  }
}
