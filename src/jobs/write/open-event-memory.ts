import path from 'node:path';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { EventMemory } from '../../bulk/event-memory/event-memory.js';
import { EngagectlError, countOf, groupDigits } from '../../errors.js';
import type { AbsentEvent, ArrivedEvents } from '../../bulk/event-memory/event-log.js';
import {
  pruneEvents,
  type MatchedRun,
  type PruneOptions,
} from '../../bulk/event-memory/event-store.js';
import { ordinalOfRow } from '../../bulk/outcomes/ordinal-set.js';
import { hasCommitted, hasReached, type ResumeState } from '../../bulk/outcomes/journal-entries.js';
import { skipReason } from '../../bulk/outcomes/outcome-counts.js';
import { refuseUntrusted } from '../../files/ownership.js';
import { isMissing } from '../../files/path-checks.js';
import { blocksOf } from './required-columns.js';
import { makeStateFolder } from '../run/run-folder.js';
import { runsFolder } from '../run/open-run.js';
import type { Inputs } from '../../input/inputs.js';
import { exportedKind } from '../../mapping/exported-csv.js';
import { timeZone } from '../../time-zone.js';
import { headRecords } from '../../bulk/write/write-pipeline.js';
import {
  isLeased,
  newRunId,
  type Connection,
  type EnginePorts,
  type JobContext,
} from '../job-context.js';
import type { Runtime } from '../../runtime.js';
import type { EventFilter } from '../../bulk/write/write-job.js';
import type { RecordForm, WriteContext, WriteKind } from './write-request.js';
import type { Mapper, RecordBlock } from '../../mapping/record-block.js';
import { cleanRows, type RowBlock } from '../../input/row-block.js';

/** The event memory of one run of a write. */
export interface RememberedEvents {
  readonly memory: EventMemory;
  /** Write events that other runs sent to the rejects file, instead of only counting them. */
  readonly listsSent: boolean;
  /**
   * Whether events of files that another run sent were sent in another form, or none of the first ones in this. Reads
   * the files once more.
   */
  isOtherwiseSent(mapper: Mapper): Promise<boolean>;
  /**
   * Matches the events that have an outcome, or were in flight, with what was sent, before the others are looked up: else
   * one of them that was sent stands for an equal one before it that was not. Reads files once more; a pipe cannot be
   * read twice.
   */
  matchEarlier(mapper: Mapper, earlier: ResumeState): Promise<void>;
  /** Returns the memory for the write pipeline. */
  filter(mapper: Mapper): EventFilter;
}

/** A form in which runs sent events. */
export interface SentForm {
  /** Name of the time zone. */
  readonly zone: string;
  /** Options that decide what is sent; undefined: those of this run. */
  readonly options: Readonly<Record<string, unknown>> | undefined;
  /** Ids of the runs. */
  readonly runs: ReadonlySet<string>;
  /** Returns the error for records that were sent in this form; `what`: which ones, with their verb. */
  readonly refusal: (name: string, what: string) => EngagectlError;
}

export interface MemoryUse {
  /** Id of the run. */
  readonly run: string;
  readonly isResumed: boolean;
  readonly isRestarted: boolean | undefined;
  /** Whether events in flight of its earlier attempts are resent. */
  readonly retryOwn: boolean;
  /** Whether there must be a memory, since runs sent events. */
  readonly isExpected: boolean;
  /** Other forms in which runs sent events. */
  readonly otherForms: Iterable<SentForm>;
}

/** Returns the folder of the event memory of an account. */
function eventFolder(runs: string, { accountId, host }: Pick<Connection, 'accountId' | 'host'>) {
  const owner = createHash('sha256')
    .update(JSON.stringify([accountId, host]))
    .digest('hex');
  return path.join(path.dirname(runs), 'events', owner.slice(0, 32));
}

/** Whether the events of a write are remembered. A fleet protects its shards by their journals. */
export function remembersEvents(writing: WriteContext): boolean {
  const { kind, request, context, connection, rehearsal } = writing;
  const isDryRun = rehearsal === 'dryRun' || (rehearsal === 'check' && !request.changed);
  if (kind.name !== 'upload' || !connection || isDryRun) return false;
  if (isLeased(context)) return false;
  return request.journal && runsFolder(context) !== undefined && mayHaveEvents(writing);
}

/** Rows of tables are profiles unless an option or an exported header says otherwise. */
export function mayHaveEvents({
  request,
  inputs,
}: {
  readonly request: object;
  readonly inputs: Pick<Inputs, 'headers' | 'names'>;
}): boolean {
  const { headers, names } = inputs;
  const tables = headers.reduce((sum, one) => sum + one.inputs, 0);
  const isEvent = 'type' in request && request.type === 'event';
  return (
    isEvent ||
    tables < names.length ||
    headers.some(({ header }) => exportedKind(header) !== undefined)
  );
}

