import { compressionOfBytes } from '../../contract/file-formats.js';
import { createHash, timingSafeEqual } from 'node:crypto';
import { headerNames, type EndpointName } from '../../contract/endpoints.js';
import { requestError, malformed } from '../response.js';
import { isUtf8 } from 'node:buffer';
import { setTimeout as delay } from 'node:timers/promises';
import { JsonSize } from '../../text/json-limits.js';
import { limits } from '../../contract/limits.js';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { ServiceOptions } from '../service.js';

/** Compares both credentials in constant time; throws RequestError 401, whose reason names headers but no values. */
export function authenticate(headers: IncomingHttpHeaders, options: ServiceOptions): void {
  const names = options.headerPrefixes.map(headerNames);
  const sent = (which: 'accountId' | 'passcode') =>
    names.map((name) => headers[name[which].toLowerCase()]).find((value) => value !== undefined);
  const isAccount = matches(sent('accountId'), options.accountId);
  const isPasscode = matches(sent('passcode'), options.passcode);
  if (isAccount && isPasscode) return;
  const reason = [
    ...(isAccount ? [] : [whyRejected(headers, options, 'accountId')]),
    ...(isPasscode ? [] : [whyRejected(headers, options, 'passcode')]),
    ...otherPrefixes(headers, options),
  ].join('; ');
  if (!isAccount && !isPasscode) throw requestError(401, 'Invalid Credentials', reason);
  throw requestError(401, isAccount ? 'Passcode Invalid' : 'Account ID is not valid', reason);
}

function whyRejected(
  headers: IncomingHttpHeaders,
  { headerPrefixes }: ServiceOptions,
  which: 'accountId' | 'passcode',
): string {
  const names = headerPrefixes.map((prefix) => headerNames(prefix)[which]);
  const sent = names.find((name) => headers[name.toLowerCase()] !== undefined);
  return sent === undefined ? `no header ${names.join(' or ')}` : `wrong value in ${sent}`;
}

/** Suggests the prefix of credentials under another one. */
function otherPrefixes(headers: IncomingHttpHeaders, { headerPrefixes }: ServiceOptions): string[] {
  const known = new Set(headerPrefixes.map((prefix) => prefix.toLowerCase()));
  const prefixes = Object.keys(headers).flatMap((name) => {
    const prefix = /^(.+)-(?:account-id|passcode)$/.exec(name)?.[1];
    return prefix === undefined || known.has(prefix) ? [] : [capitalized(prefix)];
  });
  return [...new Set(prefixes)].map(
    (prefix) => `headers ${prefix}-… seen: start with --header-prefix ${prefix}`,
  );
}

/** Node returns header names in lower case. */
const capitalized = (name: string): string =>
  name.replaceAll(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());

const matches = (sent: string | string[] | undefined, expected: string): boolean =>
  timingSafeEqual(digest(String(sent ?? '')), digest(expected));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Reads the body as well-formed JSON; undefined if it is empty. Throws RequestError 400, 413 and 415,
 * and 408 after `withinMs`. `arrived` is called with the text before it is validated.
 */
export async function readBody(
  request: IncomingMessage,
  {
    arrived = () => undefined,
    withinMs = 60_000,
  }: { arrived?: (text: string, bytes: number) => void; withinMs?: number | undefined } = {},
): Promise<string | undefined> {
  const { chunks, bytes, fits } = await inTime(chunksOf(request), withinMs);
  const body = Buffer.concat(chunks);
  const text = body.toString();
  if (bytes > 0) arrived(text, bytes);
  if (bytes > limits.requestBytes) throw requestError(413, 'Request body too large');
  if (bytes === 0) return undefined;
  const encoding = request.headers['content-encoding'] ?? compressionOfBytes(body) ?? 'identity';
  if (encoding !== 'identity')
    throw requestError(415, `Content-Encoding ${encoding}: send the body plain`);
  const { 'content-type': type } = request.headers;
  if (type === undefined) throw malformed('Content-Type is missing: send application/json');
  if (!jsonInUtf8.test(type)) throw malformed(`Content-Type is ${type}: send application/json`);
  if (!fits)
    throw malformed(
      `the body is nested deeper than ${mostOfBody.depth} levels or has more than ${mostOfBody.values} values`,
    );
  if (!isUtf8(body)) throw malformed('the body is not UTF-8');
  return wellFormed(text, 'the body');
}

/** More than any valid body has. Parsing deeper or larger values would take seconds and gigabytes. */
const mostOfBody = { depth: 256, values: 1_000_000 };

export const fitsBody = (body: Buffer): boolean => new JsonSize().fits(body, mostOfBody);

/** Collects the body and checks its size as it arrives. Bytes beyond a limit are counted but not kept. */
async function chunksOf(
  request: IncomingMessage,
): Promise<{ chunks: Buffer[]; bytes: number; fits: boolean }> {
  const chunks: Buffer[] = [];
  const size = new JsonSize();
  let bytes = 0;
  let fits = true;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (!fits || bytes > limits.requestBytes) continue;
    chunks.push(chunk);
    fits = size.fits(chunk, mostOfBody);
  }
  return { chunks, bytes, fits };
}

