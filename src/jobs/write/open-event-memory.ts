import path from 'node:path';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import {
  EventMemory,
  pruneEvents,
  type AbsentEvent,
  type MatchedRun,
} from '../../bulk/event-memory/event-memory.js';
import { EngagectlError, countOf, groupDigits } from '../../errors.js';
import { refuseUntrusted } from '../../files/ownership.js';
import { makeStateFolder } from '../run/run-folder.js';
import { runsFolder } from '../run/open-run.js';
import type { Inputs } from '../../input/inputs.js';
import { exportedKind } from '../../mapping/exported-csv.js';
import { timeZone } from '../../time-zone.js';
import { headRecords } from '../../bulk/write/write-pipeline.js';
import { isLeased, newRunId, type Connection, type JobContext } from '../job-context.js';
import type { Runtime } from '../../runtime.js';
import type { EventFilter } from '../../bulk/write/write-job.js';
import type { WriteContext } from './write-request.js';
import type { Mapper } from '../../mapping/record-block.js';
import type { RowBlock } from '../../input/row-block.js';

/** The event memory of one run of a write. */
export interface RememberedEvents {
  readonly memory: EventMemory;
  /** Write events that other runs sent to the rejects file, instead of only counting them. */
  readonly listsSent: boolean;
  /** Whether one of the first events was sent. Reads the beginning of the files once more. */
  knowsSome(mapper: Mapper): Promise<boolean>;
  /** Returns the memory for the write pipeline. */
  filter(mapper: Mapper): EventFilter;
}

export interface MemoryUse {
  /** Id of the run. */
  readonly run: string;
  readonly isResumed: boolean;
  /** Ids of runs whose part of the input is skipped. */
  readonly skippedRuns: readonly string[];
  /** Ids of the runs that sent events in other time zones, by the name of the zone. */
  readonly otherZones: ReadonlyMap<string, ReadonlySet<string>>;
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
  { run, isResumed, skippedRuns, otherZones }: MemoryUse,
): Promise<RememberedEvents> {
  const { request, context, connection, inputs, reopen } = writing;
  const { runtime } = context;
  const memory = await EventMemory.open({
    ...storeOf(context, connection!),
    run,
    started: new Date(runtime.now()).toISOString(),
    files: inputs.names,
    ignoresTime: hasUploadTime(request),
    retryUnknown: request.retryUnknown === true,
    again: request.again === true || request.full === true,
    skippedRuns,
  });
  const damaged = memory.damagedLog;
  if (damaged !== undefined)
    context.messages.warn(
      `a part of ${damaged} is damaged: events of earlier runs may be sent again; restore the file, or compare them with "verify"`,
    );
  const skipsSent = isResumed || request.resume === true || request.changed === true;
  return {
    memory,
    listsSent: !skipsSent,
    knowsSome: async (mapper) => {
      const again = await reopen();
      try {
        for await (const rows of again.blocks()) {
          if (memory.knownRows(mapper.map(rows)).size > 0) return true;
          if (rows.end.ordinal >= headRecords) break;
        }
        return false;
      } finally {
        await again.close();
      }
    },
    filter: (mapper) => ({
      skip: (block) => memory.skip(block),
      intend: async (batch) => memory.intend(batch),
      settle: (batch, state, positions) => memory.settle(batch, state, positions),
      ...headOf(writing, { memory, mapper, skipsSent, otherZones }),
    }),
  };
}

/**
 * Builds the check of the first events: without `skipsSent`, none may have been sent; with it, none with the times of
 * another zone only.
 */
