import { isMap, parseExact } from '../../text/lossless-json.js';
import { membersOfSent, userOf, type SentRecord } from './sent.js';
import type { subscriptionTypes } from '../../contract/record-fields.js';
import type { Identifier } from '../../mapping/identity.js';

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
    const members = parseExact(row);
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
    return membersOfSent(this.#record).get(name) as string;
  }
}
