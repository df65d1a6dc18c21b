import path from 'node:path';
import { readJournal } from '../../bulk/journal/journal.js';
import {
  hasCommitted,
  hasReached,
  replayWrite,
  mayRestart,
  writeEntries,
  type ResumeState,
  type WriteEntry,
} from '../../bulk/outcomes/journal-entries.js';
import { writeEndpoints } from '../../contract/endpoints.js';
import { countOf, EngagectlError, groupDigits } from '../../errors.js';
import { openInputs, type Inputs } from '../../input/inputs.js';
import type { DigestTable } from '../../input/text-digest.js';
import { shardedMapper } from '../../mapping/sharding.js';
import { holdBackRejects, holdsRejectLines } from '../../mapping/rejects-input.js';
import { timeZone } from '../../time-zone.js';
import { namesSearchedColumns, requireColumns, requireRecords } from './required-columns.js';
import { openDuplicateProtection, type DuplicateProtection } from './duplicate-protection.js';
import { isOvertaken } from './sent-before.js';
import {
  openRun,
  refuseUnfinished,
  runsFolder,
  unjournaledRun,
  type OpenRun,
} from '../run/open-run.js';
import { recordDiscarded, startOver, warnOfUnknown } from '../run/forget-runs.js';
import { isFinished } from '../run/resume.js';
import { inputOptions, withoutOtherHeaders } from '../input-files.js';
import { fingerprint, journalPath, type RunFolder } from '../run/run-folder.js';
import { formatShard, writeLimiter } from '../shard.js';
import { openTally, sendInput, isResumable, retriesInFlight, shortOf } from './send-input.js';
import {
  hasRememberedEvents,
  openEventMemory,
  remembersEvents,
  withoutSentEvents,
  type MemoryUse,
  type RememberedEvents,
} from './open-event-memory.js';
import type { InputOptions } from '../../input/input-format.js';
import type { TextDigest } from '../../input/row-block.js';
import type { Tally } from '../../bulk/outcomes/tally.js';
import type { Mapper } from '../../mapping/record-block.js';
import type { TouchedKeys } from '../../bulk/change-tracking/change-tracker.js';
import type { ChangeTracking, ComparedInput } from './change-tracking.js';
import type { WriteResult } from '../job-results.js';
import { isLeased, type Connection, type JobContext } from '../job-context.js';
import {
  pipeName,
  refuseFiles,
  zoneOf,
  type WriteHooks,
  type WriteKind,
  type WriteRequest,
  type WriteContext,
} from './write-request.js';

/**
 * Runs a write from input to result. Throws errors that occur before the first request; later
 * errors are part of the result.
 */
export async function runWrite(
  kind: WriteKind,
  request: WriteRequest,
  context: JobContext,
  hooks: WriteHooks = {},
): Promise<WriteResult> {
  const { rehearsal: requested, runName } = request;
  const rehearsal = requested && !writeEndpoints[kind.name].dryRun ? 'check' : requested;
  const limiter = writeLimiter(kind.name, request, context);
  const options = readingOf(kind, request, context);
  const inputs = await openInputs(
    { ...options, digests: rehearsal === undefined },
    context.runtime,
  );
  const reopen = async () => openInputs(options, context.runtime);
  let connection: Connection | undefined;
  try {
    sayFormats(inputs, context);
    // A baseline belongs to an account.
    if (rehearsal !== 'check' || request.changed) connection = await context.connect();
    const mapped = kind.mapper(connection?.zone ?? timeZone(context.timezone));
    const whole = holdBackRejects(withoutOtherHeaders(mapped), {
      retryUnknown: request.retryUnknown === true,
      again: request.again === true,
    });
    const ofShard = request.shard ? shardedMapper(whole, request.shard) : whole;
    const mapper = withoutSentEvents(ofShard, context.ports?.isAlreadySent);
    for (const { header, source, inputs: count } of inputs.headers) {
      mapper.check(header, source);
      const which = count > 1 ? `${source} and ${groupDigits(count - 1)} more` : source;
      for (const note of mapper.notes?.(header) ?? []) context.messages.note(`${which}: ${note}`);
      for (const warning of mapper.warnings?.(header) ?? []) {
        context.messages.warn(`${which}: ${warning}`, { file: source, line: 1 });
      }
    }
    const piped = inputs.totalBytes === undefined;
    if (namesSearchedColumns(mapped, inputs)) {
      const probe = kind.mapper(connection?.zone ?? timeZone(context.timezone));
      await requireColumns(probe, await reopen(), context.runtime.signal);
    }
    if (kind.minRecords && !piped) {
      await requireRecords(kind.minRecords, await reopen(), context.runtime.signal);
    }
    if (runName !== undefined) refuseFiles(inputs, context);
    const about = { kind, request, context, hooks, rehearsal, inputs, reopen };
    const writing = { ...about, connection, limiter };
    return await runConnected(writing, watchInput(mapper, request));
  } finally {
    await inputs.close();
    await connection?.close();
  }
}