function headOf(
  writing: WriteContext,
  {
    memory,
    mapper,
    skipsSent,
    otherZones,
  }: Pick<MemoryUse, 'otherZones'> & {
    readonly memory: EventMemory;
    readonly mapper: Mapper;
    readonly skipsSent: boolean;
  },
): Pick<EventFilter, 'head'> {
  const { kind, request, rehearsal } = writing;
  const zones = request.again || hasUploadTime(request) ? [] : [...otherZones];
  if (rehearsal !== undefined || (skipsSent && zones.length === 0)) return {};
  const others = zones.map(([name, ids]) => ({ name, ids, mapper: kind.mapper(timeZone(name)) }));
  let zone: string | undefined;
  const look = (rows: RowBlock, most: number): boolean => {
    const block = mapper.map(rows);
    const first = { ...block, count: Math.min(block.count, most) };
    if (!skipsSent) memory.skip(first);
    const known = others.length === 0 ? undefined : memory.knownRows(first);
    // Neither later rows, nor those of another shard or held back, are compared.
    const newRows =
      known && [...first.row.subarray(0, first.count)].filter((row) => !known.has(row));
    for (const { name, ids, mapper: other } of newRows ? others : []) {
      const sent = memory.knownRows(other.map(rows), ids);
      if (newRows!.some((row) => sent.has(row))) zone = name;
    }
    return first.kinds.subarray(0, first.count).includes(1);
  };
  const refusal = (records: number) =>
    (skipsSent ? undefined : alreadySent(memory.matched, records, writing)) ??
    (zone === undefined ? undefined : sentInZone(zone, records, writing));
  return { head: { look, refusal } };
}

/** Events get the time of their upload. */
export const hasUploadTime = (options: object): boolean => 'ts' in options && options.ts === 'now';

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
  random: runtime.random,
  now: runtime.now,
  sleep: async (milliseconds: number) => runtime.sleep(milliseconds, runtime.signal),
});

/**
 * Records in the event memory that events of unknown outcome were not found, so that the next upload sends them.
 * Returns the positions of those that may have been sent with other options, so that it would not. Throws
 * E-FILE-WRITE, E-LEDGER.
 */
export async function rememberMissing(
  events: readonly AbsentEvent[],
  {
    context,
    connection,
    options,
  }: {
    readonly context: JobContext;
    readonly connection: Connection;
    readonly options: object;
  },
): Promise<ReadonlySet<number>> {
  if (events.length === 0 || runsFolder(context) === undefined) return new Set();
  const store = storeOf(context, connection);
  if (!existsSync(store.folder)) return new Set();
  const memory = await EventMemory.open({
    ...store,
    run: newRunId(context.runtime),
    started: '',
    files: [],
    ignoresTime: hasUploadTime(options),
    retryUnknown: false,
    again: false,
    skippedRuns: [],
  });
  try {
    return await memory.missing(events);
  } finally {
    memory.close();
  }
}

/** Whether events of the account were remembered before, so that an upload must know them. */
export function hasRememberedEvents(
  context: Pick<JobContext, 'runsFolder'>,
  connection: Pick<Connection, 'accountId' | 'host'>,
): boolean {
  const folder = eventFolder(context.runsFolder(), connection);
  return existsSync(folder) && readdirSync(folder).some((name) => !name.startsWith('.'));
}

/**
 * Removes the events of all accounts that are not to be remembered any more. Returns how many; leaves accounts
 * that another process uses. Throws E-LEDGER, E-FILE-WRITE.
 */
export async function pruneRememberedEvents(runs: string, runtime: Runtime): Promise<number> {
  const root = path.join(path.dirname(runs), 'events');
  let removed = 0;
  for (const folder of eventFolders(root)) {
    refuseUntrusted(folder, runtime);
    removed += await pruneEvents({ ...storeIn(folder, runtime), run: newRunId(runtime) });
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

/** Builds the error for events that were sent with the times of another zone. */
const sentInZone = (
  zone: string,
  records: number,
  { inputs, context: { words } }: Pick<WriteContext, 'inputs' | 'context'>,
): EngagectlError =>
  new EngagectlError(
    'E-ALREADY-SENT',
    `some of the first ${countOf(records, 'record')} of ${inputs.first} were sent with another time zone: ${zone}`,
    {
      why: 'the same events would be sent a second time with other times; nothing was sent now',
      fix: `${words.option('timezone', zone)} ${words.option('resume')} sends only the events that were not sent; ${words.option('again')} sends all of them with the new times`,
      file: inputs.first,
    },
  );

function describeRun({ run }: MatchedRun): string {
  if (!run) return 'another process is sending them';
  const { file, otherFiles, started } = run;
  const more = otherFiles > 0 ? ` and ${groupDigits(otherFiles)} more` : '';
  return `run ${run.run} sent them from ${file}${more} on ${started.slice(0, 10)}`;
}
