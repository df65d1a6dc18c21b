import { createHash } from 'node:crypto';
import {
  canonicalJson,
  stringifyLossless,
  LosslessNumber,
  isList,
  isMap,
  type LosslessJson,
} from '../../text/lossless-json.js';
import { parseDateValue } from './compare.js';
import { foldKey, sentMembers, userOf, type SentMembers, type SentRecord } from './sent-records.js';
import type { Day } from '../../contract/dates.js';
import type { Identifier } from '../../mapping/identity.js';
import type { TimeZone } from '../../time-zone.js';

/** Events that are equal in user, name, second and properties. There may be very many: it is small. */
export interface EqualEvents {
  readonly name: string;
  readonly day: Day;
  /** Where the first of them was read. */
  readonly record: SentRecord;
  /** The others, where all are to be settled. */
  others?: SentRecord[];
  sent: number;
  found: number;
}

/** The days of one event's name. */
export interface EventDays {
  readonly name: string;
  readonly days: ReadonlySet<Day>;
}

/** Why an event cannot be looked for. */
type Unfindable = string;

/** What tells events apart, and what they are called. */
interface EventKey {
  readonly name: string;
  readonly identity: string;
  readonly day: Day;
  /** Of user, name and second alone. */
  readonly near: string;
  readonly exact: string;
}

/** Events of the service, near to one of ours, that are kept to be shown. */
const mostNear = 10_000;

interface BookOptions {
  readonly zone: TimeZone;
  /** Different events to hold; the days of others wait for another reading. Undefined: hold all. */
  readonly most: number | undefined;
}

/**
 * Events that were sent, as a multiset. Where they are too many the earliest days are held, and the
 * others when the input is read again: a day is held whole, or not at all.
 */
export class SentEvents {
  readonly #zone: TimeZone;
  readonly #most: number;
  readonly #events = new Map<string, EqualEvents>();
  readonly #done = new Set<Day>();
  readonly #waiting = new Set<Day>();
  /** One text for each name, however often it comes. */
  readonly #names = new Map<string, string>();
  /** Which of 2^24 kinds of near keys there are: most events of others need not be kept. */
  readonly #kinds = new Uint8Array(2 ** 21);
  readonly #near = new Map<string, string[]>();

  constructor({ zone, most = Number.POSITIVE_INFINITY }: BookOptions) {
    this.#zone = zone;
    this.#most = most;
  }

  get size(): number {
    return this.#events.size;
  }

