import { createHash } from 'node:crypto';
import type { CursorQuery, ReadKind } from '../client/client.js';
import { withRetry, type RetryContext } from '../client/with-retry.js';
import { paths } from '../contract/endpoints.js';
import { EngagectlError } from '../errors.js';
import type { ExportContext } from './export-context.js';
import { readPage, type PageAnswer } from './page-answer.js';
import { PageScanner, type ScannedPage } from './page-scanner.js';

/** Longest wait between two polls of a cursor that is not ready. */
const longestPollMs = 30_000;

/** The service refused a cursor, as it does when one has expired: only a new one helps. */
export class CursorRefusedError extends EngagectlError {
  constructor(message: string, why = 'cursors live for hours, and cannot be renewed') {
    super('E-CURSOR', `the service refused a cursor: ${message}`, {
      why,
      fix: 'start the export again with --fresh',
    });
  }
}

/**
 * The pages of one cursor, to its end. A page is good until the next one is asked for. Throws
 * CursorRefusedError, E-CURSOR (a loop), E-ANSWER, E-PENDING, E-CREDENTIALS, E-UNAVAILABLE.
 */
export async function* exportPages(
  query: CursorQuery,
  context: ExportContext,
): AsyncGenerator<ScannedPage> {
  const left = new AbortController();
  const signal = AbortSignal.any([context.signal, left.signal]);
  try {
    yield* follow(query, { ...context, signal });
  } finally {
    left.abort(); // the page that was asked for ahead
  }
}

async function* follow(query: CursorQuery, context: ExportContext): AsyncGenerator<ScannedPage> {
  const seen = new Set<string>();
  const scanners = [new PageScanner(), new PageScanner()] as const;
  const request = (cursor: string, turn: number): Asked => {
    seen.add(digestOf(cursor));
    // Of two pages at the same time, each has its own scanner.
    const scanner = context.lookAhead && turn % 2 === 1 ? scanners[1] : scanners[0];
    return ask(cursor, { kind: query.kind, scanner, context });
  };
  const cursor = await withRetry(
    (signal) => context.client.openCursor(query, signal),
    retryContext(context, `POST ${paths[query.kind]}`),
  );
  let asked = request(cursor, 0);
  for (let turn = 1; ; turn += 1) {
    const early = context.lookAhead ? await asked.nextCursor : undefined;
    const isNew = early !== undefined && !seen.has(digestOf(early));
    const ahead = isNew ? request(early, turn) : undefined;
    const { page, next } = await asked.answer;
    if (page.members.records === 'array') yield page;
    if (next === undefined) return;
    if (ahead?.cursor === next) {
      asked = ahead;
    } else {
      // A page that was asked for twice may have come with another cursor the second time.
      await ahead?.answer.catch(() => undefined);
      if (seen.has(digestOf(next))) throw cursorLoop(seen.size);
      asked = request(next, turn);
    }
  }
}

/** Only digests are kept: a cursor may have 2 KB, and an export many thousands of them. */
const digestOf = (cursor: string): string => createHash('sha256').update(cursor).digest('base64');

const cursorLoop = (pages: number): EngagectlError =>
  new EngagectlError('E-CURSOR', 'the service sent a cursor that it had sent before', {
    why: `going on would repeat pages that are there already (after ${pages} pages)`,
    fix: 'start the export again with --fresh; if it happens again, it is a fault of the service',
  });

/** A page on its way. */
interface Asked {
  readonly cursor: string;
  /** Settles as soon as the page's next cursor has been read; undefined when there is none. */
  readonly nextCursor: Promise<string | undefined>;
  readonly answer: Promise<PageAnswer & { kind: 'page' }>;
}

interface Asking {
  readonly kind: ReadKind;
  readonly scanner: PageScanner;
  readonly context: ExportContext;
}

function ask(cursor: string, { kind, scanner, context }: Asking): Asked {
  let tell!: (cursor?: string) => void;
  const nextCursor = new Promise<string | undefined>((resolve) => {
    tell = resolve;
  });
  const attempt = () =>
    withRetry(
      async (signal) => readPage(await context.client.page(kind, cursor, signal), scanner, tell),
      retryContext(context, `GET ${paths[kind]}`),
    );
  const answer = whenReady(attempt, context);
  answer.then(
    () => tell(),
    () => tell(), // who waits for the answer is told why
  );
  return { cursor, nextCursor, answer };
}

/** Asks with growing pauses until the cursor's data is there. */
async function whenReady(
  attempt: () => Promise<PageAnswer>,
  { runtime, signal, state, log, pollIntervalMs, pendingTimeoutMs }: ExportContext,
): Promise<PageAnswer & { kind: 'page' }> {
  let waitedMs = 0;
  for (let polls = 1; ; polls += 1) {
    const answer = await attempt();
    if (answer.kind === 'refused') throw new CursorRefusedError(answer.message);
    if (answer.kind === 'page') {
      state.note = undefined;
      return answer;
    }
    if (waitedMs >= pendingTimeoutMs) throw stillPending(waitedMs, polls);
    const ceiling = Math.max(longestPollMs, pollIntervalMs);
    const growing = Math.min(pollIntervalMs * 1.5 ** (polls - 1), ceiling);
    const waitMs = Math.min(growing, pendingTimeoutMs - waitedMs);
    state.note = `pending for ${seconds(waitedMs)}, asked ${polls} times, next in ${seconds(waitMs)}`;
    log(state.note);
    await runtime.sleep(waitMs, signal);
    waitedMs += waitMs;
    state.pendingMs += waitMs;
  }
}

function stillPending(waitedMs: number, polls: number): EngagectlError {
  const message = `the data is still not ready after ${seconds(waitedMs)} (asked ${polls} times)`;
  return new EngagectlError('E-PENDING', message, {
    why: 'the service is still preparing the export',
    fix: 'run the same command again later, or wait longer with --pending-timeout',
  });
}

const seconds = (milliseconds: number): string => `${Math.round(milliseconds / 100) / 10} s`;

const retryContext = (context: ExportContext, what: string): RetryContext => ({
  policy: context.policy,
  runtime: context.runtime,
  signal: context.signal,
  log: context.log,
  counts: context.state,
  what,
});
