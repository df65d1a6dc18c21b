import { parseFileName } from '../../contract/file-formats.js';
import path from 'node:path';
import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { EngagectlError, interruptionError } from '../../errors.js';
import { messagePrinter } from '../../ui/messages.js';
import { maskError } from '../../ui/mask.js';
import { jobContext } from '../shared/job-context.js';
import {
  parseNestedCommand,
  refuseWithoutEffect,
  writeJobs,
  type NestedCommand,
} from './nested-command.js';
import { hostname } from 'node:os';
import { duration, integer } from '../flags/value-parsers.js';
import { accountOfRun, queueOption, settingsOfRun, withQueue } from './queue.js';
import type { FleetRun, InputFile, RunAccount } from '../../fleet/fleet-run.js';
import type { ShardAccount, ShardOutcome, ShardTask } from '../../fleet/worker.js';
import type {
  HistoryFigures,
  JobHooks,
  ExportResult,
  RunResult,
  WriteResult,
} from '../../jobs/job-results.js';
import type { JobContext } from '../../jobs/job-context.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const workOptions = [
  'Options:',
  [
    '--work-dir <dir>',
    'accept only runs in or below this directory (repeatable) [$ENGAGECTL_WORK_DIRS]',
    { repeatable: true },
  ],
  [
    '--slots <n>',
    'simultaneous shards per account',
    { parse: integer({ min: 1, max: 100 }), default: 4 },
  ],
  ['--drain', 'exit when no shards are left'],
  [
    '--lease <duration>',
    'time without a heartbeat after which a worker loses its shards',
    { parse: duration, default: 30_000, defaultText: '30s' },
  ],
  queueOption,
] as const satisfies OptionTable;
type WorkFlags = FlagsOf<typeof workOptions>;

export const work: CommandSpec<WorkFlags> = {
  summary: 'work on shards until stopped',
  examples: `
    # until SIGTERM or Ctrl-C
    engagectl fleet work --work-dir /shared/fleet
    # until no shards are left
    engagectl fleet work --work-dir /shared/fleet --drain
  `,
  options: workOptions,
  run: takeShards,
};

/** `fleet work`: returns when stopped, or when the queue is drained. */
async function takeShards(call: Invocation<WorkFlags>): Promise<void> {
  const { flags, runtime } = call;
  const { slots, lease, drain = false } = flags;
  const messages = messagePrinter(call.settings(), runtime);
  const some = runtime.token().replaceAll(/[-_]/g, '').slice(0, 4);
  const worker = `${hostname().slice(0, 16)}-${some}`;
  const folders = workDirsOf(call);
  const { Outage } = await import('../../fleet/queue-store.js');
  const outage = new Outage(messages);
  const accountOf = shardAccounts(call);
  await withQueue(
    call,
    async (store) => {
      const { runWorker: takeJobs, WorkDirs } = await import('../../fleet/worker.js');
      const workDirs = new WorkDirs(folders, runtime);
      for (const folder of workDirs.missing())
        messages.note(`the work directory ${folder} is not there yet`);
      messages.note(
        `worker ${worker} takes up to ${slots} shards at once from ${store.displayUrl}`,
      );
      const limits = { slots, lease, drain, workDirs };
      await takeJobs(store, { worker, ...limits, runtime, accountOf, messages, outage });
    },
    { waitForStore: true, onUnavailable: outage.report, onWarning: (text) => messages.warn(text) },
  );
}

/** Resolves the directories given by flag or variable. Throws E-USAGE if there is none. */
function workDirsOf({ flags, runtime: { cwd, env } }: Invocation<WorkFlags>): readonly string[] {
  const named = flags.workDir ?? (env['ENGAGECTL_WORK_DIRS'] ?? '').split(path.delimiter);
  const folders = named.filter((folder) => folder !== '');
  if (folders.length > 0) return folders.map((folder) => path.resolve(cwd, folder));
  throw new EngagectlError('E-USAGE', 'no work directory is named', {
    why: 'a worker reads and writes only in folders that it was given, whatever the queue says',
    fix: 'engagectl fleet work --work-dir /shared/fleet, or set ENGAGECTL_WORK_DIRS',
  });
}