/** Opens the event memory. Throws E-FILE-WRITE, E-LEDGER, E-CONFIG-FILE. */
export async function openEventMemory(
  writing: WriteContext,
  { isResumed, isExpected, otherForms, ...use }: MemoryUse,
): Promise<RememberedEvents> {
  const { request, context, connection, inputs, rehearsal, reopen } = writing;
  const { runtime } = context;
  const store = storeOf(context, connection!);
  const { folder } = store;
  const isLost = isExpected && isMissing(folder);
  const memory = await EventMemory.open({
    ...store,
    ...use,
    started: new Date(runtime.now()).toISOString(),
    files: inputs.names,
    retryUnknown: request.retryUnknown === true,
    again: request.again === true,
    // A file is read once more instead: see matchEarlier.
    knowsOwn: isResumed && !use.isRestarted && inputs.totalBytes === undefined,
  });
  const damaged = memory.damagedLog;
  const lost = damaged === undefined ? isLost && folder : `a part of ${damaged}`;
  if (lost)
    context.messages.warn(
      `${lost} is damaged or missing: events of earlier runs may be sent again; restore it, or compare them with "verify"`,
    );
  const skipsSent = isResumed || request.resume === true || request.changed === true;
  const forms = request.again || rehearsal !== undefined ? [] : otherForms;
  const compared = await comparedForms(writing, memory, forms).catch((error: unknown) => {
    memory.close();
    throw error;
  });
  let isMatched: ((ordinal: number) => boolean) | undefined;
  return {
    memory,
    listsSent: !skipsSent,
    isOtherwiseSent: async (mapper) =>
      isOtherwiseSent(await reopen(), { mapper, memory, compared }),
    matchEarlier: async (mapper, earlier) => {
      const isNeeded = hasCommitted(earlier) && !memory.hasNone;
      if (!isNeeded || inputs.totalBytes === undefined) return;
      const { settled, intended } = earlier;
      const isEarlier = (ordinal: number) =>
        settled.has(ordinal) || (!use.retryOwn && intended.has(ordinal));
      for await (const rows of blocksOf(await reopen(), runtime.signal)) {
        memory.skip(withEvents(mapper.map(rows), isEarlier));
        if (!hasReached(earlier, rows.end.ordinal)) break;
      }
      isMatched = isEarlier;
    },
    filter: (mapper) => ({
      skip: (block) =>
        memory.skip(isMatched ? withEvents(block, (ordinal) => !isMatched!(ordinal)) : block),
      intend: async (batch) => memory.intend(batch),
      settle: (batch, state, positions) => memory.settle(batch, state, positions),
      ...headOf(writing, { memory, mapper, skipsSent, compared }),
    }),
  };
}

/** See RememberedEvents. */
async function isOtherwiseSent(
  inputs: Inputs,
  {
    mapper,
    memory,
    compared,
  }: {
    readonly mapper: Mapper;
    readonly memory: EventMemory;
    readonly compared: readonly ComparedForm[];
  },
): Promise<boolean> {
  // With other rows, a new event may be an old one in another form, which cannot be looked up.
  const refusesNew = compared.some((form) => form.isReadOtherwise);
  let knowsSome = false;
  try {
    for await (const rows of inputs.blocks()) {
      const block = mapper.map(rows);
      const known = memory.knownRows(block);
      const isNew = refusesNew && known.size < countEvents(block);
      if (isNew || formOfNew(block, known, compared)) return true;
      knowsSome ||= known.size > 0;
      if (!knowsSome && rows.end.ordinal >= headRecords) break;
    }
    return !knowsSome;
  } finally {
    await inputs.close();
  }
}

/** Returns the block as if its other events were none. */
function withEvents(block: RecordBlock, isEvent: (ordinal: number) => boolean): RecordBlock {
  const { rows, row } = block;
  const kinds = block.kinds.map((kind, at) => (isEvent(ordinalOfRow(rows, row[at]!)) ? kind : 0));
  return { ...block, kinds };
}

const countEvents = ({ kinds, count }: RecordBlock): number =>
  kinds.subarray(0, count).filter((kind) => kind === 1).length;

/** Another form of the input. */
interface ComparedForm extends Pick<SentForm, 'refusal'> {
  /** Its records or cells are found with other options, so that its rows may be others. */
  readonly isReadOtherwise: boolean;
  /** Returns the rows with events that were sent in this form. */
  readonly sentRows: (rows: RowBlock) => ReadonlySet<number>;
}

