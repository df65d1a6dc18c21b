import { finishedCount } from '../../bulk/outcomes/outcome-counts.js';
import { Tally } from '../../bulk/outcomes/tally.js';
import { JournaledOutcomes } from '../../bulk/outcomes/outcome-log.js';
import {
  otherShardsBefore,
  hasCommitted,
  replayWrite,
  hasSent,
  type ResumeState,
  type WriteEntry,
} from '../../bulk/outcomes/journal-entries.js';
import { writeRecords } from '../../bulk/write/write-pipeline.js';
import {
  exitCodes,
  EngagectlError,
  groupDigits,
  mostSerious,
  fractionOf,
  type ExitCode,
} from '../../errors.js';
import { isPersonalColumn } from '../../bulk/outcomes/reject-samples.js';
import { sourceRecord, tableColumns } from '../../mapping/rejects-input.js';
import { openRejects, describeRejects } from '../rejects.js';
import {
  searchNamedColumns,
  tooFewRecordsError,
  unseenColumns,
  unseenColumnsError,
  requireReadable,
} from './required-columns.js';
import { watched } from '../../bulk/observed-client.js';
import { OrdinalSet } from '../../bulk/outcomes/ordinal-set.js';
import { canRerun, wasSentByOther, withoutRerun } from './already-sent-errors.js';
import { endpointPaths, writeEndpoints } from '../../contract/endpoints.js';
import { limitRecords, type Position, type RowBlock } from '../../input/row-block.js';
import type { InputDialect } from '../../input/open-input.js';
import { writeDefaults } from '../job-options.js';
import { isLeased, retryStatusOf, runEnd, type JobContext, type Wording } from '../job-context.js';
import type { ChangeTracker, TouchedKeys } from '../../bulk/change-tracking/change-tracker.js';
import type { ChangeFilter, RequestTotals, WriteJob } from '../../bulk/write/write-job.js';
import type { Mapper, RecordBlock } from '../../mapping/record-block.js';
import type { ChangeCounts, JobEnding, JobProgress, WriteResult } from '../job-results.js';
import type { OpenRun } from '../run/open-run.js';
import type { DuplicateProtection } from './duplicate-protection.js';
import type { RememberedEvents } from './open-event-memory.js';
import {
  readFilesOf,
  type Hint,
  type InputWarning,
  type WriteContext,
  type WriteRequest,
} from './write-request.js';
import type { Client } from '../../client/client.js';

interface Parts {
  readonly mapper: Mapper;
  readonly run: OpenRun<WriteEntry>;
  readonly earlier: ResumeState | undefined;
  readonly tally: Tally;
  readonly ledger: DuplicateProtection | undefined;
  readonly memory: ChangeTracker | undefined;
  /** Set for a run without change tracking. */
  readonly touched: TouchedKeys | undefined;
  readonly events: RememberedEvents | undefined;
}

/** Reads the input to its end and sends its records. */
export async function sendInput(
  writing: WriteContext,
  parts: Parts,
): Promise<JobEnding<WriteResult>> {
  const { request, context, hooks, rehearsal, inputs, connection } = writing;
  const { run, earlier, tally, memory } = parts;
  const { runtime } = context;
  const started = runtime.monotonic();
  const { client, history } = watched(rehearsal === 'check' ? undefined : connection?.client, {
    recordsHistory: hooks.history === true,
    records: () => tally.counts.accepted,
    observer: context.ports?.requests,
    runtime,
  });
  const remarks = printedRemarks(writing);
  const isResumed = run.kept?.resumed === true;
  const namedColumns = isResumed ? undefined : searchNamedColumns(writing);
  const made = { ...jobOf(writing, parts, client), namedColumns };
  const job = { ...made, map: (rows: RowBlock) => remarks.look(made.map(rows)) };
  const sending = writeRecords(job);
  hooks.started?.(() => progressOf(writing, tally, job), inputs.first);
  const { done, stopped: stop, ...traffic } = await sending;
  const advised = withoutRerun({ stop, done }, writing, parts);
  const stopped = advised ?? stop ?? incompleteError(writing, parts);
  const unseen = done && !isResumed ? unseenColumns(inputs, parts.mapper, namedColumns) : [];
  const hints = [...remarks.found(), ...unseen.map(unseenHint)];
  warnOfInput(writing, unseen, parts.mapper.losses?.());
  const short = done ? shortOf(writing, tally, traffic) : undefined;
  const isRefused = rehearsal === 'check' && unseen.length > 0;
  const error = writeError(tally, writing, {
    stopped: stopped ?? short ?? (isRefused ? unseenColumnsError(unseen, inputs.first) : undefined),
    isAdvised: advised !== undefined,
    hints: request.failOnWarnings === true ? hints : [],
  });
  if (stopped?.id === 'E-REJECTED') await run.kept?.journal.append({ kind: 'refused' });
  return {
    result: {
      run: run.id,
      accountId: connection?.accountId ?? null,
      ...tally.counts,
      ...(inputs.emptyRows > 0 && { emptyRows: inputs.emptyRows }),
      input: describeDialect(inputs.dialect),
      ...(memory && { plan: planOf(memory, parts.events) }),
      ...hintFigures(hints),
      ...traffic,
      rejectsFile: tally.rejects.exists ? tally.rejects.path : null,
      ...runEnd(error, started, runtime),
      done,
      stopped,
      unfinished:
        !done && (isLeased(context) || (isResumable(run) && !wasSentByOther(stopped, tally))),
    },
    rejectSummary: tally,
    history: history(),
    wasResumed: earlier !== undefined && !earlier.settled.isEmpty,
  };
}

