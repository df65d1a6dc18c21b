import { isMap, parseLossless, type LosslessJson } from '../../text/lossless-json.js';
import type { Identifier } from '../../mapping/identity.js';
import type { subscriptionTypes } from '../../contract/record-fields.js';

/** A record as it was sent, and where it was read. */
export interface SentRecord {
  readonly source: string;
  /** Physical line, 1-based. */
  readonly line: number;
  /** JSON text of the record of endpoint 1 or 2. */
  readonly text: string;
  /** Its line of a rejects file, where that is what was read. */
  readonly row?: string | undefined;
}

export type SentMembers = ReadonlyMap<string, LosslessJson>;

export function sentMembers({ text }: SentRecord): SentMembers {
  const members = parseLossless(text);
  return isMap(members) ? members : new Map<string, LosslessJson>();
}

/** Whom the record is of; undefined where endpoint 5 does not find users by its key. */
export function userOf(members: SentMembers): Identifier | undefined {
  for (const by of ['identity', 'objectId'] as const) {
    const value = members.get(by);
    if (typeof value === 'string' && value !== '') return { by, value };
  }
  return undefined;
}

/** A key in the spelling that a deployment may give it back in (service-facts, Open questions). */
export const foldKey = (key: string): string => key.toLowerCase().replaceAll(/\s+/g, '');

/** What one key of a user should be by now. */
export interface Expected {
  readonly record: SentRecord;
  /** As it was sent. */
  readonly sent: LosslessJson;
  /** What the profile should show: a value, nothing, or what cannot be told from what was sent. */
  readonly state: 'value' | 'absent' | 'untold';
  /** With `value`. */
  readonly value: LosslessJson;
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
    return userOf(sentMembers(this.#records[0]!));
  }

  /** What each key of profileData should be. */
  expected(): ReadonlyMap<string, Expected> {
    const keys = new Map<string, Expected>();
    for (const record of this.#records) {
      const data = sentMembers(record).get('profileData');
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

function expectation(
  record: SentRecord,
  sent: LosslessJson,
  before: Expected | undefined,
): Expected {
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
function operatorOf(
  value: LosslessJson,
): readonly [name: string, operand: LosslessJson] | undefined {
  if (!isMap(value)) return undefined;
  const [first] = value;
  return first?.[0].startsWith('$') === true ? first : undefined;
}

/** An address and what was last said of it. */
export class SentAddress {
  /** The last one decides. */
  #record: SentRecord;
  readonly #all: SentRecord[];
  /** Of a row that names a user who has the address. */
  #user: Identifier | undefined;

  constructor(record: SentRecord) {
    this.#record = record;
    this.#all = [];
  }

  /** `row`: what was read, as JSON. */
  add(record: SentRecord, row: string): void {
    this.#record = record;
    if (record.row !== undefined || this.#all.length === 0) this.#all.push(record);
    const members = parseLossless(row);
    if (isMap(members)) this.#user = userOf(members) ?? this.#user;
  }

  get records(): readonly SentRecord[] {
    return this.#all;
  }

  get record(): SentRecord {
    return this.#record;
  }

  get type(): keyof typeof subscriptionTypes {
    return this.#member('type') as keyof typeof subscriptionTypes;
  }

  get value(): string {
    return this.#member('value');
  }

  get isBlocked(): boolean {
    return this.#member('status') === 'Unsubscribe';
  }

  /** Who shows it: endpoint 5 finds users by email address, and not by number. */
  get identifier(): Identifier | undefined {
    return this.#user ?? (this.type === 'email' ? { by: 'email', value: this.value } : undefined);
  }

  #member(name: string): string {
    return sentMembers(this.#record).get(name) as string;
  }
}
