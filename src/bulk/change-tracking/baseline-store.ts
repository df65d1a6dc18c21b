import path from 'node:path';
import { closeSync, createReadStream, existsSync, fsyncSync, readdirSync, rmSync } from 'node:fs';
import { openToAppend, writeAll } from '../../files/atomic-write.js';
import { lockRun, tryLockRun, type FileLock } from '../../files/file-lock.js';
import { isMissing } from '../../files/path-checks.js';
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
import {
  keyNamespaces,
  keyOfRecord,
  type HashSecret,
  type RecordKey,
} from '../../text/record-hash.js';

/** A log of touched keys. */
export interface FoundTouched {
  readonly log: string;
  /** Whether its run has ended. */
  readonly isComplete: boolean;
}

/** Maximum entries kept in memory (66 MB). A larger baseline stays on disk. */
const residentMaximum = 5_000_000;

/** Header members that identify a baseline. */
type BaselineIdentity = Pick<BaselineHeader, 'secret' | 'owner'>;

/** An opened baseline. */
interface OpenBaseline {
  readonly head: BaselineHeader;
  readonly entries: BaselineLookup;
}

/** The files of a baseline: the sorted base, a log of later changes, and the names of the keys. */
export class BaselineStore {
  readonly names: KeyFile;
  readonly #base: string;
  readonly #log: string;
  readonly #names: string;
  readonly #linked: string;
  #hasLinkedKeys: boolean;

  constructor(folder: string, kind: string) {
    const file = (name: string) => path.join(folder, `${kind}.${name}`);
    this.#base = file('base');
    this.#log = file('log');
    this.#names = file('names');
    this.#linked = file('linked');
    this.#hasLinkedKeys = !isMissing(this.#linked);
    this.names = new KeyFile(this.#names);
  }

  /**
   * Opens the baseline, after merging the log of a killed run; undefined if there is none. Damaged
   * files are deleted, and `onDamage` receives the reason.
   */
  open(
    owner: BaselineHeader['owner'],
    {
      touched = [],
      onDamage,
    }: { readonly touched?: readonly FoundTouched[]; readonly onDamage: (why: string) => void },
  ): OpenBaseline | undefined {
    const hasLog = !isMissing(this.#log);
    try {
      if (isMissing(this.#base)) {
        // The hashes of a log are meaningless without the secret in the base.
        if (hasLog) throw new CorruptBaseline('the change log has no baseline');
        return undefined;
      }
      if (hasLog) this.fold(owner);
      this.#foldTouched(owner, touched);
      const file = this.#openBase(owner);
      return { head: file.head, entries: loadEntries(file) };
    } catch (error) {
      if (!(error instanceof CorruptBaseline)) throw error;
      onDamage(error.message);
      for (const file of [this.#base, this.#log, this.#names, this.#linked])
        rmSync(file, { force: true });
      this.#hasLinkedKeys = false;
      return undefined;
    }
  }

  /** Whether accepted records had several keys, so that a user may be known by each of them. */
  get hasLinkedKeys(): boolean {
    return this.#hasLinkedKeys;
  }

  linkKeys(): void {
    if (this.#hasLinkedKeys) return;
    closeSync(openToAppend(this.#linked));
    this.#hasLinkedKeys = true;
  }

  /** Removes the keys that runs sent which did not update the baseline. Keeps the logs of runs that are still sending. */
  #foldTouched(owner: BaselineHeader['owner'], touched: readonly FoundTouched[]): void {
    for (const { log, isComplete } of touched) {
      const base = this.#openBase(owner);
      try {
        compact({ path: this.#base, log, base });
      } finally {
        base.close();
      }
      if (isComplete) rmSync(log);
    }
  }

  /** Creates the log, and first an empty base if there is none, which stores the secret. */
  startLog(identity: BaselineIdentity): ChangeLog {
    if (isMissing(this.#base)) new BaselineWriter(this.#base).finish(identity);
    return new ChangeLog(this.#log);
  }

  /** Merges the log into the base. Throws CorruptBaseline or a file system error. */
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

/**
 * Log of the keys that a run sends which does not update the baseline. Their state at the service is unknown to the
 * baseline from then on. It is locked while its run may send; then the next run with the baseline removes it.
 */
export class TouchedLog {
  readonly secret: HashSecret;
  readonly #log: ChangeLog;
  readonly #lock: FileLock;

  private constructor(secret: HashSecret, log: string, lock: FileLock) {
    this.secret = secret;
    this.#log = new ChangeLog(log);
    this.#lock = lock;
  }

  /** Throws an error of the file system; CorruptBaseline if the baseline is damaged. */
  static async create(folder: string, kind: string, run: string): Promise<TouchedLog> {
    const base = new BaselineFile(path.join(folder, `${kind}.base`));
    base.close();
    const name = (number: number) => path.join(folder, `${kind}.touched-${run}-${number}.log`);
    let number = 1;
    while (existsSync(name(number))) number += 1; // of an earlier attempt of the run
    const lock = await lockRun(`${name(number)}.lock`);
    try {
      return new TouchedLog(base.head.secret, name(number), lock);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** Finds all logs of a stream, and locks those whose run has ended until `release`. */
  static async find(folder: string, kind: string) {
    const names = readdirSync(folder).filter(
      (name) => name.startsWith(`${kind}.touched-`) && name.endsWith('.log'),
    );
    const found = names.map((name) => path.join(folder, name));
    const locks = await Promise.all(found.map(async (log) => tryLockRun(`${log}.lock`)));
    const logs = found.map((log, index) => ({ log, isComplete: locks[index] !== undefined }));
    return { logs, release: () => locks.forEach((lock) => lock?.release()) };
  }

  /** Appends entries; resolves when they are on disk. */
  async write(entries: Int32Array): Promise<void> {
    this.#log.write(entries);
    await this.#log.sync();
  }

  close(): void {
    this.#log.close();
    this.#lock.release();
  }
}

/** Loads or indexes the entries, and owns the file from here on. Throws CorruptBaseline or a file system error. */
function loadEntries(file: BaselineFile): BaselineLookup {
  try {
    if (file.head.count > residentMaximum) return new BaselineIndex(file);
    const table = new BaselineTable(file.head.count);
    for (const chunk of file.chunks()) table.add(chunk);
    file.close();
    return table;
  } catch (error) {
    file.close();
    throw error;
  }
}

/** The accepted keys in plain text, one per line, because a hash cannot be turned back into its key. */
class KeyFile {
  readonly #path: string;
  #file: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Appends lines of `keyLine`, after a line end: a full disk may have cut off the line before. */
  add(lines: string): void {
    if (lines === '') return;
    this.#file ??= openToAppend(this.#path);
    writeAll(this.#file, Buffer.from(`\n${lines}`, 'latin1'));
  }

  /** Yields the keys, skipping a line that a kill cut off. */
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

/** Formats the key of the record `json[start, end)` as a line, as a latin1 string of its UTF-8 bytes. */
export function keyLine(json: Buffer, start: number, end: number): string {
  if (json.compare(head, 0, head.length, start, start + head.length) === 0) {
    const from = start + head.length;
    let at = from;
    while (at < end && json[at] !== quote && json[at] !== backslash) at += 1;
    if (json[at] === quote) return `["identity","${json.toString('latin1', from, at)}"]\n`;
  }
  return lineOfKey(keyOfRecord(json.toString('utf8', start, end)));
}

export const lineOfKey = ({ space, key }: RecordKey): string =>
  `${Buffer.from(JSON.stringify([space, key])).toString('latin1')}\n`;

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
