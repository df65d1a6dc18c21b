import type { RawAnswer } from './malformed-http.js';
import type { Random } from './random.js';

/** An answer drawn from the grammar, and what the service did before it. */
export interface OddAnswer extends RawAnswer {
  /** Whether the request was carried out. */
  readonly executes: boolean;
  /** For the message of a failed case. */
  readonly drawn: string;
}

type Words = readonly [string, ...string[]];

const statusLines: Words = [
  'HTTP/1.1 200 OK',
  'HTTP/1.1 200 OK',
  'HTTP/1.1 200 OK',
  'HTTP/1.1 200 OK',
  'HTTP/1.1 200',
  'HTTP/1.0 200 OK',
  'HTTP/2 200 OK',
  'HTTP/9.9 200 OK',
  'HTTP/1.1 2xx OK',
  'HTTP/1.1 200 \u0000\u0001',
  'http/1.1 200 ok',
  'ICY 200 OK',
  '',
  'HTTP/1.1',
  'SSH-2.0-OpenSSH_9.6',
  '\u0015\u0003\u0001\u0000\u0002\u0002\u0046',
  '220 mail.example.test ESMTP',
  'HTTP/1.1 99999 X',
  'HTTP/1.1 -1 X',
  'HTTP/1.1 000 X',
  'HTTP/1.1 101 Switching Protocols',
  'HTTP/1.1 201 Created',
  'HTTP/1.1 204 No Content',
  'HTTP/1.1 206 Partial Content',
  'HTTP/1.1 302 Found',
  'HTTP/1.1 304 Not Modified',
  'HTTP/1.1 400 Bad Request',
  'HTTP/1.1 401 Unauthorized',
  'HTTP/1.1 404 Not Found',
  'HTTP/1.1 408 Request Timeout',
  'HTTP/1.1 413 Too Large',
  'HTTP/1.1 429 Slow Down',
  'HTTP/1.1 500 Oh',
  'HTTP/1.1 503 Later',
  'HTTP/1.1 599 ?',
  'HTTP/1.1 600 ?',
  'HTTP/1.1 999 ?',
];

/** Before the answer itself. */
const interims: Words = [
  '',
  '',
  '',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 102 Processing\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n',
  'HTTP/1.1 199 What\r\n\r\n',
  '\r\n\r\n',
];

const headerLines: Words = [
  'Content-Type: application/json',
  'Content-Type: text/html; charset=utf-7',
  'X: y',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: upgrade\r\nUpgrade: h2c',
  'Keep-Alive: timeout=0',
  'Keep-Alive: timeout=-5, max=x',
  'Retry-After: 999999999999',
  'Retry-After: 0',
  'Date: never',
  'Content-Encoding: gzip',
  'Content-Length: -1',
  'Content-Length: 3',
  'Content-Length: 99999999999999999999',
  'Content-Length: abc',
  'Content-Length: 5, 5',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: identity',
  ': no name',
  'no colon',
  ' folded',
  'X: \u0000',
  'X: \u00ff\u0001',
  `X-Long: ${'x'.repeat(20_000)}`,
  Array.from({ length: 300 }, (_, at) => `X-${at}: y`).join('\r\n'),
  'Location: http://[',
  'Trailer: X',
];

const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

/** Bodies beside the one that belongs there. */
const bodies: Words = [
  '',
  ' ',
  'null',
  '0',
  '[]',
  '{}',
  '"success"',
  '{"status":"success"',
  '{"status":"success"}',
  '{"status":"fail"}',
  '{"status":"fail","code":500}',
  '{"status":"fail","code":429,"error":"slow"}',
  '{"status":"fail","code":2,"cursor":"c"}',
  '{"status":"fail","cursor":"c0"}',
  '{"status":"fail","code":"abc","error":{"a":1}}',
  '{"status":"fail","code":1e300,"error":null}',
  `{"status":"fail","code":503,"error":${deep(5000)}}`,
  `{"status":"fail","error":${deep(5000)}}`,
  deep(100_000),
  '{"status":"success","processed":-1}',
  '{"status":"success","processed":1e999,"unprocessed":[]}',
  '{"status":"partial","processed":0,"unprocessed":[{"error":"record number : 99"}]}',
  '{"status":"partial","processed":0,"unprocessed":[null]}',
  '{"status":"success","records":{}}',
  '{"status":"success","records":[],"next_cursor":"c1"}',
  '{"status":"success","records":[],"next_cursor":7}',
  '{"status":"success","records":[1],"next_cursor":"c1"}',
  '{"status":"success","records":[{}],"records":[{}]}',
  '{"status":"success","record":null}',
  '{"status":"success","record":[]}',
  '{"__proto__":{"status":"success"},"constructor":1}',
  '\ufeff{"status":"success"}',
  '\u0000\u0000\u0000',
  '\u00ff\u00fe\u00fd',
  '<!doctype html><title>Sign in</title>',
  '{"status":"success"}{"status":"success"}',
  'HTTP/1.1 200 OK\r\n\r\n',
];

