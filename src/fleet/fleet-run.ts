import path from 'node:path';
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  createReadStream,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  type Dirent,
} from 'node:fs';
import { EngagectlError, type ExitCode } from '../errors.js';
import { noFollow, replaceFile } from '../files/atomic-write.js';
import { refuseUntrusted, type TrustRuntime } from '../files/ownership.js';
import { fingerprint } from '../jobs/run/run-folder.js';
import { textStart } from '../jobs/input-files.js';
import { shardName } from '../jobs/shard.js';
import { ShardFolder, resultName } from './shard-folder.js';
import { canonicalJson, untrusted, type FleetKey } from './signature.js';
import type { Shard } from '../jobs/job-options.js';

/** What a fleet can do. */
const fleetCommands = ['upload', 'subscribe', 'demerge', 'export-events'] as const;
export type FleetCommand = (typeof fleetCommands)[number];

/** What is to be done, without secrets: in the work folder, where every worker reads it. */
export interface FleetRun {
  readonly version: number;
  readonly run: string;
  readonly command: FleetCommand;
  /** The command's arguments, and the folder they were typed in. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Names of a config profile and a region; undefined: whatever a worker has. */
  readonly profile?: string | undefined;
  readonly region?: string | undefined;
  readonly timezone?: string | undefined;
  readonly accountId: string;
  readonly host: string;
  /** Of an export: how many slices there are. */
  readonly shards: number;
  /** The inputs: absolute paths, with what they held. A worker reads no others, and none with another content. */
  readonly files: readonly InputFile[];
  /** The file of `--mapping`, likewise. */
  readonly mapping?: InputFile | undefined;
  /** Days of an export, relative ones resolved. */
  readonly range?: { readonly from: string; readonly to: string } | undefined;
  /** Absolute path of the directory that holds the run's. */
  readonly workDir: string;
}

/** As much of a run as names the account that must have signed it. */
export type RunAccount = Pick<FleetRun, 'accountId' | 'host' | 'profile' | 'region' | 'timezone'>;

export interface InputFile {
  readonly file: string;
  readonly bytes: number;
  /** Of the content, SHA-256. */
  readonly digest: string;
  /** It begins with records that do harm when sent twice. */
  readonly once?: boolean;
}

/** What became of a shard that was worked through. */
export interface ShardResult {
  readonly shard: number;
  readonly worker: string;
  readonly exitCode: ExitCode;
  readonly seconds: number;
  /** Wall clock, milliseconds since 1970. */
  readonly ended: number;
  /** Figures of its summary. */
  readonly figures: Readonly<Record<string, number>>;
  /** Names in its folder. */
  readonly rejectsFile: string | null;
  readonly output: string | null;
}

/** What a job of the queue holds: whose shard of which run, and where that is. */
export interface ShardJob {
  readonly run: string;
  readonly workDir: string;
  readonly shard: Shard;
  readonly signature: string;
}

/** Version 3: a folder for each owner of a shard. Version 2: signed, with names of files instead of paths. */
export const fleetVersion = 3;

/** A run and its results are read whole; more is none of ours. */
const maxHeaderBytes = 64 * 1024 * 1024;

/** All of a run, in order. */
export const shardsOf = ({ shards }: Pick<FleetRun, 'shards'>): Shard[] =>
  Array.from({ length: shards }, (_, at) => ({ index: at + 1, count: shards }));

export const isRunId = (text: unknown): text is string =>
  typeof text === 'string' && /^[0-9a-f]{12}$/.test(text);

/** Throws E-USAGE. */
export function assertRunId(text: string): void {
  if (isRunId(text)) return;
  throw new EngagectlError('E-USAGE', `"${String(text)}" is not the id of a run`, {
    why: 'an id has twelve characters of 0-9 and a-f',
    fix: 'engagectl fleet status lists the runs',
  });
}

export const isShard = (shard: unknown): shard is Shard => {
  const { index, count } = Object(shard) as Shard;
  return [index, count].every(Number.isSafeInteger) && index >= 1 && index <= count;
};

/** An absolute path in its shortest form: without `..`, and without a NUL, at which the system would cut it. */
export const isWorkDir = (text: unknown): text is string =>
  typeof text === 'string' && !text.includes('\0') && path.resolve(text) === text;

/** The same for the same work: what is submitted twice is one run. */
export function fleetRunId(run: Omit<FleetRun, 'run' | 'version' | 'workDir'>, workDir: string) {
  const files = run.files.map(({ file, digest: content }) => [file, content]);
  return fingerprint([{ ...run, files }, workDir]).slice(0, 12);
}

