import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Service, Variants } from './service.js';

export interface Answer {
  readonly httpStatus: number;
  /**
   * JSON texts by member name; those that are undefined are left out. `records` is UTF-8 of several
   * records each, joined by commas: read while they are sent.
   */
  readonly members: Readonly<Record<string, string | undefined>>;
  readonly records?: Iterable<Buffer> | undefined;
}

export const success = (members: Answer['members'] = {}, records?: Iterable<Buffer>): Answer => ({
  httpStatus: 200,
  members: { status: '"success"', ...members },
  records,
});

/**
 * Sends the answer after the latency, the way the variants say; records leave as fast as the
 * client reads them. Rejects when the client has gone meanwhile.
 */
export async function sendAnswer(
  response: ServerResponse,
  answer: Answer,
  { options, variants }: Service,
): Promise<void> {
  if (options.latencyMs > 0) {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    await delay(options.latencyMs, undefined, { signal: gone.signal });
  }
  response.statusCode = answer.httpStatus;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.shouldKeepAlive &&= variants.connection === 'keep';
  const body = bodyOf(answer, variants);
  const pieces = variants.whitespace === 'spaced' ? spaced(body) : body;
  if (answer.records) await pipeline(Readable.from(pieces, { objectMode: true }), response);
  else response.end([...pieces].join(''));
}

/** Text, or the UTF-8 of records; never cuts a JSON token. */
type Piece = string | Buffer;

function* bodyOf({ members, records }: Answer, variants: Variants): Generator<Piece> {
  const entries: [string, string | Iterable<Buffer> | undefined][] = [
    ...Object.entries(members),
    ['records', records],
  ];
  let separator = '{';
  for (const [name, value] of entries.sort(
    ([a], [b]) => placeOf(a, variants) - placeOf(b, variants),
  )) {
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
    yield separator;
    yield chunk;
    separator = ',';
  }
  yield ']';
}

/** A blank on both sides of every `:` and `,` outside of strings. */
function* spaced(pieces: Iterable<Piece>): Generator<string> {
  for (const piece of pieces) {
    yield piece
      .toString()
      .replaceAll(/"(?:[^"\\]|\\.)*"|[:,]/g, (token) => (token.length > 1 ? token : ` ${token} `));
  }
}
