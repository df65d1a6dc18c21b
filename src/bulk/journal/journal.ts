import {
  closeSync,
  existsSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { EngagectlError, unnamedOption, type OptionName } from '../../errors.js';
import { createFile, AtomicFile, writeAll } from '../../files/atomic-write.js';
import { fileErrorCode, folderRepair } from '../../files/file-errors.js';
import {
  corruptJournalError,
  formatJournal,
  formatLine,
  formatMark,
  linesStart,
  markBytes,
  noChecksum,
  parseJournal,
  readMark,
  type ParsedJournal,
  type JournalEntry,
  type KnownKinds,
} from './journal-format.js';

/** Reads the entries of a journal that is not open. Throws E-JOURNAL. */
export const readJournal = <Entry extends JournalEntry>(
  path: string,
  kinds: KnownKinds<Entry>,
): readonly Entry[] => readEntries(path, kinds, unnamedOption).entries as readonly Entry[];

/** Creates a journal that contains only the header of its run, and syncs it. */
export function createJournal(path: string, about?: unknown): ParsedJournal {
  const first = { line: 1, epoch: 0, synced: 0, entries: [], about };
  const [text, last] = formatLine(first, noChecksum);
  const good = Buffer.from(text);
  createFile(path, formatJournal(good, last));
  return { entries: [], good, lines: 1, last, epoch: 0 };
}

/**
 * Append-only file of lines (see journal-format). Written lines survive a killed process; synced
 * lines survive a power cut, too. Opening drops the unsynced rest from its first damaged line on.
 * Other damage is refused: E-JOURNAL.
 *
 * A journal has one owner. Opening it replaces the file by a new one with a higher epoch. An earlier
 * owner that is still running detects that before it writes or trusts a sync: E-RUN-LOCKED.
 */
export class Journal<Entry extends JournalEntry> {
  readonly path: string;
  readonly #file: number;
  readonly #epoch: number;
  readonly #option: OptionName;
  readonly #links: number;
  #lines: number;
  #last: string;
  /** Bytes of all lines, and of those on disk. */
  #length: number;
  #synced: number;
  #marks = 0;
  #hasReserve = false;
  #failure: EngagectlError | undefined;

  /**
   * Continues after the last valid line. Does not read a journal that was just `made`: its header
   * may list many thousands of files. Throws E-FILE-WRITE, E-JOURNAL.
   */
  static open<Entry extends JournalEntry>(
    path: string,
    kinds: KnownKinds<Entry>,
    option: OptionName = unnamedOption,
    made?: ParsedJournal,
  ) {
    try {
      const found = made ?? readEntries(path, kinds, option);
      const journal = new Journal<Entry>(path, found, option);
      return { journal, entries: found.entries as readonly Entry[] };
    } catch (cause) {
      throw cause instanceof EngagectlError ? cause : notWritten(path, cause, option);
    }
  }

  /** Rewrites the valid lines: a disk reports a failed write only once, so a second sync proves nothing. */
  private constructor(path: string, found: ParsedJournal, option: OptionName) {
    this.path = path;
    this.#epoch = found.epoch + 1;
    this.#option = option;
    this.#lines = found.lines;
    this.#last = found.last;
    this.#synced = found.good.length;
    const lines = Buffer.concat([found.good, this.#line([])]);
    this.#length = lines.length;
    const temporary = new AtomicFile(path);
    this.#file = temporary.descriptor;
    temporary.write(formatJournal(lines, this.#last));
    temporary.commit({ keepOpen: true });
    this.#synced = this.#length;
    try {
      this.#links = fstatSync(this.#file).nlink;
      rmSync(format1Mark(path), { force: true });
    } catch (error) {
      closeSync(this.#file);
      throw error;
    }
  }

  /** Throws E-FILE-WRITE. All later calls fail, too, because a torn line must stay the last one. */
  write(...entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    this.#guard(() => this.withReserve(() => this.#append(entries)));
  }

  /**
   * Writes an entry that other entries will follow, for which it reserves space first. A full disk fails
   * only this call: the entries of earlier intents can still be written. Throws E-FILE-WRITE.
   */
  writeIntent(entry: Entry): void {
    if (this.#failure) throw this.#failure;
    try {
      if (!this.#hasReserve) this.#reserve();
      this.#append([entry]);
    } catch (cause) {
      if (isFull(cause)) throw notWritten(this.path, cause, this.#option);
      this.#guard(() => {
        throw cause;
      });
    }
  }

  /** Resolves when all written lines are on disk. Call one at a time. Throws like `write`. */
  async sync(): Promise<void> {
    if (this.#failure) throw this.#failure;
    const mark = { bytes: this.#length, checksum: this.#last };
    if (mark.bytes === this.#synced) return;
    await syncData(this.#file).catch((cause: unknown) => {
      throw (this.#failure ??= notWritten(this.path, cause, this.#option));
    });
    this.#guard(() => {
      this.#assertOwned();
      // Not synced: an older mark covers fewer lines, and is still true.
      const at = (this.#marks % 2) * markBytes;
      this.withReserve(() => writeAll(this.#file, formatMark(mark), at));
      this.#marks += 1;
    });
    this.#synced = mark.bytes;
  }

  /** Writes and syncs. Throws E-FILE-WRITE; all later calls fail, too. */
  async append(...entries: readonly Entry[]): Promise<void> {
    this.write(...entries);
    return this.sync();
  }

  /**
   * Repeats a write for which the disk has no room, after freeing the reserve; also for other files of the state
   * directory that contain outcomes of earlier intents.
   */
  withReserve(write: () => void): void {
    try {
      write();
    } catch (cause) {
      if (!isFull(cause) || !this.#hasReserve) throw cause;
      this.#hasReserve = false;
      rmSync(reserveOf(this.path), { force: true });
      write();
    }
  }

  close(): void {
    if (this.#hasReserve) rmSync(reserveOf(this.path), { force: true });
    closeSync(this.#file);
  }

  /** Leaves no part of a line behind if the disk is full. */
  #append(entries: readonly Entry[]): void {
    this.#assertOwned();
    const [lines, last] = [this.#lines, this.#last];
    const line = this.#line(entries);
    try {
      writeAll(this.#file, line, linesStart + this.#length);
    } catch (cause) {
      if (!isFull(cause)) throw cause;
      ftruncateSync(this.#file, linesStart + this.#length);
      [this.#lines, this.#last] = [lines, last];
      throw cause;
    }
    this.#length += line.length;
  }

  #reserve(): void {
    const file = reserveOf(this.path);
    rmSync(file, { force: true });
    try {
      createFile(file, Buffer.alloc(reserveBytes));
    } catch (cause) {
      rmSync(file, { force: true }); // a part of it would take the space that outcomes need
      throw cause;
    }
    this.#hasReserve = true;
  }

  #line(entries: readonly JournalEntry[]): Buffer {
    this.#lines += 1;
    const line = { line: this.#lines, epoch: this.#epoch, synced: this.#synced, entries };
    const [text, sum] = formatLine(line, this.#last);
    this.#last = sum;
    return Buffer.from(text);
  }

  #assertOwned(): void {
    const { size, nlink } = fstatSync(this.#file);
    if (nlink < this.#links || size !== linesStart + this.#length) throw takenOver(this.path);
  }

  #guard(work: () => void): void {
    if (this.#failure) throw this.#failure;
    try {
      work();
    } catch (cause) {
      throw (this.#failure =
        cause instanceof EngagectlError ? cause : notWritten(this.path, cause, this.#option));
    }
  }
}

/**
 * Space for the outcomes of the requests in flight when the disk becomes full: for the journal, and for the event
 * memory, which takes 8 KiB for each of 15 requests.
 */
const reserveBytes = 192 * 1024;

/** Path of the file that is removed when the disk is full, so that outcomes can be written. */
const reserveOf = (journal: string): string => `${journal}.reserve`;

const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes(
    fileErrorCode(error instanceof EngagectlError ? error.cause : error),
  );

async function syncData(file: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(file, (error) => (error ? reject(error) : resolve()));
  });
}

function readEntries<Entry extends JournalEntry>(
  path: string,
  kinds: KnownKinds<Entry>,
  option: OptionName,
): ParsedJournal {
  if (!existsSync(path)) throw corruptJournalError(path, undefined, option);
  const content = readFileSync(path);
  const inFile = readMark(content);
  const mark = inFile ?? readFormat1Mark(path);
  if (!mark) throw corruptJournalError(path, undefined, option);
  const lines = inFile ? content.subarray(linesStart) : content;
  return parseJournal(lines, { path, kinds, option, mark });
}

/** Path of the synced mark of a journal of format 1, which was a file of its own. */
const format1Mark = (journal: string): string => `${journal}.synced`;

const readFormat1Mark = (journal: string) =>
  existsSync(format1Mark(journal)) ? readMark(readFileSync(format1Mark(journal))) : undefined;

const takenOver = (file: string): EngagectlError =>
  new EngagectlError('E-RUN-LOCKED', 'another process has taken over this run', {
    why: `the journal ${file} belongs to that process now`,
    fix: 'leave the run to that process',
    file,
  });

const notWritten = (file: string, cause: unknown, option: OptionName): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `cannot write the journal ${file}`, {
    why: cause instanceof Error ? cause.message : String(cause),
    fix: `${folderRepair(cause)}, then rerun the same command with ${option('resume')}`,
    resumes: true,
    file,
    cause,
  });

/**
 * Group commit: runs one commit at a time. Callers that arrive during a commit share the next one,
 * which covers everything recorded until it starts. After a failure all later commits fail.
 */
export class GroupCommit {
  readonly #commit: () => Promise<void>;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(commit: () => Promise<void>) {
    this.#commit = commit;
  }

  /** Resolves when everything recorded so far is committed. */
  async commit(): Promise<void> {
    this.#next ??= this.#after(this.#running);
    return this.#next;
  }

  async #after(before: Promise<void>): Promise<void> {
    await before;
    this.#running = this.#next ?? before;
    this.#next = undefined;
    return this.#commit();
  }
}
