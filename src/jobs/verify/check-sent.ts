import { Breaks } from '../../event-loop.js';
import { lookUpProfiles, type LookUpContext, type LookupItem } from '../../bulk/profile-lookup.js';
import { compareAddress, compareUser } from './compare.js';
import { inconclusive, type Verdict } from './verdict.js';
import { stringifyLossless, parseLossless } from '../../text/lossless-json.js';
import { runExport } from '../export/run-export.js';
import { isOfDays } from '../../bulk/export/slice.js';
import { utcToDay } from '../../contract/dates.js';
import { sentMembers, type SentRecord } from './sent-records.js';
import type { Client } from '../../client/client.js';
import type { Connection, JobContext } from '../job-context.js';
import type { SentInput } from './sent-input.js';
import type { Identifier } from '../../mapping/identity.js';
import { SlicePages, type ExportJob } from '../../bulk/export/export-job.js';
import type { FileSlice } from '../../bulk/export/export-journal.js';
import type { Output } from '../../output/output.js';
import {
  recordsToSettle,
  type EqualEvents,
  type SentEvents,
  type EventDays,
} from './sent-events.js';
import type { EngagectlError } from '../../errors.js';
import type { Runtime } from '../../runtime.js';

/** Everything that the checks work with. */
export interface CheckContext extends LookUpContext {
  readonly client: Client;
  readonly sent: SentInput;
  readonly context: JobContext;
  readonly connection: Connection;
  /** Reads the events of the input again. */
  readonly readAgain: () => Promise<void>;
  /** Time in which differences are checked again, in milliseconds. */
  readonly within: number;
  readonly pendingTimeout: number | undefined;
  readonly concurrency: number;
}

const users = {
  what: 'users',
  unfindable: 'users with another key than identity or objectId',
  compare: compareUser,
  isOpen: ({ differences }: Verdict) => differences.length > 0,
} as const;

const addresses = {
  what: 'addresses',
  unfindable: 'phone numbers of rows without identity, since users cannot be looked up by number',
  compare: compareAddress,
  isOpen: ({ verdict }: Verdict) => verdict !== 'same',
} as const;

/** Checks all records, and yields an inconclusive verdict for those that cannot be checked. */
export async function* checkAll(checking: CheckContext): AsyncGenerator<Verdict> {
  const { sent, readAgain } = checking;
  for (const { records, why, count } of sent.untold)
    yield { ...inconclusive('events', records, why), count };
  yield* checkFound(sent.users.values(), users, checking);
  yield* checkFound(sent.addresses.values(), addresses, checking);
  const exporting = { ...checking, pages: new SlicePages() };
  yield* checkEvents(sent.events, exporting);
  while (sent.events.turn()) {
    await readAgain();
    yield* checkEvents(sent.events, exporting);
  }
}

/** A user or an address that was sent. */
interface Sent extends Pick<Verdict, 'records'> {
  /** Identifier to look up; undefined if the user cannot be looked up. */
  readonly identifier: Identifier | undefined;
}

interface Check<T> {
  readonly what: Verdict['what'];
  /** Description of items that cannot be looked up. */
  readonly unfindable: string;
  /** Compares a profile with what was sent; undefined if there is no such user. */
  readonly compare: (one: T, profile: string | undefined) => Verdict;
  /** Whether another check may find another result. */
  readonly isOpen: (verdict: Verdict) => boolean;
}

/** Looks up users, and repeats the check of those that differ while there is time. */
async function* checkFound<T extends Sent>(
  all: readonly T[],
  { what, unfindable, compare, isOpen }: Check<T>,
  checking: LookUpContext & { readonly within: number },
): AsyncGenerator<Verdict> {
  const again = new RecheckBackoff(checking.within, checking.runtime);
  let open = all.filter(({ identifier }) => identifier !== undefined);
  for (const one of all) if (!one.identifier) yield inconclusive(what, one.records, unfindable);
  while (open.length > 0) {
    const others: T[] = [];
    for await (const { answer, origin } of lookUpProfiles(eachOf(itemsOf(open)), checking)) {
      if (!answer) continue; // lookUpProfiles throws the failure next
      const verdict = compare(origin, answer.record?.toString());
      if (isOpen(verdict) && again.isLeft) others.push(origin);
      else yield verdict;
    }
    if (others.length > 0) await again.pause();
    open = others;
  }
}

const itemsOf = <T extends Sent>(all: readonly T[]): readonly LookupItem<T>[] =>
  all.map((origin) => ({ identifier: origin.identifier!, origin }));