/** Looks for likely mistakes in the mapped records and prints them: a few immediately, the others at the end. */
function printedRemarks(writing: WriteContext) {
  const remarks = writing.kind.remarks?.(writing.rehearsal === 'check');
  const print = (warnings: readonly InputWarning[] = []): void => {
    const { messages } = writing.context;
    for (const { text, personal } of warnings) messages.warn(text, {}, { personal });
  };
  return {
    look(block: RecordBlock): RecordBlock {
      print(remarks?.look(block));
      return block;
    },
    found(): readonly Hint[] {
      const hints = remarks?.found() ?? [];
      print(warningsOf(hints, writing));
      return hints;
    },
  };
}

/** Returns the likely mistakes without their texts, which contain values of the input. */
const hintFigures = (hints: readonly Hint[]): Pick<WriteResult, 'hints'> =>
  hints.length > 0 ? { hints: hints.map(({ isReported: _, what: _what, ...hint }) => hint) } : {};

/** Maximum hints printed at the end of a run. */
const maxHints = 5;

/** Returns the warnings about likely mistakes that were not reported yet. */
function warningsOf(
  hints: readonly Hint[],
  { kind: { keys = [] }, rehearsal, context: { words } }: WriteContext,
): readonly InputWarning[] {
  const all = hints.filter(({ isReported }) => !isReported);
  const rest = all.length - maxHints;
  const shown = rest > 0 ? all.slice(0, maxHints) : all;
  const warnings = shown.map(({ column, what, code, source, line, fix }) => {
    const name = column === null ? '' : `column ${JSON.stringify(column)}: `;
    const where = line === null ? '' : `, first on line ${line} of ${source}`;
    const isPredicted = rehearsal === 'check' && code !== null;
    const rejection = isPredicted ? `; the service rejects it with ${code}` : '';
    // The reason of rejects names its column itself.
    const head = column === null ? (/^column "(?:[^"\\]|\\.)*": /.exec(what)?.[0] ?? '') : '';
    const [about = column] = quotedIn(head);
    const isOfPerson = about !== null && isPersonalColumn(about, keys);
    const personal = isOfPerson ? quotedIn(what.slice(head.length)) : [];
    return { text: `${name}${what}${where}${rejection}: ${fix}`, personal };
  });
  if (rest <= 0) return warnings;
  const noun = rest === 1 ? 'likely mistake' : 'likely mistakes';
  const more = `${groupDigits(rest)} more ${noun}; ${words.option('preview')} shows all`;
  return [...warnings, { text: more, personal: [] }];
}

/** Returns the texts in quotes, which are names and values. */
export const quotedIn = (text: string): string[] =>
  [...text.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([found]) => JSON.parse(found) as string);

/** Builds the error for likely mistakes; undefined if there are none. */
function hintError(hints: readonly Hint[], { option }: Wording): EngagectlError | undefined {
  const [first] = hints;
  if (!first) return undefined;
  const { id, column, fix } = first;
  const name = column === null ? '' : `column ${JSON.stringify(column)}: `;
  const noun = hints.length === 1 ? 'likely mistake' : 'likely mistakes';
  return new EngagectlError('E-WARNINGS', `${groupDigits(hints.length)} ${noun} in the input`, {
    why: `${name}${id}`,
    fix: `${fix}; or leave out ${option('failOnWarnings')}`,
  });
}

/** Returns how the first input was read, for the summary. */
const describeDialect = ({ format, delimiter, encoding, headerLine }: InputDialect) => {
  return { format, delimiter, encoding, headerLine };
};

