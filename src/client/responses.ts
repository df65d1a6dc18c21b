import type * as answers from '../contract/response-schemas.js';
import { cutAtWord, isTransient, RequestFailure, type Failure } from './failure.js';
import { parseRetryAfter } from './retry.js';
import { JsonSize } from '../text/json-limits.js';
import { repeatedMember } from '../text/raw-json.js';
import { toText, type Redact } from '../redact.js';
import type { PageBody } from './client.js';
import type { HttpRequest, RawResponse, Transport } from './transport.js';
import type { HttpHeaders } from './request-log.js';

export type Exchanges = ReturnType<typeof openResponses>;

/** Sends requests and checks their responses. Every function throws RequestFailure. */
export function openResponses(
  transport: Transport,
  { redact, now }: { readonly redact: Redact; readonly now: () => number },
) {
  const complete = async (raw: RawResponse, request: Buffer | undefined): Promise<Response> => {
    const body = await readable(raw, request);
    const text = body.toString();
    const { status, headers } = raw;
    const answer = { status, headers, body, text, ...jsonOf(body, text), redact };
    refuseRedirect(answer, transport.base);
    refuseCompression(answer);
    return answer;
  };

  /** Throws if the service refused the request. */
  const accept = async (answer: Response): Promise<Response> => {
    const refusal = await serviceError(answer);
    if (refusal === undefined) return answer;
    const retryAfterMs = parseRetryAfter(answer.headers, now);
    throw new RequestFailure(retryAfterMs === undefined ? refusal : { ...refusal, retryAfterMs });
  };

  return {
    /** Reads the whole response into memory, also a refusal. */
    ask: async (exchange: HttpRequest, signal: AbortSignal) =>
      complete(await transport.send(exchange, signal), exchange.body),
    accept,
    /** Returns the body as it arrives. Throws if the request was refused. */
    stream: async (exchange: HttpRequest, signal: AbortSignal): Promise<PageBody> => {
      const raw = await transport.send(exchange, signal);
      // Either `complete` or `accept` throws.
      if (!isSuccess(raw.status) || isCompressed(raw)) await accept(await complete(raw, undefined));
      const length = Number(raw.headers['content-length'] ?? Number.NaN);
      return { length: Number.isNaN(length) ? undefined : length, read: raw.read };
    },
  };
}

/** Parses a body. Of repeated members nobody knows which one counts. */
function jsonOf(body: Buffer, text: string): Pick<Response, 'json' | 'problem'> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { json: undefined, problem: 'invalid JSON' };
  }
  const name = toText(repeatedMember(body, ['unprocessed', 'record']));
  if (name !== undefined) return { json: undefined, problem: `JSON that repeats ${name}` };
  return { json, problem: undefined };
}

/** Reads a body. A refusal counts even if its body is truncated. */
async function readable(raw: RawResponse, request: Buffer | undefined): Promise<Buffer> {
  try {
    return await wholeBody(raw, request);
  } catch (error) {
    if (isSuccess(raw.status) || !(error instanceof RequestFailure)) throw error;
    return Buffer.alloc(0);
  }
}

function refuseRedirect({ status, headers, json, redact }: Response, base: URL): void {
  if (status < 300 || status >= 400) return;
  const location = String(headers['location'] ?? '');
  const host = URL.canParse(location, base.href) ? new URL(location, base.href).host : 'nowhere';
  const message = redact(`HTTP ${status}: a redirect to ${host}, which is never followed`);
  const doubt = saysProcessed(json) && ({ mayBeProcessed: true } as const);
  throw new RequestFailure({ kind: 'refused', sent: true, status, message, ...doubt });
}

const isCompressed = ({ headers }: Pick<Response, 'headers'>): boolean =>
  !/^(identity)?$/i.test(String(headers['content-encoding'] ?? ''));

/** Compression is never requested, and never decoded: a small response could expand without end. */
function refuseCompression(answer: Response): void {
  if (!isSuccess(answer.status) || !isCompressed(answer)) return;
  const encoding = String(answer.headers['content-encoding']);
  throw invalidResponse({ ...answer, text: encoding }, 'a compressed body');
}

/**
 * Limits of a response, besides the parts of the request that it repeats. Real ones are far smaller. Writes have many
 * requests in flight, look-ups few.
 */
const mostOfAnswer = { values: 50_000, depth: 256 };
const mostBytes = { ofWrite: 512 * 1024, ofLookUp: 4 * 1024 * 1024 };
/** Small records may be rejected with longer errors: 1000 of 1.2 KB, such as a sentence of which each letter is escaped. */
const leastLimit = 1.25 * 1024 * 1024;
/** Responses repeat unprocessed records; escaping makes them longer. */
const repeated = { bytes: 4, values: 2 };