// oxlint-disable-next-line typescript/require-await -- the shape of an input
async function* eachOf<T>(all: Iterable<T>): AsyncGenerator<T> {
  yield* all;
}

interface Exporting extends LookUpContext {
  readonly client: Client;
  readonly context: JobContext;
  readonly connection: Connection;
  /** Time in which differences are checked again, in milliseconds. */
  readonly within: number;
  readonly pendingTimeout: number | undefined;
  readonly concurrency: number;
  readonly pages: SlicePages;
}

/** Exports the days of the events, and repeats days with differences while there is time. */
async function* checkEvents(book: SentEvents, exporting: Exporting): AsyncGenerator<Verdict> {
  if (book.size === 0) return;
  const again = new RecheckBackoff(exporting.within, exporting.context.runtime);
  let days = book.daysOf(book.all());
  for (;;) {
    for (const one of days) await exportDays(one, book, exporting);
    const differing = book.differing();
    if (differing.length === 0 || !again.isLeft) break;
    await again.pause();
    days = book.daysOf(differing);
    book.forget(days);
  }
  for (const one of book.daysBeside(utcToDay(exporting.context.runtime.now() + mostAhead)))
    await exportDays(one, book, exporting);
  for await (const { answer, origin } of lookUpProfiles(eachOf(book.withOtherUsers()), exporting)) {
    if (answer) book.compareUsers(origin, answer.record?.toString());
  }
  const breaks = new Breaks();
  for (const event of book.all()) {
    yield* verdictsOf(event, book);
    if (breaks.areDue(verdictUnits)) await breaks.take();
  }
}

/** Milliseconds that the first time zone is ahead of UTC. */
const mostAhead = 14 * 3_600_000;

/** Exports the days of one event, each with its own cursor. An unknown event has no records. */
async function exportDays(
  { name, days }: EventDays,
  book: SentEvents,
  { context, connection, client, counts, pendingTimeout, concurrency, pages }: Exporting,
): Promise<void> {
  if (days.size === 0) return;
  const sorted = [...days].toSorted((a, b) => a - b);
  const slices = sorted.map((day): FileSlice => ({
    eventName: name,
    from: day,
    to: day,
    file: undefined,
  }));
  const [first = '', last = ''] = [sorted[0], sorted.at(-1)].map(String);
  const kind = {
    name: 'export-events' as const,
    reads: 'events' as const,
    fingerprinted: {},
    concurrency,
    slicing: 'days' as const,
    plan: () => slices,
    restarts: true,
    prepare: () => daysChecked(book),
    pages,
  };
  const request = {
    from: first,
    to: last,
    eventSummaries: false,
    profileProperties: false,
    ...(pendingTimeout !== undefined && { pendingTimeout }),
    into: eventsInto(name, book),
  };
  const result = await runExport(kind, request, quiet(context, { ...connection, client }));
  counts.requests += result.requests;
  counts.retries += result.retries;
  if (result.error && !isUnknownEvent(result.error, name)) throw result.error;
}

/**
 * Creates the function that checks each event of a page, before its absence proves anything. Throws E-ANSWER for one
 * that is plainly of other days.
 */
function daysChecked(book: SentEvents): NonNullable<ExportJob['prepare']> {
  const breaks = new Breaks();
  return async (page, query) => {
    const { bytes, bounds, count } = page;
    for (let at = 0; at < count; at += 1) {
      const record = bytes.subarray(bounds[2 * at], bounds[2 * at + 1]);
      if (!isOfDays(record, query)) book.distrust(query.eventName);
      if (breaks.areDue(record.length)) await breaks.take();
    }
    return page;
  };
}

/**
 * Whether the service does not know the event (docs/service-api.md, Undocumented behavior). Other failures have similar
 * words, such as those of a proxy, or of a range that cannot be exported: then the events may be there.
 */