/** Adds the events, which have no baseline, to the plan of a write with change tracking. */
function planOf({ plan }: ChangeTracker, events: RememberedEvents | undefined): ChangeCounts {
  const { new: added = 0, known = 0 } = events?.memory.counts ?? {};
  return { ...plan, new: plan.new + added, unchanged: plan.unchanged + known };
}

/** Reports records with an outcome, and the same share of the bytes. */
function progressOf(
  { inputs, rehearsal }: WriteContext,
  { counts }: Tally,
  { limiter, waits }: WriteJob,
): JobProgress {
  const { read, rejected, notSent, otherShards = 0 } = counts;
  const records = finishedCount(counts) - (rehearsal === 'check' ? 0 : notSent);
  const bytes =
    read === 0 ? 0 : Math.round((inputs.bytesRead(read + otherShards) * records) / read);
  const { totalBytes } = inputs;
  const waiting = waits.text;
  return { read, records, rejected, bytes, totalBytes, inFlight: limiter.inFlight, waiting };
}

/** Builds the error for an input that ends in the middle of a record; undefined if it does not. */
function incompleteError(
  { kind, rehearsal, context: { words } }: WriteContext,
  { tally: { incomplete, rejects, counts }, run: { kept } }: Parts,
): EngagectlError | undefined {
  if (!incomplete) return undefined;
  const { source, line, error } = incomplete;
  const others = counts.notSent > 1 ? '; then send what follows it: nothing of that was sent' : '';
  const next = kept
    ? `when the rest is there, rerun with ${words.option('resume')}; if this is the end, add ${words.option('final')}`
    : rehearsal
      ? `complete it, or add ${words.option('final')} if this is its end`
      : `${words.correct(kind.name, rejects.path)}${others}`;
  return new EngagectlError('E-INCOMPLETE', `${source} ends in the middle of a record`, {
    why: `line ${line} was held back: ${error}`,
    fix: next,
    resumes: kept !== undefined,
    file: source,
    line,
  });
}

/** Prints warnings about the input, and about columns that no record of a pipe had; files are checked before. */
function warnOfInput(
  { inputs, context: { messages } }: WriteContext,
  unseen: readonly string[],
  losses: readonly string[] = [],
): void {
  for (const warning of [...inputs.warnings, ...losses]) messages.warn(warning);
  if (unseen.length === 0) return;
  const names = unseen.map((name) => JSON.stringify(name)).join(', ');
  messages.warn(`no record has the column ${names}`);
}

const unseenHint = (column: string): Hint => ({
  id: 'unseen-column',
  column,
  count: 0,
  what: 'occurs in no record',
  fix: 'correct the name, or leave the option out',
  code: null,
  source: null,
  line: null,
  isReported: true,
});

/** Builds the error for a pipe with too few records, whose number is known only at the end. */
export function shortOf(
  { kind, request, inputs }: WriteContext,
  { counts, hasSent }: Tally,
  { requests }: Pick<RequestTotals, 'requests'>,
) {
  const { minRecords = 0 } = kind;
  const records = counts.read + (counts.otherShards ?? 0);
  const isCutByUs = request.limit !== undefined;
  if (isCutByUs || inputs.totalBytes !== undefined || records >= minRecords) return undefined;
  const { names } = inputs;
  const accepted = hasSent || requests > 0 ? counts.accepted + counts.resumed : undefined;
  return tooFewRecordsError(records, minRecords, { names, accepted });
}

