import type * as answers from '../contract/response-schemas.js';
import { FailureError, type Failure } from './failure.js';
import { retryAfter } from './retry.js';
import { wordsOf, type Shown } from './redact.js';
import type { PageBody } from './client.js';
import type { Exchange, RawAnswer, Transport } from './transport.js';
import type { Headers } from './request-log.js';

export type Exchanges = ReturnType<typeof openExchanges>;

/** Requests and what their answers say. Every function throws FailureError. */
export function openExchanges(
  transport: Transport,
  { shown, now }: { readonly shown: Shown; readonly now: () => number },
) {
  const complete = async (raw: RawAnswer): Promise<Answer> => {
    const body = await readable(raw);
    const text = body.toString();
    const { status, headers } = raw;
    const answer = { status, headers, body, text, json: jsonOf(text), shown };
    refuseRedirect(answer, transport.base);
    refuseCompression(answer);
    return answer;
  };

  /** Throws when the answer refuses the request. */
  const accept = async (answer: Answer): Promise<Answer> => {
    const refusal = await refusalOf(answer);
    if (refusal === undefined) return answer;
    const retryAfterMs = retryAfter(answer.headers, now);
    throw new FailureError(retryAfterMs === undefined ? refusal : { ...refusal, retryAfterMs });
  };

  return {
    /** An answer that is held in memory, refusals too. */
    ask: async (exchange: Exchange, signal: AbortSignal) =>
      complete(await transport.send(exchange, signal)),
    accept,
    /** An answer that is handed on while it arrives; refused ones throw. */
    stream: async (exchange: Exchange, signal: AbortSignal): Promise<PageBody> => {
      const raw = await transport.send(exchange, signal);
      // One of the two throws for these.
      if (!isSuccess(raw.status) || isCompressed(raw)) await accept(await complete(raw));
      const length = Number(raw.headers['content-length'] ?? Number.NaN);
      return { length: Number.isNaN(length) ? undefined : length, read: raw.read };
    },
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A refusal counts even when its body breaks off. */
async function readable(raw: RawAnswer): Promise<Buffer> {
  try {
    return await wholeBody(raw);
  } catch (error) {
    if (isSuccess(raw.status) || !(error instanceof FailureError)) throw error;
    return Buffer.alloc(0);
  }
}

function refuseRedirect({ status, headers, shown }: Answer, base: URL): void {
  if (status < 300 || status >= 400) return;
  const location = String(headers['location'] ?? '');
  const host = URL.canParse(location, base.href) ? new URL(location, base.href).host : 'nowhere';
  const message = shown(`HTTP ${status}: a redirect to ${host}, which is never followed`);
  throw new FailureError({ kind: 'refused', sent: true, status, message });
}

const isCompressed = ({ headers }: Pick<Answer, 'headers'>): boolean =>
  !/^(identity)?$/i.test(String(headers['content-encoding'] ?? ''));

/** We never ask for compression, and never unzip: a small answer could become an endless one. */
function refuseCompression(answer: Answer): void {
  if (!isSuccess(answer.status) || !isCompressed(answer)) return;
  const encoding = String(answer.headers['content-encoding']);
  throw unreadable({ ...answer, text: encoding }, 'a compressed body');
}

/** Longest answer that is held in memory: longer than any batch of 4 MiB with its records echoed. */
const answerBytes = 64 * 1024 * 1024;

/** The whole body. Throws FailureError when it breaks off or is longer than any real answer. */
async function wholeBody({ read, status }: RawAnswer): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  await read((chunk) => {
    length += chunk.length;
    if (length > answerBytes) {
      const message = `HTTP ${status} with a body of more than ${answerBytes} bytes`;
      throw new FailureError({ kind: 'unreadable', sent: true, message });
    }
    parts.push(chunk);
  });
  return Buffer.concat(parts, length);
}

/** An answer that was read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The body as it came. */
  readonly body: Buffer;
  readonly text: string;
  /** The body's JSON value; undefined when it is none. */
  readonly json: unknown;
  readonly shown: Shown;
}

type Refusal = Extract<Failure, { kind: 'refused' }>;

/** Loaded for the first answer: it takes longer than to send the first request. */
const shapes = async (): Promise<typeof answers> => import('../contract/response-schemas.js');

/**
 * The refusal in an answer, if it is one: by its status, or by a body
 * `{"status":"fail","code":n}` without `processed`, whose code counts instead of the status.
 */
export async function refusalOf(answer: Answer): Promise<Refusal | undefined> {
  const { status, json } = answer;
  const fail = await failOf(json);
  if (fail?.code !== undefined) {
    const where = fail.code === status ? `HTTP ${status}` : `HTTP ${status}, code ${fail.code}`;
    return refusal(answer, {
      status: fail.code,
      message: `${where}: ${fail.words}`,
      words: fail.words,
    });
  }
  if (isSuccess(status)) return undefined;
  const words = fail?.words ?? excerpt(answer);
  const message = `HTTP ${status}: ${words}`;
  return refusal(answer, { status, message, words: fail?.words ?? answer.text });
}

/** What the words speak of is judged before anything is taken out of them. */
const refusal = (
  { headers, shown }: Answer,
  { status, message, words }: { status: number; message: string; words: string },
): Refusal => ({
  kind: 'refused',
  sent: true,
  status,
  message: shown(message),
  ...requestIdOf(headers, shown),
  ...(/\bcursor\b/i.test(words) && { namesCursor: true }),
  ...(/\binvalid event\b/i.test(words) && { namesEvent: true }),
});

/** Where services and the proxies before them put it. */
const idHeaders = ['x-request-id', 'request-id', 'x-correlation-id'];
const longestId = 100;

function requestIdOf(headers: Headers, shown: Shown): { readonly requestId?: string } {
  const id = idHeaders.map((name) => headers[name]).find((value) => typeof value === 'string');
  return typeof id === 'string' ? { requestId: shown(id).slice(0, longestId) } : {};
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** What a body says that refuses a whole request; undefined when it does not. */
export async function failOf(
  json: unknown,
): Promise<{ readonly code?: number; readonly words: string } | undefined> {
  const fail = (await shapes()).failAnswer.safeParse(json);
  if (!fail.success || 'processed' in fail.data) return undefined;
  const { code, error } = fail.data;
  const words = wordsOf(error) ?? 'no reason';
  return /^\d{1,9}$/.test(String(code)) ? { code: Number(code), words } : { words };
}

/** What a schema of contract/answers offers. */
interface Shape<T> {
  safeParse(
    value: unknown,
  ): { readonly success: true; readonly data: T } | { readonly success: false };
}

/** The answer's content. Throws FailureError when it has another shape. */
export async function contentOf<T>(
  answer: Answer,
  shapeOf: (shapes: typeof answers) => Shape<T>,
): Promise<T> {
  const parsed = shapeOf(await shapes()).safeParse(answer.json);
  if (parsed.success) return parsed.data;
  throw unreadable(answer, answer.json === undefined ? 'no JSON' : 'JSON of no known shape');
}

/** A success by its status whose body is no answer. */
export function unreadable(answer: Answer, what: string): FailureError {
  const message = answer.shown(`HTTP ${answer.status} with ${what}: ${excerpt(answer)}`);
  return new FailureError({ kind: 'unreadable', sent: true, message });
}

/** Characters of a body that a message quotes. */
const mostQuoted = 200;

/** The beginning of a body as one line. It is cut last: half a passcode would not be known as one. */
function excerpt({ text, shown }: Answer): string {
  const line = shown(text).replaceAll(/\s+/g, ' ').trim().slice(0, mostQuoted);
  return line === '' ? 'an empty body' : line;
}
