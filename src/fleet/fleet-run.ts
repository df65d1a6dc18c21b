import path from 'node:path';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { EngagectlError, type ExitCode } from '../errors.js';
import { makeFolder, syncFolder, writeSynced } from '../files/atomic-write.js';
import { digest } from '../jobs/run/run-folder.js';
import { shardName } from '../jobs/shard.js';
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
  /** Absolute paths, with what they held. */
  readonly files: readonly InputFile[];
  /** Days of an export, relative ones resolved. */
  readonly range?: { readonly from: string; readonly to: string } | undefined;
}

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
  /** In its folder. */
  readonly rejectsFile: string | null;
  readonly output: string | null;
}

export const fleetVersion = 1;

/** All of a run, in order. */
export const shardsIn = ({ shards }: Pick<FleetRun, 'shards'>): Shard[] =>
  Array.from({ length: shards }, (_, at) => ({ index: at + 1, count: shards }));

/** Throws E-FILE-READ. */
function read(file: string, fix: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    const why = (cause as Error).message;
    throw new EngagectlError('E-FILE-READ', `cannot read ${file}`, { why, fix, file, cause });
  }
}

/** The same for the same work: what is submitted twice is one run. */
export function fleetRunId(run: Omit<FleetRun, 'run' | 'version'>, workDir: string): string {
  const files = run.files.map(({ file, digest: content }) => [file, content]);
  return digest([{ ...run, files }, workDir]).slice(0, 12);
}

/** Folders and files of a run, on a disk that all workers see. */
export class WorkFolder {
  readonly path: string;

  constructor(workDir: string, run: string) {
    this.path = path.join(workDir, run);
  }

  /** Of one shard: its journal, its rejects, its slice. */
  shard(shard: Shard): string {
    return path.join(this.path, 'shards', shardName(shard));
  }

  /** Throws E-FILE-WRITE, as all that writes here. */
  create(run: FleetRun): void {
    this.#written(() => {
      for (const shard of shardsIn(run)) makeFolder(this.shard(shard));
    });
    this.#put(this.#runFile, run);
  }

  get exists(): boolean {
    return existsSync(this.#runFile);
  }

  /** Throws E-FILE-READ: the folder is not one that this machine sees; E-RUN-VERSION. */
  read(): FleetRun {
    const fix = 'the work folder has to be the same for submit, collect and all workers';
    const run = read(this.#runFile, fix) as FleetRun;
    if (run.version === fleetVersion) return run;
    throw new EngagectlError('E-RUN-VERSION', `the run in ${this.path} is of another version`, {
      why: `it is of version ${run.version}, and this program knows ${fleetVersion}`,
      fix: 'use the same version of engagectl for submit, collect and all workers',
      file: this.#runFile,
    });
  }

  /** Throws E-FILE-READ. */
  result(shard: Shard): ShardResult | undefined {
    const file = this.#resultFile(shard);
    if (!existsSync(file)) return undefined;
    const fix = 'remove it: fleet retry then finds by the journal what is left to do';
    return read(file, fix) as ShardResult;
  }

  /** Of the shards that are done, in order. Throws E-FILE-READ. */
  results(run: Pick<FleetRun, 'shards'>): ShardResult[] {
    return shardsIn(run).flatMap((shard) => this.result(shard) ?? []);
  }

  setResult(shard: Shard, result: ShardResult): void {
    this.#put(this.#resultFile(shard), result);
  }

  get isCancelled(): boolean {
    return existsSync(this.#cancelledFile);
  }

  cancel(): void {
    this.#written(() => writeSynced(this.#cancelledFile, ''));
  }

  uncancel(): void {
    this.#written(() => rmSync(this.#cancelledFile, { force: true }));
  }

  get #runFile(): string {
    return path.join(this.path, 'fleet.json');
  }

  get #cancelledFile(): string {
    return path.join(this.path, 'cancelled');
  }

  #resultFile(shard: Shard): string {
    return path.join(this.shard(shard), 'result.json');
  }

  /** It is there whole, or not at all. */
  #put(file: string, content: object): void {
    this.#written(() => {
      writeSynced(`${file}.new`, `${JSON.stringify(content, null, 2)}\n`);
      renameSync(`${file}.new`, file);
      syncFolder(path.dirname(file));
    });
  }

  #written(work: () => void): void {
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
}
