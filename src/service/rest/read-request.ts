import { compressionOfBytes } from '../../contract/file-formats.js';
import { createHash, timingSafeEqual } from 'node:crypto';
import { headerNames } from '../../contract/endpoints.js';
import { requestError, malformed } from '../response.js';
import { isUtf8 } from 'node:buffer';
import { setTimeout as delay } from 'node:timers/promises';
import { JsonSize } from '../../text/json-limits.js';
import { limits } from '../../contract/limits.js';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { ServiceOptions } from '../service.js';
import type { EndpointName } from '../endpoints.js';

/** Compares both headers in a time that tells nothing about them; throws the Refusal 401. */
export function authenticate(headers: IncomingHttpHeaders, options: ServiceOptions): void {
  const names = options.headerPrefixes.map(headerNames);
  const sent = (which: 'accountId' | 'passcode') =>
    names.map((name) => headers[name[which].toLowerCase()]).find((value) => value !== undefined);
  const isAccount = matches(sent('accountId'), options.accountId);
  const isPasscode = matches(sent('passcode'), options.passcode);
  if (!isAccount && !isPasscode) throw requestError(401, 'Invalid Credentials');
  if (!isAccount) throw requestError(401, 'Account ID is not valid');
  if (!isPasscode) throw requestError(401, 'Passcode Invalid');
}

const matches = (sent: string | string[] | undefined, expected: string): boolean =>
  timingSafeEqual(digest(String(sent ?? '')), digest(expected));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * The body as well-formed JSON; undefined when it is empty. Throws the Refusals 400, 413 and 415,
 * and 408 when it takes too long. `arrived` is told its text before that is looked at.
 */
export async function readBody(
  request: IncomingMessage,
  {
    arrived = () => undefined,
    withinMs = 60_000,
  }: { arrived?: (text: string, bytes: number) => void; withinMs?: number | undefined } = {},
): Promise<string | undefined> {
  const { chunks, bytes } = await inTime(chunksOf(request), withinMs);
  const body = Buffer.concat(chunks);
  const text = body.toString();
  if (bytes > 0) arrived(text, bytes);
  if (bytes > limits.requestBytes) throw requestError(413, 'Request body too large');
  if (bytes === 0) return undefined;
  const encoding = request.headers['content-encoding'] ?? compressionOfBytes(body) ?? 'identity';
  if (encoding !== 'identity')
    throw requestError(415, `Content-Encoding ${encoding}: send the body plain`);
  if (!jsonInUtf8.test(request.headers['content-type'] ?? '')) throw malformed();
  if (!isUtf8(body)) throw malformed();
  if (!fitsBody(body)) throw malformed();
  return wellFormed(text);
}

/** More than any batch of records: what is nested deeper, or has more values, would take seconds and gigabytes to read. */
const mostOfBody = { depth: 256, values: 1_000_000 };

export const fitsBody = (body: Buffer): boolean => new JsonSize().fits(body, mostOfBody);

/** The bytes are counted beyond the limit, too, but not kept. */
async function chunksOf(request: IncomingMessage): Promise<{ chunks: Buffer[]; bytes: number }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= limits.requestBytes) chunks.push(chunk);
  }
  return { chunks, bytes };
}

/** A body that drips would have its place for ever. */
async function inTime<Result>(reading: Promise<Result>, milliseconds: number): Promise<Result> {
  const done = new AbortController();
  const late = delay(milliseconds, undefined, { signal: done.signal, ref: false }).then(() => {
    throw requestError(408, `The body did not come within ${milliseconds} ms`);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    done.abort();
    // Whichever lost ends in an error that is nobody's.
    void Promise.allSettled([reading, late]);
  }
}

const jsonInUtf8 = /^application\/json(\s*;\s*charset="?utf-8"?)?\s*$/i;

/** The text without blanks around it; throws the Refusal 400 unless it is JSON. */
export function wellFormed(text: string): string {
  const trimmed = text.trim();
  try {
    JSON.parse(trimmed);
  } catch {
    throw malformed();
  }
  return trimmed;
}

const parts = ['batch_size', 'app', 'events', 'profile'];

/** The parameters that the service plays (specification, Endpoints 1 to 8; service-facts, Cursors). */
export const supportedParameters: Readonly<Record<EndpointName, readonly string[]>> = {
  upload: ['dryRun'],
  subscribe: ['dryRun'],
  'profiles-cursor': [...parts, 'query'],
  profiles: [...parts, 'query', 'cursor'],
  profile: ['email', 'identity', 'objectId'],
  'events-cursor': [...parts, 'query'],
  events: [...parts, 'query', 'cursor'],
  demerge: [],
};

/** Throws the Refusal 501: who sent it would take an answer for what it is not. */
export function refuseUnsupported(endpoint: EndpointName, query: URLSearchParams): void {
  for (const name of query.keys())
    if (!supportedParameters[endpoint].includes(name))
      throw notSupported(`the parameter "${name}"`);
}

/** The Refusal for what deployments may have and this service does not. */
export const notSupported = (what: string) =>
  requestError(501, `This local service does not play ${what}`);

/** Throws the Refusal 400 for a value that could be meant either way. */
export function isDryRun(query: URLSearchParams): boolean {
  const value = query.get('dryRun') ?? '0';
  if (value !== '0' && value !== '1') throw requestError(400, 'dryRun is 1, or it is left out');
  return value === '1';
}
