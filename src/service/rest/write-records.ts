import {
  elementsOf,
  isArray,
  isObject,
  isString,
  membersOf,
  objectText,
  stringOf,
} from '../raw-json.js';
import { malformed } from '../refusal.js';
import { success, type Answer } from '../send-answer.js';
import type { Service } from '../service.js';
import type { Variants } from '../variants.js';
import type { Database } from '../store/database.js';

/** Why one record was not processed (service-facts, Codes per record). */
export interface Fault {
  readonly code: number;
  readonly error: string;
}

export const fault = (code: number, error: string): Fault => ({ code, error });

/** What endpoints 1 and 2 do with the elements of `d`. */
interface Write<Checked extends object> {
  /** In one request. */
  readonly most: number;
  readonly check: (record: string) => Checked | Fault;
  /** Undefined: nothing is stored. */
  readonly save: ((store: Database, record: Checked) => void) | undefined;
}

/** Stores the records that pass the check, in the order of the request, in one transaction. */
export function writeRecords<Checked extends object>(
  body: string | undefined,
  { most, check, save }: Write<Checked>,
  { store, variants, lag }: Service,
): Answer {
  const list = isObject(body) ? membersOf(body).get('d') : undefined;
  const records = isArray(list) ? elementsOf(list) : undefined;
  if (records === undefined || records.length > most) throw malformed();
  const checked = records.map(check);
  if (save) {
    lag.carryOut(() =>
      store.transaction(() => {
        for (const record of checked) if (!isFault(record)) save(store, record);
      }),
    );
  }
  const unprocessed = checked.flatMap((fault, index) =>
    isFault(fault) ? [unprocessedEntry(fault, index + 1, records[index] ?? '', variants.echo)] : [],
  );
  const processed = records.length - unprocessed.length;
  const status = unprocessed.length === 0 ? 'success' : processed === 0 ? 'fail' : 'partial';
  return success({
    status: `"${status}"`,
    processed: String(processed),
    unprocessed: `[${unprocessed.join(',')}]`,
  });
}

export const isFault = (checked: object): checked is Fault =>
  'code' in checked && 'error' in checked;

/** `number` is the record's 1-based place in the request. */
function unprocessedEntry(
  { code, error }: Fault,
  number: number,
  record: string,
  echo: Variants['echo'],
): string {
  return objectText([
    ['status', '"fail"'],
    ['code', String(code)],
    ['error', JSON.stringify(`${error} Skipped record number : ${number}`)],
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
