import { closeSync, existsSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { EngagectlError } from '../errors.js';

export type RejectStage = 'parse' | 'validate' | 'service' | 'unknown' | 'notSent';

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
  #failed = false;

  constructor(path: string, absolutePath: string) {
    this.path = path;
    this.#file = absolutePath;
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

  /** Writes what was added so far. Throws E-FILE-WRITE when the disk does not take it. */
  flush(): void {
    if (this.#lines.length === 0 || this.#failed) return;
    const bytes = Buffer.from(this.#lines.join(''));
    this.#guard(() => {
      this.#descriptor ??= createFile(this.#file);
      for (let at = 0; at < bytes.length;) at += writeSync(this.#descriptor, bytes, at);
    });
    this.#lines = [];
  }

  /** Flushes, syncs to disk and closes. */
  close(): void {
    this.flush();
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return;
    this.#guard(() => fsyncSync(descriptor));
    closeSync(descriptor);
    this.#descriptor = undefined;
  }

  #guard(write: () => void): void {
    try {
      write();
    } catch (cause) {
      this.#failed = true;
      throw new EngagectlError('E-FILE-WRITE', `cannot write the rejects file ${this.path}`, {
        why: cause instanceof Error ? cause.message : String(cause),
        fix: 'free space or name another place with --rejects <file>',
        file: this.path,
        cause,
      });
    }
  }
}

function createFile(path: string): number {
  if (existsSync(path)) renameSync(path, `${path}.1`);
  return openSync(path, 'wx', 0o600);
}

function lineOf({ source, line, stage, code, error, record, recordBase64 }: Reject): string {
  const head = JSON.stringify({ source, line, stage, code, error }).slice(0, -1);
  if (recordBase64 !== undefined) return `${head},"recordBase64":"${recordBase64}"}\n`;
  return `${head},"record":${record ?? 'null'}}\n`;
}
