import { isList, isMap, parseLossless, type LosslessJson } from '../../text/lossless-json.js';
import type { Identifier } from '../../mapping/identity.js';
import type { subscriptionTypes } from '../../contract/record-fields.js';

/** A sent record and its place in the input. */
export interface SentRecord {
  readonly source: string;
  /** Line number, 1-based. */
  readonly line: number;
  /** Place among all records of the inputs, from 0. */
  readonly ordinal: number;
  /** JSON text of the record as sent. */
  readonly text: string;
  /** Line of the rejects file, if one was read. */
  readonly row?: string | undefined;
}

/**
 * Returns the place in the input of a record that a rejects file reports. If a rejects file was settled together with its
 * copies, the output reports the same place several times.
 */
export function reportedPlace({ row = 'null', source, line }: SentRecord): string {
  const reported = Object(JSON.parse(row)) as Record<string, unknown>;
  return JSON.stringify([reported['source'] ?? source, reported['line'] ?? line]);
}

export type SentMembers = ReadonlyMap<string, LosslessJson>;

export function sentMembers({ text }: SentRecord): SentMembers {
  const members = parseLossless(text);
  return isMap(members) ? members : new Map<string, LosslessJson>();
}

/** Returns the user of a record; undefined if users cannot be looked up by its key. */
export function userOf(members: SentMembers): Identifier | undefined {
  for (const by of ['identity', 'objectId'] as const) {
    const value = members.get(by);
    if (typeof value === 'string' && value !== '') return { by, value };
  }
  return undefined;
}

/**
 * Normalizes a key to the spelling in which a deployment may return it (docs/service-api.md,
 * Undocumented behavior).
 */
export const foldKey = (key: string): string => key.toLowerCase().replaceAll(/\s+/g, '');

/** Expected value of one key of a user. */
export interface Expected {
  readonly record: SentRecord;
  /** Value as it was sent. */
  readonly sent: LosslessJson;
  /** Expected state in the profile; `untold` if it depends on earlier data. */
  readonly state: 'value' | 'absent' | 'untold';
  /** Expected value, for the state `value`. */
  readonly value: LosslessJson;
}

/** Number of records of one user after which overwritten ones are dropped. */
const mostRecords = 64;

/** Records of a user in input order. The last record that has a key decides its value. */
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

  /** Identifier to look up; undefined if users cannot be looked up by the key of the records. */
  get identifier(): Identifier | undefined {
    return userOf(sentMembers(this.#records[0]!));
  }

  /** Returns the expected value of each key of profileData. */
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
  const [name, operand = null] = operatorOf(sent) ?? [];
  const isUntold = changesAgain(sent) || (name !== undefined && !/^\$(?:set|delete)$/.test(name));
  // The result depends on the value before the upload.
  if (isUntold) return { record, sent, value: before?.value ?? null, state: 'untold' };
  const value = name === undefined ? sent : name === '$set' ? operand : null;
  const isAbsent = name === '$delete' || sent === null;
  return { record, sent, value, state: isAbsent ? 'absent' : 'value' };
}

/** Whether a value has an operator of a profile that is not idempotent, at any depth (see JsonParser.hasOperator). */
function changesAgain(value: LosslessJson): boolean {
  if (isList(value)) return value.some(changesAgain);
  if (!isMap(value)) return false;
  return [...value].some(
    ([key, inner]) => /^\$(?:incr|decr|add)$/.test(key) || changesAgain(inner),
  );
}

/** Parses an operator like `{"$incr":1}`. */
function operatorOf(
  value: LosslessJson,
): readonly [name: string, operand: LosslessJson] | undefined {
  if (!isMap(value)) return undefined;
  const [first] = value;
  return first?.[0].startsWith('$') === true ? first : undefined;
}

/** Returns the text that is the same for all spellings of an address: in lower case, without a leading plus. */
export const plainAddress = (text: string): string => text.replace(/^\+/, '').toLowerCase();

/** Records of an address, in any spelling. The last one decides its status. */
export class SentAddress {
  /** Last record of the address. */
  #record: SentRecord;
  readonly #all: SentRecord[];
  /** User of the address, if a row has an identity. */
  #user: Identifier | undefined;

  constructor(record: SentRecord) {
    this.#record = record;
    this.#all = [];
  }

  /** `row` is the input row as JSON. */
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

  /** Identifier of the user with the address. Users can be looked up by email, not by number. */
  get identifier(): Identifier | undefined {
    return this.type === 'email' ? { by: 'email', value: this.value } : this.#user;
  }

  #member(name: string): string {
    return sentMembers(this.#record).get(name) as string;
  }
}
