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
  const scanner = new PageScanner();
  const seen = new Set<string>();
  let cursor: string | undefined = await withRetry(
    (signal) => context.client.openCursor(query, signal),
    retryContext(context, `POST ${paths[query.kind]}`),
  );
  while (cursor !== undefined) {
    refuseLoop(cursor, seen);
    const answer = await whenReady(() => askPage(query.kind, cursor!, scanner, context), context);
    if (answer.page.members.records === 'array') yield answer.page;
    cursor = answer.next;
  }
}

/** Only digests are kept: a cursor may have 2 KB, and an export many thousands of them. */
function refuseLoop(cursor: string, seen: Set<string>): void {
  const digest = createHash('sha256').update(cursor).digest('base64');
  if (seen.has(digest)) {
    throw new EngagectlError('E-CURSOR', 'the service sent a cursor that it had sent before', {
      why: `going on would repeat the pages since then (after ${seen.size} pages)`,
      fix: 'start the export again with --fresh; if it happens again, it is a fault of the service',
    });
  }
  seen.add(digest);
}

function askPage(
  kind: ReadKind,
  cursor: string,
  scanner: PageScanner,
  context: ExportContext,
): Promise<PageAnswer> {
  return withRetry(
    async (signal) => readPage(await context.client.page(kind, cursor, signal), scanner),
    retryContext(context, `GET ${paths[kind]}`),
  );
}

/** Asks with growing pauses until the cursor's data is there. */
async function whenReady(
  ask: () => Promise<PageAnswer>,
  { runtime, signal, state, log, pollIntervalMs, pendingTimeoutMs }: ExportContext,
): Promise<PageAnswer & { kind: 'page' }> {
  let waitedMs = 0;
  for (let polls = 1; ; polls += 1) {
    const answer = await ask();
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
