import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Answer } from './answer.js';
import type { Variants } from './options.js';

/** Writes the answer the way the variants say; records leave as fast as the client reads them. */
export async function sendAnswer(
  response: ServerResponse,
  answer: Answer,
  variants: Variants,
): Promise<void> {
  response.statusCode = answer.httpStatus;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.shouldKeepAlive &&= variants.connection === 'keep';
  const pieces =
    variants.whitespace === 'spaced' ? spaced(bodyOf(answer, variants)) : bodyOf(answer, variants);
  if (answer.records) await pipeline(Readable.from(pieces, { objectMode: true }), response);
  else response.end([...pieces].join(''));
}

/** Text, or the UTF-8 of records; never cuts a JSON token. */
type Piece = string | Buffer;

/** The body in its pieces. */
function* bodyOf(answer: Answer, variants: Variants): Generator<Piece> {
  let separator = '{';
  for (const [name, value] of membersInOrder(answer, variants)) {
    yield `${separator}"${name}":`;
    if (typeof value === 'string') yield value;
    else yield* arrayOf(value);
    separator = ',';
  }
  yield '}';
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

type Member = readonly [name: string, value: string | Iterable<Piece>];

function membersInOrder(answer: Answer, variants: Variants): Member[] {
  const status: Member = ['status', JSON.stringify(answer.status)];
  const records: Member[] = answer.records ? [['records', answer.records]] : [];
  const next: Member[] =
    answer.nextCursor === undefined ? [] : [['next_cursor', JSON.stringify(answer.nextCursor)]];
  const page = variants.nextCursor === 'before' ? [...next, ...records] : [...records, ...next];
  const members = [...Object.entries(answer.members), ...page];
  return variants.status === 'first' ? [status, ...members] : [...members, status];
}

/** A blank on both sides of every `:` and `,` outside of strings. */
function* spaced(pieces: Iterable<Piece>): Generator<string> {
  for (const piece of pieces) {
    yield piece
      .toString()
      .replaceAll(/"(?:[^"\\]|\\.)*"|[:,]/g, (token) => (token.length > 1 ? token : ` ${token} `));
  }
}
