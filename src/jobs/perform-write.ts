import path from 'node:path';
import { endedOf } from '../bulk/counts.js';
import { Tally } from '../bulk/tally.js';
import { JournalledOutcomes } from '../bulk/write/journalled-outcomes.js';
import {
  earlierParts,
  elsewhereBefore,
  hasRecords,
  writeEntries,
  type EarlierParts,
  type WriteEntry,
} from '../bulk/write/write-entries.js';
import { write } from '../bulk/write/write.js';
import { writes } from '../contract/endpoints.js';
import { zoneOf } from '../zone.js';
import { exitCodes } from '../errors.js';
import { openInputs } from '../input/open.js';
import type { Mapper } from '../mapping/records.js';
import { shardedMapper } from '../mapping/sharded-mapper.js';
import { sourceRecord } from '../mapping/source-record.js';
import type { SentBefore } from './already-sent.js';
import { jobOf, type Writing } from './engine-job.js';
import { ledgerOf } from './ledger.js';
import { openRejects } from './open-rejects.js';
import { folderOfRuns, openRun, refuseUnfinished, unkeptRun, type OpenRun } from './open-run.js';
import type { WriteResult } from './results.js';
import { digest } from './run-folder.js';
import { RunLedger } from './run-ledger.js';
import { shardText, writeSlots } from './shard-of.js';
import { watched } from './watched.js';
import { type Connection, type World } from './world.js';
import type { JobEnding } from './job-hooks.js';
import type { WriteHooks, WriteKind, WriteRequest } from './write-request.js';
import { inputOptions } from './read-input.js';
import { writeVerdict } from './write-verdict.js';

/**
 * Does a write from its input to its result. Throws what was in the way before anything was sent;
 * from then on what goes wrong is part of the result.
 */
export async function performWrite(
  kind: WriteKind,
  request: WriteRequest,
  world: World,
  hooks: WriteHooks = {},
): Promise<WriteResult> {
  const { rehearsal: asked } = request;
  const rehearsal = asked && !writes[kind.name].dryRun ? 'check' : asked;
  const slots = writeSlots(kind.name, request, world);
  const options = inputOptions(request.files, request, kind.listColumn);
  const inputs = await openInputs({ ...options, digests: rehearsal === undefined }, world.runtime);
  let connection: Connection | undefined;
  try {
    if (rehearsal !== 'check') connection = await world.connect();
    const whole = kind.mapper(connection?.zone ?? zoneOf(world.timezone));
    const mapper = request.shard ? shardedMapper(whole, request.shard) : whole;
    for (const { header, source } of inputs.headers) mapper.check(header, source);
    const piped = inputs.totalBytes === undefined;
    if (connection) {
      const identities = piped
        ? undefined
        : await kind.survey?.(await openInputs(options, world.runtime), mapper);
      await hooks.confirm?.({ piped, identities });
    }
    const writing = { kind, request, world, hooks, rehearsal, inputs, connection, slots };
    return await runConnected(writing, mapper);
  } finally {
    await inputs.close();
    await connection?.close();
  }
}

async function runConnected(writing: Writing, mapper: Mapper): Promise<WriteResult> {
  const { hooks, inputs, world } = writing;
  const run = await openRunOf(writing);
  let done = false;
  let unfinished = false;
  try {
    const ledger = openLedger(writing);
    const sent = await sentByOthers(writing, run, ledger);
    const entries = [...(run.kept?.entries ?? []), ...(sent?.entries ?? [])];
    const earlier = run.kept && earlierParts(entries);
    if (earlier) await inputs.verify([...earlier.digests.values()]);
    const tally = await openTally(writing, { run, earlier });
    const ending = await perform(writing, { mapper, run, earlier, tally, ledger });
    const isTold = (await hooks.ended?.(ending)) ?? true;
    done = ending.result.done && isTold;
    if (done && ledger) {
      const digests = [...(earlier?.digests.values() ?? []), ...inputs.ended];
      const { once } = tally.log;
      const end = { result: ending.result, digests, once, before: sent?.records ?? 0 };
      done = ledger.note({ ...end, isKept: run.kept !== undefined }, inputs);
    }
    unfinished = !done && mayHaveContent(run);
    return { ...ending.result, unfinished };
  } finally {
    run.close({ keep: !done && mayHaveContent(run) });
    if (unfinished) world.said.note(`unfinished: ${world.words.goOn(run.id)} goes on with it`);
  }
}

/** Runs from files are kept; a pipe cannot be read again, so there is nothing to resume. */
async function openRunOf(writing: Writing): Promise<OpenRun<WriteEntry>> {
  const { kind, request, world, inputs, connection, rehearsal } = writing;
  if (!connection || rehearsal !== undefined) return unkeptRun(world);
  if (inputs.totalBytes === undefined) {
    if (request.resume) world.said.note('input from a pipe cannot be resumed: starting afresh');
    return unkeptRun(world);
  }
  const wanted = {
    command: kind.name,
    accountId: connection.accountId,
    host: connection.host,
    files: request.files.map((file) => path.resolve(world.runtime.cwd, file)),
    options: digest(kind.meaning),
    ...(request.shard && { shard: shardText(request.shard) }),
    resume: request.resume,
    fresh: request.fresh,
    run: request.run,
  };
  if (request.journal) return openRun(wanted, writeEntries, world);
  await refuseUnfinished(wanted, world);
  return unkeptRun(world);
}

