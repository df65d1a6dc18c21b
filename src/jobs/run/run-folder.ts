import path from 'node:path';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { readJournalHeader, type ParsedJournal } from '../../bulk/journal/journal-format.js';
import { createJournal } from '../../bulk/journal/journal.js';
import { EngagectlError } from '../../errors.js';
import { createFile, makePrivateFolder, fsyncFolder } from '../../files/atomic-write.js';
import { readTrusted, refuseUntrusted, type TrustRuntime } from '../../files/ownership.js';
import { lockRun } from '../../files/file-lock.js';
import type { Wording } from '../job-context.js';
import type { Runtime } from '../../runtime.js';

/** What a run is, without secrets: written once, at its beginning. */
export interface RunHeader {
  readonly version: 2;
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
  /** The part of the input or the range that it takes, like `2/8`. */
  readonly shard?: string | undefined;
  /** Digest of the options that change what is sent or asked for. */
  readonly options: string;
}

/** What tells a run from others. */
export type RunIdentity = Pick<RunHeader, 'command' | 'accountId' | 'host' | 'files' | 'shard'>;

/** A folder (0700) that holds what is known of one unfinished run. */
export interface RunFolder {
  readonly path: string;
  readonly header: RunHeader;
}

/** What is kept of it while the run is at work: a header may name many thousands of files. */
export interface RunPlace {
  readonly path: string;
  readonly header: Pick<RunHeader, 'run' | 'key'>;
}

const version = 2;
const headerFile = 'run.json';
const journalFile = 'journal.ndjson';

/** The file that tells how far the run came. */
export const journalPath = ({ path: folder }: RunPlace): string => path.join(folder, journalFile);

export const runKey = (what: RunIdentity): string =>
  fingerprint([
    what.command,
    what.accountId,
    what.host,
    what.files,
    ...(what.shard === undefined ? [] : [what.shard]),
  ]);

/** SHA-256 of a value's JSON, hexadecimal. */
export const fingerprint = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** The file that who works on a run of this key holds a lock on. */
export const lockPath = (root: string, key: string): string => path.join(root, `.${key}.lock`);

/** Makes the folder that holds the runs. */
export function makeStateFolder(root: string): void {
  for (const made of makePrivateFolder(root)) fsyncFolder(path.dirname(made));
}

/**
 * Makes a run folder under `root`, to be called while holding the run's lock. It exists for
 * others once its files are on the disk: a journal that is missing later is lost. The journal
 * begins with the header, too, so that the damage of one file does not hide the run.
 */
export function createRun(
  root: string,
  header: RunHeader,
): RunFolder & { readonly journal: ParsedJournal } {
  const folder = path.join(root, header.run);
  const draft = draftOf(root, header);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  const checked = { ...header, checksum: fingerprint(header) };
  createFile(path.join(draft, headerFile), `${JSON.stringify(checked, null, 2)}\n`);
  const journal = createJournal(path.join(draft, journalFile), checked);
  fsyncFolder(draft);
  renameSync(draft, folder);
  fsyncFolder(root);
  return { path: folder, header, journal };
}

/**
 * Where a run folder is made and taken apart. There is one for each key, and the next run of that
 * key uses it again: so no crash leaves a folder behind for ever.
 */
const draftOf = (root: string, { key }: RunPlace['header']): string => path.join(root, `.${key}`);

/** The unfinished runs under `root`, the oldest first. Throws E-CONFIG-FILE. */
export const listRuns = (root: string, runtime: TrustRuntime): readonly RunFolder[] =>
  foldersIn(root, runtime).flatMap((folder) => ('why' in folder ? [] : [folder]));

/** A run that this version cannot go on with. */
export interface UnreadableRun {
  readonly path: string;
  /** In a few words. */
  readonly why: string;
  /** What its header says, where that is an object. */
  readonly header?: Readonly<Record<string, unknown>>;
}

/** The runs under `root` whose header is of another version, or damaged. Throws E-CONFIG-FILE. */
export const listUnreadable = (root: string, runtime: TrustRuntime): readonly UnreadableRun[] =>
  foldersIn(root, runtime).flatMap((folder) => ('why' in folder ? [folder] : []));

