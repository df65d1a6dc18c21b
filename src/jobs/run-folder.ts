import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { EngagectlError } from '../errors.js';
import { makeFolder } from '../files/make-folder.js';
import { syncFolder } from '../files/sync-folder.js';
import { writeSynced } from '../files/write-synced.js';

/** What a run is, without secrets: written once, at its beginning. */
export interface RunHeader {
  readonly version: 1;
  readonly run: string;
  /** Runs of the same command, account and files have the same key; see `runKey`. */
  readonly key: string;
  readonly command: string;
  /** The command line without the program's name, and the folder it was typed in. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** ISO 8601. */
  readonly started: string;
  readonly accountId: string;
  /** Host of the service; for `local` the region's name. */
  readonly host: string;
  /** Absolute paths of the inputs of a write, of the output of an export. */
  readonly files: readonly string[];
  /** Digest of the options that change what is sent or asked for. */
  readonly options: string;
}

/** A folder (0700) that holds what is known of one unfinished run. */
export interface RunFolder {
  readonly path: string;
  readonly header: RunHeader;
}

const headerFile = 'run.json';

/** The file that tells how far the run came. */
export const journalOf = ({ path: folder }: RunFolder): string =>
  path.join(folder, 'journal.ndjson');

export const runKey = (what: Pick<RunHeader, 'command' | 'accountId' | 'host' | 'files'>): string =>
  digest([what.command, what.accountId, what.host, what.files]);

/** SHA-256 of a value's JSON, hexadecimal. */
export const digest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex');

/**
 * Makes a run folder under `root`, to be called while holding the run's lock. It exists for
 * others once its header is on the disk.
 */
export function createRun(root: string, header: RunHeader): RunFolder {
  const folder = path.join(root, header.run);
  const draft = draftOf(root, header);
  try {
    for (const made of makeFolder(root)) syncFolder(path.dirname(made));
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
    writeSynced(path.join(draft, headerFile), `${JSON.stringify(header, null, 2)}\n`);
    syncFolder(draft);
    renameSync(draft, folder);
    syncFolder(root);
    return { path: folder, header };
  } catch (cause) {
    throw new EngagectlError('E-FILE-WRITE', `cannot make the run folder ${folder}`, {
      why: cause instanceof Error ? cause.message : String(cause),
      fix: 'make the state folder writable, name another in ENGAGECTL_STATE_DIR, or do without: --no-journal',
      file: folder,
      cause,
    });
  }
}

/**
 * Where a run folder is made and taken apart. There is one for each key, and the next run of that
 * key uses it again: so no crash leaves a folder behind for ever.
 */
const draftOf = (root: string, { key }: RunHeader): string => path.join(root, `.${key}`);

/** The unfinished runs under `root`, the oldest first. Folders without a header are none. */
export function listRuns(root: string): readonly RunFolder[] {
  const names = namesIn(root).filter((name) => !name.startsWith('.'));
  const runs: RunFolder[] = [];
  for (const name of names.toSorted((a, b) => (a < b ? -1 : 1))) {
    const header = readHeader(path.join(root, name, headerFile));
    if (header) runs.push({ path: path.join(root, name), header });
  }
  return runs;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** To be called while holding the run's lock. Throws E-FILE-WRITE. */
export function removeRun({ path: folder, header }: RunFolder): void {
  const draft = draftOf(path.dirname(folder), header);
  try {
    rmSync(draft, { recursive: true, force: true });
    renameSync(folder, draft);
    try {
      // A power cut must not bring it back without its journal: it would be begun once more.
      syncFolder(path.dirname(folder));
    } catch (error) {
      renameSync(draft, folder); // it would be begun once more by --resume, too
      throw error;
    }
    rmSync(draft, { recursive: true, force: true });
  } catch (cause) {
    throw new EngagectlError('E-FILE-WRITE', `cannot remove the run folder ${folder}`, {
      why: cause instanceof Error ? cause.message : String(cause),
      fix: 'make the state folder writable; --resume then finds what is left to do, if anything',
      file: folder,
      cause,
    });
  }
}

function readHeader(file: string): RunHeader | undefined {
  try {
    const header = JSON.parse(readFileSync(file, 'utf8')) as RunHeader;
    return header.version === 1 ? header : undefined;
  } catch {
    return undefined;
  }
}
