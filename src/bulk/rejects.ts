import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { EngagectlError } from '../errors.js';

export type RejectStage = 'parse' | 'validate' | 'service' | 'unknown' | 'notSent';

/** Length of a rejects file and CRC-32 of its content. */
export interface RejectsMark {
  readonly bytes: number;
  readonly crc: number;
}

/** One line of the rejects file; `record` is JSON text of what was read. */
export interface Reject {
  readonly source: string;
  readonly line: number;
  readonly stage: RejectStage;
  readonly code?: number | undefined;
  readonly error: string;
  /** JSON text of the member `record`. */
  readonly record?: string;
  /** Instead of `record`: bytes that are no UTF-8. */
  readonly recordBase64?: string;
}

/**
 * The rejects file: created at the first reject with mode 0600; an older one is renamed to
 * `….1` first. Written synchronously, so that an error of the disk stops the run on the spot.
 */
export class RejectsFile {
  /** As the user may name it. */
  readonly path: string;
  readonly #file: string;
  #descriptor: number | undefined;
  #lines: string[] = [];
  #created = false;
  #failure: EngagectlError | undefined;
  #synced = true;
  #mark: RejectsMark = { bytes: 0, crc: 0 };

  constructor(path: string, absolutePath: string) {
    this.path = path;
    this.#file = absolutePath;
  }

  /**
   * Goes on with the file of an earlier part of the run, cut back to what its journal knows.
   * Throws E-REJECTS-CHANGED when that part is not what it was.
   */
  resume(mark: RejectsMark): void {
    if (mark.bytes === 0) return;
    const content = readUpTo(this.#file, mark.bytes);
    if (content === undefined || crc32(content) !== mark.crc) throw rejectsChanged(this.path);
    this.#guard(() => {
      truncateSync(this.#file, mark.bytes);
      this.#descriptor = openSync(this.#file, 'a');
    });
    this.#created = true;
    this.#mark = mark;
  }

  /** True from the first reject on. */
  get created(): boolean {
    return this.#created;
  }

  /** Collects a line; `flush` writes it. */
  add(reject: Reject): void {
    this.#created = true;
    this.#lines.push(lineOf(reject));
  }

  /**
   * Writes what was added so far. Throws E-FILE-WRITE when the disk does not take it, and from
   * then on: what is not in the file must not count as settled.
   */
  flush(): void {
    if (this.#failure) throw this.#failure;
    if (this.#lines.length === 0) return;
    const bytes = Buffer.from(this.#lines.join(''));
    this.#guard(() => {
      this.#descriptor ??= createFile(this.#file);
      this.#synced = false;
      for (let at = 0; at < bytes.length;) at += writeSync(this.#descriptor, bytes, at);
    });
    this.#lines = [];
    this.#mark = { bytes: this.#mark.bytes + bytes.length, crc: crc32(bytes, this.#mark.crc) };
  }

  /** What stands in the file. */
  get mark(): RejectsMark {
    return this.#mark;
  }

  /** Writes what was added so far, and waits until the disk has it. */
  sync(): void {
    this.flush();
    const descriptor = this.#descriptor;
    if (descriptor === undefined || this.#synced) return;
    this.#guard(() => fsyncSync(descriptor));
    this.#synced = true;
  }

  /** Flushes, syncs to disk and closes. */
  close(): void {
    this.sync();
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return;
    closeSync(descriptor);
    this.#descriptor = undefined;
  }

  #guard(write: () => void): void {
    try {
      write();
    } catch (cause) {
      this.#failure = new EngagectlError(
        'E-FILE-WRITE',
        `cannot write the rejects file ${this.path}`,
        {
          why: cause instanceof Error ? cause.message : String(cause),
          fix: 'free space or name another place with --rejects <file>',
          file: this.path,
          cause,
        },
      );
      throw this.#failure;
    }
  }
}

/** The first bytes of a file; undefined when it is shorter or cannot be read. */
function readUpTo(path: string, bytes: number): Buffer | undefined {
  try {
    const content = readFileSync(path);
    return content.length < bytes ? undefined : content.subarray(0, bytes);
  } catch {
    return undefined;
  }
}

const rejectsChanged = (path: string): EngagectlError =>
  new EngagectlError('E-REJECTS-CHANGED', `${path} was changed since the run began`, {
    why: 'the rest of the run would be added to it',
    fix: 'restore it and go on with --resume, or move it away and start anew with --fresh',
    file: path,
  });

function createFile(path: string): number {
  if (existsSync(path)) renameSync(path, `${path}.1`);
  const descriptor = openSync(path, 'wx', 0o600);
  syncName(path);
  return descriptor;
}

/** Makes a new file's name survive a power cut, as the journal will count on the file. */
function syncName(file: string): void {
  if (process.platform === 'win32') return; // folders cannot be opened there
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function lineOf({ source, line, stage, code, error, record, recordBase64 }: Reject): string {
  const head = JSON.stringify({ source, line, stage, code, error }).slice(0, -1);
  if (recordBase64 !== undefined) return `${head},"recordBase64":"${recordBase64}"}\n`;
  return `${head},"record":${record ?? 'null'}}\n`;
}
