import path from 'node:path';
import {
  chmodSync,
  closeSync,
  constants,
  fsyncSync,
  existsSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { countOf, EngagectlError } from '../errors.js';
import { temporaryPath, fsyncFolder, makePrivateFolder, noFollow } from '../files/atomic-write.js';
import { refuseDuplicatePaths } from '../files/path-checks.js';
import {
  fingerprint,
  listRuns,
  listUnreadable,
  type UnreadableRun,
} from '../jobs/run/run-folder.js';
import {
  changedMeanwhile,
  fleetVersion,
  inputFile,
  inputText,
  isRunId,
  shardsOf,
  signedInputs,
  WorkDirectory,
  type FleetRun,
  type InputFile,
  type InputText,
} from './fleet-run.js';
import {
  addShards,
  RunIndex,
  shardJobs,
  endpointKind,
  laneOf,
  setConcurrencyLimit,
  shardJob,
  type RunEntry,
} from './account-queue.js';
import { withinDeadline, type QueueStore } from './queue-store.js';
import { runsIn, ShardTraffic } from './shard-folder.js';
import { quoteForShell } from '../wording.js';
import type { FoundRun } from './run-status.js';
import type { SignedRun } from './signature.js';
import { EventRegister, type SubmittedEvents } from './submitted-events.js';
import type { Job, Queue } from 'bullmq';
import { copyFile, rm } from 'node:fs/promises';
import { shardName } from '../jobs/shard.js';
import type { Shard } from '../jobs/job-options.js';
import { repairJournal } from '../jobs/run/repair-run.js';
import type { TrustRuntime } from '../files/ownership.js';

interface SubmitOptions {
  readonly budget?: number;
  readonly pin?: InputPin;
  /** The events of the run, if it has any. */
  readonly events?: SubmittedEvents | undefined;
  /** Reports runs that were put back into the queue. */
  readonly note: (text: string) => void;
}

/** `isKnown`: the store already had the run. */
interface Submission {
  readonly budget: number;
  readonly isKnown: boolean;
}

/**
 * Registers a run, first in its work directory, with copies of its inputs if they are pinned so, then in the
 * store. Existing parts stay, so that
 * submitting again restores what the store lost; parts that are unsigned, or signed with an older
 * passcode, are replaced. Before that, lost shards of runs whose events it leaves out are put back. Throws
 * E-ALREADY-SENT if another submission of its events was faster, and the errors of these runs.
 */
export async function submitRun(
  signed: SignedRun,
  options: SubmitOptions,
  store: QueueStore,
): Promise<Submission> {
  const { events } = options;
  for (;;) {
    const submitted = await submitOnce(events?.signed ?? signed, options, store);
    if (submitted) return submitted;
    await events?.compare();
  }
}

/** Returns undefined if another run with events, or this run, was submitted meanwhile by another process. */
async function submitOnce(
  signed: SignedRun,
  { budget: requestedBudget, pin, events, note }: SubmitOptions,
  store: QueueStore,
): Promise<Submission | undefined> {
  const { run, folder } = signed;
  if ((pin ?? defaultPin(run)) === 'copy') await copyInputs(signed);
  return withinDeadline(store, async () => {
    const queues = { lane: store.queue(laneOf(run)), index: new RunIndex(store) };
    const isKnown = (await queues.index.run(run.run)) !== undefined;
    for (const other of (await events?.otherRuns()) ?? []) await restoreLost(other, queues, note);
    if (events?.isOvertaken === true) return undefined;
    const wasThere = folder.exists;
    const isInPlace = signed.isInPlace;
    if (!isInPlace && !folder.create(run, signed.signature)) return undefined;
    if (events?.register() === false) return undefined;
    folder.uncancel();
    if (!isInPlace && (wasThere || isKnown)) await removeUnfit(queues.lane, signed);
    return { budget: await enqueue(signed, queues, requestedBudget), isKnown };
  });
}

/** How workers are kept from reading other inputs than those submitted: a copy, or only its digest. */
export type InputPin = 'copy' | 'digest';

/** Inputs of this size together are copied by default. */
const copiedBytes = 64 * 1024 * 1024;

const defaultPin = (run: FleetRun): InputPin =>
  signedInputs(run).reduce((sum, { bytes }) => sum + bytes, 0) <= copiedBytes ? 'copy' : 'digest';

/**
 * Copies the inputs of a run into its directory, for its workers. Where possible, a copy shares the blocks of
 * the file. Throws E-INPUT-CHANGED if an input changes meanwhile, E-FILE-READ, E-FILE-WRITE.
 */
async function copyInputs({ run, folder }: SignedRun): Promise<void> {
  for (const input of signedInputs(run)) {
    const copy = folder.inputCopy(input);
    folder.written(() => makePrivateFolder(path.dirname(copy)));
    const isCopied = folder.inputPath(input) === copy && (await digestOf(copy)) === input.digest;
    if (!isCopied) await copyInput(folder, input);
  }
}

async function copyInput(folder: WorkDirectory, input: InputFile): Promise<void> {
  const copy = folder.inputCopy(input);
  const temporary = temporaryPath(copy);
  try {
    const how = constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL;
    const copied = await copyFile(input.file, temporary, how).catch((error: Error) => error);
    folder.written(() => {
      if (copied) throw copied;
      chmodSync(temporary, 0o600);
      const descriptor = openSync(temporary, constants.O_RDWR | noFollow);
      fsyncSync(descriptor);
      closeSync(descriptor);
    });
    if ((await digestOf(temporary)) !== input.digest) throw changedMeanwhile(input);
    folder.written(() => {
      renameSync(temporary, copy);
      fsyncFolder(path.dirname(copy));
    });
  } finally {
    rmSync(temporary, { force: true });
  }
}

const digestOf = async (file: string): Promise<string> => (await inputFile(file)).digest;

/** Removes waiting shards from the queue; workers abandon running ones within a moment. */
export async function cancelRun(store: QueueStore, { folder, run, lane }: FoundRun): Promise<void> {
  folder.cancel();
  await withinDeadline(store, async () => {
    for (const { job } of await shardJobs(lane, run)) {
      const state = await job?.getState();
      if (state === 'waiting' || state === 'delayed') await job?.remove().catch(() => undefined); // taken by a worker meanwhile
    }
  });
}

/** Requeues failed, cancelled and lost shards; returns their number. */
export async function retryRun(
  store: QueueStore,
  { folder, signed, lane }: FoundRun,
): Promise<number> {
  assertRegistered(signed);
  folder.uncancel();
  return withinDeadline(store, async () => {
    const count = await removeUnfit(lane, signed);
    await enqueue(signed, { lane, index: new RunIndex(store) });
    return count;
  });
}

/**
 * Puts the shards of a run back that have neither a result nor a signed job: the queue was emptied, or the submission was
 * stopped between the registration of its events, which other runs leave out since, and the queue. A cancelled run
 * stays cancelled. Throws E-INPUT-CHANGED, E-FILE-READ, E-RUN-UNFINISHED.
 */
async function restoreLost(
  signed: SignedRun,
  queues: RunQueues,
  note: (text: string) => void,
): Promise<void> {
  const { run, folder } = signed;
  const { unfit, missing } = await unfitJobs(queues.lane, signed, ['completed', 'unknown']);
  const lost = unfit.length + missing;
  if (lost === 0 || folder.isCancelled) return; // a run is marked as cancelled before its jobs are removed
  assertRegistered(signed);
  for (const input of signedInputs(run)) {
    const file = folder.inputPath(input);
    const digest = await digestOf(file).catch(() => undefined); // it is gone
    if (digest !== input.digest) throw lostAndChanged(run, { ...input, file });
  }
  for (const job of unfit) await job.remove();
  await enqueue(signed, queues);
  note(`run ${run.run}: ${lost} of ${run.shards} shards were not in the queue and are put back`);
}

/** Without the input, workers would refuse the shards, and nobody would learn that its events were not sent. */
const lostAndChanged = ({ run, workDir }: FleetRun, { file, bytes }: InputFile): EngagectlError =>
  new EngagectlError('E-INPUT-CHANGED', `${file} has changed since run ${run} was submitted`, {
    why: `the run is not in the queue, and its events cannot be sent without the ${bytes} bytes that the file had`,
    fix: `restore them and submit that file again; or give these events up: engagectl fleet cancel ${run} --work-dir ${quoteForShell(workDir)}`,
    file,
  });

/** Refuses a run with events that were not registered. Throws E-RUN-UNFINISHED. */
function assertRegistered(signed: SignedRun): void {
  const { run, folder } = signed;
  if (!run.events || new EventRegister(signed).has(run.run)) return;
  throw new EngagectlError('E-RUN-UNFINISHED', `the run in ${folder.path} was not submitted`, {
    why: 'its submission was stopped before its events were compared with those of other runs',
    fix: 'submit the same command again',
    file: folder.path,
  });
}

/**
 * Removes jobs of shards without a result that no worker would take: finished ones, and unsigned ones.
 * Returns the number of shards without a job.
 */
async function removeUnfit(lane: Queue, signed: SignedRun): Promise<number> {
  const over = ['failed', 'completed', 'unknown'];
  const { unfit, missing } = await unfitJobs(lane, signed, over);
  for (const job of unfit) await job.remove();
  return unfit.length + missing;
}

/**
 * Finds the jobs of shards without a result that are in one of the states `over`, or unsigned and held by no worker, and counts
 * the missing ones. In the state `unknown`, a job is in no list of the queue.
 */
async function unfitJobs(lane: Queue, signed: SignedRun, over: readonly string[]) {
  const found = { unfit: [] as Job[], missing: 0 };
  for (const { shard, job } of await shardJobs(lane, signed.run)) {
    const state = (await job?.getState()) ?? '';
    if (signed.trustedResult(shard)) continue; // read last: the shard may have ended meanwhile
    if (!job) found.missing += 1;
    else if (over.includes(state) || (state !== 'active' && !isSigned(job, signed)))
      found.unfit.push(job);
  }
  return found;
}

function isSigned(job: Job, signed: SignedRun): boolean {
  try {
    return signed.isJob(shardJob(job));
  } catch {
    return false;
  }
}

/** The queue of the shards of a run, and the list of all runs. */
interface RunQueues {
  readonly lane: Queue;
  readonly index: RunIndex;
}

/**
 * Adds a run and its missing shards to the queue. Returns the concurrency limit of its account: the
 * existing or default one, unless `budget` changes it.
 */
async function enqueue(
  signed: SignedRun,
  { lane, index }: RunQueues,
  budget?: number,
): Promise<number> {
  const { run } = signed;
  const limit = await setConcurrencyLimit(lane, endpointKind(run.command), budget);
  await addShards(lane, signed);
  await index.addRun(entryOf(run));
  return limit;
}

/**
 * Refuses an input that is named twice, and records that are not idempotent if another run in the store
 * or the work directory sends them, too, with other shards or options. An input is recognized if it differs in
 * compression or line ends only, or if lines were added. With `comparesEvents`, this does not
 * apply to runs in the work directory whose events are compared one by one. `note` reports runs that cannot be
 * read and do not matter, and older runs whose events cannot be compared. Throws E-USAGE, E-ALREADY-SENT, and the
 * errors of runs that cannot be read and may have sent the records.
 */
export async function refuseDuplicateRun(
  { run, key }: Pick<SignedRun, 'run' | 'key'>,
  { doesHarm, comparesEvents, note }: DuplicateSearch,
  store: QueueStore,
): Promise<void> {
  refuseDuplicatePaths(
    run.files.map(({ file }) => file),
    run.cwd,
  );
  if (!doesHarm) return;
  const queued = await withinDeadline(store, async () => new RunIndex(store).runs());
  // Read after the queue, to which runs are added last.
  const registered = new Set(new EventRegister({ run, key }).runs().map((other) => other.run));
  const isCompared = (id: string) =>
    comparesEvents && registered.has(id) && existsSync(path.join(run.workDir, id));
  const others = [
    ...queued.filter((other) => other.workDir !== run.workDir || !isCompared(other.run)),
    ...otherRunsIn(run, { queued, registered, isCompared, note }),
  ].filter((other) => other.run !== run.run);
  const content = contentOf(run);
  if (run.events && run.events.count > 0)
    refuseOtherForm(run, content, [...registered].filter(isCompared));
  const same = others.find((other) => other.content === content);
  if (same) throw alreadySent(same, 'has the same content');
  const ofAccount = others.filter(({ lane }) => lane === laneOf(run));
  for (const input of run.files) await refuseSentText(input, ofAccount);
}

/**
 * Refuses events that none of these runs in the work directory submitted although one has the same content: its options
 * made other events of the same rows.
 */
function refuseOtherForm(
  { run, workDir }: FleetRun,
  content: string,
  compared: readonly string[],
): void {
  for (const id of compared) {
    if (id === run || contentIn(new WorkDirectory(workDir, id)) !== content) continue;
    throw alreadySent(
      { run: id, workDir },
      'made other events of the same content, with other options',
    );
  }
}

/** Returns the content of a run; undefined if it cannot be read. Its events are compared all the same. */
function contentIn(folder: WorkDirectory): string | undefined {
  try {
    return contentOf(folder.unverified({ anyVersion: true }));
  } catch (error) {
    if (error instanceof EngagectlError) return undefined;
    throw error;
  }
}

interface DuplicateSearch {
  readonly doesHarm: boolean;
  readonly comparesEvents: boolean;
  readonly note: (text: string) => void;
}

interface WorkDirSearch extends Pick<DuplicateSearch, 'note'> {
  readonly queued: readonly RunEntry[];
  /** Ids of runs with events. A run with events that is not among them was not submitted. */
  readonly registered: ReadonlySet<string>;
  /** Whether the events of a run are compared one by one. */
  readonly isCompared: (id: string) => boolean;
}

/**
 * Submits a run whose records are not idempotent after claiming its content, so that of two submissions at the
 * same moment one is refused. If the run could not be written, it gives the claim up: no worker sees the run, and
 * it may be submitted to another work directory. A claim in the same work directory does not count if
 * `comparesEvents`. Throws E-ALREADY-SENT, and what `submit` throws.
 */
export async function withContentClaimed(
  { run, folder }: SignedRun,
  { store, comparesEvents }: { readonly store: QueueStore; readonly comparesEvents: boolean },
  submit: () => Promise<void>,
): Promise<void> {
  const [index, content] = [new RunIndex(store), contentOf(run)];
  const first = await withinDeadline(store, () => index.claim(content, run));
  const isOurs = first.run === run.run;
  if (!isOurs && !(comparesEvents && first.workDir === run.workDir)) {
    const { workDir = run.workDir } = first;
    throw alreadySent({ run: first.run, workDir }, 'has the same content');
  }
  try {
    await submit();
  } catch (error) {
    if (isOurs && !folder.exists) await withinDeadline(store, () => index.giveUp(content));
    throw error;
  }
}

/** Refuses an input whose text equals, or starts with, that of an input of another run. */
async function refuseSentText(
  { file, text, once = false }: InputFile,
  others: readonly RunEntry[],
): Promise<void> {
  if (!text) return;
  const name = path.basename(file);
  const sent = new Map<string, RunEntry>();
  const ends = new Set<number>();
  for (const other of others) {
    for (const each of other.texts ?? []) {
      const { bytes, lines, digest } = Object(each) as InputText; // anyone may have written it
      if (digest === text.digest && bytes > 0) throw alreadySent(other, `contains ${name}`);
      // A single line of CSV may be a header, with which many files start.
      if (bytes >= text.bytes || (lines === 1 && !once)) continue;
      sent.set(digest, other);
      ends.add(bytes);
    }
  }
  if (ends.size === 0) return;
  await inputText(file, ends, ({ digest, lines }) => {
    const other = sent.get(digest);
    if (!other) return;
    const what = `contains the first ${countOf(lines, 'line')} of ${name}`;
    throw alreadySent(other, what, 'submit only the lines that were added');
  });
}

function alreadySent(
  { run, workDir }: Pick<RunEntry, 'run' | 'workDir'>,
  what: string,
  fix = `engagectl fleet status ${quoteForShell(run)} shows its progress`,
): EngagectlError {
  return new EngagectlError('E-ALREADY-SENT', `run ${run} ${what}`, {
    why: `its records are not safe to resend, and it is in ${workDir}`,
    fix: `${fix}; --again sends everything again`,
    file: path.join(workDir, run),
  });
}

/**
 * Returns the other runs in the work directory of a run, which the store may have lost. Signatures are not
 * verified: a run signed with an older passcode counts, and a planted run can only cause a refusal. Omits
 * a run that cannot be read if the store describes it, since it is compared with that. Throws E-FILE-READ,
 * E-RUN-VERSION, E-UNTRUSTED for a run that cannot be read and may have the same account and command.
 */
function otherRunsIn(
  run: FleetRun,
  { queued, registered, isCompared, note }: WorkDirSearch,
): RunEntry[] {
  const { workDir } = run;
  const isFolder = statSync(workDir, { throwIfNoEntry: false })?.isDirectory() === true;
  const ids = (isFolder ? readdirSync(workDir) : []).filter((name) => isRunId(name));
  return ids.flatMap((id) => {
    if (id === run.run || isCompared(id)) return [];
    const folder = new WorkDirectory(workDir, id);
    try {
      const found = folder.unverified({ anyVersion: true });
      const hasEvents = found.events !== undefined && found.version === fleetVersion;
      if (hasEvents && !registered.has(id)) return []; // its submission was killed
      const entry = { ...entryOf(found), run: id, workDir };
      const isNewer = !(found.version <= fleetVersion);
      if (isNewer && entry.lane === laneOf(run)) throw folder.otherVersion(found);
      if (run.events && isOlderWithEvents(found, laneOf(run))) {
        note(`run ${id} is of an older version: its input is compared as a whole, not each event`);
      }
      return entry;
    } catch (error) {
      if (!(error instanceof EngagectlError)) throw error;
      if ((error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return [];
      const known = queued.find((entry) => entry.run === id);
      const isKnown = known && (known.lane !== laneOf(run) || known.content !== undefined);
      if (!isKnown) throw unreadableRun(id, workDir, error);
      note(`${error.message}; its records are known from the queue`);
      return [];
    }
  });
}

const isOlderWithEvents = (run: FleetRun, lane: string): boolean =>
  run.version < fleetVersion &&
  run.command === 'upload' &&
  laneOf(run) === lane &&
  run.files.some(({ text }) => text !== undefined);

const unreadableRun = (
  id: string,
  workDir: string,
  { id: errorId, message, details }: EngagectlError,
): EngagectlError =>
  new EngagectlError(errorId, message, {
    ...details,
    why: `${details.why}; run ${id} may have sent the same records`,
    fix: `restore ${path.join(workDir, id)}; if it sent other records, move it away or add --again`,
  });

/** A run, as the store and other submissions describe it. */
function entryOf(run: FleetRun): RunEntry {
  const texts = run.files.flatMap(({ text }) => text ?? []);
  return {
    run: run.run,
    workDir: run.workDir,
    lane: laneOf(run),
    content: contentOf(run),
    ...(texts.length > 0 && { texts }),
  };
}

const contentOf = ({ command, accountId, host, files }: FleetRun): string =>
  fingerprint([command, accountId, host, files.map((file) => file.digest)]);

/**
 * Repairs the shards of a run that have no result and that no worker has. A write keeps the outcomes
 * that its journal proves; all other records of the shard will be reported as unknown. A slice of
 * an export starts again. Returns the numbers of the repaired shards. Throws E-RUN-LOCKED, E-JOURNAL if
 * the folder of a shard or its journal is gone, or nothing names its run.
 */
export async function repairRun(
  store: QueueStore,
  { folder, signed, lane, run }: FoundRun,
  runtime: TrustRuntime,
): Promise<number[]> {
  const repaired: number[] = [];
  const jobs = await withinDeadline(store, async () => shardJobs(lane, run));
  for (const shard of shardsOf(run)) {
    const job = jobs[shard.index - 1]?.job;
    const state = await withinDeadline(store, async () => job?.getState());
    if (state !== 'failed' && job) continue;
    if (signed.trustedResult(shard)) continue;
    folder.refuseLinks(shard);
    // The epoch of the repair fences a worker that is still running.
    const epoch = await folder.shard(shard).takeOver({ repair: shardName(shard) });
    const isRepaired =
      run.command === 'export-events'
        ? await restartExport(epoch.path)
        : repairWrite(epoch.path, shard, runtime);
    if (isRepaired) repaired.push(shard.index);
    if (!epoch.isCurrent()) throw workerIsRunning(shardName(shard));
  }
  return repaired;
}

/** Removes the run of an export and its partial files, so that it starts again. Keeps the counts of its requests. */
async function restartExport(epoch: string): Promise<true> {
  const names = readdirSync(epoch).filter((name) => name === 'state' || name.startsWith('out.'));
  for (const name of names) await rm(path.join(epoch, name), { recursive: true, force: true });
  return true;
}

/** Repairs the journal of a write; returns whether there was something to repair. Throws E-JOURNAL. */
function repairWrite(epoch: string, shard: Shard, runtime: TrustRuntime): boolean {
  new ShardTraffic(epoch).assertJournaled(shard);
  const runs = runsIn(epoch);
  const [unreadable] = listUnreadable(runs, runtime);
  if (unreadable) throw notRepairable(shardName(shard), unreadable);
  const [found] = listRuns(runs, runtime);
  return found !== undefined && repairJournal(found) !== undefined;
}

const notRepairable = (shard: string, { path: file, why }: UnreadableRun): EngagectlError =>
  new EngagectlError('E-JOURNAL', `shard ${shard} cannot be repaired`, {
    why: `${why}; the first line of the journal, which repeats it, is damaged, too`,
    fix: `restore ${file}, or submit to another --work-dir, with --again if necessary, which sends all records`,
    file,
  });

const workerIsRunning = (shard: string): EngagectlError =>
  new EngagectlError('E-RUN-LOCKED', `a worker has taken over shard ${shard} during the repair`, {
    why: 'the shard was in the queue',
    fix: 'wait until the worker has finished, then check: engagectl fleet status',
  });
