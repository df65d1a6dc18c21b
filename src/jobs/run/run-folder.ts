import path from 'node:path';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { readJournalHeader, type ParsedJournal } from '../../bulk/journal/journal-format.js';
import { createJournal } from '../../bulk/journal/journal.js';
import { EngagectlError } from '../../errors.js';
import { fileErrorReason } from '../../files/file-errors.js';
import { createFile, makePrivateFolder, fsyncFolder } from '../../files/atomic-write.js';
import { readTrusted, refuseUntrusted, type TrustRuntime } from '../../files/ownership.js';
import { lockRun } from '../../files/file-lock.js';
import type { Wording } from '../job-context.js';
import type { Runtime } from '../../runtime.js';

/** Header of a run, without secrets. Written once at the start. */
export interface RunHeader {
  readonly version: 2;
  readonly run: string;
  /** Equal for runs of the same command, account and files; see `runKey`. */
  readonly key: string;
  readonly command: string;
  /** Command line without the program name, and its working directory. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** ISO 8601. */
  readonly started: string;
  readonly accountId: string;
  /** Host of the service; for the embedded service the region name `local`. */
  readonly host: string;
  /** Absolute paths: the inputs of a write, or the output of an export. */
  readonly files: readonly string[];
  /** Shard of the input or range, like `2/8`. */
  readonly shard?: string | undefined;
  /** Time zone of an upload, if it is not UTC. */
  readonly timezone?: string | undefined;
  /** Fingerprint of the options that change what is sent or requested. */
  readonly options: string;
  /** It was started with `retryUnknown`. */
  readonly retryUnknown?: boolean | undefined;
}

/** Members that identify a run. */
export type RunIdentity = Pick<RunHeader, 'command' | 'accountId' | 'host' | 'files' | 'shard'>;

/** Folder (mode 0700) with the state of one unfinished run. */
export interface RunFolder {
  readonly path: string;
  readonly header: RunHeader;
}

/** Part of a run folder to keep in memory; a full header may list many thousands of files. */
export interface RunPlace {
  readonly path: string;
  readonly header: Pick<RunHeader, 'run' | 'key' | 'retryUnknown'>;
}

const version = 2;
const headerFile = 'run.json';
const journalFile = 'journal.ndjson';

/** Returns the path of the journal of a run. */
export const journalPath = ({ path: folder }: RunPlace): string => path.join(folder, journalFile);

export const runKey = (what: RunIdentity): string =>
  fingerprint([
    what.command,
    what.accountId,
    what.host,
    what.files,
    ...(what.shard === undefined ? [] : [what.shard]),
  ]);

/** Sorts the lists among options, such as types: their order does not change what is sent. */
export const withSortedLists = (options: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.toSorted(byJson) : value,
    ]),
  );

const byJson = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

/** Returns the hexadecimal SHA-256 of a value's JSON. */
export const fingerprint = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** Returns the path of the lock file of a run key. */
export const lockPath = (root: string, key: string): string => path.join(root, `.${key}.lock`);

/** Creates the folder of runs. */
export function makeStateFolder(root: string): void {
  for (const made of makePrivateFolder(root)) fsyncFolder(path.dirname(made));
}

/**
 * Creates a run folder under `root`. Call while holding the run's lock. The folder becomes visible
 * only after its files are on disk, so a missing journal is always a loss. The journal repeats the
 * header, so damage to one file does not hide the run.
 */
export function createRun(
  root: string,
  header: RunHeader,
): RunFolder & { readonly journal: ParsedJournal } {
  const folder = path.join(root, header.run);
  const temporary = temporaryPathOf(root, header);
  rmSync(temporary, { recursive: true, force: true });
  mkdirSync(temporary, { mode: 0o700 });
  const checked = { ...header, checksum: fingerprint(header) };
  createFile(path.join(temporary, headerFile), `${JSON.stringify(checked, null, 2)}\n`);
  const journal = createJournal(path.join(temporary, journalFile), checked);
  fsyncFolder(temporary);
  renameSync(temporary, folder);
  fsyncFolder(root);
  return { path: folder, header, journal };
}

/**
 * Returns the temporary folder in which a run folder is built and deleted. There is one per key and
 * the next run of that key reuses it, so crashes leave no garbage.
 */
const temporaryPathOf = (root: string, { key }: RunPlace['header']): string =>
  path.join(root, `.${key}`);

/** Lists the unfinished runs under `root`, oldest first. Throws E-CONFIG-FILE. */
export const listRuns = (root: string, runtime: TrustRuntime): readonly RunFolder[] =>
  foldersIn(root, runtime).flatMap((folder) => ('why' in folder ? [] : [folder]));

/** A run that this version cannot resume. */
export interface UnreadableRun {
  readonly path: string;
  /** Cause in a few words. */
  readonly why: string;
  /** Raw header, if it is an object. */
  readonly header?: Readonly<Record<string, unknown>>;
}

/** Lists runs under `root` whose header is damaged or of another version. Throws E-CONFIG-FILE. */
export const listUnreadable = (root: string, runtime: TrustRuntime): readonly UnreadableRun[] =>
  foldersIn(root, runtime).flatMap((folder) => ('why' in folder ? [folder] : []));