interface WatchedMapper extends Mapper, Omit<ComparedInput, 'isRest' | 'isShort'> {}

/** Wraps the mapper of a run to notice what it is made of, and with `gone` lines of a rejects file. */
function watchInput(mapper: Mapper, { gone }: WriteRequest): WatchedMapper {
  const watching: WatchedMapper = {
    ...mapper,
    hasRejectLines: false,
    hasInvalid: false,
    get hasFurtherIdentities() {
      return mapper.listsFurtherIdentities?.() === true;
    },
    map: (rows, picked) => {
      if (gone !== undefined) watching.hasRejectLines ||= holdsRejectLines(rows);
      const block = mapper.map(rows, picked);
      watching.hasInvalid ||= block.rejects.length + block.parseErrors.length > 0;
      return block;
    },
  };
  return watching;
}

/** Returns how the inputs of a write are read. The input of a fleet is pinned, so nothing can follow it. */
function readingOf(
  { listColumn, keyColumns }: WriteKind,
  request: WriteRequest,
  { ports }: JobContext,
): InputOptions {
  const isFinal = request.final === true || isLeased({ ports });
  return {
    ...inputOptions(request.files, request, { keyColumns, listColumn }),
    pathOf: ports?.inputPath,
    holdBack: isFinal ? undefined : request.runName ? 'unterminated' : 'unparsable',
  };
}

/** Reports a format that was detected from the content, so that a wrong guess is noticed. */
function sayFormats({ detected, notes }: Inputs, { messages, words }: JobContext): void {
  for (const note of notes) messages.note(note);
  if (!detected) return;
  const { name, format, others } = detected;
  const more = others > 0 ? ` and ${groupDigits(others)} more` : '';
  const other = words.option('inputFormat');
  messages.note(`${name}${more}: detected as ${format} from the content (override with ${other})`);
}

/** Opens the baseline. The module is loaded only if an option needs it. */
async function openRemembered(writing: WriteContext): Promise<ChangeTracking | undefined> {
  const { changed, stream, full, gone } = writing.request;
  if ([changed, stream, full, gone].every((option) => option === undefined)) return undefined;
  const { openChangeTracking } = await import('./change-tracking.js');
  return openChangeTracking(writing);
}

/** Opens the marks in baselines that the write does not update, and that other runs may create meanwhile. */
async function openTouched(writing: WriteContext, run: string): Promise<TouchedKeys | undefined> {
  if (runsFolder(writing.context) === undefined) return undefined;
  const { openTouchedKeys } = await import('./change-tracking.js');
  return openTouchedKeys(writing, run);
}

