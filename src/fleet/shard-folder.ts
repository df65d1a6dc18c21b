import path from 'node:path';
import { crc32 } from 'node:zlib';
import { closeSync, constants, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { EngagectlError } from '../errors.js';
import {
  createFile,
  fsyncFolder,
  makePrivateFolder,
  noFollow,
  writeAll,
} from '../files/atomic-write.js';
import { shardName } from '../jobs/shard.js';
import type { RequestObserver } from '../jobs/job-context.js';
import type { Shard } from '../jobs/job-options.js';

const { O_CREAT, O_WRONLY } = constants;
type Failure = NonNullable<Parameters<ReturnType<RequestObserver['began']>>[0]>;

/** Folder of the runs of a shard's owner, and the name of the only run in it. */
export const runsIn = (epoch: string): string => path.join(epoch, 'state', 'runs');
export const runNameOf = (shard: Shard): string => `shard-${shardName(shard)}`;

/** Result of a shard, in the folder of the epoch that finished it. */
export const resultName = 'result.json';
/** Makes the folder of an epoch a non-empty one, and names its owner. */
const ownerName = 'owner.json';
/** Copies of the folder before the former owner must have stopped writing. */
const maxCopies = 20;

/**
 * The folder of a shard. Everything that an owner writes is in a folder of its own, `epoch-<n>`,
 * where n is its fencing token: journal and synced mark, rejects, slices, result. So nothing that a
 * former owner writes is read by a later one, however late it wakes up.
 *
 * - An empty `epoch-<n>` is a claim: `mkdir` lets only one owner have it.
 * - The new owner copies the folder of the last complete epoch into `epoch-<n>.draft` and renames
 *   that to `epoch-<n>`. This one rename switches all files.
 * - The highest complete epoch is the state of the shard; an owner stops when a higher one is claimed.
 */
export class ShardFolder {
  readonly path: string;

  constructor(folder: string) {
    this.path = folder;
  }

  /** Creates the folder with an epoch 0 without records, so that a missing folder is always a loss. */
  create(): void {
    const made = makePrivateFolder(this.#epoch(0));
    try {
      createFile(path.join(this.#epoch(0), ownerName), '{}\n');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // another process submits the same run
    }
    fsyncFolder(this.#epoch(0));
    for (const folder of made) fsyncFolder(path.dirname(folder));
  }

  /** Folder of the highest complete epoch; undefined if there is none. */
  get current(): string | undefined {
    for (const epoch of this.#epochs().toReversed()) {
      if (namesIn(this.#epoch(epoch)).length > 0) return this.#epoch(epoch);
    }
    return undefined;
  }

  /**
   * Takes over the shard: claims the next epoch and copies the files of the last one. `owner` is
   * recorded for people. Throws E-RUN-LOCKED if another owner took over meanwhile, E-JOURNAL if
   * the files of the shard are gone, E-FILE-WRITE.
   */
  async takeOver(owner: object): Promise<ShardEpoch> {
    if (this.current === undefined) throw folderGone(this.path);
    let epoch: number | undefined;
    try {
      epoch = await this.#claim();
      await this.#fill(epoch, owner);
    } catch (cause) {
      if (epoch !== undefined && this.#isSuperseded(epoch)) throw takenOver(this.path);
      throw cause instanceof EngagectlError ? cause : notWritten(this.path, cause as Error);
    }
    const taken = { path: this.#epoch(epoch), isCurrent: () => !this.#isSuperseded(epoch) };
    if (!taken.isCurrent()) throw takenOver(this.path);
    await this.#removeBefore(epoch);
    return taken;
  }

  async #claim(): Promise<number> {
    for (;;) {
      const next = (this.#epochs().at(-1) ?? 0) + 1;
      try {
        await mkdir(this.#epoch(next), { mode: 0o700 });
        return next;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
  }

  /** The claim comes first: what the former owner commits from now on, it does not act upon. */
  async #fill(epoch: number, owner: object): Promise<void> {
    const draft = `${this.#epoch(epoch)}.draft`;
    for (let copies = 0; ; copies += 1) {
      const source = this.current;
      if (source === undefined) throw folderGone(this.path);
      await rm(draft, { recursive: true, force: true });
      if ((await copyUnchanged(source, draft)) && this.current === source) break;
      if (copies === maxCopies) throw takenOver(this.path);
    }
    createFile(path.join(draft, ownerName), `${JSON.stringify({ epoch, ...owner })}\n`);
    fsyncFolder(draft);
    await rename(draft, this.#epoch(epoch));
    fsyncFolder(this.path);
  }

  async #removeBefore(epoch: number): Promise<void> {
    const old = namesIn(this.path).filter((name) => (epochOf(name) ?? epoch) < epoch);
    for (const name of old) {
      // A former owner may still add files; the next owner removes those.
      await rm(path.join(this.path, name), { recursive: true, force: true }).catch(() => undefined);
    }
  }

  /** Also true if the folder cannot be read. */
  #isSuperseded(epoch: number): boolean {
    return this.#epochs().at(-1) !== epoch;
  }

  /** Epochs that were claimed, ascending. */
  #epochs(): number[] {
    const epochs = namesIn(this.path).flatMap((name) =>
      name.endsWith('.draft') ? [] : (epochOf(name) ?? []),
    );
    return epochs.toSorted((a, b) => a - b);
  }

  #epoch(epoch: number): string {
    return path.join(this.path, `epoch-${epoch}`);
  }
}

/** The folder of one owner of a shard. */
export interface ShardEpoch {
  readonly path: string;
  /** Reads the shard's folder; false as soon as another owner has claimed the shard. */
  readonly isCurrent: () => boolean;
}

/** Counts of requests. Bytes are those of bodies. */
const noTraffic = { requests: 0, retries: 0, bytesSent: 0, throttled: 0 };
type Traffic = typeof noTraffic;

/** Bytes of the file of a `ShardTraffic`, which is overwritten in place. */
const trafficBytes = 200;

/**
 * Counts the requests of a shard over all its owners, in a file that each owner inherits from the last one.
 * A request is counted before it is sent, so an owner that is killed has counted the one in flight. The
 * file is not synced: after a power cut, the counts may be too low.
 */
export class ShardTraffic implements RequestObserver {
  readonly #file: string;
  /** Counts of earlier owners. */
  readonly #earlier: Traffic;
  #own: Traffic = { ...noTraffic };
  /** Digests of requests that failed, and were not repeated yet. */
  readonly #failed = new Set<string>();

  /** `folder` is that of the owner. */
  constructor(folder: string) {
    this.#file = path.join(folder, 'traffic.json');
    this.#earlier = this.#read();
  }

  /**
   * Throws E-JOURNAL if an earlier owner made a request, and the folder of its run is gone: the next owner
   * would send all records again.
   */
  assertJournaled(shard: Shard): void {
    const folder = path.join(runsIn(path.dirname(this.#file)), runNameOf(shard));
    if (this.#earlier.requests > 0 && !existsSync(folder)) throw runGone(folder);
  }

  began(content: unknown): (failure?: Failure) => void {
    const bytes = Buffer.isBuffer(content) ? content.length : 0;
    this.#own.requests += 1;
    this.#own.bytesSent += bytes;
    if (this.#failed.size > 0 && this.#failed.delete(digestOf(content))) this.#own.retries += 1;
    this.#save();
    return (failure) => {
      if (failure) this.#failed.add(digestOf(content));
      if (failure?.sent === false) this.#own.bytesSent -= bytes;
      if (failure?.kind === 'refused' && failure.status === 429) this.#own.throttled += 1;
    };
  }

  /**
   * Adds the counts of earlier owners to the final figures of this owner. Figures that are not counts of
   * requests stay as they are.
   */
  addTo(figures: Readonly<Record<string, number>>): Record<string, number> {
    const sums = { ...figures };
    for (const [name, count] of Object.entries(this.#earlier)) {
      if (figures[name] === undefined) continue;
      this.#own[name as keyof Traffic] = figures[name];
      sums[name] = figures[name] + count;
    }
    this.#save();
    return sums;
  }

  /** Counts are not worth a failure of the shard. */
  #save(): void {
    const sums = { ...noTraffic };
    for (const name of countNames) sums[name] = this.#earlier[name] + this.#own[name];
    const text = JSON.stringify(sums).padEnd(trafficBytes - 1);
    try {
      const descriptor = openSync(this.#file, O_WRONLY | O_CREAT | noFollow, 0o600);
      try {
        writeAll(descriptor, `${text}\n`);
      } finally {
        closeSync(descriptor);
      }
    } catch {
      // The folder is full, or a later owner has removed it.
    }
  }

  /** Returns zeros if there is no such file, or not one with counts. */
  #read(): Traffic {
    const counts = { ...noTraffic };
    let found: Partial<Record<string, unknown>>;
    try {
      found = Object(JSON.parse(readFileSync(this.#file, 'utf8'))) as typeof found;
    } catch {
      return counts;
    }
    for (const name of countNames) {
      const count = found[name];
      if (Number.isSafeInteger(count) && Number(count) >= 0) counts[name] = Number(count);
    }
    return counts;
  }
}

const countNames = Object.keys(noTraffic) as (keyof Traffic)[];

/** Identifies a request without keeping its body. */
const digestOf = (content: unknown): string =>
  Buffer.isBuffer(content) ? `${crc32(content)} ${content.length}` : JSON.stringify(content);

/** Parses the name of the folder of an epoch, or of its draft. */
function epochOf(name: string): number | undefined {
  const [, digits] = /^epoch-(\d{1,9})(?:\.draft)?$/.exec(name) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** Empty if the folder cannot be read. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Copies a folder; returns false if somebody wrote in it, or removed a file, meanwhile. */
async function copyUnchanged(from: string, to: string): Promise<boolean> {
  try {
    const before = await stateOf(from);
    await copyFolder(from, to);
    return (await stateOf(from)) === before;
  } catch (error) {
    // The former owner may be ending its run, which removes files.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Copies and syncs a folder, except for the name of its owner. Where possible, files share their blocks. */
async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) await copyFolder(source, target);
    else if (entry.name !== ownerName) {
      await copyFile(source, target, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
      await syncFile(target);
    }
  }
  fsyncFolder(to);
}

async function syncFile(name: string): Promise<void> {
  const file = await open(name, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Describes names, sizes and times of all files: equal if nobody wrote in between. */
async function stateOf(folder: string): Promise<string> {
  const states: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) states.push(`${entry.name}/`, await stateOf(file));
    else {
      const { size, mtimeNs, ino } = await stat(file, { bigint: true });
      states.push(`${entry.name} ${size} ${mtimeNs} ${ino}`);
    }
  }
  return states.join('\n');
}

const takenOver = (file: string): EngagectlError =>
  new EngagectlError('E-RUN-LOCKED', 'another worker has taken over this shard', {
    why: `a newer epoch was claimed in ${file}`,
    fix: 'leave the shard to the fleet',
    file,
  });

const runGone = (folder: string): EngagectlError =>
  lost(folder, `the run folder ${folder} is gone`);

/** The folder existed when the run was submitted. Its records may have been sent. */
const folderGone = (file: string): EngagectlError =>
  lost(file, `the folder of shard ${path.basename(file)} is gone`);

const lost = (file: string, message: string): EngagectlError =>
  new EngagectlError('E-JOURNAL', message, {
    why: 'it contained the journal, so it is not known which records were sent',
    fix: 'restore it as it was last (an older copy sends records again), or submit to another --work-dir, with --again if necessary, which sends all records',
    file,
  });

const notWritten = (file: string, cause: Error): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `cannot take over the shard in ${file}`, {
    why: cause.message,
    fix: 'make the work directory writable, or free space, then: engagectl fleet retry <run>',
    file,
    cause,
  });
