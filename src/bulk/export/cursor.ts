import { createHash } from 'node:crypto';
import { withRetry } from '../../client/retry.js';
import { endpointPaths } from '../../contract/endpoints.js';
import { EngagectlError, countOf, groupDigits, type OptionName } from '../../errors.js';
import { readPage, type PageResponse } from './page-response.js';
import { PageScanner, type ScannedPage } from '../../text/page-scanner.js';
import type { CursorQuery, ReadKind } from '../../client/client.js';
import type { Attempt } from '../../client/failure.js';
import type { ExportJob } from './export-job.js';

/** Longest wait between two polls of a cursor that is not ready. */
const longestPollMs = 30_000;

/** The service refused a cursor, as it does when one has expired: only a new one helps. */
export class CursorExpiredError extends EngagectlError {
  constructor(
    message: string,
    option: OptionName,
    why = 'cursors live for hours, and cannot be renewed',
  ) {
    const fix = `start the export again with ${option('fresh')}`;
    super('E-CURSOR', `the service refused a cursor: ${message}`, { why, fix });
  }
}

/** Asks for a cursor. Throws E-CREDENTIALS, E-UNAVAILABLE, E-ANSWER. */
export const openCursor = (query: CursorQuery, job: ExportJob): Promise<string> =>
  request(job, `POST ${endpointPaths[query.kind]}`, (signal) =>
    job.client.openCursor(query, signal),
  );

/** A cursor to follow from here on; `seen` are those that led to it. */
export interface CursorState {
  readonly kind: ReadKind;
  /** What its pages are of, as a log says it. */
  readonly of: string;
  readonly cursor: string;
  readonly seen: Iterable<string>;
}

/** A page, and the cursor of the one after it. An end without records has no page. */
interface ExportedPage {
  readonly page: ScannedPage | undefined;
  readonly next: string | undefined;
}

/**
 * The pages of one cursor, to its end. A page is good until the next one is asked for. Throws
 * CursorRefusedError, E-CURSOR (a loop), E-ANSWER, E-PENDING, E-CREDENTIALS, E-UNAVAILABLE.
 */
export async function* followCursor(
  { kind, of, cursor, seen: earlier }: CursorState,
  job: ExportJob,
): AsyncGenerator<ExportedPage> {
  const left = new AbortController();
  const asking = { ...job, signal: AbortSignal.any([job.signal, left.signal]) };
  const { scanners, budget, option } = job;
  const seen = new Set([...earlier].map(digestOf));
  const watch = new CursorLoopGuard(option);
  const askFor = (wanted: string): Asked => {
    seen.add(digestOf(wanted));
    return ask(wanted, {
      kind,
      of: `${of}, page ${seen.size}`,
      scanner: scanners.pop() ?? new PageScanner(),
      job: asking,
    });
  };
  try {
    for (let asked = askFor(cursor); ;) {
      const early = await asked.nextCursor;
      const isNew = early !== undefined && !seen.has(digestOf(early));
      // Only where no other slice needs the slot.
      const ahead = isNew && budget.inFlight < budget.limit ? askFor(early) : undefined;
      const { page, next } = await asked.answer;
      watch.pass(page);
      yield { page: page.members.records === 'array' ? page : undefined, next };
      scanners.push(asked.scanner);
      if (next === undefined) return;
      if (ahead?.cursor === next) {
        asked = ahead;
        continue;
      }
      // A page that was asked for twice may have come with another cursor the second time.
      await ahead?.answer.catch(() => undefined);
      if (seen.has(digestOf(next))) throw cursorLoop(seen.size, option);
      asked = askFor(next);
    }
  } finally {
    left.abort(); // the page that was asked for ahead
  }
}

/** Only digests are kept: a cursor may have 2 KB, and an export many thousands of them. */
const digestOf = (cursor: string): string => createHash('sha256').update(cursor).digest('base64');

const cursorLoop = (pages: number, option: OptionName): EngagectlError =>
  new EngagectlError('E-CURSOR', 'the service sent a cursor that it had sent before', {
    why: `going on would repeat pages that are there already (after ${groupDigits(pages)} pages)`,
    fix: `start the export again with ${option('fresh')}; if it happens again, it is a fault of the service`,
  });

/** A page on its way. */
interface Asked {
  readonly cursor: string;
  readonly scanner: PageScanner;
  /** Settles as soon as the page's next cursor has been read; undefined when there is none. */
  readonly nextCursor: Promise<string | undefined>;
  readonly answer: Promise<PageResponse & { kind: 'page' }>;
}

interface Asking {
  readonly kind: ReadKind;
  readonly of: string;
  readonly scanner: PageScanner;
  readonly job: ExportJob;
}