function isUnknownEvent({ details, message }: EngagectlError, name: string): boolean {
  const [, named = ''] = /\bInvalid event[\s:"']*(.*)/is.exec(message) ?? [];
  const isNamed =
    named.startsWith(name) && /^["'.\s]*(?:; did you mean ".*"\?)?$/.test(named.slice(name.length));
  return details.namesEvent === true && isNamed;
}

/** Context of an export that keeps the connection open and prints no notes. */
const quiet = (context: JobContext, connection: Connection): JobContext => ({
  ...context,
  messages: { ...context.messages, note: () => undefined },
  connect: () => Promise.resolve({ ...connection, close: () => Promise.resolve() }),
});

/** Cost of a verdict; see Breaks. */
const verdictUnits = 512;
/** Cost of a character that is parsed and compared; see Breaks. */
const comparedUnits = 4;

/** Creates an output that matches every event of a page with those sent. */
function eventsInto(name: string, book: SentEvents): Output {
  let records = 0;
  const breaks = new Breaks();
  const mark = () => ({ bytes: 0, crc: 0, records });
  return {
    name: 'the comparison',
    rewindable: false,
    warnings: [],
    bytes: 0,
    writePage: async ({ bytes, bounds, count }) => {
      for (let at = 0; at < count; at += 1) {
        const text = bytes.toString('utf8', bounds[2 * at], bounds[2 * at + 1]);
        book.find(name, parseLossless(text));
        if (breaks.areDue(comparedUnits * text.length)) await breaks.take();
      }
      records += count;
    },
    checkpoint: mark,
    rewind: () => Promise.reject(new Error('a comparison cannot be rewound')),
    seal: () => Promise.resolve(mark()),
    sync: () => Promise.resolve(),
    publish: () => Promise.resolve(),
    abort: () => Promise.resolve(),
  };
}

/**
 * Yields the verdicts of equal events. As many as were found are the same; the others are missing
 * or have other properties. An event to settle may have arrived all the same.
 */
function* verdictsOf(event: EqualEvents, book: SentEvents): Generator<Verdict> {
  const { sent, found } = event;
  const records = recordsToSettle(event);
  const all = Math.max(sent, records.length);
  const about = { what: 'events', untold: [], foldedKeys: 0 } as const;
  const isWhole = found >= sent;
  const arrived = { count: Math.min(found, sent), times: found, isWhole };
  if (found === sent) {
    yield { ...about, arrived, verdict: 'same', count: all, records, differences: [] };
    return;
  }
  const { identity, near, doubt } = book.wordsOf(event);
  const place = ({ source, line }: SentRecord) => ({ source, line, identity, key: event.name });
  if (found > sent) {
    const words = { sent: times(sent), found: times(found), verdict: 'extra' } as const;
    const differences = [{ ...place(event.record), ...words }];
    yield { ...about, arrived, verdict: 'different', count: all, records, differences };
    return;
  }
  if (found > 0) {
    const those = records.slice(0, found);
    yield { ...about, arrived, verdict: 'same', count: found, records: those, differences: [] };
  }
  for (let at = found; at < sent; at += 1) {
    const record = records[at] ?? event.record;
    if (record.row !== undefined && doubt !== undefined) {
      yield inconclusive('events', [record], doubt);
      continue;
    }
    const other = near();
    const verdict = other === undefined ? 'missing' : 'different';
    const words = { sent: eventText(event), found: other ?? 'null', verdict } as const;
    const differences = [{ ...place(record), ...words }];
    yield { ...about, verdict, count: 1, records: [record], differences, hasNone: found === 0 };
  }
  for (const record of records.slice(sent)) yield inconclusive('events', [record], reportedAgain);
}

const reportedAgain =
  'events that several rejects files, or several lines for one record, list: one of them counts as not found';

const times = (count: number): string => `{"times":${count}}`;

/** Returns time and properties as they were sent. */
function eventText({ record }: EqualEvents): string {
  const members = [...sentMembers(record)].filter(([key]) => key === 'ts' || key === 'evtData');
  return stringifyLossless(new Map(members));
}

/** First and maximum pause between two checks, in milliseconds. */
const firstPause = 1000;
const longestPause = 30_000;

/** Backoff between repeated checks, since reads may lag behind writes. */
export class RecheckBackoff {
  readonly #within: number;
  readonly #runtime: Pick<Runtime, 'sleep' | 'signal'>;
  #waited = 0;
  #pause = firstPause;

  /** `within` in milliseconds. */
  constructor(within: number, runtime: Pick<Runtime, 'sleep' | 'signal'>) {
    this.#within = within;
    this.#runtime = runtime;
  }

  /** Whether there is time for another check. */
  get isLeft(): boolean {
    return this.#waited < this.#within;
  }

  async pause(): Promise<void> {
    const pause = Math.min(this.#pause, this.#within - this.#waited);
    await this.#runtime.sleep(pause, this.#runtime.signal);
    this.#waited += pause;
    this.#pause = Math.min(2 * this.#pause, longestPause);
  }
}