/** One answer; `good` is the body that says the request was carried out. */
export function drawAnswer(random: Random, good: string): OddAnswer {
  const status = random.pick(statusLines);
  const interim = random.pick(interims);
  const isGood = random.chance(0.6);
  const body = isGood ? good : random.pick(bodies);
  const newline = random.pick(['\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\r\n'] as const);
  const headers = Array.from({ length: random.below(3) }, () => random.pick(headerLines));
  const framing = random.pick(framings);
  const [frame, payload] = framing(random, body);
  const lines = [status, ...headers, ...frame];
  let bytes = Buffer.from(
    `${interim}${lines.join(newline)}${newline}${newline}${payload}`,
    'latin1',
  );
  if (random.chance(0.2)) bytes = bytes.subarray(0, random.below(bytes.length + 1));
  if (random.chance(0.05))
    bytes = Buffer.from(Array.from({ length: 400 }, () => random.below(256)));
  const speed = random.pick(speeds)(random, bytes);
  const end = random.pick(['keep', 'close', 'reset'] as const);
  const endAfterMs = random.pick([0, 0, 1, 3, 30] as const);
  const drawn = `${framing.name} ${newline.length} ${end}+${endAfterMs} ${status} ${headers.join('|').slice(0, 60)} ${isGood} ${body.slice(0, 40)}`;
  return { ...speed, end, endAfterMs, executes: !refuses(status, body), drawn };
}

/** An answer that says for sure that nothing was done comes from a service that did nothing. */
const refuses = (status: string, body: string): boolean =>
  /^HTTP\/1\.1 [34](?!08)/.test(status) || /^\{"status":"fail","code":(?:2|429)\b/.test(body);

type Framing = (random: Random, body: string) => readonly [readonly string[], string];
const framings: readonly [Framing, ...Framing[]] = [
  function length(_, body) {
    return [[`Content-Length: ${Buffer.byteLength(body, 'latin1')}`], body];
  },
  function wrongLength(random, body) {
    const length = body.length + random.pick([-1, 1, -5, 1000] as const);
    return [[`Content-Length: ${Math.max(0, length)}`], body];
  },
  function chunked(random, body) {
    const parts = cutUp(random, Buffer.from(body, 'latin1')).map((part) => part.toString('latin1'));
    const chunks = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`);
    return [['Transfer-Encoding: chunked'], `${chunks.join('')}0\r\n\r\n`];
  },
  function badChunks(random, body) {
    const size = body.length.toString(16);
    return [
      ['Transfer-Encoding: chunked'],
      random.pick([
        `zz\r\n${body}\r\n0\r\n\r\n`,
        `-5\r\n${body}\r\n0\r\n\r\n`,
        `FFFFFFFFFFFFFFFFF\r\n${body}`,
        `${size}\r\n${body}0\r\n\r\n`,
        `${size}\r\n${body}\r\n`,
        `${size};a="b\r\n${body}\r\n0\r\n\r\n`,
        `${size}\n${body}\n0\n\n`,
        `${size}\r\n${body}\r\n0\r\nX: \u0000\r\n\r\n`,
        `0\r\n\r\n${body}`,
      ]),
    ];
  },
  function untilClose(_, body) {
    return [[], body];
  },
  function twice(_, body) {
    const length = `Content-Length: ${body.length}`;
    return [[length], `${body}HTTP/1.1 200 OK\r\n${length}\r\n\r\n${body}`];
  },
];

type Speed = (random: Random, bytes: Buffer) => Pick<RawAnswer, 'pieces' | 'pauseMs'>;
const speeds: readonly [Speed, ...Speed[]] = [
  (_, bytes) => ({ pieces: [bytes] }),
  (_, bytes) => ({ pieces: [bytes] }),
  (random, bytes) => ({ pieces: cutUp(random, bytes), pauseMs: random.below(4) }),
  (_, bytes) => ({ pieces: Array.from(bytes.subarray(0, 400), (byte) => Buffer.of(byte)) }),
  // A byte now and then, and no end.
  (_, bytes) => ({ pieces: endless(bytes), pauseMs: 20 }),
];

function* endless(bytes: Buffer): Generator<Buffer> {
  yield bytes.subarray(0, bytes.length - 1);
  for (;;) yield Buffer.from(' ');
}

function cutUp(random: Random, bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = 1 + random.below(bytes.length);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}
