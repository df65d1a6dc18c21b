import {
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { EngagectlError, plainOption, type OptionName } from '../../errors.js';
import { syncFolder } from '../../files/sync-folder.js';
import type { JournalEntry, KnownKinds } from './entry-table.js';
import { journalLine, parseJournal, type ParsedJournal } from './journal-lines.js';

const { O_APPEND, O_CREAT, O_TRUNC, O_WRONLY } = constants;
const syncData = promisify(fdatasync);

/** The entries of a journal that is not open; none when there is no such file. Throws E-JOURNAL. */
export const readJournal = <Entry extends JournalEntry>(
  path: string,
  kinds: KnownKinds<Entry>,
): readonly Entry[] => parsed(path, kinds, plainOption).entries as readonly Entry[];

/**
 * An append-only file of lines; see journal-lines. What was written outlives the process, what was
 * synced a power cut as well. It may leave anything of the rest, which is dropped from its first
 * damaged line on when the file is opened.
 *
 * It has one owner. Who opens it puts a new file in the old one's place, which begins an epoch. An
 * earlier owner that is still at work finds that before it writes or trusts a sync: E-RUN-LOCKED.
 */
export class Journal<Entry extends JournalEntry> {
  readonly path: string;
  readonly #file: number;
  readonly #epoch: number;
  readonly #option: OptionName;
  readonly #links: number;
  #length: number;
  #synced: number;
  #failure: EngagectlError | undefined;

  /** Starts a journal, or goes on behind its last good line. Throws E-FILE-WRITE, E-JOURNAL. */
  static open<Entry extends JournalEntry>(
    path: string,
    kinds: KnownKinds<Entry>,
    option: OptionName = plainOption,
  ) {
    try {
      const { entries, good, epoch } = parsed(path, kinds, option);
      const journal = new Journal<Entry>(path, { epoch: epoch + 1, good, option });
      return { journal, entries: entries as readonly Entry[] };
    } catch (cause) {
      throw cause instanceof EngagectlError ? cause : notWritten(path, cause, option);
    }
  }

  /**
   * The good lines are written anew: a disk that failed to write them says so once, and nothing
   * more to who only syncs them a second time.
   */
  private constructor(
    path: string,
    { epoch, good, option }: Pick<ParsedJournal, 'epoch' | 'good'> & { option: OptionName },
  ) {
    this.path = path;
    this.#epoch = epoch;
    this.#option = option;
    const draft = `${path}.new`;
    const begin = journalLine({ epoch, synced: good.length, entries: [] });
    const content = Buffer.concat([good, Buffer.from(begin)]);
    this.#file = openSync(draft, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o600);
    try {
      writeAll(this.#file, content);
      fsyncSync(this.#file);
      renameSync(draft, path);
      syncFolder(dirname(path));
      this.#links = fstatSync(this.#file).nlink;
    } catch (error) {
      this.close();
      throw error;
    }
    this.#length = content.length;
    this.#synced = content.length;
  }

  /** Throws E-FILE-WRITE, and again for all that follows: a torn line must stay the last one. */
  write(...entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    this.#guard(() => {
      this.#assertOwned();
      const line = journalLine({ epoch: this.#epoch, synced: this.#synced, entries });
      this.#length += writeAll(this.#file, Buffer.from(line));
    });
  }

  /** Resolves when all that was written is on the disk. One at a time. Throws like `write`. */
  async sync(): Promise<void> {
    if (this.#failure) throw this.#failure;
    const length = this.#length;
    if (length === this.#synced) return;
    await syncData(this.#file).catch((cause: unknown) => {
      throw (this.#failure ??= notWritten(this.path, cause, this.#option));
    });
    this.#guard(() => this.#assertOwned());
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

const parsed = <Entry extends JournalEntry>(
  path: string,
  kinds: KnownKinds<Entry>,
  option: OptionName,
): ParsedJournal =>
  parseJournal(existsSync(path) ? readFileSync(path) : Buffer.of(), { path, kinds, option });

function writeAll(file: number, bytes: Buffer): number {
  for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
  return bytes.length;
}

const takenOver = (file: string): EngagectlError =>
  new EngagectlError('E-RUN-LOCKED', 'another process has gone on with this run', {
    why: `the journal ${file} is not this process's any more`,
    fix: 'leave the run to that process',
    file,
  });

const notWritten = (file: string, cause: unknown, option: OptionName): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `cannot write the journal ${file}`, {
    why: cause instanceof Error ? cause.message : String(cause),
    fix: `free space; the same command with ${option('resume')} goes on`,
    file,
    cause,
  });