/** Builds the look-ups of events in other forms. */
async function comparedForms(
  { kind }: WriteContext,
  memory: EventMemory,
  forms: Iterable<SentForm>,
): Promise<readonly ComparedForm[]> {
  const compared: ComparedForm[] = [];
  for (const { zone, options, runs, refusal } of forms) {
    const form = options && (await kind.formOf?.(options));
    const mapper = unlessUnreadable(() => (form ?? kind).mapper(timeZone(zone)));
    if (!mapper) continue;
    const sentRows = (rows: RowBlock) => {
      const read = form ? cleanRows(rows, form.cleaning) : rows;
      return unlessUnreadable(() => memory.knownRows(mapper.map(read), runs)) ?? new Set<number>();
    };
    compared.push({ refusal, sentRows, isReadOtherwise: isReadOtherwise(form, kind) });
  }
  return compared;
}

const isReadOtherwise = (form: RecordForm | undefined, { fingerprinted }: WriteKind): boolean =>
  Object.entries(form?.reading ?? {}).some(([name, value]) => value !== fingerprinted[name]);

/** Returns undefined for a mapping of columns that are not there, and a time zone that this Node.js does not know. */
export function unlessUnreadable<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof EngagectlError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Returns the form in which new events of a block were sent. Events of another shard, or held back, are not in it. */
function formOfNew(
  { rows, row, count }: RecordBlock,
  known: ReadonlySet<number>,
  compared: readonly ComparedForm[],
): ComparedForm | undefined {
  const newRows = [...row.subarray(0, count)].filter((one) => !known.has(one));
  if (newRows.length === 0) return undefined;
  return compared.find(({ sentRows }) => {
    const sent = sentRows(rows);
    return newRows.some((one) => sent.has(one));
  });
}

/**
 * Builds the check of the first events: without `skipsSent`, none may have been sent; with it, none in another form
 * only.
 */
function headOf(
  writing: WriteContext,
  {
    memory,
    mapper,
    skipsSent,
    compared,
  }: {
    readonly memory: EventMemory;
    readonly mapper: Mapper;
    readonly skipsSent: boolean;
    readonly compared: readonly ComparedForm[];
  },
): Pick<EventFilter, 'head'> {
  const { inputs, rehearsal } = writing;
  if (rehearsal !== undefined || (skipsSent && compared.length === 0)) return {};
  let sentIn: ComparedForm | undefined;
  const look = (rows: RowBlock, most: number): boolean => {
    const block = mapper.map(rows);
    const first = { ...block, count: Math.min(block.count, most) };
    if (!skipsSent) memory.skip(first);
    if (compared.length > 0) sentIn ??= formOfNew(first, memory.knownRows(first), compared);
    return countEvents(first) > 0;
  };
  const refusal = (records: number) =>
    (skipsSent ? undefined : alreadySent(memory.matched, records, writing)) ??
    sentIn?.refusal(
      inputs.first,
      `some of the first ${countOf(records, 'record')} of ${inputs.first} were`,
    );
  return { head: { look, refusal } };
}

function storeOf(
  context: Pick<JobContext, 'runtime' | 'runsFolder'>,
  connection: Pick<Connection, 'accountId' | 'host' | 'rememberMs'>,
) {
  const { runtime } = context;
  const folder = eventFolder(context.runsFolder(), connection);
  return {
    ...storeIn(folder, runtime),
    rememberMs: connection.rememberMs,
    prepare: () => {
      makeStateFolder(folder);
      for (const each of [path.dirname(folder), folder]) refuseUntrusted(each, runtime);
    },
  };
}

const storeIn = (folder: string, runtime: Runtime) => ({
  folder,
  token: runtime.token,
  now: runtime.now,
  sleep: async (milliseconds: number) => runtime.sleep(milliseconds, runtime.signal),
});

/** Events of unknown outcome that were looked up. */
export interface LookedUpEvents {
  readonly absent: readonly AbsentEvent[];
  readonly arrived: readonly ArrivedEvents[];
}

/**
 * Records in the event memory that events of unknown outcome were not found, so that the next upload sends them, or
 * that they were found, so that none does. Returns the positions of absent ones that it would skip all the same: see
 * EventMemory.missing. Throws E-FILE-WRITE, E-LEDGER.
 */