async function runConnected(writing: WriteContext, mapper: WatchedMapper): Promise<WriteResult> {
  const { hooks, inputs, kind, request } = writing;
  const remembered = await openRemembered(writing);
  const { run, isVerified } = await openCurrentRun(writing).catch((error: unknown) => {
    remembered?.close();
    throw error;
  });
  let events: RememberedEvents | undefined;
  let done = false;
  let unfinished: boolean | undefined;
  let tally: Tally | undefined;
  let touched: TouchedKeys | undefined;
  let ledger: DuplicateProtection | undefined;
  try {
    const [isResumed, isKept] = [run.kept?.resumed === true, run.kept !== undefined];
    const kept = run.kept && replayWrite(run.kept.entries);
    const [begun, read] = [kept && begunKinds(kept), readBefore(writing, kept)];
    ledger = openDuplicateProtection(writing, { ...run, begun }, remembered);
    const resume = request.resume === true || isResumed;
    const sent = await ledger?.sentBefore(inputs, { resume, isKept, read });
    const before = sent?.entries ?? [];
    const isRestarted = kept?.hasSentBefore;
    events = await openEvents(writing, { ledger, run, isResumed, isRestarted });
    if (!sent && !begun) await refuseOtherOptions(writing, { ledger, events, mapper });
    const earlier = run.kept && replayWrite([...run.kept.entries, ...before]);
    if (earlier && !isVerified) await verify(writing, earlier);
    tally = await openTally(writing, { run, earlier, events, mapper });
    if (kind.seen && ledger?.refused) throw ledger.refused;
    if (sent?.isAll !== true) await confirm(writing, mapper);
    if (earlier && sent?.isAll !== true) await events?.matchEarlier(mapper, earlier);
    if (before.length > 0) await run.kept?.journal.append(...before);
    touched = await openTouched(writing, run.id);
    const parts = { mapper, run, earlier, tally, ledger, touched, events };
    const ending = await sendInput(writing, { ...parts, memory: remembered?.memory });
    const isRest = inputs.totalBytes === undefined && (earlier?.watermark.ordinal ?? 0) > 0;
    const isShort = shortOf(writing, tally, ending.result) !== undefined;
    if (ending.result.done) await remembered?.writeGone({ ...mapper, isRest, isShort });
    endEvents(writing, { events, tally, isDone: ending.result.done });
    const isReported = (await hooks.ended?.(ending)) ?? true;
    done = ending.result.done && isReported;
    if (done && ledger) {
      const [once, before] = [tally.log.nonIdempotent, sent?.records ?? 0];
      const about = { once, before, isKept, remembered: events !== undefined };
      done = ledger.note({ ...about, ...ending, digests: digestsOf(inputs, earlier) }, inputs);
    }
    unfinished = ending.result.done && !done ? isResumable(run) : ending.result.unfinished;
    if (!isResumed && isOvertaken(ending.result, tally, sent)) unfinished = false;
    return { ...ending.result, unfinished };
  } finally {
    await tally?.rejects.close(); // still open if the run was refused or declined
    remembered?.close();
    events?.memory.close();
    await touched?.close();
    const isLeasedRun = isLeased(writing.context);
    // A worker that loses its lease here must leave the folder to the next one, also without outcomes.
    const keep = unfinished ?? (!done && (isLeasedRun || isResumable(run)));
    if (tally && !done && !keep) ledger?.withdraw(tally);
    run.close({ keep, ...(!isLeasedRun && { removed: () => tally?.rejects.sort() }) });
  }
}

/** Returns up to where an earlier process has read everything, if it sent records that are not idempotent. */
const readBefore = ({ context }: WriteContext, kept: ResumeState | undefined) =>
  kept && kept.nonIdempotent.size > 0 && !isLeased(context) ? kept.farthest : undefined;

/** Returns the kinds that an earlier process sent or skipped; undefined if it committed nothing. */
const begunKinds = (earlier: ResumeState): ResumeState['nonIdempotent'] | undefined =>
  hasCommitted(earlier) ? earlier.nonIdempotent : undefined;

/**
 * Returns the digests of the inputs that any attempt read to the end. Of the input that the last attempt continued,
 * an earlier digest does not count, because `--limit` may have ended the run before its new end.
 */
function digestsOf(inputs: Inputs, earlier: ResumeState | undefined): DigestTable {
  const digests = inputs.ended;
  const before = [...(earlier?.digests.values() ?? [])];
  digests.addMissing(before.filter(({ input }) => input !== earlier?.watermark.input));
  return digests;
}

/**
 * Opens the run. An unfinished run of events whose input has changed starts over, because the event memory
 * knows what it sent; so does one from a pipe, which can be read only once, and one that left out unchanged
 * records if all are to be sent. `isVerified`: the text that the run has read is unchanged.
 */
async function openCurrentRun(
  writing: WriteContext,
): Promise<{ readonly run: OpenRun<WriteEntry>; readonly isVerified: boolean }> {
  const { context } = writing;
  const run = await openRunOf(writing);
  if (run.kept?.resumed !== true) return { run, isVerified: false };
  const { kept } = run;
  let use: RunUse;
  try {
    const earlier = replayWrite(kept.entries);
    use = await useOf(writing, { run: run.id, earlier });
    if (use === 'startOver')
      return { run: { ...run, kept: await startOver(kept, earlier, context) }, isVerified: false };
  } catch (error) {
    run.close({ keep: true });
    throw error;
  }
  if (use === 'compare') return afterFinished(writing, run);
  return { run, isVerified: use === 'isVerified' };
}

/** What becomes of an unfinished run: `compare` with finished ones, resume (its text is verified or not), or start over. */
type RunUse = 'compare' | 'resume' | 'isVerified' | 'startOver';

