import path from 'node:path';
import {
  existsSync,
  rmSync,
  closeSync,
  createReadStream,
  fsyncSync,
  openSync,
  writeSync,
} from 'node:fs';
import { RecordTable } from '../../text/baseline-table.js';
import { ChangeLog, fold } from './change-log.js';
import {
  EntriesOnDisk,
  DoubtfulFile,
  EntryFile,
  EntryWriter,
  type EntryHead,
  type KnownEntries,
} from './baseline-file.js';
import { createInterface } from 'node:readline';
import { keySpaces, keyOfRecord, type RecordKey } from '../../text/record-hash.js';

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
    if (!existsSync(this.#base)) this.#writeEmptyBase(about);
    return new ChangeLog(this.#log);
  }

  #writeEmptyBase(about: About): void {
    const writer = new EntryWriter(this.#base);
    try {
      writer.finish(about);
    } finally {
      writer.close();
    }
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

/** Keys that were accepted for the first time, a line each: a hash does not tell whose it is. */
class NamesFile {
  readonly #path: string;
  #file: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Lines as `nameLine` makes them. */
  add(lines: string): void {
    if (lines === '') return;
    this.#file ??= openSync(this.#path, 'a', 0o600);
    const bytes = Buffer.from(lines, 'latin1');
    for (let at = 0; at < bytes.length;) at += writeSync(this.#file, bytes, at);
  }

  /** Those that can be read; what a kill left of a line is passed over. */
  async *all(): AsyncGenerator<RecordKey> {
    if (!existsSync(this.#path)) return;
    const input = createReadStream(this.#path);
    try {
      for await (const line of createInterface({ input, crlfDelay: Infinity })) {
        const name = parsed(line);
        if (name) yield name;
      }
    } finally {
      input.destroy(); // the lines may not have been read to their end
    }
  }

  close(): void {
    if (this.#file === undefined) return;
    try {
      fsyncSync(this.#file);
    } finally {
      closeSync(this.#file);
      this.#file = undefined;
    }
  }
}

const head = Buffer.from('{"identity":"');
const [quote, backslash] = [0x22, 0x5c];

/** A line for the record `json[start, end)`; its bytes as characters. */
export function nameLine(json: Buffer, start: number, end: number): string {
  if (json.compare(head, 0, head.length, start, start + head.length) === 0) {
    const from = start + head.length;
    let at = from;
    while (at < end && json[at] !== quote && json[at] !== backslash) at += 1;
    if (json[at] === quote) return `["identity","${json.toString('latin1', from, at)}"]\n`;
  }
  const { space, key } = keyOfRecord(json.toString('utf8', start, end));
  return `${Buffer.from(JSON.stringify([space, key])).toString('latin1')}\n`;
}

function parsed(line: string): RecordKey | undefined {
  try {
    const [space, key] = JSON.parse(line) as [RecordKey['space'], string];
    return Object.hasOwn(keySpaces, space) && typeof key === 'string' ? { space, key } : undefined;
  } catch {
    return undefined;
  }
}