/** Undefined for a rehearsal, and where there is no place for a ledger. */
function openLedger({ kind, request, world, connection, rehearsal }: Writing) {
  if (!connection || rehearsal !== undefined) return undefined;
  const runs = folderOfRuns(world);
  if (runs === undefined) return undefined;
  const { accountId, host } = connection;
  const run = { command: kind.name, accountId, host, meaning: meaningOf(kind, request) };
  return new RunLedger(ledgerOf(runs), run, { again: request.again === true, world });
}

/** A shard's part of the records is not that of another. */
const meaningOf = ({ meaning }: WriteKind, { shard }: WriteRequest): string =>
  digest(shard ? [meaning, shardText(shard)] : meaning);

/** Lets a run that begins now begin behind what other runs sent. Throws E-ALREADY-SENT. */
async function sentByOthers(
  { request, inputs }: Writing,
  { kept }: OpenRun<WriteEntry>,
  ledger: RunLedger | undefined,
): Promise<SentBefore | undefined> {
  const isPiped = inputs.totalBytes === undefined;
  if (!ledger || isPiped || kept?.resumed) return undefined;
  const sent = await ledger.sentBefore(inputs, request.resume === true);
  if (sent) await kept?.journal.append(...sent.entries);
  return sent;
}

interface Parts {
  readonly mapper: Mapper;
  readonly run: OpenRun<WriteEntry>;
  readonly earlier: EarlierParts | undefined;
  readonly tally: Tally;
  readonly ledger: RunLedger | undefined;
}

async function perform(writing: Writing, parts: Parts): Promise<JobEnding<WriteResult>> {
  const { kind, world, hooks, rehearsal, inputs, connection } = writing;
  const { run, earlier, tally } = parts;
  const { runtime, words } = world;
  const started = runtime.monotonic();
  const { client, history } = watched(connection?.client, {
    isWanted: hooks.history === true,
    records: () => tally.counts.accepted,
    runtime,
  });
  const job = jobOf(writing, { ...parts, client });
  const sending = write(job);
  const progress = () => ({
    read: tally.counts.read,
    settled: endedOf(tally.counts) - (rehearsal === 'check' ? 0 : tally.counts.notSent),
    rejected: tally.counts.rejected,
    bytesRead: inputs.bytesRead(),
    totalBytes: inputs.totalBytes,
    inFlight: job.budget.inFlight,
    waiting: job.waits.text,
  });
  hooks.begun?.(progress, inputs.first);
  const { done, stopped, ...traffic } = await sending;
  const error = writeVerdict(tally, { stopped, job: kind.name, rehearsal, words });
  return {
    result: {
      run: run.id,
      accountId: connection?.accountId ?? null,
      ...tally.counts,
      ...traffic,
      seconds: Math.round(runtime.monotonic() - started) / 1000,
      rejectsFile: tally.rejects.exists ? tally.rejects.path : null,
      exitCode: error?.exitCode ?? exitCodes.ok,
      error,
      done,
      stopped,
      unfinished: run.kept !== undefined && !done && tally.hasSettled,
    },
    told: tally,
    history: history(),
    wasResumed: earlier !== undefined && !earlier.settled.isEmpty,
  };
}

/** Counts the outcomes; its rejects file is made with the first reject. */
async function openTally(
  { kind, request, world, hooks, rehearsal, inputs }: Writing,
  { run: { kept }, earlier }: Pick<Parts, 'run' | 'earlier'>,
): Promise<Tally> {
  const { files, rejects: named, shard } = request;
  const rejects = openRejects(
    { job: kind.name, named, files, first: inputs.first, heard: hooks.rejected, shard },
    world,
  );
  const tally = new Tally({
    rejects,
    sourceRecord,
    listNotSent: inputs.totalBytes === undefined && rehearsal !== 'check',
  });
  if (shard) tally.counts.otherShards = 0;
  if (!kept || !earlier) return tally;
  await rejects.resume({ file: earlier.rejectsFile, mark: earlier.rejects });
  tally.resume(earlier.counts);
  if (shard && !kind.seen) tally.counts.otherShards = elsewhereBefore(earlier);
  const journalled = new JournalledOutcomes({
    journal: kept.journal,
    rejects,
    digests: () => inputs.takeDigests(),
    start: earlier.watermark,
    once: earlier.once,
  });
  tally.log = world.ports?.outcomes?.(journalled) ?? journalled;
  return tally;
}

/**
 * An outcome, an intent or the beginning of a rejects file was written down; or the journal cannot
 * be read now, and may be readable later.
 */
function mayHaveContent({ kept }: OpenRun<WriteEntry>): boolean {
  if (!kept) return false;
  try {
    const earlier = earlierParts(kept.read());
    return hasRecords(earlier) || earlier.rejectsFile !== undefined;
  } catch {
    return true;
  }
}
