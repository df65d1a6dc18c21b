import path from 'node:path';
import { existsSync, rmSync } from 'node:fs';
import { RecordTable } from '../../text/baseline-table.js';
import { ChangeLog } from '../memory/change-log.js';
import { EntriesOnDisk } from './baseline-file.js';
import { DoubtfulFile, EntryFile, type EntryHead } from '../memory/entry-file.js';
import { EntryWriter } from '../memory/entry-writer.js';
import { fold } from './change-log.js';
import { NamesFile } from '../memory/names-file.js';
import type { KnownEntries } from '../memory/known-entries.js';

/** Entries that are kept in memory: 66 MB. More of them stay on the disk. */
const residentMost = 5_000_000;

/** What a memory is, and whose. */
type About = Pick<EntryHead, 'seed' | 'owner'>;

/** What is remembered. */
interface Base {
  readonly head: EntryHead;
  readonly entries: KnownEntries;
}

/** The files of a memory: its base, a log of what was done since, and the names of its keys. */
export class MemoryFiles {
  readonly names: NamesFile;
  readonly #base: string;
  readonly #log: string;
  readonly #names: string;

  constructor(folder: string, kind: string) {
    const file = (name: string) => path.join(folder, `${kind}.${name}`);
    this.#base = file('base');
    this.#log = file('log');
    this.#names = file('names');
    this.names = new NamesFile(this.#names);
  }

  /**
   * What is remembered, with what a run that was killed left; undefined for nothing. What cannot be
   * trusted goes, and `doubt` is told why.
   */
  open(owner: EntryHead['owner'], doubt: (why: string) => void): Base | undefined {
    const hasLog = existsSync(this.#log);
    try {
      if (!existsSync(this.#base)) {
        // Without its seed nothing can be told of a log.
        if (hasLog) throw new DoubtfulFile('what the last run accepted belongs to nothing');
        return undefined;
      }
      if (hasLog) this.fold(owner);
      const file = this.#openBase(owner);
      return { head: file.head, entries: knownEntries(file) };
    } catch (error) {
      if (!(error instanceof DoubtfulFile)) throw error;
      doubt(error.message);
      for (const file of [this.#base, this.#log, this.#names]) rmSync(file, { force: true });
      return undefined;
    }
  }

  /** A new log, for which there has to be a base: it says by what the hashes are made. */
  startLog(about: About): ChangeLog {
    if (!existsSync(this.#base)) new EntryWriter(this.#base).finish(about);
    return new ChangeLog(this.#log);
  }

  /** Takes the log into the base. Throws DoubtfulFile, or what the file system says. */
  fold(owner: EntryHead['owner']): void {
    const base = this.#openBase(owner);
    try {
      fold({ path: this.#base, log: this.#log, base });
    } finally {
      base.close();
    }
    rmSync(this.#log);
  }

  #openBase(owner: EntryHead['owner']): EntryFile {
    const base = new EntryFile(this.#base);
    if (base.head.owner.every((word, index) => word === owner[index])) return base;
    base.close();
    throw new DoubtfulFile('it belongs to another account, host or stream');
  }
}

/** Takes over the file. Throws DoubtfulFile, or what the file system says. */
function knownEntries(file: EntryFile): KnownEntries {
  try {
    if (file.head.count > residentMost) return new EntriesOnDisk(file);
    const table = new RecordTable(file.head.count);
    for (const chunk of file.chunks()) table.add(chunk);
    file.close();
    return table;
  } catch (error) {
    file.close();
    throw error;
  }
}
