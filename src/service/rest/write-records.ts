import { recordCodes } from '../../contract/error-codes.js';
import {
  parseElements,
  isArray,
  isObject,
  isString,
  parseMembers,
  objectText,
  stringOf,
} from '../raw-json.js';
import { malformed, success, type ApiResponse } from '../response.js';
import { yieldToEventLoop } from '../concurrency.js';
import { RecordError } from './record-validation.js';
import type { Deviations } from './rest-route.js';
import type { ServiceContext } from '../service.js';
import type { Variants } from '../settings.js';
import type { Database } from '../store/database.js';

/** How endpoints 1 and 2 process the elements of `d`. */
interface Write<Checked> {
  /** Maximum records of a request. */
  readonly most: number;
  /** May throw RecordError, like `save`. */
  readonly check: (record: string) => Checked;
  readonly save: (store: Database, record: Checked) => void;
  /** Validate everything, store nothing. */
  readonly isDryRun: boolean;
}

/** Maximum records of a transaction, which blocks the event loop. */
const sliceRecords = 250;
/** Maximum characters of a transaction; a single record may be longer. */
const sliceText = 256 * 1024;

/**
 * Stores the valid records in the order of the request. Yields to the event loop between transactions, but
 * keeps the mutex: no other request sees a part of this one.
 */
export async function writeRecords<Checked>(
  body: string | undefined,
  { most, check, save, isDryRun }: Write<Checked>,
  deviations: Deviations,
  { store: database, settings, lag, mutex }: ServiceContext,
): Promise<ApiResponse> {
  const records = recordsOf(body, most, deviations);
  const store = (slice: readonly string[]): (RecordError | undefined)[] =>
    slice.map((text) => recordErrorOf(() => save(database, check(text))));
  const isHeld = isDryRun || lag.isOn;
  const failures = isHeld
    ? database.dryRun(() => store(records))
    : await mutex.run(() => inSlices(records, (slice) => database.transaction(() => store(slice))));
  if (lag.isOn && !isDryRun) {
    lag.schedule(() =>
      refuseLosses(
        failures,
        database.transaction(() => store(records)),
      ),
    );
  }
  const unprocessed = failures.flatMap((failure, index) =>
    failure
      ? [unprocessedEntry(failure, index + 1, records[index] ?? '', settings.values.variants)]
      : [],
  );
  const processed = records.length - unprocessed.length;
  const status = unprocessed.length === 0 ? 'success' : processed === 0 ? 'fail' : 'partial';
  const answer = success({
    status: `"${status}"`,
    processed: String(processed),
    unprocessed: `[${unprocessed.join(',')}]`,
  });
  return { ...answer, reason: rejectionSummary(failures) };
}

/** Returns the elements of `d`. Throws RequestError 400. */
function recordsOf(body: string | undefined, most: number, deviations: Deviations): string[] {
  if (!isObject(body))
    throw malformed(`the body ${body === undefined ? 'is missing' : 'is not an object'}`);
  const members = parseMembers(body);
  const list = members.get('d');
  if (list === undefined) throw malformed('d is missing');
  if (!isArray(list)) throw malformed('d is not an array');
  const records = parseElements(list);
  if (records.length > most) throw malformed(`${records.length} records, at most ${most}`);
  deviations.unknownMembers(members, ['d'], 'd');
  return records;
}

/** Formats `2 of 9 records rejected: 515 Profile data is incorrect. Email is not valid. (2)`. */
function rejectionSummary(failures: readonly (RecordError | undefined)[]): string | undefined {
  const counts = new Map<string, number>();
  for (const failure of failures) {
    if (!failure) continue;
    const text = `${failure.code} ${failure.message}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  if (counts.size === 0) return undefined;
  const rejected = failures.filter((failure) => failure !== undefined).length;
  const causes = [...counts].map(([text, count]) => (count > 1 ? `${text} (${count})` : text));
  return `${rejected} of ${failures.length} records rejected: ${causes.join('; ')}`;
}

/** Throws if the delayed write rejected a record that was reported as processed. */
function refuseLosses(
  answered: readonly (RecordError | undefined)[],
  stored: readonly (RecordError | undefined)[],
): void {
  const lost = stored.flatMap((failure, index) =>
    failure && !answered[index] ? [`record number ${index + 1}: ${failure.message}`] : [],
  );
  if (lost.length === 0) return;
  throw new Error(`a delayed write lost records answered as processed: ${lost.join('; ')}`);
}

async function inSlices<Result>(
  records: readonly string[],
  work: (slice: readonly string[]) => readonly Result[],
): Promise<Result[]> {
  const results: Result[] = [];
  for (const slice of slicesOf(records)) {
    if (results.length > 0) await yieldToEventLoop();
    results.push(...work(slice));
  }
  return results;
}

function* slicesOf(records: readonly string[]): Generator<readonly string[]> {
  let slice: string[] = [];
  let length = 0;
  for (const record of records) {
    const isFull = slice.length === sliceRecords || length + record.length > sliceText;
    if (isFull && slice.length > 0) {
      yield slice;
      slice = [];
      length = 0;
    }
    slice.push(record);
    length += record.length;
  }
  if (slice.length > 0) yield slice;
}

/** Runs `work` and returns its RecordError, if any. */
export function recordErrorOf(work: () => void): RecordError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof RecordError) return error;
    throw error;
  }
}

/** Formats an entry of `unprocessed`; `number` is the 1-based position of the record in the request. */
function unprocessedEntry(
  { code, message }: RecordError,
  number: number,
  record: string,
  { echo, recordNumber }: Variants,
): string {
  const colon = recordNumber === 'spaced' ? ' :' : ':';
  return objectText([
    ['status', '"fail"'],
    ['code', String(code)],
    ['error', JSON.stringify(`${message} Skipped record number${colon} ${number}`)],
    ['record', echoVariants[echo](record, code)],
  ]);
}

/** The rejected record as echoed, by variant. */
const echoVariants: Readonly<Record<Variants['echo'], (record: string, code: number) => string>> = {
  recorded: (record, code) => (alteredCodes.has(code) ? alteredEcho(record) : record),
  intact: (record) => record,
  changed: (record) => changedEcho(record),
};

/** Codes whose echo is altered (service-facts, Answers). */
const { employed, education, married, age } = recordCodes;
const alteredCodes = new Set<number>([employed, education, married, age]);

/** Returns the record with its phone number as a number and its identity copied into profileData. */
function alteredEcho(record: string): string {
  const members = parseMembers(record);
  const data = members.get('profileData');
  if (!isObject(data)) return record;
  const fields = parseMembers(data);
  const phone = fields.get('Phone');
  if (phone !== undefined) fields.set('Phone', phoneAsNumber(phone));
  const identity = members.get('identity');
  if (identity !== undefined) fields.set('identity', identity);
  return objectText(members.set('profileData', objectText(fields)));
}

/** Depth below which a record is echoed unchanged, to bound recursion on malicious input. */
const deepestChange = 8;

/** Returns the record with its members in reverse order and phone numbers as numbers without plus. */
function changedEcho(json: string, depth = 0): string {
  if (!isObject(json)) return phoneAsNumber(json);
  if (depth > deepestChange) return json;
  const members = [...parseMembers(json)].toReversed();
  return objectText(members.map(([key, value]) => [key, changedEcho(value, depth + 1)]));
}

const phoneAsNumber = (json: string): string =>
  (isString(json) ? /^\+(\d{6,15})$/.exec(stringOf(json) ?? '')?.[1] : undefined) ?? json;
