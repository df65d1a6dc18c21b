import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { nextTurn } from './mutex.js';
import { requestCodes, requestTexts } from '../contract/error-codes.js';
import type { Variants } from './variants.js';
import type { Service } from './service.js';
import type { ServerResponse } from 'node:http';

export interface Answer {
  readonly httpStatus: number;
  /**
   * By name: JSON text, or `records`: UTF-8 of several records each, joined by commas and read while
   * they are sent. What is undefined is left out.
   */
  readonly members: Readonly<Record<string, string | Iterable<Buffer> | undefined>>;
}

export const success = (members: Answer['members'] = {}): Answer => ({
  httpStatus: 200,
  members: { status: '"success"', ...members },
});

/**
 * Sends the answer after the latency, the way the variants say; records leave as fast as the
 * client reads them. Rejects when the client goes while they do.
 */
export async function sendAnswer(
  response: ServerResponse,
  answer: Answer,
  { options, variants }: Service,
): Promise<void> {
  if (options.latencyMs > 0) {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    await delay(options.latencyMs, undefined, { signal: gone.signal }).catch(() => undefined);
    if (response.destroyed) return;
  }
  response.statusCode = answer.httpStatus;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.shouldKeepAlive &&= variants.connection === 'keep';
  if (answer.members['records'] === undefined) return void response.end(textOf(answer, variants));
  const pieces = piecesOf(answer.members, variants);
  await pipeline(Readable.from(inTurns(pieces), { objectMode: true }), response);
}

/** The body of the answer as one text. */
export const textOf = ({ members }: Answer, variants: Variants): string =>
  [...piecesOf(members, variants)].join('');

const piecesOf = (members: Answer['members'], variants: Variants): Iterable<Piece> =>
  variants.whitespace === 'spaced' ? spaced(bodyOf(members, variants)) : bodyOf(members, variants);

/** Lets other requests in between: a page may hold all records there are. */
async function* inTurns(pieces: Iterable<Piece>): AsyncGenerator<Piece> {
  for (const piece of pieces) {
    yield piece;
    if (piece.length > 1) await nextTurn();
  }
}

/** Text, or the UTF-8 of records; never cuts a JSON token. */
type Piece = string | Buffer;

function* bodyOf(members: Answer['members'], variants: Variants): Generator<Piece> {
  const place = ([name]: readonly [string, unknown]) => placeOf(name, variants);
  const inOrder = Object.entries(members).sort((a, b) => place(a) - place(b));
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

/** The other members are between them. */
function placeOf(name: string, { status, nextCursor }: Variants): number {
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

/** A blank on both sides of every `:` and `,` outside of strings. */
function* spaced(pieces: Iterable<Piece>): Generator<string> {
  for (const piece of pieces) {
    yield piece
      .toString()
      .replaceAll(/"(?:[^"\\]|\\.)*"|[:,]/g, (token) => (token.length > 1 ? token : ` ${token} `));
  }
}

/** A request refused as a whole: `{"status":"fail","error":…,"code":…}`. */
export class Refusal extends Error {
  readonly httpStatus: number;
  readonly code: number | string | undefined;

  /** `code` is missing from the body when undefined. */
  constructor(httpStatus: number, text: string, code: number | string | undefined) {
    super(text);
    this.name = 'Refusal';
    this.httpStatus = httpStatus;
    this.code = code;
  }
}

/** A refusal whose code is its HTTP status, as it mostly is. */
export const refused = (httpStatus: number, text: string): Refusal =>
  new Refusal(httpStatus, text, httpStatus);

export const malformed = (): Refusal => refused(400, 'Malformed request');
export const stillPending = (): Refusal =>
  new Refusal(200, requestTexts.pending, requestCodes.pending);
export const incorrectUsage = (): Refusal =>
  new Refusal(200, requestTexts.incorrectUsage, requestCodes.incorrectUsage);

export function refusalAnswer({ httpStatus, message, code }: Refusal): Answer {
  const members = { status: '"fail"', error: JSON.stringify(message) };
  if (code === undefined) return { httpStatus, members };
  return { httpStatus, members: { ...members, code: JSON.stringify(code) } };
}

/** Aborted when the client goes or the service closes. */
export function goneSignal(response: ServerResponse, { closing }: Service): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return AbortSignal.any([gone.signal, closing]);
}

/** The answer to a cursor that is out of date. */
export const expiredCursor = ({ expiredCursor }: Variants): Refusal => expired[expiredCursor]();

const expired = {
  code: incorrectUsage,
  stringCode: () => new Refusal(200, 'Incorrect Usage', '3'),
  text: () => new Refusal(200, 'invalid cursor', undefined),
};