export async function rememberLookUp(
  { absent, arrived }: LookedUpEvents,
  {
    context,
    connection,
    files,
  }: {
    readonly context: JobContext;
    readonly connection: Connection;
    /** Names of the rejects files. */
    readonly files: readonly string[];
  },
): Promise<ReadonlySet<number>> {
  if (absent.length + arrived.length === 0 || runsFolder(context) === undefined) return new Set();
  const store = storeOf(context, connection);
  if (isMissing(store.folder)) return new Set();
  const memory = await EventMemory.open({
    ...store,
    run: newRunId(context.runtime),
    started: new Date(context.runtime.now()).toISOString(),
    files: files.map((name) => `${name}, which verify --settle found,`),
    retryUnknown: false,
    again: false,
  });
  try {
    if (arrived.length > 0) await memory.arrived(arrived);
    const skipped = await memory.missing(absent);
    memory.end();
    return skipped;
  } finally {
    memory.close();
  }
}

/** Whether events of the account were remembered before, or may have been, so that an upload must know them. */
export function hasRememberedEvents(
  context: Pick<JobContext, 'runsFolder'>,
  connection: Pick<Connection, 'accountId' | 'host'>,
): boolean {
  const folder = eventFolder(context.runsFolder(), connection);
  try {
    return readdirSync(folder).some((name) => !name.startsWith('.'));
  } catch {
    const all = path.dirname(folder);
    const isUnmounted = !isMissing(all) && !existsSync(all); // a link of the user to another disk
    return isUnmounted || !isMissing(folder);
  }
}

/**
 * Removes the events of all accounts that are not to be remembered any more. Returns how many; leaves accounts that
 * another process uses. Throws E-LEDGER, E-FILE-WRITE.
 */
export async function pruneRememberedEvents(
  runs: string,
  retention: Pick<PruneOptions, 'rememberMs' | 'overridesRuns' | 'onDamage'>,
  runtime: Runtime,
): Promise<number> {
  const root = path.join(path.dirname(runs), 'events');
  let removed = 0;
  for (const folder of eventFolders(root)) {
    refuseUntrusted(folder, runtime);
    removed += await pruneEvents({
      ...storeIn(folder, runtime),
      ...retention,
      run: newRunId(runtime),
    });
  }
  return removed;
}

/** Returns the bytes of the remembered events of each account that has any. */
export function eventMemorySizes(runs: string): readonly number[] {
  const sizes = eventFolders(path.join(path.dirname(runs), 'events')).map((folder) =>
    readdirSync(folder)
      .filter((name) => name.startsWith('sent-')) // not the table of runs
      .map((name) => lstatSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
      .reduce((sum, size) => sum + size, 0),
  );
  return sizes.filter((size) => size > 0);
}

/** Lists the folders of the accounts. */
const eventFolders = (root: string): readonly string[] =>
  (existsSync(root) ? readdirSync(root, { withFileTypes: true }) : [])
    .filter((entry) => entry.isDirectory() && /^[0-9a-f]{32}$/.test(entry.name))
    .map(({ name }) => path.join(root, name));

/** Builds the error for an input whose first records another run sent; undefined if it did not. */
function alreadySent(
  matched: readonly MatchedRun[],
  records: number,
  { inputs, context }: Pick<WriteContext, 'inputs' | 'context'>,
): EngagectlError | undefined {
  const [first] = matched;
  if (!first) return undefined;
  const { option } = context.words;
  const events = matched.reduce((sum, run) => sum + run.events, 0);
  const what = `${groupDigits(events)} of the first ${countOf(records, 'record')} of ${inputs.first}`;
  const were = events === 1 ? 'was already sent' : 'were already sent';
  const others = matched.length > 1 ? ` and ${countOf(matched.length - 1, 'other run')}` : '';
  return new EngagectlError('E-ALREADY-SENT', `${what} ${were}`, {
    why: `${describeRun(first)}${others}; nothing was sent now`,
    fix: `${option('resume')} sends only the events that were not sent; ${option('again')} sends all of them`,
    resumes: true,
    file: inputs.first,
  });
}

function describeRun({ run }: MatchedRun): string {
  if (!run) return 'another process is sending them';
  const { file, otherFiles, started } = run;
  const more = otherFiles > 0 ? ` and ${groupDigits(otherFiles)} more` : '';
  return `run ${run.run} sent them from ${file}${more} on ${started.slice(0, 10)}`;
}

/** Marks the events of a fleet shard that another run sends. */
export function withoutSentEvents(mapper: Mapper, isSent: EnginePorts['isAlreadySent']): Mapper {
  if (!isSent) return mapper;
  const map: Mapper['map'] = (rows, picked) => {
    const block = mapper.map(rows, picked);
    const skip = new Uint8Array(block.count);
    for (let index = 0; index < block.count; index += 1) {
      const isSkipped = isSent(ordinalOfRow(rows, block.row[index]!));
      if (isSkipped) skip[index] = skipReason.alreadySent;
    }
    return { ...block, skip };
  };
  return { ...mapper, map };
}