/** Accounts of runs on this machine, with the function that processes their shards. */
function shardAccounts(call: Pick<Invocation, 'program' | 'runtime' | 'settings'>) {
  const checkInputs = inputCheck(call.runtime);
  return async (of: RunAccount): Promise<ShardAccount> => {
    const settings = settingsOfRun(of, call.settings());
    const { account, key } = await accountOfRun(of, settings, call.runtime);
    const perform = async (part: ShardTask): Promise<ShardOutcome> => {
      const { run, signal } = part;
      const runtime = { ...call.runtime, cwd: run.cwd, signal };
      const within = await commandOf(run, { ...call, runtime });
      const { signedInputs } = await import('../../fleet/fleet-run.js');
      refuseOthers(within, run, signedInputs(run));
      const inputPath = await checkInputs(run);
      const { sentByOtherRuns } = await import('../../fleet/submitted-events.js');
      const isAlreadySent = sentByOtherRuns(run);
      const messages = messagePrinter({ ...settings, quiet: !settings.verbose }, runtime);
      const context: JobContext = {
        ...jobContext(settings, runtime, { maxInFlight: 1, messages, account }),
        argv: run.argv,
        ports: { ...part.ports, inputPath, isAlreadySent },
        runsFolder: () => part.runsFolder,
      };
      const job = within.name === 'export-events' ? exportSlice : writeShard;
      // The queue stores the reason of a failure, and `fleet status` shows it to others.
      const outcome = await job(within, part, context).catch((error: unknown) => {
        throw maskError(error, settings);
      });
      return { ...outcome, error: maskError(outcome.error, settings) };
    };
    return { key, perform };
  };
}

/** Parses the command of a run. Throws E-RUN-VERSION, since the submitter accepted the same command line. */
async function commandOf(
  { argv }: FleetRun,
  call: Pick<Invocation, 'program' | 'runtime'>,
): Promise<NestedCommand> {
  try {
    const within = await parseNestedCommand(argv, call);
    refuseWithoutEffect(within);
    return within;
  } catch (error) {
    return versionMismatch(error as Error);
  }
}

function versionMismatch(cause: Error): never {
  throw new EngagectlError('E-RUN-VERSION', 'this worker does not understand the command', {
    why: cause.message,
    fix: 'use the same version of engagectl for submit and all workers',
    cause,
  });
}

async function writeShard(
  { name, flags, files }: NestedCommand,
  part: ShardTask,
  context: JobContext,
): Promise<ShardOutcome> {
  const { mapping } = flags;
  const request = {
    ...flags,
    ...(mapping !== undefined && { mapping: context.ports!.inputPath!(mapping) }),
    files,
    shard: part.shard,
    resume: true,
    fresh: false,
    journal: true,
    rehearsal: undefined,
    rejects: path.join(part.folder, 'rejects.ndjson'),
    ...(flags.strict && { maxRejects: { records: 0 } }),
  };
  const perform = await writeJobs[name as 'upload'](); // the flags of a command are its job's options
  return outcomeOf(await perform(request, context, hooksOf(part)));
}

async function exportSlice(
  { flags }: NestedCommand,
  part: ShardTask,
  context: JobContext,
): Promise<ShardOutcome> {
  const { exportEvents } = await import('../../jobs/export/export-events.js');
  const { compressedBy } = parseFileName(flags.output ?? '');
  const extension = `ndjson${compressedBy.toLowerCase()}`;
  const { format: _, columns: __, csvFormulas: ___, bom: ____, ...exportFlags } = flags; // for `fleet collect`
  const request = {
    ...exportFlags,
    ...part.run.range!,
    event: flags.event ?? [],
    shard: part.shard,
    resume: true,
    fresh: false,
    overwrite: true,
    output: path.join(part.folder, `out.${extension}`),
  };
  return outcomeOf(await exportEvents(request, context, hooksOf(part)));
}

/** Reports a shard's progress and outcome. */
const hooksOf = ({ started, ended }: ShardTask): JobHooks<WriteResult | ExportResult> => ({
  started: (progress) =>
    started(() => {
      const { records, rejected, bytes, totalBytes } = progress();
      return { records, rejected, share: totalBytes ? bytes / totalBytes : undefined };
    }),
  history: true,
  ended: ({ result, history }) => {
    ended(outcomeOf(result, history));
    return Promise.resolve(false); // the journal stays: it proves that nothing is left to do
  },
});

