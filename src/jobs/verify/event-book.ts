import { createHash } from 'node:crypto';
import type { Day } from '../../contract/dates.js';
import {
  canonicalText,
  exactText,
  ExactNumber,
  isList,
  isMap,
  type ExactJson,
} from '../../text/exact-json.js';
import type { Zone } from '../../zone.js';
import { dateOf } from './same-value.js';
import { folded, userOf, type SentMembers, type SentRecord } from './sent.js';

/** Events that are equal in user, name, second and properties. */
export interface EqualEvents {
  readonly name: string;
  readonly identity: string;
  readonly day: Day;
  /** Of user, name and second alone. */
  readonly near: string;
  /** Where they were read, the first of them only, unless all are to be settled. */
  readonly records: SentRecord[];
  sent: number;
  found: number;
}

/** The days of one event's name. */
export interface EventDays {
  readonly name: string;
  readonly days: ReadonlySet<Day>;
}

/** Why an event cannot be looked for. */
export type Unfindable = string;

/** Events that were sent, as a multiset. */
export class EventBook {
  readonly #zone: Zone;
  readonly #events = new Map<string, EqualEvents>();
  readonly #near = new Map<string, string[]>();

  constructor(zone: Zone) {
    this.#zone = zone;
  }

  get size(): number {
    return this.#events.size;
  }

  add(record: SentRecord, members: SentMembers): Unfindable | undefined {
    const user = userOf(members);
    const [name, ts, props] = ['evtName', 'ts', 'evtData'].map((one) => members.get(one));
    if (user === undefined) return 'events of another key than identity or objectId';
    if (typeof name !== 'string') return 'events without a name';
    if (!(ts instanceof ExactNumber)) return 'events without ts, whose time the service chose';
    const local = localTime(Number(ts.text), this.#zone);
    const near = digest(`${user.by} ${user.value}\n${name}\n${local}`);
    const key = near + digest(propsText(props));
    const equal = this.#events.get(key);
    if (equal) {
      equal.sent += 1;
      if (record.row !== undefined) equal.records.push(record);
      return undefined;
    }
    const day = Number(local.slice(0, 8));
    const { value: identity } = user;
    this.#events.set(key, { name, identity, day, near, records: [record], sent: 1, found: 0 });
    return undefined;
  }

  /** Those of which not as many were found as were sent. */
  differing(): EqualEvents[] {
    return [...this.#events.values()].filter(({ sent, found }) => sent !== found);
  }

  all(): Iterable<EqualEvents> {
    return this.#events.values();
  }

  /** Days to export, by name. */
  daysOf(events: Iterable<EqualEvents>): EventDays[] {
    const names = new Map<string, Set<Day>>();
    for (const { name, day } of events) {
      names.set(name, (names.get(name) ?? new Set<Day>()).add(day));
    }
    return [...names].map(([name, days]) => ({ name, days }));
  }

  /** Forgets what was found on these days: they are looked at again. */
  forget(days: readonly EventDays[]): void {
    const again = new Map(days.map((one) => [one.name, one.days]));
    this.#near.clear();
    for (const event of this.#events.values()) {
      if (again.get(event.name)?.has(event.day)) event.found = 0;
    }
  }

  /** Takes an event of that name as endpoint 7 returned it. */
  find(name: string, exported: ExactJson): void {
    if (!isMap(exported)) return;
    const [profile, ts, props] = ['profile', 'ts', 'event_props'].map((one) => exported.get(one));
    const text = props ?? new Map<string, ExactJson>();
    const time = ts instanceof ExactNumber || typeof ts === 'string' ? textOf(ts) : '';
    for (const by of ['identity', 'objectId'] as const) {
      const value = isMap(profile) ? profile.get(by) : undefined;
      if (typeof value !== 'string') continue;
      const near = digest(`${by} ${value}\n${name}\n${time}`);
      const event = this.#events.get(near + digest(propsText(text)));
      if (event) {
        event.found += 1;
        return;
      }
      this.#keepNear(near, text);
    }
  }

  /** Properties that were found of an event of the same user, name and second. */
  nearTo({ near }: EqualEvents): string | undefined {
    return this.#near.get(near)?.shift();
  }

  #keepNear(near: string, props: ExactJson): void {
    if (!this.#isNear.has(near)) return;
    this.#near.set(near, [...(this.#near.get(near) ?? []), exactText(props)]);
  }

  get #isNear(): ReadonlySet<string> {
    return (this.#nears ??= new Set([...this.#events.values()].map(({ near }) => near)));
  }
  #nears: ReadonlySet<string> | undefined;
}

const textOf = (time: ExactNumber | string): string =>
  typeof time === 'string' ? time : time.text;

/** The 14 digits of endpoint 7: yyyyMMddHHmmSS in the account's zone. */
function localTime(epochSeconds: number, zone: Zone): string {
  const local = new Date((epochSeconds + zone.offsetAt(epochSeconds)) * 1000);
  return local.toISOString().replaceAll(/\D/g, '').slice(0, 14);
}

const propsText = (props: ExactJson | undefined): string =>
  canonicalText(withoutDates(props ?? new Map<string, ExactJson>()), folded);

/** Dates may come back as bare seconds. */
function withoutDates(value: ExactJson): ExactJson {
  if (isList(value)) return value.map(withoutDates);
  if (isMap(value)) return new Map([...value].map(([key, one]) => [key, withoutDates(one)]));
  const seconds = dateOf(value);
  return seconds === undefined ? value : new ExactNumber(seconds);
}

/** Sixteen bytes, as a string of as many characters. */
const digest = (text: string): string =>
  createHash('sha256').update(text).digest().toString('latin1', 0, 16);
