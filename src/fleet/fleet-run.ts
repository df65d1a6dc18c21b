import path from 'node:path';
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  fstatSync,
  lstatSync,
  readdirSync,
  realpathSync,
  rmSync,
  type Dirent,
} from 'node:fs';
import { EngagectlError, type ExitCode } from '../errors.js';
import { AtomicFile, replaceFile } from '../files/atomic-write.js';
import { fileReadError } from '../files/file-errors.js';
import { readChecked, refuseUntrusted, type TrustRuntime } from '../files/ownership.js';
import { fingerprint } from '../jobs/run/run-folder.js';
import { comparableText, startsWithEvents } from '../jobs/input-files.js';
import { shardName } from '../jobs/shard.js';
import { ShardFolder } from './shard-folder.js';
import type { WriteEndpoint } from '../contract/endpoints.js';
import type { Shard } from '../jobs/job-options.js';

/** Commands that a fleet can run. */
export type FleetCommand = WriteEndpoint | 'export-events';

/** Description of a run without secrets, stored in the work directory for all workers. */
export interface FleetRun {
  readonly version: number;
  readonly run: string;
  readonly command: FleetCommand;
  /** Arguments of the command, and the directory they refer to. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Names of a config profile and a region; undefined: the worker's default. */
  readonly profile?: string | undefined;
  readonly region?: string | undefined;
  readonly timezone?: string | undefined;
  readonly accountId: string;
  readonly host: string;
  /** For exports: number of slices. */
  readonly shards: number;
  /** Inputs: absolute paths and digests. A worker reads no other file, and none with another content. */
  readonly files: readonly InputFile[];
  /** File of `--mapping`, likewise. */
  readonly mapping?: InputFile | undefined;
  /** Date range of an export, with relative dates resolved. */
  readonly range?: { readonly from: string; readonly to: string } | undefined;
  /** Absolute path of the work directory. */
  readonly workDir: string;
  /** Undefined for a run without events. */
  readonly events?: FleetEvents | undefined;
}

/** The events of a run, which other submissions to the same work directory compare with theirs. */
export interface FleetEvents {
  /** Number of events that the run sends. */
  readonly count: number;
  /** Time of submission, ISO 8601. */
  readonly submitted: string;
  /** SHA-256 of their archive; undefined if there are none. */
  readonly digest?: string | undefined;
  /** Events of the input that other runs send. A bit of a file in the run's directory is set for each of them. */
  readonly alreadySent?: {
    readonly count: number;
    readonly digest: string;
    /** Ids of these runs. */
    readonly runs: readonly string[];
  };
}

/** The members that identify the account that must have signed the run. */
export type RunAccount = Pick<FleetRun, 'accountId' | 'host' | 'profile' | 'region' | 'timezone'>;

export interface InputFile {
  readonly file: string;
  readonly bytes: number;
  /** SHA-256 of the content. */
  readonly digest: string;
  /** Whether the file starts with records that are not idempotent. */
  readonly once?: boolean;
  /** Set for records that are not idempotent. */
  readonly text?: InputText;
}

/** The text of an input without compression, and with LF as line end. */
export interface InputText {
  readonly bytes: number;
  readonly lines: number;
  /** SHA-256. */
  readonly digest: string;
}

/** Result of a finished shard. */
export interface ShardResult {
  readonly shard: number;
  readonly worker: string;
  readonly exitCode: ExitCode;
  readonly seconds: number;
  /** Epoch milliseconds. */
  readonly ended: number;
  /** Figures of its summary. */
  readonly figures: Readonly<Record<string, number>>;
  /** File names in the shard's directory. */
  readonly rejectsFile: string | null;
  readonly output: string | null;
}

/** A job of the queue: a shard of a run, and where the run is. */
export interface ShardJob {
  readonly run: string;
  readonly workDir: string;
  readonly shard: Shard;
  readonly signature: string;
}

/** Version 4: events that other runs send are left out. Version 3: a folder for each owner of a shard. Version 2: signed, with names of files instead of paths. */
export const fleetVersion = 4;

/** Maximum size of a run file or result, which are read whole. */
const maxHeaderBytes = 64 * 1024 * 1024;
/** The same for the bits of 4 billion records. */
const maxBitsBytes = 512 * 1024 * 1024;

