import type { Answer } from './answer.js';
import type { Variants } from './options.js';
import {
  elementsOf,
  isArray,
  isObject,
  isString,
  membersOf,
  objectText,
  stringOf,
} from './raw-json.js';
import type { Fault } from './record-faults.js';
import { malformed } from './refusal.js';

/** The elements of `d` (endpoints 1 and 2), at most `most` of them. */
export function recordsOf(body: string | undefined, most: number): string[] {
  const list = isObject(body) ? membersOf(body).get('d') : undefined;
  const records = isArray(list) ? elementsOf(list) : undefined;
  if (records === undefined || records.length > most) throw malformed();
  return records;
}

/** The answer of endpoints 1 and 2: `faults` has an entry for each record, undefined for a good one. */
export function writeAnswer(
  records: readonly string[],
  faults: readonly (Fault | undefined)[],
  echo: Variants['echo'],
): Answer {
  const unprocessed = faults.flatMap((fault, index) =>
    fault ? [unprocessedEntry(fault, index + 1, records[index] ?? 'null', echo)] : [],
  );
  const processed = records.length - unprocessed.length;
  const members = { processed: String(processed), unprocessed: `[${unprocessed.join(',')}]` };
  return { httpStatus: 200, status: statusOf(processed, unprocessed.length), members };
}

function statusOf(processed: number, unprocessed: number): Answer['status'] {
  if (unprocessed === 0) return 'success';
  return processed === 0 ? 'fail' : 'partial';
}

/** `number` is the record's 1-based place in the request. */
function unprocessedEntry(
  fault: Fault,
  number: number,
  record: string,
  echo: Variants['echo'],
): string {
  return objectText([
    ['status', '"fail"'],
    ['code', String(fault.code)],
    ['error', JSON.stringify(`${fault.error} Skipped record number : ${number}`)],
    ['record', echo === 'intact' ? record : changedEcho(record)],
  ]);
}

/** Members in reverse order, phone numbers as numbers without their plus. */
function changedEcho(json: string): string {
  if (isObject(json)) {
    const members = [...membersOf(json)].toReversed();
    return objectText(members.map(([key, value]) => [key, changedEcho(value)]));
  }
  const phone = isString(json) ? /^\+(\d{6,15})$/.exec(stringOf(json) ?? '')?.[1] : undefined;
  return phone ?? json;
}