/** Opens the outcome counts. The rejects file is created with the first reject. */
export async function openTally(
  writing: WriteContext,
  { run, earlier, events, mapper }: Pick<Parts, 'run' | 'earlier' | 'events' | 'mapper'>,
): Promise<Tally> {
  const { kind, request, context, hooks, rehearsal, inputs } = writing;
  const { kept } = run;
  const { rejects: named, shard } = request;
  const rejects = openRejects(
    {
      job: kind.name,
      named,
      files: readFilesOf(request),
      first: inputs.first,
      sources: inputs.names,
      headers: inputs.headers,
      onReject: hooks.rejected,
      shard,
    },
    context,
  );
  const isPiped = inputs.totalBytes === undefined;
  const tally: Tally = new Tally({
    rejects,
    sourceRecord: (rows, row) => sourceRecord(rows, row, mapper),
    tableColumns: (rows, row) => tableColumns(rows, row, mapper),
    keys: kind.keys,
    // With a journal, the run is resumed, and the producer of a pipe run again.
    listNotSent: () =>
      !kept && (isPiped ? rehearsal !== 'check' : !rehearsal && !canRerun(tally, events)),
    listAlreadySent: events?.listsSent === true,
    listHeldBack: kept === undefined && rehearsal === undefined,
  });
  if (shard) tally.counts.otherShards = 0;
  if (!kept || !earlier) return tally;
  const isMoved = isLeased(context) && earlier.rejectsFile !== undefined;
  const file = isMoved ? rejects.file : earlier.rejectsFile; // each owner has a folder of its own
  await rejects.resume({ file, mark: earlier.rejects, isMoved });
  tally.resume(earlier.counts);
  if (shard && startOf(writing, earlier)) tally.counts.otherShards = otherShardsBefore(earlier);
  const journalled = new JournaledOutcomes({
    journal: kept.journal,
    rejects,
    digests: () => inputs.takeDigests(),
    start: earlier.watermark,
    nonIdempotent: earlier.nonIdempotent,
  });
  tally.log = context.ports?.outcomes?.(journalled) ?? journalled;
  return tally;
}

/** Compares records with a baseline, and marks those that are sent in others. */
const touching = (memory: ChangeTracker, touched: TouchedKeys): ChangeFilter => ({
  unchanged: (block) => memory.unchanged(block),
  accepted: (batch, positions) => memory.accepted(batch, positions),
  intend: async (batch) => {
    await touched.intend(batch);
    await memory.intend(batch);
  },
  answered: async (batch) => touched.answered(batch),
});

/** Builds the job for the write pipeline. A check has no client and sends nothing. */
function jobOf(writing: WriteContext, parts: Parts, client: Client | undefined): WriteJob {
  const { kind, request, context, hooks, rehearsal, inputs, connection, limiter } = writing;
  const { mapper, run, earlier, tally, memory, touched, events } = parts;
  const { limit, maxRejects } = request;
  const { name } = kind;
  const defaults = writeEndpoints[name];
  const from = startOf(writing, earlier);
  // A shard that its rejects stopped is processed again only after `fleet retry`.
  const wasContinued = isLeased(context) && earlier?.hitRejectLimit === true;
  const rows = hooks.ready ? paced(inputs.blocks(from), hooks.ready) : inputs.blocks(from);
  return {
    rows: limit === undefined ? rows : limitRecords(rows, limit - (from?.ordinal ?? 0)),
    map: (block) => mapper.map(block),
    identities: kind.seen,
    send:
      client &&
      ((body, signal, attempt) =>
        client.write(name, body, signal, { dryRun: rehearsal === 'dryRun', ...attempt })),
    redact: client?.redact ?? ((text) => text),
    endpoint: `POST ${endpointPaths[name]}`,
    request: {
      frame: { open: Buffer.from(kind.frame[0]), close: Buffer.from(kind.frame[1]) },
      records: request.chunkSize ?? defaults.records,
      bytes: request.chunkBytes ?? writeDefaults.chunkBytes,
    },
    order: kind.seen ? 'none' : (request.order ?? 'key'),
    maxRejects: wasContinued ? anyRejects : maxRejects,
    rehearsal,
    isResumable: run.kept !== undefined,
    tally,
    limiter,
    policy: connection?.policy ?? noRetries,
    runtime: context.runtime,
    earlier:
      earlier && hasCommitted(earlier)
        ? resumeStateOf(earlier, retriesInFlight(request, run, context))
        : undefined,
    changes: memory && touched ? touching(memory, touched) : (memory ?? touched),
    events: events?.filter(mapper),
    begin: beginOf(writing, parts),
    piped: inputs.totalBytes === undefined,
    option: context.words.option,
    waits: retryStatusOf(connection, context),
    log: (line) => context.messages.verbose(line),
    warn: (text) => context.messages.warn(text),
  };
}

/** Returns what precedes the first record of a kind that is not safe to resend. */
function beginOf(
  { kind: { seen }, request: { limit }, context, inputs, reopen }: WriteContext,
  { mapper, ledger, events }: Parts,
): WriteJob['begin'] {
  if (!ledger) return undefined;
  const { signal } = context.runtime;
  const isRead = seen !== undefined || inputs.totalBytes === undefined; // identities are counted first; a pipe has no second reading
  const check = async () => requireReadable(mapper, await reopen(), { limit, signal });
  let checked: Promise<void> | undefined;
  return async (kind) => {
    const isFound = kind === 'event' && (events !== undefined || isLeased(context)); // in a corrected file
    if (!isRead && !isFound) await (checked ??= check());
    await ledger.begin(kind, inputs);
  };
}