/** Decides what becomes of an unfinished run. Throws E-INPUT-CHANGED. */
async function useOf(
  writing: WriteContext,
  { run, earlier }: { readonly run: string; readonly earlier: ResumeState },
): Promise<RunUse> {
  const { inputs, request, context } = writing;
  const { nonIdempotent, counts } = earlier;
  if (counts.unchanged > 0 && (!request.changed || request.full)) {
    if (nonIdempotent.has('other')) throw leftOut(run, context);
    context.messages.note(
      `run ${run} left out ${countOf(counts.unchanged, 'unchanged record')}: reading the input from the beginning`,
    );
    return 'startOver';
  }
  if (!remembersEvents(writing)) return 'compare';
  // Unknown records without an intent are those of an earlier run, which it only reported.
  const hasEvents = nonIdempotent.has('event') || counts.alreadySent > 0;
  const mayStartOver = hasEvents || counts.accepted === 0;
  if (nonIdempotent.has('other') || !mayStartOver) return 'resume';
  if (inputs.totalBytes === undefined) return 'startOver';
  if (await isUnchanged(writing, earlier)) return 'isVerified';
  context.messages.warn(
    `the input has changed since run ${run}, which had not sent all of it: reading it from the beginning, and sending the events that were not sent; if the file was rotated, upload the former one, too`,
  );
  return 'startOver';
}

const leftOut = (run: string, { words }: JobContext): EngagectlError =>
  new EngagectlError('E-INPUT-CHANGED', `the unfinished run ${run} leaves out unchanged records`, {
    why: 'it also sent records that are not safe to resend, so it cannot start over',
    fix: `finish it first: ${words.resumeRun(run)}; then rerun this command`,
  });

/** Replaces a run that only its folder was left of, by one that reads the changed input. */
async function afterFinished(writing: WriteContext, run: OpenRun<WriteEntry>) {
  const { inputs, request, context } = writing;
  try {
    const mayReplace =
      request.run === undefined && inputs.totalBytes !== undefined && !isLeased(context);
    const isLeft = mayReplace && isFinished(context.runsFolder(), run.id);
    if (!isLeft || (await isUnchanged(writing, replayWrite(run.kept!.entries))))
      return { run, isVerified: isLeft };
  } catch (error) {
    run.close({ keep: true });
    throw error;
  }
  run.close({ keep: false });
  return { run: await openRunOf(writing), isVerified: false };
}

async function isUnchanged(writing: WriteContext, earlier: ResumeState): Promise<boolean> {
  try {
    await verify(writing, earlier);
    return true;
  } catch (error) {
    if (error instanceof EngagectlError && error.id === 'E-INPUT-CHANGED') return false;
    throw error;
  }
}

type UseOfEvents = Pick<MemoryUse, 'isResumed' | 'isRestarted'> & {
  readonly ledger: DuplicateProtection | undefined;
  readonly run: OpenRun<WriteEntry>;
};

/**
 * Opens the event memory. If the state directory cannot be written or locked, and there is no memory yet, the run
 * continues without it, and `endEvents` warns.
 */
async function openEvents(
  writing: WriteContext,
  { ledger, run, ...use }: UseOfEvents,
): Promise<RememberedEvents | undefined> {
  if (!remembersEvents(writing)) return undefined;
  try {
    return await openEventMemory(writing, {
      ...use,
      run: run.id,
      retryOwn: retriesInFlight(writing.request, run, writing.context),
      isExpected: ledger?.hasRemembered === true,
      otherForms: ledger?.otherForms.values() ?? [],
    });
  } catch (error) {
    const isMissing =
      error instanceof EngagectlError && (error.id === 'E-FILE-WRITE' || error.id === 'E-USAGE');
    if (!isMissing || hasRememberedEvents(writing.context, writing.connection!)) throw error;
    writing.context.messages.note(`${error.message}: ${error.details.why}`);
    return undefined;
  }
}

/** Throws E-ALREADY-SENT if the same text was sent with options that made other events of it. */
async function refuseOtherOptions(
  { inputs }: WriteContext,
  {
    ledger,
    events,
    mapper,
  }: {
    readonly ledger: DuplicateProtection | undefined;
    readonly events: RememberedEvents | undefined;
    readonly mapper: Mapper;
  },
): Promise<void> {
  const error = await ledger?.sentWithOtherOptions(inputs);
  if (error && (await events?.isOtherwiseSent(mapper)) !== false) throw error;
}

/**
 * Ends the run in the event memory if it is done; after a dry run, the next run reports the same unknown events. Warns
 * if the sent events are not remembered.
 */
