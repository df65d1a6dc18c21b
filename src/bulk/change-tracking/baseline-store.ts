import path from 'node:path';
import { existsSync, rmSync, closeSync, createReadStream, fsyncSync } from 'node:fs';
import { openToAppend, writeAll } from '../../files/atomic-write.js';
import { BaselineTable } from '../../text/baseline-table.js';
import { ChangeLog, compact } from './change-log.js';
import {
  BaselineIndex,
  CorruptBaseline,
  BaselineFile,
  BaselineWriter,
  type BaselineHeader,
  type BaselineLookup,
} from './baseline-file.js';
import { createInterface } from 'node:readline';
import { keyNamespaces, keyOfRecord, type RecordKey } from '../../text/record-hash.js';

/** Entries that are kept in memory: 66 MB. More of them stay on the disk. */
const residentMost = 5_000_000;

/** What a memory is, and whose. */
type About = Pick<BaselineHeader, 'seed' | 'owner'>;

/** What is remembered. */
interface Base {
  readonly head: BaselineHeader;
  readonly entries: BaselineLookup;
}

/** The files of a memory: its base, a log of what was done since, and the names of its keys. */
export class BaselineStore {
  readonly names: KeyFile;
  readonly #base: string;
  readonly #log: string;
  readonly #names: string;

  constructor(folder: string, kind: string) {
    const file = (name: string) => path.join(folder, `${kind}.${name}`);
    this.#base = file('base');
    this.#log = file('log');
    this.#names = file('names');
    this.names = new KeyFile(this.#names);
  }

  /**
   * What is remembered, with what a run that was killed left; undefined for nothing. What cannot be
   * trusted goes, and `doubt` is told why.
   */
  open(owner: BaselineHeader['owner'], doubt: (why: string) => void): Base | undefined {
    const hasLog = existsSync(this.#log);
    try {
      if (!existsSync(this.#base)) {
        // Without its seed nothing can be told of a log.
        if (hasLog) throw new CorruptBaseline('what the last run accepted belongs to nothing');
        return undefined;
      }
      if (hasLog) this.fold(owner);
      const file = this.#openBase(owner);
      return { head: file.head, entries: knownEntries(file) };
    } catch (error) {
      if (!(error instanceof CorruptBaseline)) throw error;
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
    const writer = new BaselineWriter(this.#base);
    try {
      writer.finish(about);
    } finally {
      writer.close();
    }
  }

  /** Takes the log into the base. Throws DoubtfulFile, or what the file system says. */
  fold(owner: BaselineHeader['owner']): void {
    const base = this.#openBase(owner);
    try {
      compact({ path: this.#base, log: this.#log, base });
    } finally {
      base.close();
    }
    rmSync(this.#log);
  }

  #openBase(owner: BaselineHeader['owner']): BaselineFile {
    const base = new BaselineFile(this.#base);
    if (base.head.owner.every((word, index) => word === owner[index])) return base;
    base.close();
    throw new CorruptBaseline('it belongs to another account, host or stream');
  }
}

/** Takes over the file. Throws DoubtfulFile, or what the file system says. */
function knownEntries(file: BaselineFile): BaselineLookup {
  try {
    if (file.head.count > residentMost) return new BaselineIndex(file);
    const table = new BaselineTable(file.head.count);
    for (const chunk of file.chunks()) table.add(chunk);
    file.close();
    return table;
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Keys that were accepted for the first time, a line each: a hash does not tell whose it is. */
class KeyFile {
  readonly #path: string;
  #file: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Lines as `nameLine` makes them. */
  add(lines: string): void {
    if (lines === '') return;
    this.#file ??= openToAppend(this.#path);
    writeAll(this.#file, Buffer.from(lines, 'latin1'));
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
export function keyLine(json: Buffer, start: number, end: number): string {
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
    return Object.hasOwn(keyNamespaces, space) && typeof key === 'string'
      ? { space, key }
      : undefined;
  } catch {
    return undefined;
  }
}
