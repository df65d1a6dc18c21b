import { createHash } from 'node:crypto';
import { toAttempt } from '../../client/failure.js';
import { isThrottled, withRetry } from '../../client/retry.js';
import { endpointPaths } from '../../contract/endpoints.js';
import { EngagectlError, countOf, groupDigits, type OptionName } from '../../errors.js';
import { readPage, type PageResponse } from './page-response.js';
import { PageScanner, type ScannedPage } from '../../text/page-scanner.js';
import type { CursorQuery, ReadKind } from '../../client/client.js';
import type { Attempt } from '../../client/failure.js';
import type { ExportJob } from './export-job.js';

/** Longest wait between two polls of a cursor that is not ready. */
const longestPollMs = 30_000;

/** The service refused a cursor, usually because it expired. A new cursor is needed. */
export class CursorExpiredError extends EngagectlError {
  constructor(
    foreign: string,
    option: OptionName,
    why = 'cursors expire after hours and cannot be renewed',
  ) {
    const fix = `restart the export with ${option('fresh')}`;
    super('E-CURSOR', `the service refused a cursor: ${foreign}`, { why, fix, foreign });
  }
}

/** Requests a cursor, with retries. Throws E-CREDENTIALS, E-UNAVAILABLE, E-ANSWER. */
export const openCursor = (query: CursorQuery, job: ExportJob): Promise<string> =>
  request(job, `POST ${endpointPaths[query.kind]}`, (signal) =>
    job.client.openCursor(query, signal),
  );

/** A cursor to continue from, and the cursors that led to it. */
export interface CursorState {
  readonly kind: ReadKind;
  /** Event and days, for the request log. */
  readonly of: string;
  readonly cursor: string;
  readonly seen: Iterable<string>;
  /** Hashes of the pages that an earlier process read. */
  readonly hashes: Iterable<string>;
}

/** A page and the cursor of the next one. The last response may have no page. */
interface ExportedPage {
  readonly page: ScannedPage | undefined;
  readonly next: string | undefined;
  /** Hash of the records; undefined without records. */
  readonly hash: bigint | undefined;
}

/**
 * Yields the pages of one cursor to its end (docs/service-api.md, "Reads"). A page is valid until
 * the next one is requested. Requests one page ahead while the concurrency limit allows it. Throws
 * CursorExpiredError, E-CURSOR (a loop), E-ANSWER, E-PENDING, E-CREDENTIALS, E-UNAVAILABLE.
 */
export async function* followCursor(
  { kind, of, cursor, seen: earlier, hashes }: CursorState,
  job: ExportJob,
): AsyncGenerator<ExportedPage> {
  const left = new AbortController();
  const asking = { ...job, signal: AbortSignal.any([job.signal, left.signal]) };
  const { scanners, limiter, option } = job;
  const seen = new Set([...earlier].map(digestOf));
  const watch = new CursorLoopGuard(option, hashes);
  const askFor = (cursor: string): PageRequest => {
    seen.add(digestOf(cursor));
    return ask(cursor, {
      kind,
      of: `${of}, page ${seen.size}`,
      scanner: scanners.pop() ?? new PageScanner(),
      job: asking,
    });
  };
  try {
    for (let request = askFor(cursor); ;) {
      const early = await request.nextCursor;
      const isNew = early !== undefined && !seen.has(digestOf(early));
      // Only if no other slice needs the slot.
      const ahead = isNew && limiter.inFlight < limiter.limit ? askFor(early) : undefined;
      const { page, next } = await request.answer;
      const hash = watch.pass(page);
      yield { page: page.members.records === 'array' ? page : undefined, next, hash };
      scanners.push(request.scanner);
      if (next === undefined) return;
      if (ahead?.cursor === next) {
        request = ahead;
        continue;
      }
      // A page that was retried may carry another cursor the second time.
      await ahead?.answer.catch(() => undefined);
      if (seen.has(digestOf(next))) throw cursorLoop(seen.size, option);
      request = askFor(next);
    }
  } finally {
    left.abort(); // the page requested ahead
  }
}

/** Digests save memory: a cursor may have 2 KB, and an export many thousands of them. */
export const digestOf = (cursor: string): string =>
  createHash('sha256').update(cursor).digest('base64');

const cursorLoop = (pages: number, option: OptionName): EngagectlError =>
  new EngagectlError('E-CURSOR', 'the service sent a cursor that it had sent before', {
    why: `following it would repeat pages (after ${groupDigits(pages)} pages)`,
    fix: fixOf(option),
  });