/**
 * Returns where to start reading; undefined for the beginning: a demerge must read all identities again to
 * find duplicates, and a run with change tracking must find out which users are gone. The text of a pipe that was read
 * before is gone.
 */
function startOf(
  { kind: { seen }, request, inputs }: WriteContext,
  earlier: ResumeState | undefined,
): Position | undefined {
  const isCompared = request.changed === true && inputs.totalBytes !== undefined;
  return seen || isCompared ? undefined : earlier?.watermark;
}

async function* paced<T>(items: AsyncIterable<T>, ready: () => Promise<void>): AsyncGenerator<T> {
  for await (const item of items) {
    await ready();
    yield item;
  }
}

/** Clears the intents if records in flight are to be resent. */
const resumeStateOf = (earlier: ResumeState, retriesOwn: boolean): ResumeState =>
  retriesOwn ? { ...earlier, intended: new OrdinalSet() } : earlier;

/**
 * Whether to resend what earlier attempts of a run had in flight: if `retryUnknown` was added on resume. The decision of
 * its start was about records of a rejects file. Not in a fleet: a worker resumes the shard of another without
 * anybody's decision.
 */
export const retriesInFlight = (
  { retryUnknown }: WriteRequest,
  { kept }: OpenRun<WriteEntry>,
  context: JobContext,
): boolean =>
  retryUnknown === true && kept?.folder.header.retryUnknown !== true && !isLeased(context);

const anyRejects = { percent: 100 };

const noRetries = { maxAttempts: 1, retryForMs: 0, retryBaseMs: 0 };

interface EndedWrite {
  readonly stopped: EngagectlError | undefined;
  /** Whether it advises how to send the rest. */
  readonly isAdvised: boolean;
  /** Likely mistakes that are errors. */
  readonly hints: readonly Hint[];
}

/** Returns the most serious error of a finished write; undefined if there was none. */
function writeError(
  tally: Tally,
  { kind, rehearsal, context: { words } }: WriteContext,
  { stopped, isAdvised, hints }: EndedWrite,
): EngagectlError | undefined {
  const { rejects } = tally;
  const { read, rejected, unknown, alreadySent } = tally.counts;
  const codes: ExitCode[] = [];
  if (stopped) codes.push(stopped.exitCode);
  if (unknown > 0) codes.push(exitCodes.unknown);
  const isHeldBack = alreadySent > 0 && rejects.exists;
  if (rejected > 0 || isHeldBack) codes.push(exitCodes.rejected);
  const worst = mostSerious(codes);

  if (stopped?.exitCode === worst) return stopped;
  if (worst === exitCodes.unknown) {
    const message = `the outcome of ${groupDigits(unknown)} of ${groupDigits(read)} records is unknown`;
    return new EngagectlError('E-UNKNOWN', message, {
      why: stopped?.message ?? 'no response confirmed whether the service processed them',
      resumes: rejects.missing > 0 && stopped?.details.resumes,
      fix:
        isAdvised || rejects.missing > 0
          ? stopped?.details.fix
          : `${words.lookUp(rejects.path)}; ${words.resend(rejects.path)}`,
      cause: stopped,
    });
  }
  if (worst === exitCodes.rejected && rejected === 0) {
    const what = `${groupDigits(alreadySent)} of ${groupDigits(read)} records`;
    return new EngagectlError('E-REJECTED', `${what} had already been sent by another run`, {
      why: `they were not sent again; ${rejects.path} lists them`,
      fix: `to send them a second time, give that file to the same command with ${words.option('again')}`,
    });
  }
  if (worst === exitCodes.rejected) {
    return new EngagectlError('E-REJECTED', `${fractionOf(rejected, read, 'records')} rejected`, {
      why: describeRejects(tally.samples),
      fix: rehearsal
        ? `correct them in the input; ${rejects.path} lists each with its error`
        : words.correct(kind.name, rejects.path),
    });
  }
  return hintError(hints, words);
}

/**
 * Whether a run can be resumed: its journal has an outcome, an intent or a rejects file, or cannot
 * be read at the moment. False for a run that its rejects ended before anything was sent.
 */
export function isResumable({ kept }: OpenRun<WriteEntry>): boolean {
  if (!kept) return false;
  try {
    const earlier = replayWrite(kept.read());
    if (earlier.hitRejectLimit && !hasSent(earlier)) return false;
    return hasCommitted(earlier) || hasSent(earlier) || earlier.rejectsFile !== undefined;
  } catch {
    return true;
  }
}