function endEvents(
  { context: { messages, ports }, rehearsal }: WriteContext,
  {
    events,
    tally,
    isDone,
  }: {
    readonly events: RememberedEvents | undefined;
    readonly tally: Tally;
    readonly isDone: boolean;
  },
): void {
  try {
    if (rehearsal === undefined) {
      events?.memory.meet();
      if (isDone) events?.memory.end();
    }
  } catch (error) {
    messages.warn((error as Error).message); // the next run reports its unknown events once more
  }
  if (events || rehearsal !== undefined || isLeased({ ports })) return;
  if (!tally.log.nonIdempotent.has('event')) return;
  messages.warn(
    'the events of this run are not remembered, so sending them a second time cannot be detected',
  );
}

/**
 * Asks for confirmation, after all other checks. Throws E-INPUT-CHANGED if a file was changed while a person was
 * asked: a log may grow at any time.
 */
async function confirm(writing: WriteContext, mapper: Mapper): Promise<void> {
  const { kind, hooks, inputs, reopen, connection, rehearsal } = writing;
  if (!connection || rehearsal === 'check') return;
  const piped = inputs.totalBytes === undefined;
  const stamps = inputs.stamps();
  const identities = piped ? undefined : await kind.countIdentities?.(await reopen(), mapper);
  const wasAsked = await hooks.confirm?.({ piped, identities });
  if (wasAsked !== true) return;
  const now = inputs.stamps();
  const changed = inputs.names.find((_, input) => now[input] !== stamps[input]);
  if (changed !== undefined) throw changedBeforeConfirmation(changed);
}

const changedBeforeConfirmation = (name: string): EngagectlError =>
  new EngagectlError('E-INPUT-CHANGED', `${name} was changed before it was confirmed`, {
    why: 'other records than those that were confirmed would be sent; nothing was sent',
    fix: 'run the same command again',
    file: name,
  });

/** Verifies that the text read by earlier attempts is unchanged. Throws E-INPUT-CHANGED. */
async function verify(writing: WriteContext, earlier: ResumeState): Promise<void> {
  try {
    await verifyDigests(writing, earlier);
  } catch (error) {
    const isChange = error instanceof EngagectlError && error.id === 'E-INPUT-CHANGED';
    if (!isChange || !earlier.nonIdempotent.has('other')) throw error;
    const fix = 'restore the file and rerun with --resume; --fresh would send again what was sent';
    throw new EngagectlError(error.id, error.message, { ...error.details, fix });
  }
}

async function verifyDigests({ inputs, kind }: WriteContext, earlier: ResumeState): Promise<void> {
  const { digests, watermark } = earlier;
  // More text in an input moves the records of the inputs behind it.
  const mayGrow = ({ input, ended }: TextDigest): boolean =>
    !ended || (watermark.input <= input && !hasReached(earlier, ended.end.ordinal));
  if (inputs.totalBytes !== undefined) return inputs.verify(digests.values(), mayGrow);
  const digest = digests.get(0);
  // A demerge must read all identities again to find duplicates.
  if (digest) await inputs.skipPipe(kind.seen ? undefined : watermark, digest);
}

/** Opens a journaled run for files and for named pipes, whose producer can be run again. */
async function openRunOf(writing: WriteContext): Promise<OpenRun<WriteEntry>> {
  const { kind, request, context, inputs, connection, rehearsal } = writing;
  if (!connection || rehearsal !== undefined) return unjournaledRun(context);
  const isPiped = inputs.totalBytes === undefined;
  if (isPiped && request.runName === undefined) {
    const how = context.words.option('runName', '<name>');
    const note = `input from a pipe can be resumed only with ${how}; starting from scratch`;
    if (request.resume) context.messages.note(note);
    return unjournaledRun(context);
  }
  const query = {
    command: kind.name,
    accountId: connection.accountId,
    host: connection.host,
    files: isPiped
      ? [pipeName(request)]
      : request.files.map((file) => path.resolve(context.runtime.cwd, file)),
    options: fingerprint({ ...kind.fingerprinted, ...zoneOf(kind, connection) }),
    ...zoneOf(kind, connection),
    ...(request.shard && { shard: formatShard(request.shard) }),
    retryUnknown: request.retryUnknown,
    resume: request.resume,
    fresh: request.fresh,
    run: request.run,
    waitLock: request.waitLock,
    mayRestart: (folder: RunFolder) =>
      mayRestart(replayWrite(readJournal(journalPath(folder), writeEntries))),
    discarded: (folder: RunFolder) => {
      if (request.fresh) warnOfUnknown(folder, context);
      recordDiscarded(context.runsFolder(), folder, context.runtime.now());
    },
  };
  if (request.journal) return openRun(query, writeEntries, context);
  await refuseUnfinished(query, context);
  return unjournaledRun(context);
}