/** Figures that are summed over the shards of a run. */
const summed = [
  ...(['read', 'accepted', 'rejected', 'unknown', 'duplicates', 'alreadySent'] as const),
  'bytesSent' as const,
  ...(['records', 'pages', 'requests', 'retries', 'bytes'] as const),
];

function outcomeOf(result: WriteResult | ExportResult, history?: HistoryFigures): ShardOutcome {
  const of: RunResult & Partial<WriteResult & ExportResult> = result;
  const { exitCode, error, seconds, rejectsFile = null, output = null } = of;
  const { done = error === undefined, resumed = 0 } = of; // of an export
  const figures: Record<string, number> = { throttled: history?.throttled ?? 0 };
  for (const name of summed) {
    const figure = of[name];
    if (figure !== undefined) figures[name] = figure + (name === 'accepted' ? resumed : 0);
  }
  return { done, exitCode, error, seconds, figures, rejectsFile, output };
}

/** Refuses files that were not signed with the run. Throws E-RUN-VERSION. */
function refuseOthers(
  { files, flags: { mapping } }: NestedCommand,
  run: FleetRun,
  inputs: readonly InputFile[],
): void {
  const named = [...files, ...(mapping === undefined ? [] : [mapping])];
  const signed = inputs.map(({ file }) => file);
  const paths = named.map((file) => path.resolve(run.cwd, file));
  if (paths.length === signed.length && paths.every((file, at) => file === signed[at])) return;
  versionMismatch(new Error('the files of its command line are not those that were submitted'));
}

/**
 * Refuses inputs whose content differs from the submitted one. A file is read once for all shards of
 * this worker, and again if its size, times or inode change. Returns a function that returns the
 * path from which a file is read: that of its copy in the work directory, if there is one. Throws
 * E-INPUT-CHANGED.
 */
function inputCheck({ signal }: Pick<Invocation['runtime'], 'signal'>) {
  const digests = new Map<string, Promise<string>>();
  const digestOf = async (file: string, state: string): Promise<string> => {
    const key = `${file} ${state}`;
    const known = digests.get(key) ?? contentDigest(file, signal);
    digests.set(key, known);
    return known.catch((error: unknown) => {
      digests.delete(key); // the content is unknown then
      throw error;
    });
  };
  return async (run: FleetRun): Promise<(file: string) => string> => {
    const { WorkDirectory, signedInputs } = await import('../../fleet/fleet-run.js');
    const folder = new WorkDirectory(run.workDir, run.run);
    const paths = new Map<string, string>();
    for (const input of signedInputs(run)) {
      const file = folder.inputPath(input);
      const found = statSync(file, { throwIfNoEntry: false, bigint: true });
      if (!found?.isFile()) throw changed(file, 'the file is not there on this machine');
      const { size, dev, ino, mtimeNs, ctimeNs } = found;
      const { bytes } = input;
      if (size !== BigInt(bytes)) throw changed(file, `it has ${size} bytes, and had ${bytes}`);
      const content = await digestOf(file, [dev, ino, mtimeNs, ctimeNs].join(' '));
      if (content !== input.digest) throw changed(file, 'it has another content of the same size');
      paths.set(input.file, file);
    }
    return (file) => paths.get(path.resolve(run.cwd, file)) ?? file;
  };
}

async function contentDigest(file: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20, signal })) {
      hash.update(chunk as Buffer);
    }
  } catch (cause) {
    if (signal.aborted) throw interruptionError(signal.reason);
    throw new EngagectlError('E-FILE-READ', `cannot read ${file}`, {
      why: (cause as Error).message,
      fix: 'correct its permissions, then: engagectl fleet retry <run>',
      file,
      cause,
    });
  }
  return hash.digest('hex');
}

const changed = (file: string, why: string): EngagectlError =>
  new EngagectlError('E-INPUT-CHANGED', `${file} has changed since it was submitted`, {
    why,
    fix: 'restore it, then: engagectl fleet retry <run>; or submit the new content as another run',
    file,
  });