/** Returns all shards of a run, in order. */
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

/** Maximum bytes of the path of a work directory, which leaves room for the files in it, and of each of its names. */
const longestPath = { all: 3840, name: 255 };

/**
 * Whether a text is a normalized absolute path that the system accepts: without `..`, without NUL, at which the system
 * would truncate it, and not too long. Nor has it line ends, which would make lines of a message.
 */
export const isWorkDir = (text: unknown): text is string =>
  typeof text === 'string' &&
  Buffer.byteLength(text) <= longestPath.all &&
  text.split(path.sep).every((name) => Buffer.byteLength(name) <= longestPath.name) &&
  isLine(text) &&
  path.resolve(text) === text;

/** Returns the same id for the same work, so that submitting it twice gives one run. */
export function fleetRunId(
  run: Omit<FleetRun, 'run' | 'version' | 'workDir' | 'events'>,
  workDir: string,
) {
  const files = run.files.map(({ file, digest: content }) => [file, content]);
  return fingerprint([{ ...run, files }, workDir]).slice(0, 12);
}

/** Directories and files of a run, on a disk that all workers share. Never follows symbolic links. */
export class WorkDirectory {
  readonly path: string;

  /** Throws E-USAGE for an invalid run id. */
  constructor(workDir: string, run: string) {
    assertRunId(run);
    this.path = path.join(workDir, run);
  }

  /**
   * Rejects a work directory or run directory that another user owns or can write to: journals and
   * rejects files in it are not signed. Missing directories pass. Throws E-CONFIG-FILE.
   */
  refuseUntrusted(runtime: TrustRuntime): void {
    for (const each of [path.dirname(this.path), this.path]) refuseUntrusted(each, runtime);
  }

  /** Folder of one shard: its journal, rejects, slice and result. */
  shard(shard: Shard): ShardFolder {
    return new ShardFolder(path.join(this.path, 'shards', shardName(shard)));
  }

  /** Path of the copy of an input, which `--pin copy` makes. Its name is the digest of its content. */
  inputCopy({ digest: content }: InputFile): string {
    return path.join(this.path, 'inputs', content);
  }

  /**
   * Returns the path from which a worker reads an input: the copy if there is one, else the file itself.
   * The content is not compared. Throws E-UNTRUSTED for a link in the place of the copy.
   */
  inputPath(input: InputFile): string {
    const copy = this.inputCopy(input);
    for (const each of [this.path, path.dirname(copy), copy]) this.refuseLink(each);
    return existsSync(copy) ? copy : input.file;
  }

  /** Removes the copies of the inputs, which nobody needs after the last shard. */
  removeCopies(): void {
    this.written(() => rmSync(path.join(this.path, 'inputs'), { recursive: true, force: true }));
  }

