import { toText } from '../../redact.js';
import { isError } from '../../client/failure.js';
import { recordCodes } from '../../contract/error-codes.js';
import { keyParts } from '../../text/record-hash.js';
import type { WriteResponse } from '../../contract/response-schemas.js';
import type { Batch } from './batch.js';

/** A record that a response does not accept. */
interface Rejection {
  /** Code 555: the service asks to resend the record. */
  readonly isRetryable: boolean;
  readonly code: number | undefined;
  readonly error: string;
}

/** Rejections by position in the batch. All other records were accepted. */
export type RejectedPositions = ReadonlyMap<number, Rejection>;

/** A response that does not account for every record and proves nothing. */
export interface Mismatch {
  readonly why: string;
}

/**
 * Validates the response to a write against the batch: `processed` and `unprocessed` must account
 * for every record, status and error must not contradict them, and each entry must match exactly one record
 * (docs/service-api.md, Errors 1). Without `processed`, as of a demerge, there must be no `unprocessed`.
 */
export function matchResponse(answer: WriteResponse, batch: Batch): RejectedPositions | Mismatch {
  const { status } = answer;
  const entries = answer.unprocessed ?? [];
  const processed = answer.processed ?? (entries.length === 0 ? batch.size : undefined);
  if (status === 'fail' && processed === 0 && entries.length === 0) {
    const error = toText(answer['error']) ?? 'the service rejected all records without a reason';
    const rejection = { isRetryable: false, code: numberOf(answer['code']), error };
    return new Map(batch.positions().map((position) => [position, rejection]));
  }
  const problem = errorBesideSuccess(answer);
  if (problem !== undefined) return { why: problem };
  if (processed === undefined || processed + entries.length !== batch.size) {
    const counts = `processed ${processed ?? 'unknown'} and ${entries.length} unprocessed`;
    return { why: `${counts} for ${batch.size} records sent` };
  }
  if (status === 'fail' && entries.length === 0) {
    return { why: `status "fail", though all ${batch.size} records were processed` };
  }
  const rejections = new Map<number, Rejection>();
  const find = recordFinder(batch);
  for (const entry of entries) {
    const error = toText(entry.error) ?? 'no reason given';
    const position = find(error, entry.record);
    if (position === undefined) return { why: `"${error}" does not match a record of the request` };
    if (rejections.has(position)) {
      return { why: `record ${position + 1} of the request is named twice` };
    }
    const { code } = entry;
    rejections.set(position, { isRetryable: code === recordCodes.serverError, code, error });
  }
  return rejections;
}

/** Describes an error of the whole response that no entry explains. */
function errorBesideSuccess({ status, unprocessed, code, error }: WriteResponse) {
  const isSuccess = status === 'success' || (status === 'partial' && !unprocessed?.length);
  if (!isSuccess || !isError({ code, error })) return undefined;
  const words = toText(error) ?? 'no reason given';
  return `status "${status}", but ${code === undefined ? 'an error' : `code ${toText(code)}`}: ${words}`;
}

/** What follows the words in a message. `1,000` is taken whole, and so is no number. */
const recordNumber = /record number\s*:\s*(\d(?:\w|[.,'’\u{a0}\u{202f}]\d)*)/giu;

/**
 * Matches an entry by the record number in its message, otherwise by an unambiguous identity or value. A number does not
 * count if the entry shows another record of the request: a service may number otherwise than documented. Nor does it if a
 * record of the user has such words, which the message may quote, unless the entry shows the record with that number. A record
 * is not found by the text that is shown, which the service may have altered.
 */
function recordFinder(batch: Batch) {
  // Most messages are clear: the records are read once, and only if they must be compared.
  let records: readonly unknown[] | undefined;
  const sent = () => (records ??= batch.positions().map((at) => recordAt(batch, at)));
  let names: Map<string, number | 'several'> | undefined;
  const positionOf = (name: string) => (names ??= positionsByName(sent())).get(name);
  let texts: readonly string[] | undefined;
  const isSent = (text: string) => (texts ??= sent().map(comparable)).includes(text);
  let quoting: readonly (string | undefined)[] | undefined;
  const mayQuote = (name: string | undefined) => {
    quoting ??= sent().filter(mayHoldNumber).map(nameOf);
    const isKnown = name !== undefined && positionOf(name) !== undefined;
    return isKnown ? quoting.includes(name) : quoting.length > 0;
  };
  return (error: string, echo: unknown): number | undefined => {
    const name = nameOf(echo);
    const numbers = [...error.matchAll(recordNumber)];
    const last = numbers.at(-1);
    if (last === undefined) {
      const position = name === undefined ? undefined : positionOf(name);
      return position === 'several' ? undefined : position;
    }
    const [words, number = ''] = last;
    // The last of several counts, at the end of the message, which may quote a value of the record before it.
    const isClear =
      numbers.every(([, each]) => each === number) ||
      /^[\s.;!)]*$/.test(error.slice(last.index + words.length));
    const position = isClear && /^\d+$/.test(number) ? Number(number) - 1 : -1;
    if (position < 0 || position >= batch.size) return undefined;
    const numbered = recordAt(batch, position);
    const shown = comparable(echo);
    if (shown === comparable(numbered)) return position;
    const isOtherUser =
      name !== undefined && name !== nameOf(numbered) && positionOf(name) !== undefined;
    return isOtherUser || isSent(shown) || mayQuote(name) ? undefined : position;
  };
}

function recordAt(batch: Batch, position: number): unknown {
  const { json, start, end } = batch.record(position);
  return JSON.parse(json.toString('utf8', start, end));
}

/** Returns the same text for records that a service may show so: members in any order, and numbers as texts. */
const comparable = (record: unknown): string =>
  JSON.stringify(record ?? null, (_, value: unknown) => {
    if (typeof value === 'number') return String(value);
    if (!isObject(value)) return value;
    return Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  });

/** Whether a record number may be in a text or key of a value, at any depth. */
function mayHoldNumber(value: unknown): boolean {
  if (typeof value === 'string') return /record\s*number/iu.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some((entry) => entry.some(mayHoldNumber));
}

/** Maps names to positions. Those of events are `several`, because many of them can have the same identity. */
function positionsByName(records: readonly unknown[]): Map<string, number | 'several'> {
  const positions = new Map<string, number | 'several'>();
  for (const [position, record] of records.entries()) {
    const name = nameOf(record);
    const isEvent = isObject(record) && record['type'] === 'event';
    if (name !== undefined)
      positions.set(name, isEvent || positions.has(name) ? 'several' : position);
  }
  return positions;
}

/** Returns the identifier of a record, or subscription type and value without a leading plus; of a demerge, the identity. */
function nameOf(record: unknown): string | undefined {
  if (typeof record === 'string') return record;
  if (!isObject(record)) return undefined;
  const part = keyParts.find((name) => (record[name] ?? undefined) !== undefined);
  if (part) return toText(record[part]);
  const value = toText(record['value']);
  return value && `${toText(record['type'])?.toLowerCase()} ${value.replace(/^\+/, '')}`;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : undefined;