/** A page in flight. */
interface PageRequest {
  readonly cursor: string;
  readonly scanner: PageScanner;
  /** Resolves as soon as the page's next cursor is read; undefined if there is none. */
  readonly nextCursor: Promise<string | undefined>;
  readonly answer: Promise<PageResponse & { kind: 'page' }>;
}

interface Asking {
  readonly kind: ReadKind;
  readonly of: string;
  readonly scanner: PageScanner;
  readonly job: ExportJob;
}

function ask(cursor: string, { kind, of, scanner, job }: Asking): PageRequest {
  let onNextCursor!: (cursor?: string) => void;
  const nextCursor = new Promise<string | undefined>((resolve) => {
    onNextCursor = resolve;
  });
  const { client } = job;
  const answer = whenReady(job, () =>
    request(job, `GET ${endpointPaths[kind]}`, async (signal) =>
      readPage(await client.page(kind, cursor, signal, of), scanner, { client, onNextCursor }),
    ),
  );
  // The failure itself reaches whoever awaits `answer`.
  void answer.catch(() => undefined).then(() => onNextCursor());
  return { cursor, scanner, nextCursor, answer };
}

/**
 * Makes a request within the concurrency limit, which adapts to its outcome. Waits between attempts
 * occupy no slot.
 */
async function request<T>(
  { policy, runtime, signal, waits, state, limiter }: ExportJob,
  what: string,
  attempt: (signal: AbortSignal) => Promise<Attempt<T>>,
): Promise<T> {
  const inSlot = async () => {
    const ticket = await limiter.acquire();
    try {
      const made = await toAttempt(() => attempt(signal));
      const outcome = made.ok ? made.answer : made;
      if (outcome.ok) limiter.succeeded();
      else if (isThrottled(outcome.failure)) limiter.throttled(ticket);
      return outcome;
    } finally {
      limiter.release();
    }
  };
  return withRetry(inSlot, { policy, runtime, signal, waits, counts: state, what });
}

/** Polls with growing intervals until the cursor's data is ready. */
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
    fix: `rerun the same command later, or wait longer with ${option('pendingTimeout')}`,
  });
}

const seconds = (milliseconds: number): string => `${Math.round(milliseconds / 100) / 10} s`;

/** Maximum consecutive pages without new records. */
const mostStale = 1000;

/**
 * Detects endless page sequences. A service may repeat pages under new cursors, so a hash of each
 * page is kept.
 */
class CursorLoopGuard {
  readonly #option: OptionName;
  readonly #seen: Set<bigint>;
  #stale = 0;

  /** `hashes`: those of the pages before. */
  constructor(option: OptionName, hashes: Iterable<string>) {
    this.#option = option;
    this.#seen = new Set(Array.from(hashes, BigInt));
  }

  /**
   * Returns the hash of the records. Throws E-CURSOR for a repeated page, and for too many consecutive pages without
   * new records.
   */
  pass({ count, hash }: ScannedPage): bigint | undefined {
    const own = count === 0 ? undefined : hash();
    const isNew = own !== undefined && !this.#seen.has(own);
    // A single record may legitimately occur twice.
    if (own !== undefined && !isNew && count > 1) throw samePage(count, this.#option);
    this.#stale = isNew ? 0 : this.#stale + 1;
    if (this.#stale >= mostStale) throw nothingNew(this.#option);
    if (isNew) this.#seen.add(own);
    return own;
  }
}

const samePage = (records: number, option: OptionName): EngagectlError =>
  new EngagectlError(
    'E-CURSOR',
    `the service sent the same ${countOf(records, 'record')} under two cursors`,
    {
      why: 'continuing would duplicate records',
      fix: fixOf(option),
    },
  );

/** Error for what the service sent for two slices. */
export const sameForTwo = (
  what: string,
  [slice, other]: readonly [string, string],
  option: OptionName,
): EngagectlError =>
  new EngagectlError(
    'E-CURSOR',
    `the service sent the same ${what} for ${slice} and for ${other}`,
    {
      why: 'one of the answers is of other days or another event; a cache in between may repeat answers',
      fix: fixOf(option),
    },
  );

const nothingNew = (option: OptionName): EngagectlError =>
  new EngagectlError(
    'E-CURSOR',
    `the service sent ${mostStale} pages in a row without new records`,
    {
      why: 'each has another cursor, so the export would never end',
      fix: fixOf(option),
    },
  );

const fixOf = (option: OptionName): string =>
  `restart the export with ${option('fresh')}; if it happens again, report it to the service`;
