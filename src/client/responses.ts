import type * as answers from '../contract/response-schemas.js';
import { RequestFailure, type Failure } from './failure.js';
import { parseRetryAfter } from './retry.js';
import { JsonSize } from '../text/json-limits.js';
import { toText, type Redact } from '../redact.js';
import type { PageBody } from './client.js';
import type { HttpRequest, RawResponse, Transport } from './transport.js';
import type { HttpHeaders } from './request-log.js';

export type Exchanges = ReturnType<typeof openResponses>;

/** Requests and what their answers say. Every function throws FailureError. */
export function openResponses(
  transport: Transport,
  { shown, now }: { readonly shown: Redact; readonly now: () => number },
) {
  const complete = async (raw: RawResponse, request: Buffer | undefined): Promise<Response> => {
    const body = await readable(raw, request);
    const text = body.toString();
    const { status, headers } = raw;
    const answer = { status, headers, body, text, json: jsonOf(text), shown };
    refuseRedirect(answer, transport.base);
    refuseCompression(answer);
    return answer;
  };

  /** Throws when the answer refuses the request. */
  const accept = async (answer: Response): Promise<Response> => {
    const refusal = await serviceError(answer);
    if (refusal === undefined) return answer;
    const retryAfterMs = parseRetryAfter(answer.headers, now);
    throw new RequestFailure(retryAfterMs === undefined ? refusal : { ...refusal, retryAfterMs });
  };

  return {
    /** An answer that is held in memory, refusals too. */
    ask: async (exchange: HttpRequest, signal: AbortSignal) =>
      complete(await transport.send(exchange, signal), exchange.body),
    accept,
    /** An answer that is handed on while it arrives; refused ones throw. */
    stream: async (exchange: HttpRequest, signal: AbortSignal): Promise<PageBody> => {
      const raw = await transport.send(exchange, signal);
      // One of the two throws for these.
      if (!isSuccess(raw.status) || isCompressed(raw)) await accept(await complete(raw, undefined));
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
async function readable(raw: RawResponse, request: Buffer | undefined): Promise<Buffer> {
  try {
    return await wholeBody(raw, request);
  } catch (error) {
    if (isSuccess(raw.status) || !(error instanceof RequestFailure)) throw error;
    return Buffer.alloc(0);
  }
}

function refuseRedirect({ status, headers, shown }: Response, base: URL): void {
  if (status < 300 || status >= 400) return;
  const location = String(headers['location'] ?? '');
  const host = URL.canParse(location, base.href) ? new URL(location, base.href).host : 'nowhere';
  const message = shown(`HTTP ${status}: a redirect to ${host}, which is never followed`);
  throw new RequestFailure({ kind: 'refused', sent: true, status, message });
}

const isCompressed = ({ headers }: Pick<Response, 'headers'>): boolean =>
  !/^(identity)?$/i.test(String(headers['content-encoding'] ?? ''));

/** We never ask for compression, and never unzip: a small answer could become an endless one. */
function refuseCompression(answer: Response): void {
  if (!isSuccess(answer.status) || !isCompressed(answer)) return;
  const encoding = String(answer.headers['content-encoding']);
  throw invalidResponse({ ...answer, text: encoding }, 'a compressed body');
}

/** Most of an answer, besides what it may repeat of the request: of any real one there is far less. */
const mostOfAnswer = { bytes: 8 * 1024 * 1024, values: 50_000, depth: 256 };
/** Records are repeated where they are not processed; escaped, they are longer. */
const repeated = { bytes: 4, values: 2 };

/** The whole body. Throws FailureError when it breaks off or is more than an answer to the request can be. */
async function wholeBody(
  { read, status }: RawResponse,
  request: Buffer = Buffer.alloc(0),
): Promise<Buffer> {
  const parts: Buffer[] = [];
  const size = new JsonSize();
  const bytes = mostOfAnswer.bytes + repeated.bytes * request.length;
  let limits = mostOfAnswer;
  let length = 0;
  await read((chunk) => {
    length += chunk.length;
    if (length > bytes) throw tooMuch(status, `a body of more than ${bytes} bytes`);
    if (!size.fits(chunk, limits)) {
      if (size.depth > limits.depth)
        throw tooMuch(status, `JSON nested deeper than ${limits.depth}`);
      if (limits !== mostOfAnswer || request.length === 0) throw tooMuch(status, tooManyValues);
      const values = mostOfAnswer.values + repeated.values * valuesIn(request);
      limits = { ...mostOfAnswer, values };
      if (size.values > values) throw tooMuch(status, tooManyValues);
    }
    parts.push(chunk);
  });
  return Buffer.concat(parts, length);
}

const tooManyValues = 'more values than were asked for';

const tooMuch = (status: number, what: string): RequestFailure =>
  new RequestFailure({ kind: 'unreadable', sent: true, message: `HTTP ${status} with ${what}` });

/** Not known before it is needed: it takes as long as to send the request. */
function valuesIn(request: Buffer): number {
  const size = new JsonSize();
  size.fits(request, { depth: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY });
  return size.values;
}

/** An answer that was read to its end. */
export interface Response {
  readonly status: number;
  readonly headers: HttpHeaders;
  /** The body as it came. */
  readonly body: Buffer;
  readonly text: string;
  /** The body's JSON value; undefined when it is none. */
  readonly json: unknown;
  readonly shown: Redact;
}

type Refusal = Extract<Failure, { kind: 'refused' }>;

/** Loaded for the first answer: it takes longer than to send the first request. */
const shapes = async (): Promise<typeof answers> => import('../contract/response-schemas.js');

/**
 * The refusal in an answer, if it is one: by its status, or by a body
 * `{"status":"fail","code":n}` without `processed`, whose code counts instead of the status.
 */
export async function serviceError(answer: Response): Promise<Refusal | undefined> {
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
  { headers, shown }: Response,
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

function requestIdOf(headers: HttpHeaders, shown: Redact): { readonly requestId?: string } {
  const id = idHeaders.map((name) => headers[name]).find((value) => typeof value === 'string');
  return typeof id === 'string' ? { requestId: shown(id).slice(0, longestId) } : {};
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** What a body says that refuses a whole request; undefined when it does not. */
export async function failOf(
  json: unknown,
): Promise<{ readonly code?: number; readonly words: string } | undefined> {
  const fail = (await shapes()).failResponse.safeParse(json);
  if (!fail.success || 'processed' in fail.data) return undefined;
  const { code, error } = fail.data;
  const words = toText(error) ?? 'no reason';
  return /^\d{1,9}$/.test(String(code)) ? { code: Number(code), words } : { words };
}

/** What a schema of contract/answers offers. */
interface Shape<T> {
  safeParse(
    value: unknown,
  ): { readonly success: true; readonly data: T } | { readonly success: false };
}

/** The answer's content. Throws FailureError when it has another shape. */
export async function parseBody<T>(
  answer: Response,
  shapeOf: (shapes: typeof answers) => Shape<T>,
): Promise<T> {
  const parsed = shapeOf(await shapes()).safeParse(answer.json);
  if (parsed.success) return parsed.data;
  throw invalidResponse(answer, answer.json === undefined ? 'no JSON' : 'JSON of no known shape');
}

/** A success by its status whose body is no answer. */
export function invalidResponse(answer: Response, what: string): RequestFailure {
  const message = answer.shown(`HTTP ${answer.status} with ${what}: ${excerpt(answer)}`);
  return new RequestFailure({ kind: 'unreadable', sent: true, message });
}

/** Characters of a body that a message quotes. */
const mostQuoted = 200;

/** The beginning of a body as one line. It is cut last: half a passcode would not be known as one. */
function excerpt({ text, shown }: Response): string {
  const line = shown(text).replaceAll(/\s+/g, ' ').trim().slice(0, mostQuoted);
  return line === '' ? 'an empty body' : line;
}
