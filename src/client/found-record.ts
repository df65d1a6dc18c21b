import { isUtf8 } from 'node:buffer';
import { requestCodes } from '../contract/error-codes.js';
import { failOf, refusalOf, unreadable, type Answer } from './responses.js';
import { memberText } from '../text/raw-json.js';
import type { Exchanges } from './exchanges.js';

/** Statuses that say nothing about the user asked for. */
const notAboutTheUser: ReadonlySet<number> = new Set([
  requestCodes.pending,
  401,
  403,
  405,
  408,
  413,
  429,
]);
/** Seen as passing: it may be gone at the second try. */
const malformed = /malformed request/i;

/**
 * The record of an answer of endpoint 5, as the service wrote it; undefined when no user matches.
 * How that is said is open (service-facts, Reads): a `fail` body, no `record`, or null.
 */
export async function foundRecord(
  answer: Answer,
  accept: Exchanges['accept'],
): Promise<Buffer | undefined> {
  if (await deniesUser(answer)) return undefined;
  const { json, body } = await accept(answer);
  // Decoding would change what is no UTF-8, in silence; exports refuse it, too.
  if (!isUtf8(body)) throw unreadable(answer, 'not UTF-8');
  if (!isSuccessBody(json)) throw unreadable(answer, json === undefined ? 'no JSON' : unknown);
  const { record } = json;
  if (record === undefined || record === null) return undefined;
  if (typeof record === 'object' && !Array.isArray(record)) return memberText(body, 'record');
  throw unreadable(answer, unknown);
}

const unknown = 'JSON of no known shape';

async function deniesUser(answer: Answer): Promise<boolean> {
  const fail = await failOf(answer.json);
  if (fail === undefined || malformed.test(fail.words)) return false;
  const status = (await refusalOf(answer))?.status ?? answer.status;
  return status < 500 && !notAboutTheUser.has(status);
}

const isSuccessBody = (json: unknown): json is { status: 'success'; record?: unknown } =>
  typeof json === 'object' && json !== null && 'status' in json && json.status === 'success';
