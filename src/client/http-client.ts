import { headerNames, endpointPaths, writeEndpoints } from '../contract/endpoints.js';
import { cursorPattern } from '../contract/limits.js';
import { EngagectlError } from '../errors.js';
import {
  parseBody,
  invalidResponse,
  openResponses,
  failOf,
  serviceError,
  type Response,
  type Exchanges,
} from './responses.js';
import { reserveMemory } from '../wasm.js';
import { toAttempt } from './failure.js';
import { spanOf } from '../contract/dates.js';
import type { Client, CursorQuery } from './client.js';
import { containsSecret, redactor } from '../redact.js';
import { openTransport, type HttpRequest, type TransportOptions } from './transport.js';
import { isUtf8 } from 'node:buffer';
import { requestCodes } from '../contract/error-codes.js';
import { rawMember } from '../text/raw-json.js';

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
  const shown = redactor(options.passcode);
  const isSecret = containsSecret(options.passcode);
  const checkCursor = (cursor: string): void => {
    if (!cursorPattern.test(cursor)) throw badCursor('that cannot go into a URL');
    if (isSecret(cursor)) throw badCursor('that holds the passcode');
  };
  reserveMemory(); // undici reads HTTP by WebAssembly: without room for it nothing is sent
  const transport = await openTransport({ ...options, headers, shown });
  const { ask, accept, stream } = openResponses(transport, { shown, now: options.now });
  return {
    write: (to, body, signal, { dryRun = false, once = false, of } = {}) =>
      toAttempt(async () => {
        const query = dryRun ? '?dryRun=1' : '';
        const exchange = {
          method: 'POST',
          endpoint: endpointPaths[to],
          query,
          body,
          limit: 'whole',
          once,
          of,
        } as const;
        const answer = await accept(await ask(exchange, signal));
        if (writeEndpoints[to].counts) return parseBody(answer, (shapes) => shapes.writeResponse);
        await parseBody(answer, (shapes) => shapes.demergeResponse);
        return undefined;
      }),
    openCursor: (query, signal) =>
      toAttempt(async () => {
        const cursor = await cursorOf(await accept(await ask(opening(query), signal)));
        checkCursor(cursor);
        return cursor;
      }),
    page: (kind, cursor, signal, of) =>
      toAttempt(() => {
        checkCursor(cursor);
        // It arrives percent-encoded: encoding it again would make the service refuse it.
        return stream(read(endpointPaths[kind], `?cursor=${cursor}`, of), signal);
      }),
    profile: (by, value, signal, of) =>
      toAttempt(async () => {
        const query = `?${by}=${encodeURIComponent(value)}`;
        return parseProfileResponse(
          await ask(read(endpointPaths.profile, query, of), signal),
          accept,
        );
      }),
    checkCursor,
    shown,
    silence: transport.silence,
    close: () => transport.close(),
  };
}

const read = (endpoint: string, query: string, of: string | undefined): HttpRequest => ({
  method: 'GET',
  endpoint,
  query,
  limit: 'silence',
  of,
});

/** First step of a bulk read (specification, endpoints 3 and 6). */
function opening({ kind, eventName, from, to, batchSize, ...flags }: CursorQuery): HttpRequest {
  const { app, events, profile } = flags;
  const parameters = Object.entries({ batch_size: batchSize, app, events, profile })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`);
  const body = Buffer.from(JSON.stringify({ event_name: eventName, from, to }));
  const query = `?${parameters.join('&')}`;
  const of = spanOf({ eventName, from, to });
  return { method: 'POST', endpoint: endpointPaths[kind], query, body, limit: 'silence', of };
}

/** As received. */
async function cursorOf(answer: Response): Promise<string> {
  const { cursor } = await parseBody(answer, (shapes) => shapes.cursorResponse);
  if (cursorPattern.test(cursor)) return cursor;
  throw invalidResponse({ ...answer, text: cursor }, 'a cursor that cannot go into a URL');
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

/** Statuses that say nothing about the user asked for. */
const notAboutTheUser: ReadonlySet<number> = new Set([
  requestCodes.pending,
  401,
  403,
  405,
  408,
  413,
  429,
]);
/** Seen as passing: it may be gone at the second try. */
const malformed = /malformed request/i;

/**
 * The record of an answer of endpoint 5, as the service wrote it; undefined when no user matches.
 * How that is said is open (service-facts, Reads): a `fail` body, no `record`, or null.
 */
async function parseProfileResponse(
  answer: Response,
  accept: Exchanges['accept'],
): Promise<Buffer | undefined> {
  if (await deniesUser(answer)) return undefined;
  const { json, body } = await accept(answer);
  // Decoding would change what is no UTF-8, in silence; exports refuse it, too.
  if (!isUtf8(body)) throw invalidResponse(answer, 'not UTF-8');
  if (!isSuccessBody(json)) throw invalidResponse(answer, json === undefined ? 'no JSON' : unknown);
  const { record } = json;
  if (record === undefined || record === null) return undefined;
  if (typeof record === 'object' && !Array.isArray(record)) return rawMember(body, 'record');
  throw invalidResponse(answer, unknown);
}

const unknown = 'JSON of no known shape';

async function deniesUser(answer: Response): Promise<boolean> {
  const fail = await failOf(answer.json);
  if (fail === undefined || malformed.test(fail.words)) return false;
  const status = (await serviceError(answer))?.status ?? answer.status;
  return status < 500 && !notAboutTheUser.has(status);
}

const isSuccessBody = (json: unknown): json is { status: 'success'; record?: unknown } =>
  typeof json === 'object' && json !== null && 'status' in json && json.status === 'success';