/** Reads the body. Throws RequestFailure if it is truncated, or too large for the request. */
async function wholeBody(
  { read, status }: RawResponse,
  request: Buffer = Buffer.alloc(0),
): Promise<Buffer> {
  const parts: Buffer[] = [];
  const size = new JsonSize();
  const base = request.length > 0 ? mostBytes.ofWrite : mostBytes.ofLookUp;
  const bytes = Math.max(leastLimit, base + repeated.bytes * request.length);
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

const tooManyValues = 'more values than the request allows';

const tooMuch = (status: number, what: string): RequestFailure =>
  new RequestFailure({ kind: 'unreadable', sent: true, message: `HTTP ${status} with ${what}` });

/** Counted only if needed: it takes as long as sending the request. */
function valuesIn(request: Buffer): number {
  const size = new JsonSize();
  size.fits(request, { depth: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY });
  return size.values;
}

/** A completely read response. */
export interface Response {
  readonly status: number;
  readonly headers: HttpHeaders;
  /** The raw body. */
  readonly body: Buffer;
  readonly text: string;
  /** The parsed body; undefined if it has a `problem`, like `invalid JSON`. */
  readonly json: unknown;
  readonly problem: string | undefined;
  readonly redact: Redact;
}

type Refusal = Extract<Failure, { kind: 'refused' }>;

/** Loaded with the first response: loading takes longer than sending the first request. */
const shapes = async (): Promise<typeof answers> => import('../contract/response-schemas.js');

/**
 * Returns the refusal in a response, if any: by its status, or by a body
 * `{"status":"fail","code":n}` without `processed`, whose code replaces the status. A code that is
 * no HTTP status does not say that a request which failed with 5xx was not processed.
 */
export async function serviceError(answer: Response): Promise<Refusal | undefined> {
  const { status, json } = answer;
  const fail = await failOf(json);
  if (fail?.code !== undefined) {
    const where = fail.code === status ? `HTTP ${status}` : `HTTP ${status}, code ${fail.code}`;
    return refusal(answer, {
      status: fail.code < 100 && isTransient(status) ? status : fail.code,
      message: `${where}: ${fail.words}`,
      words: fail.words,
    });
  }
  if (isSuccess(status)) return undefined;
  const words = fail?.words ?? excerpt(answer);
  const message = `HTTP ${status}: ${words}`;
  return refusal(answer, { status, message, words: fail?.words ?? answer.text });
}

/** Classifies the message before it is redacted. */
const refusal = (
  { status: httpStatus, headers, json, redact }: Response,
  { status, message, words }: { status: number; message: string; words: string },
): Refusal => ({
  kind: 'refused',
  sent: true,
  status,
  message: redact(message),
  ...((isTransient(httpStatus) || saysProcessed(json)) && { mayBeProcessed: true }),
  ...requestIdOf(headers, redact),
  ...(/\bcursor\b/i.test(words) && { namesCursor: true }),
  ...(/\binvalid event\b/i.test(words) && { namesEvent: true }),
});

/** Whether a body accounts for single records, or says success, against its status. */
function saysProcessed(json: unknown): boolean {
  const { status, processed, unprocessed } = (json ?? {}) as Record<string, unknown>;
  const isAccounted =
    Number(processed) > 0 || (Array.isArray(unprocessed) && unprocessed.length > 0);
  return isAccounted || /^(?:success|partial)$/i.test(String(status));
}

/** Header names for request ids. */
const idHeaders = ['x-request-id', 'request-id', 'x-correlation-id'];
const longestId = 100;

function requestIdOf(headers: HttpHeaders, redact: Redact): { readonly requestId?: string } {
  const id = idHeaders.map((name) => headers[name]).find((value) => typeof value === 'string');
  return typeof id === 'string' ? { requestId: redact(id).slice(0, longestId) } : {};
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** Returns code and message of a body that refuses the whole request; undefined otherwise. */
export async function failOf(
  json: unknown,
): Promise<{ readonly code?: number; readonly words: string } | undefined> {
  const fail = (await shapes()).failResponse.safeParse(json);
  if (!fail.success || 'processed' in fail.data) return undefined;
  const { code, error } = fail.data;
  const words = toText(error) ?? 'no reason';
  return /^\d{1,9}$/.test(String(code)) ? { code: Number(code), words } : { words };
}

/** A schema of `contract/response-schemas.ts`. */
interface Shape<T> {
  safeParse(
    value: unknown,
  ): { readonly success: true; readonly data: T } | { readonly success: false };
}

/** Validates the body. Throws RequestFailure for another shape. */
export async function parseBody<T>(
  answer: Response,
  shapeOf: (shapes: typeof answers) => Shape<T>,
): Promise<T> {
  const parsed = shapeOf(await shapes()).safeParse(answer.json);
  if (parsed.success) return parsed.data;
  throw invalidResponse(answer, answer.problem ?? 'JSON of unknown shape');
}

/** Builds the failure of a successful status with an unusable body. */
export function invalidResponse(answer: Response, what: string): RequestFailure {
  const message = answer.redact(`HTTP ${answer.status} with ${what}: ${excerpt(answer)}`);
  return new RequestFailure({ kind: 'unreadable', sent: true, message });
}

/** Maximum characters of a body in a message. */
const mostQuoted = 200;

/** A member with records: a message shows none of what they hold. */
const recordMember =
  /("(?:records?|calls|profileData|evtData|event_props|unprocessed)"\s*:\s*)[[{][^]*/;

/** Returns the start of a body as one line. Redacts before truncating: half a passcode would not match. */
function excerpt({ text, redact }: Response): string {
  const line = redact(text.replace(recordMember, '$1…')).replaceAll(/\s+/g, ' ').trim();
  return line === '' ? 'an empty body' : cutAtWord(line, mostQuoted);
}
