import { isMap, type ExactJson } from '../../text/lossless-json.js';
import { membersOfSent, userOf, type SentRecord } from './sent.js';
import type { Identifier } from '../../mapping/identity.js';

/** What one key of a user should be by now. */
export interface Expected {
  readonly record: SentRecord;
  /** As it was sent. */
  readonly sent: ExactJson;
  /** What the profile should show: a value, nothing, or what cannot be told from what was sent. */
  readonly state: 'value' | 'absent' | 'untold';
  /** With `value`. */
  readonly value: ExactJson;
}

/** Records of one user from which those are dropped, now and then, that no longer say anything. */
const mostRecords = 64;

/** A user's records in the order of the input. The last one that has a key decides what it is. */
export class SentUser {
  #records: SentRecord[] = [];
  #mostRecords = mostRecords;

  add(record: SentRecord): void {
    this.#records.push(record);
    if (record.row === undefined && this.#records.length >= this.#mostRecords) this.#dropOld();
  }

  get records(): readonly SentRecord[] {
    return this.#records;
  }

  /** Undefined where endpoint 5 cannot find the user by what the records have. */
  get identifier(): Identifier | undefined {
    return userOf(membersOfSent(this.#records[0]!));
  }

  /** What each key of profileData should be. */
  expected(): ReadonlyMap<string, Expected> {
    const keys = new Map<string, Expected>();
    for (const record of this.#records) {
      const data = membersOfSent(record).get('profileData');
      if (!isMap(data)) continue;
      for (const [key, sent] of data) keys.set(key, expectation(record, sent, keys.get(key)));
    }
    return keys;
  }

  #dropOld(): void {
    const needed = new Set([...this.expected().values()].map(({ record }) => record));
    this.#records = this.#records.filter((record, at) => at === 0 || needed.has(record));
    this.#mostRecords = Math.max(mostRecords, 2 * this.#records.length);
  }
}

function expectation(record: SentRecord, sent: ExactJson, before: Expected | undefined): Expected {
  const operator = operatorOf(sent);
  if (operator === undefined) {
    return { record, sent, value: sent, state: sent === null ? 'absent' : 'value' };
  }
  const [name, operand] = operator;
  if (name === '$set') return { record, sent, value: operand, state: 'value' };
  if (name === '$delete') return { record, sent, value: null, state: 'absent' };
  // What it comes to depends on what was there before the upload.
  return { record, sent, value: before?.value ?? null, state: 'untold' };
}

/** Of a value like `{"$incr":1}`. */
function operatorOf(value: ExactJson): readonly [name: string, operand: ExactJson] | undefined {
  if (!isMap(value)) return undefined;
  const [first] = value;
  return first?.[0].startsWith('$') === true ? first : undefined;
}
