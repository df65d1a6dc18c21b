import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { EngagectlError } from '../errors.js';
import { syncFolder } from '../files/sync-folder.js';

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
  /** The same, absolute. */
  readonly file: string;
  #descriptor: number | undefined;
  #lines: string[] = [];
  #hasWay = false;
  #exists = false;
  #failure: EngagectlError | undefined;
  #synced = true;
  #mark: RejectsMark = { bytes: 0, crc: 0 };

  constructor(path: string, absolutePath: string) {
    this.path = path;
    this.file = absolutePath;
  }

  /**
   * Goes on with the file that an earlier part of the run began, cut back to what its journal
   * knows. Throws E-REJECTS-CHANGED when that part is not what it was, E-RUN-CHANGED when it is
   * another file.
   */
  resume({ file, mark }: { readonly file: string | undefined; readonly mark: RejectsMark }): void {
    if (file === undefined) return;
    if (mark.bytes === 0) return this.#guard(() => rmSync(file, { force: true }));
    if (file !== this.file) throw otherFile(file);
    const content = readUpTo(file, mark.bytes);
    if (content === undefined || crc32(content) !== mark.crc) throw rejectsChanged(this.path);
    this.#guard(() => {
      truncateSync(file, mark.bytes);
      this.#descriptor = openSync(file, 'a');
    });
    this.#hasWay = true;
    this.#exists = true;
    this.#mark = mark;
  }

  /** True from the first reject on that was written. */
  get exists(): boolean {
    return this.#exists;
  }

  /** Lines that the disk did not take. */
  get missing(): number {
    return this.#lines.length;
  }

  /** The disk has all lines that were added. */
  get isSynced(): boolean {
    return this.#synced && this.#lines.length === 0;
  }

  /** Collects a line; `flush` writes it. */
  add(reject: Reject): void {
    this.#lines.push(lineOf(reject));
  }

  /**
   * Renames an older file. True when the next `flush` is the one that creates the file: whoever
   * keeps a journal notes it before that.
   */
  makeWay(): boolean {
    if (this.#failure) throw this.#failure;
    if (this.#hasWay || this.#lines.length === 0) return false;
    this.#guard(() => {
      if (!existsSync(this.file)) return;
      renameSync(this.file, `${this.file}.1`);
      syncFolder(dirname(this.file)); // the journal will count on the name
    });
    this.#hasWay = true;
    return true;
  }

  /**
   * Writes what was added so far. Throws E-FILE-WRITE when the disk does not take it, and from
   * then on: what is not in the file must not count as settled.
   */
  flush(): void {
    if (this.#failure) throw this.#failure;
    if (this.#lines.length === 0) return;
    this.makeWay();
    const bytes = Buffer.from(this.#lines.join(''));
    this.#guard(() => {
      this.#descriptor ??= this.#create();
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

  /** Writes nothing more: what a journal could not be told of must not come into the file. */
  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #create(): number {
    const descriptor = openSync(this.file, 'wx', 0o600);
    this.#exists = true;
    syncFolder(dirname(this.file));
    return descriptor;
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
          fix:
            this.#mark.bytes === 0
              ? 'free space or name another place with --rejects <file>'
              : 'free space; the same command with --resume goes on',
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

const otherFile = (begun: string): EngagectlError =>
  new EngagectlError('E-RUN-CHANGED', `the run was begun with the rejects file ${begun}`, {
    why: 'its records would be spread over two files',
    fix: `go on with --rejects ${begun}`,
    file: begun,
  });

function lineOf({ source, line, stage, code, error, record, recordBase64 }: Reject): string {
  const head = JSON.stringify({ source, line, stage, code, error }).slice(0, -1);
  if (recordBase64 !== undefined) return `${head},"recordBase64":"${recordBase64}"}\n`;
  return `${head},"record":${record ?? 'null'}}\n`;
}
