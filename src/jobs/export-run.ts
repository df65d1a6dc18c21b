import path from 'node:path';
import { Journal } from '../bulk/journal/journal.js';
import { exportEntries, type ExportEntry, type ExportPlan } from '../bulk/export/export-entries.js';
import {
  createRun,
  digest,
  journalOf,
  listRuns,
  removeRun,
  runKey,
  type RunFolder,
} from './run-folder.js';
import { lockRun } from '../files/run-lock.js';
import { EngagectlError } from '../errors.js';
import { findTarget } from '../output/target.js';
import type { Runtime } from '../runtime.js';
import type { Messages } from '../ui/messages.js';
import type { Connection } from '../commands/connect.js';
import { runId } from './run-id.js';
import { hasPlaceForRuns, hostOf, notForgotten, runsFolder } from './unfinished-run.js';

export interface ExportRequest {
  readonly command: string;
  readonly output: string | undefined;
  readonly resume: boolean;
  readonly fresh: boolean;
  /** What the flags ask for now; a run that is resumed keeps its own dates. */
  readonly plan: ExportPlan;
  readonly argv: readonly string[];
  readonly connection: Connection;
  readonly runtime: Runtime;
  readonly said: Messages;
}

/** A run that nobody else is at work on. */
export interface OpenExportRun {
  readonly id: string;
  readonly plan: ExportPlan;
  /** Undefined: nothing is kept, so that it cannot be resumed. */
  readonly journal: Journal<ExportEntry> | undefined;
  /** Of earlier processes; empty in a new run. */
  readonly entries: readonly ExportEntry[];
  readonly resumed: boolean;
  /**
   * Lets go of the run, and removes its folder unless it is to be gone on with. That this fails is
   * a warning.
   */
  close(options: { readonly keep: boolean }): Promise<void>;
}

/**
 * Finds the unfinished run that `--resume` means, or begins a new one (contract §3). Throws
 * E-RUN-UNFINISHED, E-RUN-LOCKED, E-RUN-CHANGED, E-JOURNAL, E-FILE-WRITE.
 */
export async function openExportRun(request: ExportRequest): Promise<OpenExportRun> {
  const { output, resume, runtime, said } = request;
  const target = await findTarget(output, runtime.cwd);
  if (target.kind === 'file') return openKeptRun(request);
  const name = target.kind === 'stdout' ? 'standard output' : target.name;
  if (resume) said.warn(`${name} cannot be resumed: the export starts from its beginning`);
  return unkeptRun(request);
}

const unkeptRun = ({ plan, runtime }: ExportRequest): OpenExportRun => ({
  id: runId(runtime),
  plan,
  journal: undefined,
  entries: [],
  resumed: false,
  close: () => Promise.resolve(),
});

async function openKeptRun(request: ExportRequest): Promise<OpenExportRun> {
  const { said } = request;
  if (!hasPlaceForRuns(request.runtime)) {
    said.warn('this user has no home folder; this export cannot be resumed');
    return unkeptRun(request);
  }
  const root = runsFolder(request.runtime);
  const identity = identityOf(request);
  const lock = await lockRun(`${root}:${runKey(identity)}`);
  try {
    const found = unfinished(root, request);
    const folder = found ?? newRun(root, request);
    if (folder === undefined) {
      await lock.release();
      return unkeptRun(request);
    }
    const { journal: file, entries } = Journal.open<ExportEntry>(journalOf(folder), exportEntries);
    const plan = await planOf(request, { folder, file, entries });
    return {
      id: folder.header.run,
      plan,
      journal: file,
      entries,
      resumed: found !== undefined,
      close: async ({ keep }) => {
        try {
          file.close();
          if (!keep) removeRun(folder);
        } catch (error) {
          said.warn(notForgotten(folder, error));
        } finally {
          await lock.release();
        }
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

const identityOf = ({ command, output = '', connection, runtime }: ExportRequest) => ({
  command,
  accountId: connection.account.accountId,
  host: hostOf(connection.account),
  files: [path.resolve(runtime.cwd, output)],
});

/** The run to go on with; undefined when there is none, or when `--fresh` removed it. */
function unfinished(root: string, request: ExportRequest): RunFolder | undefined {
  const { command, accountId, host, files } = identityOf(request);
  const found = listRuns(root).find(
    ({ header }) => header.command === command && header.files[0] === files[0],
  );
  if (!found) return undefined;
  const { header } = found;
  if (request.fresh) {
    removeRun(found);
    return undefined;
  }
  if (!request.resume) throw notFinished(found);
  if (header.accountId !== accountId) throw changed(found, 'account', header.accountId, accountId);
  if (header.host !== host) throw changed(found, 'host', header.host, host);
  return found;
}

const notFinished = ({ path: file, header: { run, started } }: RunFolder): EngagectlError =>
  new EngagectlError('E-RUN-UNFINISHED', `run ${run} of this export is not finished`, {
    why: `it was begun at ${started}, and its partial output is kept`,
    fix: 'go on with it by --resume, or set it aside and start again by --fresh',
    file,
  });

function changed(
  { path: file, header: { run } }: RunFolder,
  what: string,
  was: unknown,
  is: unknown,
) {
  const [before, now] = [was, is].map((value) => JSON.stringify(value) ?? 'not given');
  return new EngagectlError('E-RUN-CHANGED', `${what} was ${before} in run ${run}, and is ${now}`, {
    why: 'the parts of the output would not fit together',
    fix: `engagectl runs resume ${run} goes on as it was begun; --fresh starts again`,
    file,
  });
}

/** Undefined where the state folder cannot be written: reading must work there, too. */
function newRun(root: string, request: ExportRequest): RunFolder | undefined {
  const { runtime, argv, plan, said } = request;
  const identity = identityOf(request);
  try {
    return createRun(root, {
      version: 1,
      run: runId(runtime),
      key: runKey(identity),
      ...identity,
      argv,
      cwd: runtime.cwd,
      started: new Date(runtime.now()).toISOString(),
      options: digest(plan.options),
    });
  } catch (error) {
    if (!(error instanceof EngagectlError)) throw error;
    said.warn(`${error.message}; this export cannot be resumed`);
    return undefined;
  }
}

interface OpenJournal {
  readonly folder: RunFolder;
  readonly file: Journal<ExportEntry>;
  readonly entries: readonly ExportEntry[];
}

/** The run's own plan, if the flags still ask for the same; else that of the flags. */
async function planOf(
  { plan }: ExportRequest,
  { folder, file, entries: [first] }: OpenJournal,
): Promise<ExportPlan> {
  if (first?.kind !== 'plan') {
    await file.append({ kind: 'plan', plan });
    return plan;
  }
  const before = first.plan.options;
  const names = new Set([...Object.keys(before), ...Object.keys(plan.options)]);
  for (const name of names) {
    const [was, is] = [before[name], plan.options[name]];
    if (JSON.stringify(was) !== JSON.stringify(is)) {
      file.close();
      throw changed(folder, name, was, is);
    }
  }
  return first.plan;
}
