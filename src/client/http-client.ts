import { headerNames, paths, writes } from '../contract/endpoints.js';
import { cursorPattern } from '../contract/limits.js';
import { EngagectlError } from '../errors.js';
import { contentOf, unreadable, type Answer } from './responses.js';
import { reserveMemory } from '../wasm.js';
import { attempt } from './attempt.js';
import { openExchanges } from './exchanges.js';
import { foundRecord } from './found-record.js';
import { spanOf } from './span-of.js';
import { holdsSecret, shownWithout } from './redact.js';
import { openTransport, type Exchange, type TransportOptions } from './transport.js';
import type { Client, CursorQuery } from './client.js';

export interface ClientOptions extends Omit<TransportOptions, 'headers' | 'shown'> {
  readonly accountId: string;
  readonly passcode: string;
  /** Of the authentication headers, e.g. `X-Service`. */
  readonly headerPrefix: string;
  /** Wall clock, for a `Retry-After` date in an answer without `Date`. */
  readonly now: () => number;
}

/**
 * The eight endpoints of one account. Nothing is sent yet.
 * Throws E-CONFIG when account id, passcode, prefix or the proxy variables cannot be used; E-WEBASSEMBLY.
 */
export async function createClient(options: ClientOptions): Promise<Client> {
  const headers = requestHeaders(options);
  const shown = shownWithout(options.passcode);
  const isSecret = holdsSecret(options.passcode);
  const checkCursor = (cursor: string): void => {
    if (!cursorPattern.test(cursor)) throw badCursor('that cannot go into a URL');
    if (isSecret(cursor)) throw badCursor('that holds the passcode');
  };
  reserveMemory(); // undici reads HTTP by WebAssembly: without room for it nothing is sent
  const transport = await openTransport({ ...options, headers, shown });
  const { ask, accept, stream } = openExchanges(transport, { shown, now: options.now });
  return {
    write: (to, body, signal, { dryRun = false, once = false, of } = {}) =>
      attempt(async () => {
        const query = dryRun ? '?dryRun=1' : '';
        const exchange = {
          method: 'POST',
          endpoint: paths[to],
          query,
          body,
          limit: 'whole',
          once,
          of,
        } as const;
        const answer = await accept(await ask(exchange, signal));
        if (writes[to].counts) return contentOf(answer, (shapes) => shapes.writeAnswer);
        await contentOf(answer, (shapes) => shapes.demergeAnswer);
        return undefined;
      }),
    openCursor: (query, signal) =>
      attempt(async () => {
        const cursor = await cursorOf(await accept(await ask(opening(query), signal)));
        checkCursor(cursor);
        return cursor;
      }),
    page: (kind, cursor, signal, of) =>
      attempt(() => {
        checkCursor(cursor);
        // It arrives percent-encoded: encoding it again would make the service refuse it.
        return stream(read(paths[kind], `?cursor=${cursor}`, of), signal);
      }),
    profile: (by, value, signal, of) =>
      attempt(async () => {
        const query = `?${by}=${encodeURIComponent(value)}`;
        return foundRecord(await ask(read(paths.profile, query, of), signal), accept);
      }),
    checkCursor,
    shown,
    silence: transport.silence,
    close: () => transport.close(),
  };
}

const read = (endpoint: string, query: string, of: string | undefined): Exchange => ({
  method: 'GET',
  endpoint,
  query,
  limit: 'silence',
  of,
});

/** First step of a bulk read (specification, endpoints 3 and 6). */
function opening({ kind, eventName, from, to, batchSize, ...flags }: CursorQuery): Exchange {
  const { app, events, profile } = flags;
  const parameters = Object.entries({ batch_size: batchSize, app, events, profile })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`);
  const body = Buffer.from(JSON.stringify({ event_name: eventName, from, to }));
  const query = `?${parameters.join('&')}`;
  const of = spanOf({ eventName, from, to });
  return { method: 'POST', endpoint: paths[kind], query, body, limit: 'silence', of };
}

/** As received. */
async function cursorOf(answer: Answer): Promise<string> {
  const { cursor } = await contentOf(answer, (shapes) => shapes.cursorAnswer);
  if (cursorPattern.test(cursor)) return cursor;
  throw unreadable({ ...answer, text: cursor }, 'a cursor that cannot go into a URL');
}

const badCursor = (what: string): EngagectlError =>
  new EngagectlError('E-CURSOR', `the service sent a cursor ${what}`, {
    why: 'no service has a reason to; a proxy between it and you might',
    fix: 'check the base URL: engagectl config show',
  });

/** Throws E-CONFIG for what no header can carry. */
export function requestHeaders({
  headerPrefix,
  accountId,
  passcode,
}: Pick<ClientOptions, 'headerPrefix' | 'accountId' | 'passcode'>) {
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(headerPrefix)) {
    throw new EngagectlError('E-CONFIG', 'the header prefix cannot begin the name of a header', {
      why: 'only letters, digits and some signs may stand there, no blank and no colon',
      fix: 'correct the header prefix: engagectl config show',
    });
  }
  const names = headerNames(headerPrefix);
  return {
    'Content-Type': 'application/json',
    'Accept-Encoding': 'identity',
    [names.accountId]: headerValue('account id', accountId),
    [names.passcode]: headerValue('passcode', passcode),
  };
}

function headerValue(what: string, value: string): string {
  if (/^[\u0020-\u007E\u00A0-\u00FF]+$/.test(value) && value.trim() === value) return value;
  throw new EngagectlError('E-CONFIG', `the ${what} cannot be sent in a header`, {
    why: 'it is empty, or holds a line end, a space at its edge or a character beyond Latin-1',
    fix: 'copy it again from the settings of the account',
  });
}