/** Folders and files of a run, on a disk that all workers see. Nothing in it is followed that is a link. */
export class WorkDirectory {
  readonly path: string;

  /** Throws E-USAGE for what is not the id of a run. */
  constructor(workDir: string, run: string) {
    assertRunId(run);
    this.path = path.join(workDir, run);
  }

  /**
   * Rejects a work directory or run directory that another user owns or can write to: journals and rejects
   * files in it are not signed. Missing directories pass. Throws E-CONFIG-FILE.
   */
  refuseUntrusted(runtime: TrustRuntime): void {
    for (const each of [path.dirname(this.path), this.path]) refuseUntrusted(each, runtime);
  }

  /** Folder of one shard: its journal, rejects, slice and result. */
  shard(shard: Shard): ShardFolder {
    return new ShardFolder(path.join(this.path, 'shards', shardName(shard)));
  }

  get exists(): boolean {
    return existsSync(this.#runFile);
  }

  /** Writes the run where none is, or another one. Throws E-FILE-WRITE, as all that writes here; E-UNTRUSTED. */
  create(run: FleetRun, signature: string): void {
    const isNew = !this.exists;
    this.written(() => {
      // A shard of a known run whose folder is gone is not created again: its journal is lost.
      if (isNew) for (const shard of shardsOf(run)) this.shard(shard).create();
    });
    for (const shard of shardsOf(run)) this.checkPath(shard);
    this.put(this.#runFile, { ...run, signature });
  }

  /**
   * What `fleet.json` says, which anybody may have written. Throws what `read` does, but for its signature. Of
   * runs that are only compared, those of older versions will do.
   */
  unverified({ older = false } = {}): FleetRun & { readonly signature?: unknown } {
    const fix = 'the work folder has to be the same for submit, collect and all workers';
    this.refuseLink(this.path);
    const found = readOwn(this.#runFile, fix) as { readonly version?: unknown };
    const run = older ? { workDir: path.dirname(this.path), ...found } : found;
    const { version } = run;
    if (version !== fleetVersion && !(older && (version === 1 || version === 2))) {
      throw new EngagectlError('E-RUN-VERSION', `the run in ${this.path} is of another version`, {
        why: `it is of version ${String(version)}, and this program knows ${fleetVersion}`,
        fix: 'use the same version of engagectl for submit, collect and all workers',
        file: this.#runFile,
      });
    }
    if (isRunHeader(run)) return run;
    throw this.#notSigned('it has not the members of a run');
  }

  /**
   * The run, signed by its account, in the place that it was signed for. `keyOf` derives the key of the account
   * that the file names. Throws E-FILE-READ: the folder is not one that this machine sees; E-RUN-VERSION,
   * E-UNTRUSTED.
   */
  async read(keyOf: (account: RunAccount) => Promise<FleetKey>): Promise<SignedRun> {
    const { signature, ...run } = this.unverified(); // once: what was verified is what is used
    const key = await keyOf(run);
    if (!key.verify('run', run, signature)) {
      throw this.#notSigned(
        'somebody else wrote or changed it, or the passcode is another one than at fleet submit',
      );
    }
    const place = path.join(run.workDir, run.run);
    if (place !== this.path && placeOf(place) !== placeOf(this.path)) {
      throw untrusted(`the run in ${this.path} was submitted to ${run.workDir}`, {
        why: 'a copy in another place could send its records once more',
        fix: 'put it back where it was submitted to',
        file: this.path,
      });
    }
    return new SignedRun(run, { folder: this, key });
  }

  get isCancelled(): boolean {
    return existsSync(this.#cancelledFile);
  }

  cancel(): void {
    this.written(() => replaceFile(this.#cancelledFile, ''));
  }

  uncancel(): void {
    this.written(() => rmSync(this.#cancelledFile, { force: true }));
  }

  /** Refuses a shard with a link in its path below the work directory. Throws E-UNTRUSTED. */
  checkPath(shard: Shard): void {
    const { path: folder } = this.shard(shard);
    for (const each of [this.path, path.dirname(folder), folder]) this.refuseLink(each);
  }

  /** Refuses a link anywhere in a shard's folder: what is written there would be written elsewhere. Throws E-UNTRUSTED. */
  refuseLinks(shard: Shard): void {
    this.checkPath(shard);
    const folders = [this.shard(shard).path];
    for (let folder; (folder = folders.pop()) !== undefined;) {
      for (const entry of entriesOf(folder)) {
        const name = path.join(folder, entry.name);
        if (entry.isDirectory()) folders.push(name);
        else this.refuseLink(name);
      }
    }
  }

  /** Neither a file nor a directory: opening it leads elsewhere, or waits. */
  refuseLink(name: string): void {
    const found = lstatSync(name, { throwIfNoEntry: false });
    if (!found || found.isFile() || found.isDirectory()) return;
    throw linked(name, `remove it, then: engagectl fleet retry ${path.basename(this.path)}`);
  }

  /** It is there whole, or not at all. */
  put(file: string, content: object): void {
    this.written(() => replaceFile(file, `${JSON.stringify(content, null, 2)}\n`));
  }

  written(work: () => void): void {
    try {
      work();
    } catch (cause) {
      throw new EngagectlError('E-FILE-WRITE', `cannot write to the work folder ${this.path}`, {
        why: (cause as Error).message,
        fix: 'make it writable, or name another that submit, collect and all workers see',
        file: this.path,
        cause,
      });
    }
  }

  get #runFile(): string {
    return path.join(this.path, 'fleet.json');
  }

  get #cancelledFile(): string {
    return path.join(this.path, 'cancelled');
  }

  #notSigned(why: string): EngagectlError {
    return untrusted(`${this.#runFile} is not signed by this account's passcode`, {
      why,
      fix: 'submit the same command again, which writes and signs it',
      file: this.#runFile,
    });
  }
}

/** A run that its account signed: what it says may be done. Signs its jobs and results, and verifies them. */
export class SignedRun {
  readonly run: FleetRun;
  readonly folder: WorkDirectory;
  /** Binds all that the run says: argv, inputs, account, place. Jobs and results are signed with it. */
  readonly signature: string;
  readonly #key: FleetKey;

  /** For a run that is verified, or made by this process. */
  constructor(run: FleetRun, { folder, key }: { folder: WorkDirectory; key: FleetKey }) {
    this.run = run;
    this.folder = folder;
    this.signature = key.sign('run', run);
    this.#key = key;
  }

  /** `fleet.json` is this run, with this signature. */
  get isInPlace(): boolean {
    if (!this.folder.exists) return false;
    try {
      const { signature, ...run } = this.folder.unverified();
      return signature === this.signature && canonicalJson(run) === canonicalJson(this.run);
    } catch (error) {
      if (isOf(error, 'E-UNTRUSTED') || isOf(error, 'E-FILE-READ')) return false;
      throw error;
    }
  }

  job(shard: Shard): ShardJob {
    const job = this.#jobOf(shard);
    return { ...job, signature: this.#key.sign('shard', { ...job, of: this.signature }) };
  }

  /** The job is one of this run, as `fleet submit` or `fleet retry` put it into the queue. */
  isJob({ signature, shard, ...job }: ShardJob): boolean {
    const { run, workDir } = this.#jobOf(shard);
    const content = { run, workDir, shard, of: this.signature };
    const isOurs = job.run === run && job.workDir === workDir && shard.count === this.run.shards;
    return isOurs && this.#key.verify('shard', content, signature);
  }

  #jobOf(shard: Shard): Omit<ShardJob, 'signature'> {
    const { index, count } = shard;
    return { run: this.run.run, workDir: this.run.workDir, shard: { index, count } };
  }

  /** Throws E-FILE-READ, and E-UNTRUSTED for one that no worker of this account wrote. */
  result(shard: Shard): ShardResult | undefined {
    const epoch = this.#currentFolder(shard);
    if (epoch === undefined) return undefined;
    const file = path.join(epoch, resultName);
    if (!lstatSync(file, { throwIfNoEntry: false })) return undefined;
    const fix = 'remove it: fleet retry then finds by the journal what is left to do';
    const { signature, ...result } = readOwn(file, fix) as ShardResult & { signature?: unknown };
    if (this.#key.verify('result', { result, of: this.signature, shard }, signature)) return result;
    throw untrusted(`${file} is not signed by this account's passcode`, {
      why: 'somebody else wrote or changed it, or the passcode was another one when the shard ended',
      fix: `engagectl fleet retry ${this.run.run}    (finds by its journal what is left to do)`,
      file,
    });
  }

  /** Undefined also for a result that is not to be believed. Throws E-FILE-READ. */
  trustedResult(shard: Shard): ShardResult | undefined {
    try {
      return this.result(shard);
    } catch (error) {
      if (isOf(error, 'E-UNTRUSTED')) return undefined;
      throw error;
    }
  }

  /** Of the shards that are done, in order. Throws E-FILE-READ, E-UNTRUSTED. */
  results(): ShardResult[] {
    return shardsOf(this.run).flatMap((shard) => this.result(shard) ?? []);
  }

  /** Writes the result of a shard to the folder of its owner. Keeps the names of files, not their paths. */
  setResult(shard: Shard, folder: string, outcome: ShardResult): ShardResult {
    const { rejectsFile, output, ...rest } = outcome;
    const result = { ...rest, rejectsFile: nameOf(rejectsFile), output: nameOf(output) };
    const signature = this.#key.sign('result', { result, of: this.signature, shard });
    this.folder.put(path.join(folder, resultName), { ...result, signature });
    return result;
  }

  /** Path of a file that a result names. Throws E-UNTRUSTED for one outside of the shard's folder, and for a link. */
  fileOf({ shard: index }: ShardResult, name: string): string {
    const shard = { index, count: this.run.shards };
    const folder = this.#currentFolder(shard) ?? this.folder.shard(shard).path;
    const file = path.join(folder, name);
    if (path.dirname(file) === folder && path.basename(file) === name) {
      this.folder.refuseLink(file);
      return file;
    }
    throw untrusted(`"${name}" is not the name of a file of shard ${index}`, {
      why: 'the files of a shard lie in its folder',
      fix: `engagectl fleet retry ${this.run.run}`,
    });
  }

  /** Throws E-UNTRUSTED for a link in its path. */
  #currentFolder(shard: Shard): string | undefined {
    this.folder.checkPath(shard);
    const { current } = this.folder.shard(shard);
    if (current !== undefined) this.folder.refuseLink(current);
    return current;
  }
}

const isOf = (error: unknown, id: EngagectlError['id']): error is EngagectlError =>
  error instanceof EngagectlError && error.id === id;

const nameOf = (file: string | null): string | null => (file === null ? null : path.basename(file));

const isText = (value: unknown): boolean => typeof value === 'string';

/** The members by which an account is chosen and the signature is computed; what is signed may be relied on. */
function isRunHeader(value: unknown): value is FleetRun {
  const { run, workDir, shards, accountId, host, profile, region, files } = Object(
    value,
  ) as Partial<Record<keyof FleetRun, unknown>>;
  return (
    isRunId(run) &&
    isWorkDir(workDir) &&
    isShard({ index: 1, count: shards }) &&
    [accountId, host].every(isText) &&
    Array.isArray(files) &&
    files.every((file) => isText((Object(file) as Partial<InputFile>).digest)) &&
    (profile === undefined || (typeof profile === 'string' && /^[\w-]{1,64}$/.test(profile))) &&
    (region === undefined || isText(region))
  );
}

/** None of a folder that is gone, or goes meanwhile: an earlier worker may still be awake. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Reads JSON from a regular file, without following a link. Throws E-FILE-READ, E-UNTRUSTED. */
function readOwn(file: string, fix: string): object {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | noFollow);
    const found = fstatSync(descriptor);
    if (!found.isFile() || found.size > maxHeaderBytes) throw new Error('it is no file of a fleet');
    return Object(JSON.parse(readFileSync(descriptor, 'utf8'))) as object;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ELOOP') throw linked(file, fix);
    const why = message;
    throw new EngagectlError('E-FILE-READ', `cannot read ${file}`, { why, fix, file, cause });
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

const linked = (file: string, fix: string): EngagectlError =>
  untrusted(`${file} is a link, or no regular file`, {
    why: 'nothing of ours is one in a work folder, and it leads to files that are not of the run',
    fix,
    file,
  });

/** Where a path leads, links followed; the path itself where nothing is. */
export function placeOf(name: string): string {
  try {
    return realpathSync(name);
  } catch {
    return name;
  }
}

/** What an input holds now. Throws E-FILE-READ. */
export async function inputFile(file: string): Promise<InputFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  let once = false;
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
      if (bytes === 0) once = ofOnce.test(await textStart(chunk as Buffer));
      hash.update(chunk as Buffer);
      bytes += (chunk as Buffer).length;
    }
  } catch (cause) {
    throw new EngagectlError('E-FILE-READ', `cannot read ${file}`, {
      why: (cause as Error).message,
      fix: 'correct the name, or its permissions',
      file,
      cause,
    });
  }
  return { file, bytes, digest: hash.digest('hex'), ...(once && { once }) };
}

/** Events, exported ones among them, and operators, as NDJSON and JSON have them. */
const ofOnce = /"type"\s*:\s*"event"|"event_props"\s*:|"\$(?:incr|decr|add)"/;
