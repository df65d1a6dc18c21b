import { open, readFile, truncate, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { EngagectlError } from '../errors.js';
import type { Position, TextDigest } from '../input/rows.js';
import type { Ranges } from './ranges.js';
import type { RejectsMark } from './rejects.js';
import { syncFolder } from './run-folder.js';

/** Outcomes that were settled together. */
export interface Settlement {
  readonly settled: Ranges;
  readonly counts: SettledCounts;
  /** The rejects file, once all of this stands in it. */
  readonly rejects: RejectsMark;
  /** All records before it are settled. */
  readonly watermark: Position;
  /** Of each input read since the last settlement. */
  readonly digests: readonly TextDigest[];
}

export interface SettledCounts {
  readonly accepted: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly duplicates: number;
}

/** Records that are about to be sent and must not be sent twice. */
export interface Intent {
  readonly intent: Ranges;
}

/** Records of an intent that provably were not processed: they may be sent after all. */
export interface Unsent {
  readonly unsent: Ranges;
}

export type JournalEntry = Settlement | Intent | Unsent;

/**
 * An append-only file of lines `<CRC-32> <JSON>`. What `append` resolved for is on the disk. A
 * last line that is cut was never acknowledged, and is dropped when the journal is read.
 */
export class Journal {
  readonly #file: FileHandle;
  readonly #path: string;
  /** Appends go one after the other: a torn line must stay the last one. */
  #last: Promise<void> = Promise.resolve();

  private constructor(file: FileHandle, path: string) {
    this.#file = file;
    this.#path = path;
  }

  /** Starts a journal, or goes on after the last complete line. Throws E-FILE-…, E-JOURNAL. */
  static async open(path: string): Promise<{ journal: Journal; entries: readonly JournalEntry[] }> {
    return guarded(path, async () => {
      const file = await open(path, 'a', 0o600);
      await syncFolder(dirname(path));
      const { entries, bytes } = parse(await readFile(path, 'latin1'), path);
      await truncate(path, bytes);
      return { journal: new Journal(file, path), entries };
    });
  }

  /** Throws E-FILE-WRITE, and again for all that follows; then nothing more may be sent. */
  async append(entry: JournalEntry): Promise<void> {
    this.#last = this.#last.then(async () => this.#write(entry));
    return this.#last;
  }

  async #write(entry: JournalEntry): Promise<void> {
    await guarded(this.#path, async () => {
      await this.#file.appendFile(lineOf(entry));
      await this.#file.datasync();
    });
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** The complete lines and their length. Throws E-JOURNAL when one before the last is damaged. */
function parse(text: string, path: string): { entries: JournalEntry[]; bytes: number } {
  const lines = text.split('\n');
  const tail = lines.pop();
  const entries = lines.map(parseLine);
  // Of a torn write, the file system may keep the newline and lose what stood before it.
  if (tail === '' && entries.at(-1) === undefined) entries.pop();
  const damaged = entries.indexOf(undefined);
  if (damaged !== -1) throw damagedJournal(path, damaged + 1);
  const bytes = lines.slice(0, entries.length).reduce((sum, line) => sum + line.length + 1, 0);
  return { entries: entries.filter((entry) => entry !== undefined), bytes };
}

function lineOf(entry: JournalEntry): string {
  const json = JSON.stringify(entry);
  return `${checksum(json)} ${json}\n`;
}

function parseLine(line: string): JournalEntry | undefined {
  const json = line.slice(9);
  return line.slice(0, 8) === checksum(json) ? (JSON.parse(json) as JournalEntry) : undefined;
}

/** Entries hold numbers and ASCII words only, so that characters are bytes. */
const checksum = (text: string): string => crc32(text).toString(16).padStart(8, '0');

const damagedJournal = (path: string, line: number): EngagectlError =>
  new EngagectlError('E-JOURNAL', `the journal ${path} is damaged in line ${line}`, {
    why: 'its checksum does not fit, so it cannot tell what was sent',
    fix: 'start anew with --fresh, after looking at what the service holds',
    file: path,
    line,
  });

async function guarded<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof EngagectlError) throw cause;
    throw new EngagectlError('E-FILE-WRITE', `cannot write the journal ${path}`, {
      why: cause instanceof Error ? cause.message : String(cause),
      fix: 'free space; the same command with --resume goes on',
      file: path,
      cause,
    });
  }
}
