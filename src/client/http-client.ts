import {
  headerNames,
  endpointPaths,
  writeEndpoints,
  type IdentifierKind,
} from '../contract/endpoints.js';
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
import { RequestFailure, toAttempt } from './failure.js';
import type { WriteResponse } from '../contract/response-schemas.js';
import { spanOf } from '../contract/dates.js';
import type { Client, CursorQuery } from './client.js';
import { containsSecret, redactor } from '../redact.js';
import { openTransport, type HttpRequest, type TransportOptions } from './transport.js';
import { isUtf8 } from 'node:buffer';
import { requestCodes } from '../contract/error-codes.js';
import { rawMember, repeatedMember } from '../text/raw-json.js';

export interface ClientOptions extends Omit<TransportOptions, 'headers' | 'redact'> {
  readonly accountId: string;
  readonly passcode: string;
  /** Prefix of the authentication headers, e.g. `X-Service`. */
  readonly headerPrefix: string;
  /** Wall clock, for a `Retry-After` date in a response without `Date`. */
  readonly now: () => number;
}

/**
 * Creates the HTTP client of one account without connecting. Throws E-CONFIG for an unusable
 * account id, passcode, header prefix or proxy variable; E-WEBASSEMBLY.
 */
export async function createClient(options: ClientOptions): Promise<Client> {
  const headers = requestHeaders(options);
  const redact = redactor(options.passcode);
  const isSecret = containsSecret(options.passcode);
  const checkCursor = (cursor: string): void => {
    if (!cursorPattern.test(cursor)) throw badCursor('that is invalid in a URL');
    if (isSecret(cursor)) throw badCursor('that contains the passcode');
  };
  reserveMemory(); // undici parses HTTP in WebAssembly: fail before anything is sent
  const transport = await openTransport({ ...options, headers, redact });
  const { ask, accept, stream } = openResponses(transport, { redact, now: options.now });
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
        const shape = writeEndpoints[to].counts ? 'writeResponse' : 'demergeResponse';
        return parseBody<WriteResponse>(answer, (shapes) => shapes[shape]);
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
        // Cursors arrive percent-encoded; the service refuses a cursor that is encoded twice.
        return stream(read(endpointPaths[kind], `?cursor=${cursor}`, of), signal);
      }),
    profile: (by, value, signal, of) =>
      toAttempt(async () => {
        const query = `?${by}=${encodeURIComponent(value)}`;
        const answer = await ask(read(endpointPaths.profile, query, of), signal);
        return parseProfileResponse(answer, { accept, by, value });
      }),
    checkCursor,
    redact,
    stall: transport.stall,
    close: () => transport.close(),
  };
}

const read = (endpoint: string, query: string, of: string | undefined): HttpRequest => ({
  method: 'GET',
  endpoint,
  query,
  limit: 'stall',
  of,
});

