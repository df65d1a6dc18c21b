import path from 'node:path';
import { constants, readdirSync } from 'node:fs';
import { copyFile, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { EngagectlError } from '../errors.js';
import { createFile, fsyncFolder, makePrivateFolder } from '../files/atomic-write.js';

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
    createFile(path.join(this.#epoch(0), ownerName), '{}\n');
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
      const before = await stateOf(source);
      await copyFolder(source, draft);
      if ((await stateOf(source)) === before && this.current === source) break;
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

/** The folder existed when the run was submitted. Its records may have been sent. */
const folderGone = (file: string): EngagectlError =>
  new EngagectlError('E-JOURNAL', `the folder of shard ${path.basename(file)} is gone`, {
    why: 'it contained the journal, so it is not known which records were sent',
    fix: 'restore it, or submit to another --work-dir, with --again if necessary, which sends all records',
    file,
  });

const notWritten = (file: string, cause: Error): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `cannot take over the shard in ${file}`, {
    why: cause.message,
    fix: 'make the work directory writable, or free space, then: engagectl fleet retry <run>',
    file,
    cause,
  });
