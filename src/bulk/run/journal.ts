import {
  closeSync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  write as writeFile,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { EngagectlError } from '../../errors.js';
import { syncFolder } from '../../sync-folder.js';

const write = promisify(writeFile);

/**
 * An append-only file of lines `<CRC-32> <JSON>`, each an array of the entries that were appended
 * together. What `append` resolved for is on the disk. A last line that is cut was never
 * acknowledged, and is dropped when the file is opened.
 */
export class Journal<Entry> {
  readonly path: string;
  readonly #file: number;
  /** Writes go one after the other: a torn line must stay the last one. */
  #writing: Promise<void> = Promise.resolve();
  /** The write after that, which takes all entries that wait by then. */
  #next: Promise<void> | undefined;
  #waiting: Entry[] = [];

  /** Starts a journal, or goes on after its last complete line. Throws E-FILE-WRITE, E-JOURNAL. */
  static open<Entry>(path: string) {
    let file: number | undefined;
    try {
      // Each write waits for the disk by itself: one call where write and sync would be two.
      file = openSync(path, 'as+', 0o600);
      syncFolder(dirname(path));
      const { entries, bytes } = parse(readFileSync(file), path);
      ftruncateSync(file, bytes);
      // A process that was killed may not have waited for its last line.
      if (bytes > 0) fdatasyncSync(file);
      return { journal: new Journal<Entry>(path, file), entries: entries as readonly Entry[] };
    } catch (cause) {
      if (file !== undefined) closeSync(file);
      throw cause instanceof EngagectlError ? cause : notWritten(path, cause);
    }
  }

  private constructor(path: string, file: number) {
    this.path = path;
    this.#file = file;
  }

  /** Throws E-FILE-WRITE, and again for all that follows; then nothing more may be done. */
  async append(...entries: readonly Entry[]): Promise<void> {
    this.#waiting.push(...entries);
    this.#next ??= this.#writeAfter(this.#writing);
    return this.#next;
  }

  async #writeAfter(before: Promise<void>): Promise<void> {
    await before;
    this.#writing = this.#next ?? before;
    this.#next = undefined;
    const line = Buffer.from(lineOf(this.#waiting.splice(0)));
    try {
      for (let at = 0; at < line.length;) at += (await write(this.#file, line, at)).bytesWritten;
    } catch (cause) {
      throw notWritten(this.path, cause);
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** The complete lines and their length. Throws E-JOURNAL when one before the last is damaged. */
function parse(content: Buffer, path: string): { entries: unknown[]; bytes: number } {
  const entries: unknown[] = [];
  let bytes = 0;
  for (let number = 1; bytes < content.length; number += 1) {
    const end = content.indexOf('\n', bytes) + 1;
    const together = end === 0 ? undefined : parseLine(content.subarray(bytes, end - 1));
    if (together === undefined && (end === 0 || end === content.length)) break; // torn
    if (together === undefined) throw damaged(path, number);
    entries.push(...together);
    bytes = end;
  }
  return { entries, bytes };
}

function lineOf(entries: readonly unknown[]): string {
  const json = JSON.stringify(entries);
  return `${checksum(json)} ${json}\n`;
}

function parseLine(line: Buffer): unknown[] | undefined {
  const json = line.subarray(9);
  if (line.toString('latin1', 0, 8) !== checksum(json)) return undefined;
  return JSON.parse(json.toString()) as unknown[];
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