function foldersIn(root: string, runtime: TrustRuntime): (RunFolder | UnreadableRun)[] {
  const names = namesIn(root);
  if (names instanceof Error) {
    throw new EngagectlError('E-CONFIG-FILE', `the folder of runs ${root} cannot be read`, {
      why: fileErrorReason(names),
      fix: 'make it readable, or set another state directory with ENGAGECTL_STATE_DIR',
      file: root,
      cause: names,
    });
  }
  return names
    .filter((name) => !name.startsWith('.'))
    .toSorted((a, b) => (a < b ? -1 : 1))
    .flatMap((name) => readRun(path.join(root, name), runtime) ?? []);
}

/** Returns the names in a folder, none if it does not exist, or why they cannot be read. */
function namesIn(folder: string): readonly string[] | Error {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return ['ENOENT', 'ENOTDIR'].includes(code) ? [] : (error as Error);
  }
}

/** Reads a run folder; undefined if it contains no run files. Throws E-CONFIG-FILE. */
function readRun(folder: string, runtime: TrustRuntime): RunFolder | UnreadableRun | undefined {
  const names = namesIn(folder);
  if (names instanceof Error) return { path: folder, why: fileErrorReason(names) };
  if (!names.some(isOfRun)) return undefined;
  refuseUntrusted(folder, runtime);
  const read = (name: string) => readTrusted(path.join(folder, name), runtime);
  const found = headerIn(() => JSON.parse(read(headerFile).toString()));
  if ('header' in found) return ofItsName(folder, found.header);
  const second = found.isOther ? found : headerIn(() => readJournalHeader(read(journalFile)));
  if ('header' in second) return ofItsName(folder, second.header);
  const { why, messages } = found;
  return { path: folder, why, ...(messages && { header: messages }) };
}

/** Refuses a copied folder: resuming an outdated copy could resend records. */
function ofItsName(folder: string, header: RunHeader): RunFolder | UnreadableRun {
  if (path.basename(folder) === header.run) return { path: folder, header };
  const why = `it contains run ${header.run}, so the folder was copied or renamed`;
  return { path: folder, why, header: { ...header } };
}

const isOfRun = (name: string): boolean => name === headerFile || name.startsWith(journalFile);

type MessageObject = Readonly<Record<string, unknown>>;

interface NoHeader {
  readonly why: string;
  /** Raw header, if it is an object. */
  readonly messages?: MessageObject;
  /** The header is intact but of another version. */
  readonly isOther?: true;
}

/** Reads a header and verifies its checksum and members; otherwise returns the cause. */
function headerIn(read: () => unknown): { readonly header: RunHeader } | NoHeader {
  let messages: MessageObject;
  try {
    const value = read();
    if (typeof value !== 'object' || value === null) throw new Error('it is not an object');
    messages = value as MessageObject;
  } catch (error) {
    if (error instanceof EngagectlError && error.id === 'E-CONFIG-FILE') throw error;
    return { why: `${headerFile} cannot be read: ${(error as Error).message}` };
  }
  const { checksum, ...header } = messages;
  const isWhole = checksum === fingerprint(header);
  const known = header['version'];
  if (isWhole && known === version) {
    if (isHeader(header)) return { header };
    return { why: `${headerFile} is damaged: a member has an invalid value` };
  }
  // The first version had no checksum.
  if (!isWhole && (checksum !== undefined || known === version)) {
    return { why: `${headerFile} is damaged: its checksum does not match` };
  }
  const why = `it has version ${JSON.stringify(known)}, and this program supports ${version}`;
  return { why, messages, isOther: true };
}

/** Validates a header. A checksum does not prove the author, and key and id become file names. */
const isHeader = (header: unknown): header is RunHeader => {
  const { run, key, command, argv, cwd, started, accountId, host, files, shard, timezone } =
    header as Record<keyof RunHeader, unknown>;
  const optional = [shard, timezone].filter((one) => one !== undefined);
  const others = [command, cwd, started, accountId, host, ...optional];
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

/** Deletes a run folder. Call while holding the run's lock. Throws E-FILE-WRITE. */
export function removeRun({ path: folder, header }: RunPlace, words: Wording): void {
  const temporary = temporaryPathOf(path.dirname(folder), header);
  try {
    rmSync(temporary, { recursive: true, force: true });
    renameSync(folder, temporary);
    try {
      // After a power failure it must not reappear without its journal: it would restart.
      fsyncFolder(path.dirname(folder));
    } catch (error) {
      renameSync(temporary, folder); // --resume would restart it, too
      throw error;
    }
    rmSync(temporary, { recursive: true, force: true });
  } catch (cause) {
    throw new EngagectlError('E-FILE-WRITE', `cannot remove the run folder ${folder}`, {
      why: cause instanceof Error ? cause.message : String(cause),
      fix: `make the state directory writable; ${words.option('resume')} then finishes what is left, if anything`,
      resumes: true,
      file: folder,
      cause,
    });
  }
}

/** Acquires and releases a run lock in the folder, as a test. Throws the error of the lock. */
export async function tryLock(folder: string, runtime: Pick<Runtime, 'token'>): Promise<void> {
  const lock = await lockRun(path.join(folder, `.doctor-${runtime.token()}.lock`));
  lock.release();
}