  add(record: SentRecord, members: SentMembers): Unfindable | undefined {
    const key = this.#keyOf(members);
    if (typeof key === 'string') return key;
    if (this.#done.has(key.day) || this.#waiting.has(key.day)) return undefined;
    const equal = this.#events.get(key.exact);
    if (equal) {
      equal.sent += 1;
      if (record.row !== undefined) (equal.others ??= []).push(record);
      return undefined;
    }
    const name = this.#names.get(key.name) ?? key.name;
    this.#names.set(name, name);
    this.#events.set(key.exact, { name, day: key.day, record, sent: 1, found: 0 });
    const [byte, bit] = placeOf(key.near);
    this.#kinds[byte]! |= bit;
    if (this.#events.size > this.#most) this.#putOff();
    return undefined;
  }

  /** Whether an event of that time is held at another reading. */
  isOfOtherDay(epochSeconds: number): boolean {
    const day = dayOf(localTime(epochSeconds, this.#zone));
    return this.#done.has(day) || this.#waiting.has(day);
  }

  /** Closes the days that are held. True where others wait: the input has to be read again. */
  turn(): boolean {
    for (const { day } of this.#events.values()) this.#done.add(day);
    this.#events.clear();
    this.#near.clear();
    this.#kinds.fill(0);
    const isOver = this.#waiting.size === 0;
    this.#waiting.clear();
    return !isOver;
  }

  /** The latest day waits, unless it is the only one. */
  #putOff(): void {
    const days = new Set([...this.#events.values()].map(({ day }) => day));
    if (days.size === 1) return;
    const latest = Math.max(...days);
    this.#waiting.add(latest);
    for (const [key, { day }] of this.#events) if (day === latest) this.#events.delete(key);
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
  find(name: string, exported: LosslessJson): void {
    if (!isMap(exported)) return;
    const [profile, ts, props = none] = ['profile', 'ts', 'event_props'].map((one) =>
      exported.get(one),
    );
    const time = ts instanceof LosslessNumber || typeof ts === 'string' ? textOf(ts) : '';
    for (const by of ['identity', 'objectId'] as const) {
      const value = isMap(profile) ? profile.get(by) : undefined;
      if (typeof value !== 'string') continue;
      const near = nearKey({ by, value }, name, time);
      const event = this.#events.get(exactKey(near, props));
      if (event) {
        event.found += 1;
        return;
      }
      this.#keepNear(near, props);
    }
  }

  /** Whose it is; and the properties of an event of the same user, name and second, if one was found. */
  wordsOf({ record }: EqualEvents): {
    readonly identity: string;
    readonly near: () => string | undefined;
  } {
    const key = this.#keyOf(sentMembers(record)) as EventKey;
    return { identity: key.identity, near: () => this.#near.get(key.near)?.shift() };
  }

  #keyOf(members: SentMembers): EventKey | Unfindable {
    const user = userOf(members);
    const [name, ts, props = none] = ['evtName', 'ts', 'evtData'].map((one) => members.get(one));
    if (user === undefined) return 'events of another key than identity or objectId';
    if (typeof name !== 'string') return 'events without a name';
    if (!(ts instanceof LosslessNumber)) return 'events without ts, whose time the service chose';
    const local = localTime(Number(ts.text), this.#zone);
    const near = nearKey(user, name, local);
    const day = dayOf(local);
    return { name, identity: user.value, day, near, exact: exactKey(near, props) };
  }

  #keepNear(near: string, props: LosslessJson): void {
    const [byte, bit] = placeOf(near);
    if ((this.#kinds[byte]! & bit) === 0 || this.#near.size >= mostNear) return;
    this.#near.set(near, [...(this.#near.get(near) ?? []), stringifyLossless(props)]);
  }
}

const dayOf = (localTime: string): Day => Number(localTime.slice(0, 8));

const none: LosslessJson = new Map<string, LosslessJson>();

const nearKey = ({ by, value }: Identifier, name: string, localTime: string): string =>
  digest(`${by} ${value}\n${name}\n${localTime}`);

const exactKey = (near: string, props: LosslessJson): string => digest(near + propsText(props));

/** Its bit among 2^24. */
function placeOf(near: string): readonly [byte: number, bit: number] {
  const [low, middle, high] = [near.charCodeAt(0), near.charCodeAt(1), near.charCodeAt(2)];
  return [(middle << 13) | (high << 5) | (low >> 3), 1 << (low & 7)];
}

const textOf = (time: LosslessNumber | string): string =>
  typeof time === 'string' ? time : time.text;

/** The 14 digits of endpoint 7: yyyyMMddHHmmSS in the account's zone. */
function localTime(epochSeconds: number, zone: TimeZone): string {
  const local = new Date((epochSeconds + zone.offsetAt(epochSeconds)) * 1000);
  return local.toISOString().replaceAll(/\D/g, '').slice(0, 14);
}

const propsText = (props: LosslessJson): string => canonicalJson(withoutDates(props), foldKey);

/** Dates may come back as bare seconds. */
function withoutDates(value: LosslessJson): LosslessJson {
  if (isList(value)) return value.map(withoutDates);
  if (isMap(value)) return new Map([...value].map(([key, one]) => [key, withoutDates(one)]));
  const seconds = parseDateValue(value);
  return seconds === undefined ? value : new LosslessNumber(seconds);
}

/** Sixteen bytes, as a string of as many characters. */
const digest = (text: string): string =>
  createHash('sha256').update(text).digest().toString('latin1', 0, 16);
