import path from 'node:path';
import { closeSync, fsyncSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { fsyncFolder, openToAppend, replaceFile, writeAll } from '../../files/atomic-write.js';
import { lockRun, tryLockRun, waitForLock, type FileLock } from '../../files/file-lock.js';
import { isMissing } from '../../files/path-checks.js';
import { isSecret, newSecret, type HashSecret } from '../../text/record-hash.js';
import { checksumEnd, hexChecksum, withoutChecksum } from '../journal/journal-format.js';
import { CorruptArchive, EventArchive, OtherVersion, withFileErrors } from './event-archive.js';
import { archiveEnded, compact, currentFiles, eventFiles, logName } from './event-compaction.js';
import { EventLog, type EventBlock } from './event-log.js';

const dayMs = 24 * 3_600_000;
export const defaultRememberMs = 90 * dayMs;

/** A run that sent events. */
export interface EventRun {
  readonly number: number;
  readonly run: string;
  /** Start of its last attempt that sent events (ISO 8601). */
  readonly started: string;
  /** Names of its inputs: the first, and how many others there are. */
  readonly file: string;
  readonly otherFiles: number;
  /** Time for which its events are to be remembered. */
  readonly rememberMs: number;
}

/** A run that sent events of the input; `run` is undefined if it started after this one. */
export interface MatchedRun {
  readonly run: EventRun | undefined;
  readonly events: number;
}

export interface StoreOptions {
  readonly folder: string;
  /** Id of the run. */
  readonly run: string;
  /** Time for which events are remembered at least. */
  readonly rememberMs: number;
  /** Returns an unguessable text. */
  readonly token: () => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** The files of the memory of an account, opened by one run. */
export class EventStore {
  readonly log: EventLog;
  readonly logFile: string;
  readonly logNumber: number;
  /** Path of a log that is missing, or a part of it, although a run sent events and wrote them there. */
  readonly lostLog: string | undefined;
  readonly archives: readonly EventArchive[];
  /** Up to this position of the log, events of ended runs are in an archive. */
  readonly #endedPosition: number;
  readonly runs: RunTable;
  /** Number of this run. */
  readonly number: number;
  /** Runs that other processes were working on when the store was opened. */
  readonly live: ReadonlySet<number>;
  readonly #lock: FileLock;

  private constructor(
    parts: Pick<
      EventStore,
      'log' | 'logFile' | 'logNumber' | 'lostLog' | 'archives' | 'runs' | 'number' | 'live'
    > & {
      lock: FileLock;
      endedPosition: number;
    },
  ) {
    this.log = parts.log;
    this.logFile = parts.logFile;
    this.archives = parts.archives;
    this.#endedPosition = parts.endedPosition;
    this.runs = parts.runs;
    this.number = parts.number;
    this.live = parts.live;
    this.lostLog = parts.lostLog;
    this.logNumber = parts.logNumber;
    this.#lock = parts.lock;
  }

  /**
   * Opens the files; if no other process uses them, first moves the events of a long log to an archive.
   * Throws CorruptArchive, E-RUN-LOCKED, or an error of the file system or the lock.
   */
  static async open(options: StoreOptions): Promise<EventStore> {
    const { folder, run } = options;
    const opening = await lockFolder(options);
    try {
      const live = await liveRuns(folder);
      const runs = RunTable.open(folder, options.token);
      const lostLog = runs.lostLog(options);
      const number = runs.numberOf(run) ?? Math.max(runs.last, ...live) + 1;
      if (live.size === 0) await compactIfPossible(folder, runs, { ...options, except: number });
      const lock = await lockRun(path.join(folder, `${liveName}${number}.lock`));
      try {
        const { archives, log, file, logNumber } = openFiles(folder);
        const ended = live.size > 0 ? await archiveEnded(file, runs) : undefined;
        if (ended) archives.push(ended.archive);
        const endedPosition = ended?.position ?? 0;
        const files = { log, logFile: file, logNumber, lostLog, archives, endedPosition };
        return new EventStore({ ...files, runs, number, live, lock });
      } catch (error) {
        lock.release();
        throw error;
      }
    } finally {
      opening.release();
    }
  }

  /** Yields the blocks of the log that are in no archive. */
  *recent(): Generator<EventBlock> {
    for (const block of this.log.read()) {
      const isArchived = this.log.position <= this.#endedPosition && this.runs.hasEnded(block.run);
      if (!isArchived) yield block;
    }
  }

  close(): void {
    for (const archive of this.archives) archive.close();
    this.log.close();
    this.runs.close();
    this.#lock.release();
  }
}

/** How a memory is pruned. `rememberMs`: at least, besides what the runs said; `overridesRuns`: instead of it. */
export type PruneOptions = Omit<StoreOptions, 'rememberMs'> & {
  readonly rememberMs: number | undefined;
  readonly overridesRuns: boolean;
  /** Called with a log of which a part is damaged: what can be read stays known. */
  readonly onDamage: (log: string) => void;
};

/**
 * Removes the events of runs that started longer ago than they and the last run wanted to remember. Returns how many; 0
 * if another process uses the memory. Throws E-LEDGER, E-FILE-WRITE, E-RUN-LOCKED.
 */
export const pruneEvents = async (options: PruneOptions): Promise<number> =>
  withFileErrors(options.folder, async () => prune(options), false);

async function prune(options: PruneOptions): Promise<number> {
  const { folder, rememberMs = 0, overridesRuns } = options;
  const opening = await lockFolder(options);
  try {
    if ((await liveRuns(folder)).size > 0) return 0;
    const runs = RunTable.open(folder, options.token);
    const least = overridesRuns ? rememberMs : Math.max(rememberMs, runs.rememberMs);
    const expired = runs.expired({ ...options, rememberMs: least });
    const { onDamage } = options;
    const removed = await compact(folder, runs, { expired, isPruning: true, onDamage });
    runs.forget(expired);
    return removed;
  } finally {
    opening.release();
  }
}

/** Expired runs from which all files are written anew, because every upload reads the table of runs. */
const expiredMaximum = 1000;

/** Compacts the files and the table of runs. Without room on the disk they stay as they are. */
async function compactIfPossible(
  folder: string,
  runs: RunTable,
  retention: Retention,
): Promise<void> {
  try {
    const expired = runs.expired(retention);
    const isPruning = expired.size > expiredMaximum;
    await compact(folder, runs, { expired, isPruning });
    // A run stays as long as its events do, so that they can be removed. A damaged log is left.
    if (isPruning && currentFiles(folder).logs.length === 0) runs.forget(expired);
    else if (runs.isLong) runs.forget(new Set());
  } catch (error) {
    if (!(error instanceof Error && 'errno' in error)) throw error;
  }
}

const liveName = '.live-';

const lockFolder = async ({ folder, sleep }: Pick<StoreOptions, 'folder' | 'sleep'>) =>
  waitForLock(path.join(folder, '.opening.lock'), sleep);

/** Numbers of the runs that other processes work on. Removes the lock files of killed ones. */
async function liveRuns(folder: string): Promise<Set<number>> {
  const live = new Set<number>();
  for (const name of readdirSync(folder)) {
    const number = /^\.live-(\d+)\.lock$/.exec(name)?.[1];
    if (number === undefined) continue;
    const lock = await tryLockRun(path.join(folder, name));
    if (lock) lock.release();
    else live.add(Number(number));
  }
  return live;
}

const endOf = (number: number, sentUntil?: LogEnd) => ({ number, ended: true, sentUntil });

/** The log that has the last events of a run, and where they end. */
export interface LogEnd {
  readonly log: number;
  readonly bytes: number;
}

interface RunLine extends EventRun {
  /** False: it goes on. */
  readonly ended?: boolean;
  readonly sentUntil?: LogEnd;
  /** When an upload met its events (ISO 8601), in a line without the members of EventRun. */
  readonly met?: string;
}

/** For how long the events of a table of runs are remembered. */
interface Retention {
  /** Milliseconds, or longer if their run said so. */
  readonly rememberMs: number;
  /** Whether events that are older are forgotten, whatever their run said. */
  readonly overridesRuns?: boolean;
  readonly now: () => number;
  /** Number of a run that goes on, and whose events are kept. */
  readonly except?: number;
}

/** Version of the table of runs and of the fingerprints. */
const version = 3;

/** The runs whose events are remembered, as lines of JSON that are only appended. */
export class RunTable {
  /** Secret of the fingerprints. */
  readonly secret: HashSecret;
  /** All runs with lower numbers have expired. A line that is missing says nothing: it may be damaged. */
  first: number;
  /** Whether later lines replace most of the lines. */
  readonly isLong: boolean;
  readonly #runs = new Map<number, EventRun>();
  readonly #ended = new Map<number, LogEnd | undefined>();
  readonly #met = new Map<number, string>();
  /** The highest number that a run had when the table was written. */
  readonly #highest: number;
  readonly #path: string;
  #file: number | undefined;

  private constructor(file: string, lines: readonly string[]) {
    this.#path = file;
    const [first, ...rest] = lines;
    ({ secret: this.secret, first: this.first, last: this.#highest } = headIn(first));
    for (const text of rest) {
      const line = parsed(text); // a kill may have cut a line off
      if (line?.ended === false) this.#ended.delete(line.number);
      else if (line?.ended) this.#ended.set(line.number, line.sentUntil);
      else if (line?.met !== undefined) this.#met.set(line.number, line.met);
      else if (line) this.#put(line);
    }
    this.isLong = lines.length > 8 * this.#runs.size + 1000;
  }

  /** Creates the table if there is none. Throws CorruptArchive. */
  static open(folder: string, token: () => string): RunTable {
    const file = path.join(folder, 'runs.ndjson');
    const files = eventFiles(folder);
    if (isMissing(file)) {
      if (files.length > 0) throw new CorruptArchive('runs.ndjson is missing');
      replaceFile(file, `${lineOf({ version, secret: newSecret(token()) })}\n`);
    }
    return new RunTable(file, readFileSync(file, 'utf8').split('\n'));
  }

  get(number: number): EventRun | undefined {
    return this.#runs.get(number);
  }

  /** The highest number that a run has or had; 0 if there is none. */
  get last(): number {
    let last = this.#highest;
    for (const number of this.#runs.keys()) last = Math.max(last, number);
    return last;
  }

  /**
   * Runs whose events need not be remembered any more. The time counts from the last run, so that nothing is forgotten
   * because a clock jumps forward, until it is used for a run. A run that has not ended may be resumed.
   */
  expired({ rememberMs, overridesRuns = false, now, except }: Retention): ReadonlySet<number> {
    const all = [...this.#runs.values()];
    const last = all.reduce((latest, { started }) => Math.max(latest, Date.parse(started)), 0);
    const until = Math.min(now(), last);
    const expired = all.filter((run) => {
      const least = overridesRuns ? rememberMs : Math.max(run.rememberMs, rememberMs);
      const isOver = this.#rememberedSince(run) < until - least && this.hasEnded(run.number);
      return isOver && run.number !== except;
    });
    return new Set(expired.map(({ number }) => number));
  }

  /** Returns when a run began or an upload met its events, whichever is later, in milliseconds since 1970. */
  #rememberedSince({ number, started }: EventRun): number {
    return Math.max(Date.parse(started), Date.parse(this.#met.get(number) ?? started));
  }

  /** Time for which the last run wanted its events to be remembered. */
  get rememberMs(): number {
    return [...this.#runs.values()].at(-1)?.rememberMs ?? defaultRememberMs;
  }

  numberOf(run: string): number | undefined {
    return [...this.#runs.values()].find((line) => line.run === run)?.number;
  }

  /** Whether all events of the run were reported. */
  hasEnded(number: number): boolean {
    return this.#ended.has(number);
  }

  /** Adds a run, or replaces it by a later attempt; survives a power cut. */
  add(run: EventRun): void {
    this.#put(run);
    this.#append(run);
  }

  /** The last one added is the last in the table. It sends events again. */
  #put(run: EventRun): void {
    this.#ended.delete(run.number);
    this.#runs.delete(run.number);
    this.#runs.set(run.number, run);
  }

  /** Records when events of runs were met, so that they expire later. Runs that were met within a day are left as they are. */
  meet(numbers: Iterable<number>, now: number): void {
    const met = new Date(now).toISOString();
    const lines = [...numbers].flatMap((number) => {
      const run = this.#runs.get(number);
      if (!run) return [];
      const since = now - this.#rememberedSince(run);
      return since > Math.min(dayMs, run.rememberMs / 8) ? [{ number, met }] : [];
    });
    for (const { number } of lines) this.#met.set(number, met);
    if (lines.length > 0) this.#append(...lines);
  }

  /** Records that all events of a run are reported. `sentUntil`: where they are, if any may have been processed. */
  end(number: number, sentUntil?: LogEnd): void {
    this.#ended.set(number, sentUntil);
    this.#append(endOf(number, sentUntil));
  }

  reopen(number: number): void {
    this.#ended.delete(number);
    this.#append({ number, ended: false });
  }

  /** Returns the path of a log that lacks events of a run that has not expired; see EventStore. */
  lostLog({ folder, now }: Pick<StoreOptions, 'folder' | 'now'>): string | undefined {
    const { archives, logs } = currentFiles(folder);
    const sizes = logs.map(
      ({ name, from }) => [from, statSync(path.join(folder, name)).size] as const,
    );
    const sizeOf = new Map(sizes);
    const isKept = ({ log, bytes }: LogEnd) =>
      archives.some(({ from, to }) => from <= log && log <= to) || (sizeOf.get(log) ?? 0) >= bytes;
    const expired = this.expired({ rememberMs: 0, now });
    const lost = [...this.#ended].find(
      ([number, end]) => end && this.#runs.has(number) && !expired.has(number) && !isKept(end),
    );
    return lost && path.join(folder, logName(lost[1]!.log));
  }

  /** Removes these runs. */
  forget(expired: ReadonlySet<number>): void {
    const lines = [...this.#runs.values()]
      .filter(({ number }) => !expired.has(number))
      .flatMap((run) => {
        const { number } = run;
        const [hasEnded, met] = [this.#ended.has(number), this.#met.get(number)];
        return [
          run,
          ...(hasEnded ? [endOf(number, this.#ended.get(number))] : []),
          ...(met === undefined ? [] : [{ number, met }]),
        ];
      });
    const left = lines.reduce((least, { number }) => Math.min(least, number), this.last + 1);
    const before = [...expired].filter((number) => number < left);
    const first = before.reduce((most, number) => Math.max(most, number + 1), this.first);
    const head = { version, secret: this.secret, first, last: this.last };
    replaceFile(this.#path, `${[head, ...lines].map(lineOf).join('\n')}\n`);
    for (const number of expired) this.#runs.delete(number);
    this.first = first;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** The first line starts with a line end, because the one before may be cut off. */
  #append(...lines: readonly object[]): void {
    this.#file ??= openToAppend(this.#path);
    writeAll(this.#file, `\n${lines.map(lineOf).join('\n')}\n`);
    fsyncSync(this.#file);
  }
}

function headIn(text: string | undefined): Pick<RunTable, 'secret' | 'first' | 'last'> {
  const head = headOf(text);
  // Other versions have other fingerprints, which must not be compared with these.
  if (Number.isInteger(head?.version) && head?.version !== version) {
    throw new OtherVersion('runs.ndjson', head?.version, version);
  }
  const { secret, first = 0, last = 0 } = head ?? {};
  const areNumbers = Number.isInteger(first) && Number.isInteger(last);
  if (head?.version === version && isSecret(secret) && areNumbers) return { secret, first, last };
  throw new CorruptArchive('the first line of runs.ndjson cannot be read');
}

function headOf(text = '') {
  try {
    return Object(JSON.parse(checked(text) ?? '')) as {
      version?: number;
      first?: number;
      last?: number;
      secret?: unknown;
    };
  } catch {
    return undefined;
  }
}

/** Formats a line with its checksum as the last member. */
function lineOf(line: object): string {
  const json = JSON.stringify(line);
  return `${json.slice(0, -1)}${checksumEnd(hexChecksum(json))}`;
}

/** Returns a line without its checksum, which earlier versions did not write; undefined if it is wrong. */
const checked = (text: string): string | undefined =>
  text.includes('"checksum"') ? withoutChecksum(Buffer.from(text)) : text;

/** Parses a line; undefined if it is cut off or damaged. Then its run counts as one that is still sending. */
function parsed(text: string): RunLine | undefined {
  const json = checked(text);
  if (json === undefined) return undefined;
  try {
    const line = JSON.parse(json) as RunLine;
    return Number.isInteger(line.number) ? line : undefined;
  } catch {
    return undefined;
  }
}

function openFiles(folder: string) {
  const { archives, logs } = currentFiles(folder);
  const opened: EventArchive[] = [];
  try {
    for (const { name } of archives) opened.push(new EventArchive(path.join(folder, name)));
    const logNumber = logs.at(-1)?.from ?? (archives.at(-1)?.to ?? 0) + 1;
    const isNew = logs.length === 0;
    const file = path.join(folder, logName(logNumber));
    const log = new EventLog(file);
    if (isNew) fsyncFolder(folder);
    return { archives: opened, log, file, logNumber };
  } catch (error) {
    for (const archive of opened) archive.close();
    throw error;
  }
}
