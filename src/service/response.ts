import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { yieldToEventLoop } from './concurrency.js';
import { requestCodes, requestErrorTexts } from '../contract/error-codes.js';
import type { Variants } from './settings.js';
import type { ServiceContext } from './service.js';
import type { ServerResponse } from 'node:http';

export interface ApiResponse {
  readonly httpStatus: number;
  /**
   * By name: JSON text. `records` may be chunks of UTF-8, each several records joined by commas, which are
   * read from the store while they are sent. Undefined members are omitted.
   */
  readonly members: Readonly<Record<string, string | Iterable<Buffer> | undefined>>;
  /** Why records were rejected, for the request log. */
  readonly reason?: string | undefined;
}

export const success = (members: ApiResponse['members'] = {}): ApiResponse => ({
  httpStatus: 200,
  members: { status: '"success"', ...members },
});

/**
 * Sends the response after the configured latency, formatted by the variants. Records are streamed with
 * backpressure. Rejects if the client disconnects meanwhile.
 */
export async function sendResponse(
  response: ServerResponse,
  answer: ApiResponse,
  { settings }: ServiceContext,
): Promise<void> {
  const { latencyMs, variants } = settings.values;
  if (latencyMs > 0) {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    await delay(latencyMs, undefined, { signal: gone.signal }).catch(() => undefined);
    if (response.destroyed) return;
  }
  response.statusCode = answer.httpStatus;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.shouldKeepAlive &&= variants.connection === 'keep';
  if (answer.members['records'] === undefined)
    return void response.end(responseText(answer, variants));
  const pieces = piecesOf(answer.members, variants);
  await pipeline(Readable.from(interleaved(pieces), { objectMode: true }), response);
}

/** Returns the response body as one text. */
export const responseText = ({ members }: ApiResponse, variants: Variants): string =>
  [...piecesOf(members, variants)].join('');

const piecesOf = (members: ApiResponse['members'], variants: Variants): Iterable<Piece> =>
  variants.whitespace === 'spaced' ? spaced(bodyOf(members, variants)) : bodyOf(members, variants);

/** Yields to other requests between pieces: a page may contain every record of the store. */
async function* interleaved(pieces: Iterable<Piece>): AsyncGenerator<Piece> {
  for (const piece of pieces) {
    yield piece;
    if (piece.length > 1) await yieldToEventLoop();
  }
}

/** Text or UTF-8. Never ends inside a JSON token. */
type Piece = string | Buffer;

function* bodyOf(members: ApiResponse['members'], variants: Variants): Generator<Piece> {
  const rank = ([name]: readonly [string, unknown]) => memberRank(name, variants);
  const inOrder = Object.entries(members).sort((a, b) => rank(a) - rank(b));
  let separator = '{';
  for (const [name, value] of inOrder) {
    if (value === undefined) continue;
    yield `${separator}"${name}":`;
    if (typeof value === 'string') yield value;
    else yield* arrayOf(value);
    separator = ',';
  }
  yield '}';
}

/** Sort key of a member: status and next_cursor go before or after all others. */
function memberRank(name: string, { status, nextCursor }: Variants): number {
  if (name === 'status') return status === 'first' ? -2 : 2;
  if (name === 'next_cursor') return nextCursor === 'before' ? -1 : 1;
  return 0;
}

function* arrayOf(chunks: Iterable<Piece>): Generator<Piece> {
  let separator = '[';
  for (const chunk of chunks) {
    // All users of a chunk may have become one with others meanwhile.
    if (chunk.length === 0) continue;
    yield separator;
    yield chunk;
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

/** Inserts a blank on both sides of every `:` and `,` outside of strings. */
function* spaced(pieces: Iterable<Piece>): Generator<string> {
  for (const piece of pieces) {
    yield piece
      .toString()
      .replaceAll(/"(?:[^"\\]|\\.)*"|[:,]/g, (token) => (token.length > 1 ? token : ` ${token} `));
  }
}

/** A request refused as a whole: `{"status":"fail","error":…,"code":…}`. */
export class RequestError extends Error {
  readonly httpStatus: number;
  readonly code: number | string | undefined;
  /** Explanation for the request log, which is not sent. */
  readonly reason: string;

  /** An undefined `code` is omitted from the body. */
  constructor(
    httpStatus: number,
    text: string,
    code: number | string | undefined,
    reason: string = text,
  ) {
    super(text);
    this.reason = reason;
    this.name = 'RequestError';
    this.httpStatus = httpStatus;
    this.code = code;
  }
}

/** Creates a RequestError whose code is its HTTP status, the usual case. */
export const requestError = (httpStatus: number, text: string, reason?: string): RequestError =>
  new RequestError(httpStatus, text, httpStatus, reason);

export const malformed = (reason: string): RequestError =>
  requestError(400, 'Malformed request', reason);
export const stillPending = (reason: string): RequestError =>
  new RequestError(200, requestErrorTexts.pending, requestCodes.pending, reason);
export const incorrectUsage = (reason: string): RequestError =>
  new RequestError(200, requestErrorTexts.incorrectUsage, requestCodes.incorrectUsage, reason);

export function errorResponse({ httpStatus, message, code }: RequestError): ApiResponse {
  const members = { status: '"fail"', error: JSON.stringify(message) };
  if (code === undefined) return { httpStatus, members };
  return { httpStatus, members: { ...members, code: JSON.stringify(code) } };
}

/** Returns a signal that aborts when the client disconnects or the service closes. */
export function disconnectSignal(
  response: ServerResponse,
  { closing }: ServiceContext,
): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return AbortSignal.any([gone.signal, closing]);
}

/** Creates the error for an expired cursor, by variant. */
export const expiredCursor = ({ expiredCursor }: Variants, reason: string): RequestError =>
  expired[expiredCursor](reason);

const expired = {
  code: incorrectUsage,
  stringCode: (reason: string) => new RequestError(200, 'Incorrect Usage', '3', reason),
  text: (reason: string) => new RequestError(200, 'invalid cursor', undefined, reason),
};