function foldersIn(root: string, runtime: TrustRuntime): (RunFolder | UnreadableRun)[] {
  const names = namesIn(root).filter((name) => !name.startsWith('.'));
  return names
    .toSorted((a, b) => (a < b ? -1 : 1))
    .flatMap((name) => readRun(path.join(root, name), runtime) ?? []);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Undefined for a folder that is no run: it holds none of the files of one. Throws E-CONFIG-FILE. */
function readRun(folder: string, runtime: TrustRuntime): RunFolder | UnreadableRun | undefined {
  if (!namesIn(folder).some(isOfRun)) return undefined;
  refuseUntrusted(folder, runtime);
  const read = (name: string) => readTrusted(path.join(folder, name), runtime);
  const found = headerIn(() => JSON.parse(read(headerFile).toString()));
  if ('header' in found) return ofItsName(folder, found.header);
  const second = found.isOther ? found : headerIn(() => readJournalHeader(read(journalFile)));
  if ('header' in second) return ofItsName(folder, second.header);
  const { why, said } = found;
  return { path: folder, why, ...(said && { header: said }) };
}

/** A copy knows nothing of what was sent since: to go on with it could send that a second time. */
function ofItsName(folder: string, header: RunHeader): RunFolder | UnreadableRun {
  if (path.basename(folder) === header.run) return { path: folder, header };
  const why = `it holds run ${header.run}, so it is a copy of its folder, or was renamed`;
  return { path: folder, why, header: { ...header } };
}

const isOfRun = (name: string): boolean => name === headerFile || name.startsWith(journalFile);

type Said = Readonly<Record<string, unknown>>;

interface NoHeader {
  readonly why: string;
  /** What it says all the same. */
  readonly said?: Said;
  /** It is whole, and of another version. */
  readonly isOther?: true;
}

/** A header whose checksum fits, or why there is none. */
function headerIn(read: () => unknown): { readonly header: RunHeader } | NoHeader {
  let said: Said;
  try {
    const value = read();
    if (typeof value !== 'object' || value === null) throw new Error('it is no object');
    said = value as Said;
  } catch (error) {
    if (error instanceof EngagectlError && error.id === 'E-CONFIG-FILE') throw error;
    return { why: `${headerFile} cannot be read: ${(error as Error).message}` };
  }
  const { checksum, ...header } = said;
  const isWhole = checksum === fingerprint(header);
  const known = header['version'];
  if (isWhole && known === version) {
    if (isHeader(header)) return { header };
    return { why: `${headerFile} is damaged: a member of it is not what a run has there` };
  }
  // The first version had no checksum.
  if (!isWhole && (checksum !== undefined || known === version)) {
    return { why: `${headerFile} is damaged: its checksum does not fit` };
  }
  const why = `it is of version ${JSON.stringify(known)}, and this program knows ${version}`;
  return { why, said, isOther: true };
}

/** A checksum proves nothing of who wrote it: the key and the id become names of files. */
const isHeader = (header: unknown): header is RunHeader => {
  const { run, key, command, argv, cwd, started, accountId, host, files, shard } = header as Record<
    keyof RunHeader,
    unknown
  >;
  const others = [command, cwd, started, accountId, host, ...(shard === undefined ? [] : [shard])];
  return (
    typeof run === 'string' &&
    /^[A-Za-z0-9][\w.-]{0,99}$/.test(run) &&
    typeof key === 'string' &&
    /^[0-9a-f]{64}$/.test(key) &&
    [argv, files].every((list) => Array.isArray(list) && list.every(isText)) &&
    others.every(isText)
  );
};

const isText = (value: unknown): value is string => typeof value === 'string';

/** To be called while holding the run's lock. Throws E-FILE-WRITE. */
export function removeRun({ path: folder, header }: RunPlace, words: Wording): void {
  const draft = draftOf(path.dirname(folder), header);
  try {
    rmSync(draft, { recursive: true, force: true });
    renameSync(folder, draft);
    try {
      // A power cut must not bring it back without its journal: it would be begun once more.
      fsyncFolder(path.dirname(folder));
    } catch (error) {
      renameSync(draft, folder); // it would be begun once more by --resume, too
      throw error;
    }
    rmSync(draft, { recursive: true, force: true });
  } catch (cause) {
    throw new EngagectlError('E-FILE-WRITE', `cannot remove the run folder ${folder}`, {
      why: cause instanceof Error ? cause.message : String(cause),
      fix: `make the state folder writable; ${words.option('resume')} then finds what is left to do, if anything`,
      resumes: true,
      file: folder,
      cause,
    });
  }
}

/** Takes a lock like that of a run in the folder, and lets go of it. Throws what stands in the way. */
export async function tryLock(folder: string, runtime: Pick<Runtime, 'token'>): Promise<void> {
  const lock = await lockRun(path.join(folder, `.doctor-${runtime.token()}.lock`));
  lock.release();
}
