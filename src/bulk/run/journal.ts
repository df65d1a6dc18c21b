import {
  closeSync,
  existsSync,
  fdatasync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { EngagectlError } from '../../errors.js';
import { syncFolder } from '../../files/sync-folder.js';
import { writeSynced } from '../../files/write-synced.js';

const syncData = promisify(fdatasync);

/** The entries of a journal that is not open; none when there is no such file. Throws E-JOURNAL. */
export const readJournal = (path: string): readonly unknown[] =>
  parse(existsSync(path) ? readFileSync(path) : Buffer.of(), path).entries;

/**
 * An append-only file of lines `<CRC-32> <JSON>`. What was written outlives the process, what was
 * synced a power cut as well. It may leave anything of the rest, which is dropped from its first
 * damaged line on when the file is opened; each line tells how far the file was synced by then.
 */
export class Journal<Entry> {
  readonly path: string;
  readonly #file: number;
  #length: number;
  #synced: number;
  #syncing: Promise<void> = Promise.resolve();
  /** The sync after that, for all that is written by then. */
  #next: Promise<void> | undefined;
  #failure: EngagectlError | undefined;

  /** Starts a journal, or goes on behind its last good line. Throws E-FILE-WRITE, E-JOURNAL. */
  static open<Entry>(path: string) {
    try {
      const { entries, bytes } = existsSync(path) ? cleaned(path) : { entries: [], bytes: 0 };
      const file = openSync(path, 'a', 0o600);
      syncFolder(dirname(path));
      const journal = new Journal<Entry>(path, { file, length: bytes });
      return { journal, entries: entries as readonly Entry[] };
    } catch (cause) {
      throw cause instanceof EngagectlError ? cause : notWritten(path, cause);
    }
  }

  private constructor(path: string, { file, length }: { file: number; length: number }) {
    this.path = path;
    this.#file = file;
    this.#length = length;
    this.#synced = length;
  }

  /** Throws E-FILE-WRITE, and again for all that follows: a torn line must stay the last one. */
  write(...entries: readonly Entry[]): void {
    if (this.#failure) throw this.#failure;
    const line = Buffer.from(lineOf({ synced: this.#synced, entries }));
    try {
      for (let at = 0; at < line.length;) at += writeSync(this.#file, line, at);
    } catch (cause) {
      throw (this.#failure = notWritten(this.path, cause));
    }
    this.#length += line.length;
  }

  /** Resolves when all that was written is on the disk. Throws E-FILE-WRITE like `write`. */
  async sync(): Promise<void> {
    this.#next ??= this.#syncAfter(this.#syncing);
    return this.#next;
  }

  async #syncAfter(before: Promise<void>): Promise<void> {
    await before;
    this.#syncing = this.#next ?? before;
    this.#next = undefined;
    if (this.#failure) throw this.#failure;
    const length = this.#length;
    if (length === this.#synced) return;
    try {
      await syncData(this.#file);
    } catch (cause) {
      throw (this.#failure ??= notWritten(this.path, cause));
    }
    this.#synced = length;
  }

  /** Writes and syncs. Throws E-FILE-WRITE; then nothing more may be done. */
  async append(...entries: readonly Entry[]): Promise<void> {
    this.write(...entries);
    return this.sync();
  }

  close(): void {
    closeSync(this.#file);
  }
}

/**
 * Leaves the good lines in the file, and has them on the disk. They are written anew: a disk that
 * failed to write them says so once, and nothing more to who only syncs them a second time.
 */
function cleaned(path: string): { entries: readonly unknown[]; bytes: number } {
  const content = readFileSync(path);
  const { entries, bytes } = parse(content, path);
  writeSynced(`${path}.new`, content.subarray(0, bytes));
  renameSync(`${path}.new`, path);
  return { entries, bytes };
}

/** What a line holds. */
interface Together<Entry = unknown> {
  /** Bytes of the file that were on the disk when the line was written. */
  readonly synced: number;
  readonly entries: readonly Entry[];
}

/**
 * The good lines at the beginning, and their length. Throws E-JOURNAL when one is damaged of which
 * a later one knows that it was on the disk.
 */
function parse(content: Buffer, path: string): { entries: unknown[]; bytes: number } {
  const entries: unknown[] = [];
  let bytes = 0;
  let damagedLine: number | undefined;
  let number = 0;
  for (const { line, end } of linesOf(content)) {
    number += 1;
    const together = parseLine(line);
    if (!together) damagedLine ??= number;
    else if (damagedLine === undefined) {
      entries.push(...together.entries);
      bytes = end;
    } else if (together.synced > bytes) throw damaged(path, damagedLine);
  }
  return { entries, bytes };
}

/** The complete lines, without and with their line feed. */
function* linesOf(content: Buffer): Generator<{ line: Buffer; end: number }> {
  for (let start = 0, end = 0; (end = content.indexOf('\n', start) + 1) > 0; start = end) {
    yield { line: content.subarray(start, end - 1), end };
  }
}

function lineOf(together: Together): string {
  const json = JSON.stringify(together);
  return `${checksum(json)} ${json}\n`;
}

function parseLine(line: Buffer): Together | undefined {
  const json = line.subarray(9);
  if (line.toString('latin1', 0, 9) !== `${checksum(json)} `) return undefined;
  return JSON.parse(json.toString()) as Together;
}

const checksum = (json: string | Buffer): string => crc32(json).toString(16).padStart(8, '0');

const damaged = (file: string, line: number): EngagectlError =>
  new EngagectlError('E-JOURNAL', `the journal ${file} is damaged in line ${line}`, {
    why: 'its checksum does not fit, so it cannot tell how far the run came',
    fix: 'start anew with --fresh',
    file,
    line,
  });

const notWritten = (file: string, cause: unknown): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `cannot write the journal ${file}`, {
    why: cause instanceof Error ? cause.message : String(cause),
    fix: 'free space; the same command with --resume goes on',
    file,
    cause,
  });