  get exists(): boolean {
    return existsSync(this.#runFile);
  }

  /** Folder of what is known about the events of the run. */
  get events(): string {
    return path.join(this.path, 'events');
  }

  /** Archive of the events that the run sends. */
  get sentEvents(): string {
    return path.join(this.events, 'sent.archive');
  }

  /**
   * Reads which records of the input are events that other runs send: a bit for each ordinal. Undefined if there are
   * none. Throws E-UNTRUSTED if it is not what was signed.
   */
  alreadySent({ events }: Pick<FleetRun, 'events'>): Uint8Array | undefined {
    if (!events?.alreadySent) return undefined;
    const file = this.#alreadySentFile;
    for (const each of [this.path, this.events, file]) this.refuseLink(each);
    let why = 'somebody else wrote or changed it';
    try {
      const bits = readRegular(file, maxBitsBytes);
      if (sha256(bits) === events.alreadySent.digest) return bits;
    } catch (error) {
      why = (error as Error).message;
    }
    throw untrusted(`${file} is not the file that was signed`, {
      why,
      fix: 'submit the same command again, which writes it',
      file,
    });
  }

  /** Writes which records of the input are events that other runs send. Returns the digest of the file. */
  putAlreadySent(bits: Uint8Array): string {
    this.written(() => replaceFile(this.#alreadySentFile, bits));
    return sha256(bits);
  }

  get #alreadySentFile(): string {
    return path.join(this.events, 'already-sent.bits');
  }

  /** Removes the run file of a submission that was refused. */
  withdraw(): void {
    this.written(() => rmSync(this.#runFile, { force: true }));
  }

  /**
   * Writes the run. Returns false if another process wrote it for the first time meanwhile. Throws E-FILE-WRITE, like
   * all writing methods, and E-UNTRUSTED.
   */
  create(run: FleetRun, signature: string): boolean {
    const isNew = !this.exists;
    this.written(() => {
      // A shard of a known run whose folder is gone is not created again: its journal is lost.
      // A killed submission may have created some of them.
      const missing = isNew ? shardsOf(run).filter((one) => !this.shard(one).current) : [];
      for (const shard of missing) this.shard(shard).create();
    });
    for (const shard of shardsOf(run)) this.checkPath(shard);
    return this.put(this.#runFile, { ...run, signature }, { overwrite: !isNew });
  }

  /**
   * Reads `fleet.json` without verifying its signature; anyone may have written it. Throws the errors of
   * `read`. `anyVersion` accepts other versions, for comparisons only.
   */
  unverified({ anyVersion = false } = {}): FleetRun & { readonly signature?: unknown } {
    const fix = 'submit, collect and all workers must use the same work directory';
    try {
      this.refuseLink(this.path);
    } catch (cause) {
      if (cause instanceof EngagectlError) throw cause;
      const cure = 'check who queued this run, and the permissions of its work directory';
      throw fileReadError(this.path, cure, cause); // a part of its path is a file, or of another user
    }
    const found = readOwn(this.#runFile, fix) as { readonly version?: unknown };
    if (found.version !== fleetVersion && !anyVersion) throw this.otherVersion(found);
    const run = anyVersion ? { workDir: path.dirname(this.path), ...found } : found;
    if (isRunHeader(run)) return run;
    throw this.notSigned('it does not have the members of a run');
  }

  /** Returns the E-RUN-VERSION error for a run of another version. */
  otherVersion({ version }: { readonly version?: unknown }): EngagectlError {
    return new EngagectlError('E-RUN-VERSION', `the run in ${this.path} is of another version`, {
      why: `it is of version ${JSON.stringify(version)}, and this program knows ${fleetVersion}`,
      fix: 'use the same version of engagectl for submit, collect and all workers',
      file: this.#runFile,
    });
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

  /**
   * Refuses a link anywhere in a shard's directory, because writes would go elsewhere. Throws
   * E-UNTRUSTED.
   */
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

  /** Refuses everything except files and directories: opening it could lead elsewhere, or block. */
  refuseLink(name: string): void {
    const found = lstatSync(name, { throwIfNoEntry: false });
    if (!found || found.isFile() || found.isDirectory()) return;
    throw linked(name, `remove it, then: engagectl fleet retry ${path.basename(this.path)}`);
  }

  /** Writes a file atomically. Without `overwrite`, returns false if it exists. */
  put(file: string, content: object, { overwrite = true } = {}): boolean {
    let isWritten = true;
    this.written(() => {
      const temporary = new AtomicFile(file);
      temporary.write(`${JSON.stringify(content, null, 2)}\n`);
      try {
        temporary.commit({ overwrite });
      } catch (error) {
        if (overwrite || (error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        isWritten = false;
      }
    });
    return isWritten;
  }

  written(work: () => void): void {
    try {
      work();
    } catch (cause) {
      throw this.notWritten(cause as Error);
    }
  }

  /** Returns the E-FILE-WRITE error for an error of the file system. */
  notWritten(cause: Error): EngagectlError {
    return new EngagectlError('E-FILE-WRITE', `cannot write to the work directory ${this.path}`, {
      why: cause.message,
      fix: 'make it writable, or name another that submit, collect and all workers see',
      file: this.path,
      cause,
    });
  }

  get #runFile(): string {
    return path.join(this.path, 'fleet.json');
  }

  get #cancelledFile(): string {
    return path.join(this.path, 'cancelled');
  }

  /** Returns the E-UNTRUSTED error for a run without a valid signature. */
  notSigned(why: string): EngagectlError {
    return untrusted(`${this.#runFile} is not signed by this account's passcode`, {
      why,
      fix: 'submit the same command again, which writes and signs it',
      file: this.#runFile,
    });
  }
}

const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

const isLine = (value: unknown): boolean => typeof value === 'string' && !/\p{Cc}/u.test(value);

const isText = (value: unknown): boolean => typeof value === 'string';

/** Checks the members that select the account and the signature; signed members can be relied on. */
function isRunHeader(value: unknown): value is FleetRun {
  const { run, workDir, shards, accountId, host, profile, region, files } = Object(
    value,
  ) as Partial<Record<keyof FleetRun, unknown>>;
  return (
    isRunId(run) &&
    isWorkDir(workDir) &&
    isShard({ index: 1, count: shards }) &&
    [accountId, host].every(isLine) &&
    Array.isArray(files) &&
    files.every((file) => isText((Object(file) as Partial<InputFile>).digest)) &&
    (profile === undefined || (typeof profile === 'string' && /^[\w-]{1,64}$/.test(profile))) &&
    (region === undefined || isText(region))
  );
}

/**
 * Returns no entries for a directory that is gone, or removed meanwhile: an earlier worker may still be
 * running.
 */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Reads JSON from a regular file, without following a link. Throws E-FILE-READ, E-UNTRUSTED. */
export function readOwn(file: string, fix: string): object {
  try {
    return Object(JSON.parse(readRegular(file, maxHeaderBytes).toString())) as object;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ELOOP') throw linked(file, fix);
    const why = message;
    throw new EngagectlError('E-FILE-READ', `cannot read ${file}`, { why, fix, file, cause });
  }
}

/** Reads a regular file without following a link. Throws an Error for anything else, or a larger file. */
const readRegular = (file: string, maxBytes: number): Buffer =>
  readChecked(file, (descriptor) => {
    const found = fstatSync(descriptor);
    if (!found.isFile() || found.size > maxBytes) throw new Error('it is not a file of a fleet');
  });

interface Refusal {
  readonly why: string;
  readonly fix: string;
  readonly file?: string;
}

/** Error for content of the queue or the work directory that must not be acted on. */
export const untrusted = (message: string, refusal: Refusal): EngagectlError =>
  new EngagectlError('E-UNTRUSTED', message, refusal);

const linked = (file: string, fix: string): EngagectlError =>
  untrusted(`${file} is a link, or no regular file`, {
    why: 'engagectl creates no links in a work directory; this one may lead to files outside of the run',
    fix,
    file,
  });

/** Returns the resolved path; the path itself if it does not exist. */
export function placeOf(name: string): string {
  try {
    return realpathSync(name);
  } catch {
    return name;
  }
}

/** Returns the inputs of a run, with its mapping file. */
export const signedInputs = ({ files, mapping }: Pick<FleetRun, 'files' | 'mapping'>) =>
  mapping ? [...files, mapping] : files;

/** Returns the current size and digest of an input. Throws E-FILE-READ. */
export async function inputFile(file: string): Promise<InputFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  let once = false;
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
      if (bytes === 0) once = await startsWithEvents(chunk as Buffer);
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

/**
 * Reads the text of an input. Calls `onEnd` at each of the given numbers of bytes that is the end of a line. Throws
 * what it throws, and E-FILE-READ.
 */
export async function inputText(
  file: string,
  ends: ReadonlySet<number> = new Set(),
  onEnd: (text: InputText) => void = () => undefined,
): Promise<InputText> {
  const hash = createHash('sha256');
  let [bytes, lines] = [0, 1];
  for await (const chunk of comparableText(createReadStream(file), file)) {
    let from = 0;
    for (let at = -1; (at = chunk.indexOf(0x0a, at + 1)) >= 0; lines += 1) {
      if (!ends.has(bytes + at)) continue;
      hash.update(chunk.subarray(from, at));
      from = at;
      onEnd({ bytes: bytes + at, lines, digest: hash.copy().digest('hex') });
    }
    hash.update(chunk.subarray(from));
    bytes += chunk.length;
  }
  return { bytes, lines, digest: hash.digest('hex') };
}

/** Returns the E-INPUT-CHANGED error for an input that differs from the one whose digest was computed. */
export const changedMeanwhile = ({ file }: InputFile): EngagectlError =>
  new EngagectlError('E-INPUT-CHANGED', `${file} changed while it was submitted`, {
    why: 'it has other content than was read before',
    fix: 'wait until nothing writes to it, then submit again',
    file,
  });