/** Rejects after a deadline, so a stalled body does not hold its concurrency slot forever. */
async function inTime<Result>(reading: Promise<Result>, milliseconds: number): Promise<Result> {
  const done = new AbortController();
  const late = delay(milliseconds, undefined, { signal: done.signal, ref: false }).then(() => {
    throw requestError(408, `The body did not come within ${milliseconds} ms`);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    done.abort();
    // Prevents an unhandled rejection of the promise that lost the race.
    void Promise.allSettled([reading, late]);
  }
}

const jsonInUtf8 = /^application\/json(\s*;\s*charset="?utf-8"?)?\s*$/i;

/** Returns the text without surrounding blanks; throws RequestError 400 if it is not JSON. `what` names the text. */
export function wellFormed(text: string, what: string): string {
  try {
    JSON.parse(text);
  } catch {
    const at = text.slice(0, jsonErrorPosition(text));
    throw malformed(`${what} is not JSON: syntax error at byte ${Buffer.byteLength(at)}`);
  }
  return text.trim();
}

const parts = ['batch_size', 'app', 'events', 'profile'];

/** Supported URL parameters (specification, Endpoints 1 to 8; service-facts, Cursors). */
const supportedParameters: Readonly<Partial<Record<EndpointName, readonly string[]>>> = {
  upload: ['dryRun'],
  subscribe: ['dryRun'],
  'profiles-cursor': [...parts, 'query'],
  profiles: [...parts, 'query', 'cursor'],
  profile: ['email', 'identity', 'objectId'],
  'events-cursor': [...parts, 'query'],
  events: [...parts, 'query', 'cursor'],
};
export const parametersOf = (endpoint: EndpointName): readonly string[] =>
  supportedParameters[endpoint] ?? [];

/**
 * Throws RequestError 501 for other parameters, and 400 for a repeated one: a response that ignores a value would
 * mislead the client.
 */
export function rejectUnsupported(endpoint: EndpointName, query: URLSearchParams): void {
  for (const name of query.keys()) {
    if (!parametersOf(endpoint).includes(name))
      throw notSupported(
        `the parameter "${name}"`,
        `unknown parameter "${name}": ${endpoint} has ${parametersOf(endpoint).join(', ') || 'none'}`,
      );
    if (query.getAll(name).length > 1) throw malformed(`the parameter "${name}" is repeated`);
  }
}

/** Creates the error for a feature that deployments may have and this service does not simulate. */
export const notSupported = (what: string, reason?: string) =>
  requestError(501, `The local service does not simulate ${what}`, reason);

/** Throws RequestError 400 for an ambiguous value. */
export function isDryRun(query: URLSearchParams): boolean {
  const value = query.get('dryRun') ?? '0';
  if (value !== '0' && value !== '1') throw requestError(400, 'dryRun must be 0 or 1');
  return value === '1';
}

/**
 * Returns the position, in UTF-16 code units, of the first syntax error in a text that JSON.parse rejects. The errors of
 * JSON.parse do not always contain it, and quote the text.
 */
function jsonErrorPosition(text: string): number {
  const token =
    // oxlint-disable-next-line no-control-regex -- JSON forbids control characters in strings
    /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/y;
  const open: string[] = [];
  let expected: readonly Kind[] = ['value', 'open'];
  for (let at = blanksEnd(text, 0); ; at = blanksEnd(text, token.lastIndex)) {
    token.lastIndex = at;
    const found = token.exec(text)?.[0];
    const kind = found === undefined ? undefined : kindOf(found, expected);
    if (found === undefined || kind === undefined || !expected.includes(kind)) return at;
    if (kind === 'open') open.push(found);
    if (kind === 'close' && (open.pop() === '{') !== (found === '}')) return at;
    expected = kindsAfter(kind, open);
  }
}

type Kind = 'value' | 'open' | 'close' | 'key' | 'colon' | 'comma';

function kindOf(token: string, expected: readonly Kind[]): Kind {
  if (token === '{' || token === '[') return 'open';
  if (token === '}' || token === ']') return 'close';
  if (token === ':') return 'colon';
  if (token === ',') return 'comma';
  return token.startsWith('"') && expected.includes('key') ? 'key' : 'value';
}

/** Kinds that may follow a token; `open` are the brackets that are open after it. */
function kindsAfter(kind: Kind, open: readonly string[]): readonly Kind[] {
  const isObject = open.at(-1) === '{';
  if (kind === 'open') return isObject ? ['key', 'close'] : ['value', 'open', 'close'];
  if (kind === 'key') return ['colon'];
  if (kind === 'colon' || (kind === 'comma' && !isObject)) return ['value', 'open'];
  if (kind === 'comma') return ['key'];
  return open.length === 0 ? [] : ['comma', 'close'];
}

function blanksEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && ' \t\n\r'.includes(text.charAt(at))) at++;
  return at;
}
