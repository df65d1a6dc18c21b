import {
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fstatSync,
  openSync,
  readFileSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { EngagectlError, unnamedOption, type OptionName } from '../../errors.js';
import { createFile, FileDraft, noFollow, writeAll } from '../../files/atomic-write.js';
import {
  corruptJournalError,
  formatLine,
  noChecksum,
  parseJournal,
  checksum,
  type ParsedJournal,
  type JournalEntry,
  type KnownKinds,
  type FsyncMark,
} from './journal-format.js';

const syncData = promisify(fdatasync);

/** Reads the entries of a closed journal; empty if the file is missing. Throws E-JOURNAL. */
export const readJournal = <Entry extends JournalEntry>(
  path: string,
  kinds: KnownKinds<Entry>,
): readonly Entry[] => readEntries(path, kinds, unnamedOption).entries as readonly Entry[];

/** Creates and syncs an empty journal that names its owner. */
export function createJournal(path: string, about?: unknown): ParsedJournal {
  const first = { line: 1, epoch: 0, synced: 0, entries: [], about };
  const [text, checksum] = formatLine(first, noChecksum);
  const good = Buffer.from(text);
  FsyncMarkFile.create(path, { bytes: good.length, checksum });
  createFile(path, good);
  return { entries: [], good, lines: 1, last: checksum, epoch: 0 };
}

/**
 * Append-only file of checksummed lines (see journal-format). Written lines survive the process, synced
 * ones a power cut. Unsynced lines may be lost partly: on opening, everything from the first damaged
 * line is dropped. Other damage is refused: E-JOURNAL. A journal has one owner. Opening replaces the
 * file, which starts a new epoch; an earlier owner that is still running notices before it writes or
 * trusts a sync: E-RUN-LOCKED.
 */
export class Journal<Entry extends JournalEntry> {
  readonly path: string;
  readonly #file: number;
  readonly #epoch: number;
  readonly #option: OptionName;
  readonly #links: number;
  readonly #mark: FsyncMarkFile;
  #lines: number;
  #last: string;
  #length: number;
  #synced: number;
  #failure: EngagectlError | undefined;

  /**
   * Opens a journal, or continues after its last valid line. A journal that was just created (`made`) is
   * not read, since it may name many thousands of files. Throws E-FILE-WRITE, E-JOURNAL.
   */
  static open<Entry extends JournalEntry>(
    path: string,
    kinds: KnownKinds<Entry>,
    option: OptionName = unnamedOption,
    made?: ParsedJournal,
  ) {
    try {
      const isThere = existsSync(path) || FsyncMarkFile.isThere(path);
      const found = made ?? (isThere ? readEntries(path, kinds, option) : createJournal(path));
      const journal = new Journal<Entry>(path, found, option);
      return { journal, entries: found.entries as readonly Entry[] };
    } catch (cause) {
      throw cause instanceof EngagectlError ? cause : notWritten(path, cause, option);
    }
  }

  /**
   * The valid lines are rewritten: after a failed write, the disk reports the error once, and a second
   * sync alone would succeed.
   */
  private constructor(path: string, found: ParsedJournal, option: OptionName) {
    this.path = path;
    this.#epoch = found.epoch + 1;
    this.#option = option;
    this.#lines = found.lines;
    this.#last = found.last;
    this.#synced = found.good.length;
    const line = this.#line([]);
    const draft = new FileDraft(path, { append: true });
    this.#file = draft.descriptor;
    draft.write(found.good);
    draft.write(line);
    draft.commit({ keepOpen: true });
    this.#length = found.good.length + line.length;
    try {
      this.#links = fstatSync(this.#file).nlink;
      this.#mark = new FsyncMarkFile(path);
    } catch (error) {
      closeSync(this.#file);
      throw error;
    }
    this.#synced = this.#length;
  }

  /**
   * Appends entries. Throws E-FILE-WRITE, and again on every later call: a torn line must stay the last
   * one.
   */
  write(...entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    this.#guard(() => {
      this.#assertOwned();
      const line = this.#line(entries);
      writeAll(this.#file, line);
      this.#length += line.length;
    });
  }

  /** Resolves when everything written is synced. Serialized. Throws like `write`. */
  async sync(): Promise<void> {
    if (this.#failure) throw this.#failure;
    const length = this.#length;
    const checksum = this.#last;
    if (length === this.#synced) return;
    await syncData(this.#file).catch((cause: unknown) => {
      throw (this.#failure ??= notWritten(this.path, cause, this.#option));
    });
    this.#guard(() => {
      this.#assertOwned();
      this.#mark.write({ bytes: length, checksum });
    });
    this.#synced = length;
  }

  /** Writes and syncs. Throws E-FILE-WRITE; nothing more may be done then. */
  async append(...entries: readonly Entry[]): Promise<void> {
    this.write(...entries);
    return this.sync();
  }

  close(): void {
    closeSync(this.#file);
    this.#mark.close();
  }

  #line(entries: readonly JournalEntry[]): Buffer {
    this.#lines += 1;
    const line = { line: this.#lines, epoch: this.#epoch, synced: this.#synced, entries };
    const [text, checksum] = formatLine(line, this.#last);
    this.#last = checksum;
    return Buffer.from(text);
  }

  #assertOwned(): void {
    const { size, nlink } = fstatSync(this.#file);
    if (nlink < this.#links || size !== this.#length) throw takenOver(this.path);
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

const readEntries = <Entry extends JournalEntry>(
  path: string,
  kinds: KnownKinds<Entry>,
  option: OptionName,
): ParsedJournal => {
  const mark = FsyncMarkFile.read(path);
  if (!mark || !existsSync(path)) throw corruptJournalError(path, undefined, option);
  return parseJournal(readFileSync(path), { path, kinds, option, mark });
};

const takenOver = (file: string): EngagectlError =>
  new EngagectlError('E-RUN-LOCKED', 'another process has taken over this run', {
    why: `the journal ${file} is not this process's any more`,
    fix: 'leave the run to that process',
    file,
  });

const notWritten = (file: string, cause: unknown, option: OptionName): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `cannot write the journal ${file}`, {
    why: cause instanceof Error ? cause.message : String(cause),
    fix: `free space, then rerun the same command with ${option('resume')}`,
    resumes: true,
    file,
    cause,
  });

/** Bytes of each of the two slots; a disk writes a sector at once. */
const placeBytes = 512;

/**
 * A small file beside a journal that records how much of it was synced, so that truncation is detected.
 * It is written to two slots in turn, so that one of them is always intact, and not synced: an older
 * mark records less, and nothing wrong.
 */
export class FsyncMarkFile {
  readonly #file: number;
  #writes = 0;

  static create(journal: string, mark: FsyncMark): void {
    createFile(fileOf(journal), Buffer.concat([placeOf(mark), placeOf(mark)]));
  }

  static isThere = (journal: string): boolean => existsSync(fileOf(journal));

  /** Returns the mark; undefined if it is missing, or damaged in both slots. */
  static read(journal: string): FsyncMark | undefined {
    if (!FsyncMarkFile.isThere(journal)) return undefined;
    const content = readFileSync(fileOf(journal));
    const marks = [0, placeBytes].flatMap((at) => parseMark(content, at));
    return marks.toSorted((a, b) => b.bytes - a.bytes)[0];
  }

  constructor(journal: string) {
    this.#file = openSync(fileOf(journal), constants.O_RDWR | noFollow);
  }

  write(mark: FsyncMark): void {
    this.#writes += 1;
    writeAll(this.#file, placeOf(mark), (this.#writes % 2) * placeBytes);
  }

  close(): void {
    closeSync(this.#file);
  }
}

const fileOf = (journal: string): string => `${journal}.synced`;

function placeOf(mark: FsyncMark): Buffer {
  const json = JSON.stringify(mark);
  return Buffer.from(`${checksum(json)} ${json}`.padEnd(placeBytes - 1) + '\n');
}

function parseMark(content: Buffer, at: number): FsyncMark[] {
  const text = content.toString('latin1', at, at + placeBytes);
  const json = text.slice('01234567 '.length).trimEnd();
  return text.startsWith(`${checksum(json)} `) ? [JSON.parse(json) as FsyncMark] : [];
}

/**
 * Group commit: commits what was noted, one commit at a time. Requests during a commit share the next
 * one, which covers everything noted until it starts. After a failed commit, all fail.
 */
export class GroupCommit {
  readonly #commit: () => Promise<void>;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(commit: () => Promise<void>) {
    this.#commit = commit;
  }

  /** Resolves when everything noted so far is committed. */
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
