import { wordsOf } from '../../client/shown.js';
import type { WriteAnswer } from '../../contract/answers.js';
import { recordCodes } from '../../contract/codes.js';
import type { Batch } from './batch.js';

/** How one record of an answered batch ended. */
export type RecordOutcome =
  | { readonly status: 'accepted' }
  | { readonly status: 'rejected'; readonly code: number | undefined; readonly error: string }
  /** Code 555: the service asks for this record again. */
  | { readonly status: 'again'; readonly code: number; readonly error: string };

export type CheckedAnswer =
  /** Without outcomes: all were accepted. */
  | { readonly addsUp: true; readonly outcomes?: readonly RecordOutcome[] }
  | { readonly addsUp: false; readonly why: string };

const accepted: RecordOutcome = { status: 'accepted' };
/** Of an answer that names no record. */
export const allAccepted: CheckedAnswer = { addsUp: true };

/**
 * Holds an answer of endpoint 1 or 2 against the batch: `processed` and `unprocessed` must
 * account for every record, and each entry must belong to exactly one of them
 * (specification, Errors 1; service-facts, Answers).
 */
export function checkAnswer(answer: WriteAnswer, batch: Batch): CheckedAnswer {
  const { processed, status } = answer;
  const entries = answer.unprocessed ?? [];
  if (status === 'fail' && processed === 0 && entries.length === 0) {
    const error = wordsOf(answer['error']) ?? 'the service refused all records and gave no reason';
    const outcome: RecordOutcome = { status: 'rejected', code: numberOf(answer['code']), error };
    return { addsUp: true, outcomes: Array.from({ length: batch.size }, () => outcome) };
  }
  if (processed + entries.length !== batch.size) {
    const counts = `processed ${processed} and ${entries.length} unprocessed`;
    return { addsUp: false, why: `${counts} for ${batch.size} records sent` };
  }
  if (entries.length === 0) return allAccepted;
  const outcomes: RecordOutcome[] = Array.from({ length: batch.size }, () => accepted);
  const find = recordFinder(batch);
  for (const entry of entries) {
    const error = wordsOf(entry.error) ?? 'no reason given';
    const position = find(error, entry.record);
    if (position === undefined) return { addsUp: false, why: `"${error}" names no record sent` };
    if (outcomes[position] !== accepted) {
      return { addsUp: false, why: `record ${position + 1} of the request is named twice` };
    }
    outcomes[position] =
      entry.code === recordCodes.serverError
        ? { status: 'again', code: entry.code, error }
        : { status: 'rejected', code: entry.code, error };
  }
  return { addsUp: true, outcomes };
}

/** By the record number in the message, else by identity or value where that is unambiguous. */
function recordFinder(batch: Batch) {
  let positions: Map<string, number | 'several'> | undefined;
  return (error: string, echo: unknown): number | undefined => {
    const number = /record number\s*:\s*(\d+)/i.exec(error)?.[1];
    if (number !== undefined) {
      const position = Number(number) - 1;
      return position >= 0 && position < batch.size ? position : undefined;
    }
    positions ??= positionsByName(batch);
    const name = nameOf(echo);
    const position = name === undefined ? undefined : positions.get(name);
    return position === 'several' ? undefined : position;
  };
}

/** Event records are left out: many of them may carry the same identity. */
function positionsByName(batch: Batch): Map<string, number | 'several'> {
  const positions = new Map<string, number | 'several'>();
  for (let position = 0; position < batch.size; position += 1) {
    const { json, start, end } = batch.record(position);
    const record: unknown = JSON.parse(json.toString('utf8', start, end));
    const name = isObject(record) && record['type'] === 'event' ? undefined : nameOf(record);
    if (name !== undefined) positions.set(name, positions.has(name) ? 'several' : position);
  }
  return positions;
}

/** What names a record: its identifier, or its subscription type and value, a phone's plus aside. */
function nameOf(record: unknown): string | undefined {
  if (!isObject(record)) return undefined;
  const identifier = record['identity'] ?? record['objectId'] ?? record['FBID'] ?? record['GPID'];
  if (identifier !== undefined) return wordsOf(identifier);
  const value = wordsOf(record['value']);
  return value && `${wordsOf(record['type'])?.toLowerCase()} ${value.replace(/^\+/, '')}`;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : undefined;