function ask(cursor: string, { kind, of, scanner, job }: Asking): Asked {
  let tellNext!: (cursor?: string) => void;
  const nextCursor = new Promise<string | undefined>((resolve) => {
    tellNext = resolve;
  });
  const { client } = job;
  const answer = whenReady(job, () =>
    request(job, `GET ${endpointPaths[kind]}`, async (signal) =>
      readPage(await client.page(kind, cursor, signal, of), scanner, { client, tellNext }),
    ),
  );
  // Who waits for the answer is told why it failed.
  void answer.catch(() => undefined).then(() => tellNext());
  return { cursor, scanner, nextCursor, answer };
}

/** No more requests at a time than there are slots; pauses between attempts take none. */
async function request<T>(
  { policy, runtime, signal, waits, state, budget }: ExportJob,
  what: string,
  attempt: (signal: AbortSignal) => Promise<Attempt<T>>,
): Promise<T> {
  const inSlot = async () => {
    await budget.acquire();
    try {
      return await attempt(signal);
    } finally {
      budget.release();
    }
  };
  return withRetry(inSlot, { policy, runtime, signal, waits, counts: state, what });
}

/** Asks with growing pauses until the cursor's data is there. */
async function whenReady(
  { runtime, signal, state, verbose, option, pollIntervalMs, pendingTimeoutMs }: ExportJob,
  attempt: () => Promise<PageResponse>,
): Promise<PageResponse & { kind: 'page' }> {
  let waitedMs = 0;
  for (let polls = 1; ; polls += 1) {
    const answer = await attempt();
    if (answer.kind === 'refused') throw new CursorExpiredError(answer.message, option);
    if (answer.kind === 'page') {
      state.note = undefined;
      return answer;
    }
    if (waitedMs >= pendingTimeoutMs) throw stillPending(waitedMs, polls, option);
    const ceiling = Math.max(longestPollMs, pollIntervalMs);
    const growing = Math.min(pollIntervalMs * 1.5 ** (polls - 1), ceiling);
    const waitMs = Math.min(growing, pendingTimeoutMs - waitedMs);
    state.note = `pending for ${seconds(waitedMs)}, asked ${countOf(polls, 'time')}, next in ${seconds(waitMs)}`;
    verbose(state.note);
    await runtime.sleep(waitMs, signal);
    waitedMs += waitMs;
    state.pendingMs += waitMs;
  }
}

function stillPending(waitedMs: number, polls: number, option: OptionName): EngagectlError {
  const message = `the data is still not ready after ${seconds(waitedMs)} (asked ${countOf(polls, 'time')})`;
  return new EngagectlError('E-PENDING', message, {
    why: 'the service is still preparing the export',
    fix: `run the same command again later, or wait longer with ${option('pendingTimeout')}`,
  });
}

const seconds = (milliseconds: number): string => `${Math.round(milliseconds / 100) / 10} s`;

/** Most pages in a row that bring nothing new. */
const mostStale = 1000;

/**
 * Sees to it that the pages of a cursor come to an end: each has another cursor, but what is on it? A
 * service may go round in a circle of pages, so all of them are remembered, by a hash each.
 */
class CursorLoopGuard {
  readonly #option: OptionName;
  readonly #seen = new Set<bigint>();
  #stale = 0;

  constructor(option: OptionName) {
    this.#option = option;
  }

  /** Throws E-CURSOR for an earlier page once more, and for too many in a row that bring nothing new. */
  pass({ count, hash }: ScannedPage): void {
    const own = count === 0 ? undefined : hash();
    const isNew = own !== undefined && !this.#seen.has(own);
    // A single record may well be there twice.
    if (own !== undefined && !isNew && count > 1) throw samePage(count, this.#option);
    this.#stale = isNew ? 0 : this.#stale + 1;
    if (this.#stale >= mostStale) throw nothingNew(this.#option);
    if (isNew) this.#seen.add(own);
  }
}

const samePage = (records: number, option: OptionName): EngagectlError =>
  new EngagectlError(
    'E-CURSOR',
    `the service sent the same ${countOf(records, 'record')} under two cursors`,
    {
      why: 'going on would repeat records that are there already',
      fix: fixOf(option),
    },
  );

const nothingNew = (option: OptionName): EngagectlError =>
  new EngagectlError(
    'E-CURSOR',
    `the service sent ${mostStale} pages in a row without new records`,
    {
      why: 'each names another cursor, and none of them leads to an end',
      fix: fixOf(option),
    },
  );

const fixOf = (option: OptionName): string =>
  `start the export again with ${option('fresh')}; if it happens again, it is a fault of the service`;