/** Builds the request that opens a cursor (docs/service-api.md, "Reads"). */
function opening({ kind, eventName, from, to, batchSize, ...flags }: CursorQuery): HttpRequest {
  const { app, events, profile } = flags;
  const parameters = Object.entries({ batch_size: batchSize, app, events, profile })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`);
  const body = Buffer.from(JSON.stringify({ event_name: eventName, from, to }));
  const query = `?${parameters.join('&')}`;
  const of = spanOf({ eventName, from, to });
  return { method: 'POST', endpoint: endpointPaths[kind], query, body, limit: 'stall', of };
}

/** Returns the cursor as received. */
async function cursorOf(answer: Response): Promise<string> {
  const { cursor } = await parseBody(answer, (shapes) => shapes.cursorResponse);
  if (cursorPattern.test(cursor)) return cursor;
  throw invalidResponse({ ...answer, text: cursor }, 'a cursor that is invalid in a URL');
}

const badCursor = (what: string): EngagectlError =>
  new EngagectlError('E-CURSOR', `the service sent a cursor ${what}`, {
    why: 'a proxy between the service and this machine may have changed the response',
    fix: 'check the base URL: engagectl config show',
  });

/** Builds the headers of every request. Throws E-CONFIG for values that a header cannot contain. */
function requestHeaders({
  headerPrefix,
  accountId,
  passcode,
}: Pick<ClientOptions, 'headerPrefix' | 'accountId' | 'passcode'>) {
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(headerPrefix)) {
    throw new EngagectlError('E-CONFIG', 'the header prefix is not valid in a header name', {
      why: 'header names consist of letters, digits and some punctuation, without spaces and colons',
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
    why: 'it is empty, or has a line break, a leading or trailing space, or a character outside Latin-1',
    fix: 'copy it again from the settings of the account',
  });
}

/** Statuses that do not mean "no such user". */
const notAboutTheUser: ReadonlySet<number> = new Set([
  requestCodes.pending,
  401,
  403,
  405,
  408,
  413,
  429,
]);
/** Members of the answers of other endpoints. */
const membersOfOthers = ['cursor', 'next_cursor', 'records', 'processed', 'unprocessed'];
/** Transient error that a retry may resolve. */
const malformed = /malformed request/i;

/**
 * Returns the record of a profile response as received; undefined if no user matches. The service
 * does not document that case: a `fail` body, no `record`, and null all mean it.
 */
async function parseProfileResponse(
  answer: Response,
  { accept, by, value }: { accept: Exchanges['accept']; by: IdentifierKind; value: string },
): Promise<Buffer | undefined> {
  if (await deniesUser(answer)) {
    const { record } = isMap(answer.json) ? answer.json : {};
    if (isMap(record) && Object.keys(record).length > 0)
      throw invalidResponse(answer, 'a profile beside a failure');
    return undefined;
  }
  const { json, body } = await accept(answer);
  // Decoding would silently replace invalid UTF-8; exports refuse it, too.
  if (!isUtf8(body)) throw invalidResponse(answer, 'not UTF-8');
  if (!isSuccessBody(json)) throw invalidResponse(answer, answer.problem ?? unknown);
  const { record } = json;
  if (record === undefined && membersOfOthers.some((name) => name in json))
    throw invalidResponse(answer, unknown);
  if (record === undefined || record === null) {
    // The code counts, not the status beside it.
    const refusal = await serviceError({ ...answer, json: { ...json, status: 'fail' } });
    if (refusal && !isAboutTheUser(refusal.status)) throw new RequestFailure(refusal);
    return undefined;
  }
  if (!isMap(record)) throw invalidResponse(answer, unknown);
  if (isOtherUser(shownIdentifiers[by](record), by, value))
    throw invalidResponse(answer, 'the profile of another user');
  const raw = rawMember(body, 'record')!;
  // Of two identities, either may be the user's.
  if (repeatedMember(raw, []) !== undefined)
    throw invalidResponse(answer, 'a profile that repeats a member');
  return raw;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** Functions that return the identifiers of a kind that a profile shows. */
const shownIdentifiers: Readonly<Record<IdentifierKind, (profile: JsonObject) => unknown[]>> = {
  identity: ({ all_identities: known }) => listOf(known),
  objectId: ({ platformInfo }) =>
    listOf(platformInfo).map((one) => (isMap(one) ? one['objectId'] : undefined)),
  email: ({ email, profileData }) => {
    const data = isMap(profileData) ? profileData : {};
    return [email, data['Email'], data['email']];
  },
};

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

/**
 * Whether a profile shows identifiers without the requested one, as from a proxy that mixes up responses. The service may
 * show it in other letters.
 */
function isOtherUser(shown: readonly unknown[], by: IdentifierKind, value: string): boolean {
  const plain = (text: string) => (by === 'email' ? text.trim() : text).toLowerCase();
  // A number may have lost digits here.
  if (shown.some((one) => typeof one === 'number' && !Number.isSafeInteger(one))) return false;
  const known = shown
    .filter((one) => typeof one === 'string' || typeof one === 'number')
    .map((one) => plain(String(one)))
    .filter((one) => one !== '');
  return known.length > 0 && !known.includes(plain(value));
}

const unknown = 'JSON of unknown shape';

async function deniesUser(answer: Response): Promise<boolean> {
  const fail = await failOf(answer.json);
  if (fail === undefined || malformed.test(fail.words)) return false;
  return isAboutTheUser((await serviceError(answer))?.status ?? answer.status);
}

const isAboutTheUser = (status: number): boolean => status < 500 && !notAboutTheUser.has(status);

const isSuccessBody = (json: unknown): json is { status: 'success'; record?: unknown } =>
  typeof json === 'object' && json !== null && 'status' in json && json.status === 'success';

interface CallListPosition {
  readonly since: number;
  readonly after: number;
}

/** Milliseconds before and after 1970 that a `Date` can have. */
const latestTime = 8.64e15;

const isMap = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether the members of a call that are read have their types. */
function isCall(value: unknown): value is object {
  if (!isMap(value)) return false;
  const [endedAt, actions] = [value['endedAt'] ?? 0, value['actions'] ?? {}];
  return typeof endedAt === 'number' && Math.abs(endedAt) <= latestTime && isMap(actions);
}

/** Calls with long addresses of images still fit the limits of a response. */
const callsPerPage = 250;

export type CallingClient = Awaited<ReturnType<typeof createCallingClient>>;

/**
 * HTTP client of a calling system. One attempt per call. `passcode` is the API key of the calling
 * system's account.
 */
export async function createCallingClient(options: ClientOptions) {
  const redact = redactor(options.passcode);
  const transport = await openTransport({ ...options, headers: requestHeaders(options), redact });
  const { ask, accept } = openResponses(transport, { redact, now: options.now });
  return {
    /** Lists some calls placed since a time (epoch milliseconds), oldest first; `next` continues the list. */
    list: ({ since, after }: CallListPosition, signal: AbortSignal) =>
      toAttempt(async () => {
        const endpoint = '/call/v1/calls';
        const query = `?since=${since}&after=${after}&limit=${callsPerPage}`;
        const exchange = { method: 'GET', endpoint, query, limit: 'stall' } as const;
        const answer = await accept(await ask(exchange, signal));
        const { records, next } = Object(answer.json) as Readonly<Record<string, unknown>>;
        const isNext = Number.isSafeInteger(next) && Number(next) > after;
        // Without records, a list that continues would never end.
        const isLast = next === undefined || next === null;
        const isList = Array.isArray(records) && records.every(isCall);
        if (isList && (isLast || (isNext && records.length > 0)))
          return { records, next: isNext ? Number(next) : undefined };
        throw invalidResponse(answer, 'no list of calls');
      }),
    /** Clicks a button of a missed call's notification. */
    click: (callId: string, actionId: string, signal: AbortSignal) =>
      toAttempt(async () => {
        const [call, action] = [callId, actionId].map(encodeURIComponent);
        const endpoint = `/call/v1/missed/${call}/actions/${action}`;
        const exchange = { method: 'POST', endpoint, limit: 'whole', once: true } as const;
        await accept(await ask(exchange, signal));
        return undefined;
      }),
    close: () => transport.close(),
  };
}
