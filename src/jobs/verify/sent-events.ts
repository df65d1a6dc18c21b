import { createHash } from 'node:crypto';
import {
  canonicalJson,
  parseLossless,
  stringifyLossless,
  LosslessNumber,
  isList,
  isMap,
  type LosslessJson,
} from '../../text/lossless-json.js';
import { parseDateValue } from './compare.js';
import {
  foldKey,
  reportedPlace,
  sentMembers,
  userOf,
  type SentMembers,
  type SentRecord,
} from './sent-records.js';
import { addDays, dayToUtc, utcToDay, type Day } from '../../contract/dates.js';
import type { Identifier } from '../../mapping/identity.js';
import type { TimeZone } from '../../time-zone.js';

/** Events equal in user, name, second and properties. Kept small, since there may be many. */
export interface EqualEvents {
  readonly name: string;
  readonly day: Day;
  /** Record of the first one. */
  readonly record: SentRecord;
  /** Records of the others, kept only to settle them. */
  others?: SentRecord[];
  /** The lines of the input that report these, by rejects file, and how often it does. */
  places?: Map<string, { readonly lines: Set<string>; count: number }>;
  /**
   * Of records to settle: how many lines of the input are in the rejects file that reports most of them. The other files
   * may report the same ones. Once the account has as many events: how many records that file reports, since one line of
   * an input may have several.
   */
  sent: number;
  found: number;
}

/** Days on which an event was sent. */
export interface EventDays {
  readonly name: string;
  readonly days: ReadonlySet<Day>;
}

/** Cause why an event cannot be checked. */
type Unfindable = string;

/** Keys that identify an event. */
interface EventKey {
  readonly name: string;
  readonly user: Identifier;
  readonly day: Day;
  /** Local time in seconds. */
  readonly time: number;
  /** Digest of user, name and second. */
  readonly near: string;
  readonly exact: string;
  /** Returns the exact key without the hour. */
  readonly shifted: () => string;
  /** Digest of name and second. */
  readonly ofAnyUser: () => string;
  /** Returns the exact key without the user. */
  readonly ofNobody: () => string;
}

/** Maximum events of the service to keep for display, with user, name and second of a sent one, and maximum characters. */
const mostNear = { events: 10_000, characters: 16 * 1024 * 1024 };

interface BookOptions {
  readonly zone: TimeZone;
  /** Maximum distinct events in memory; later days wait for the next pass. Undefined: no limit. */
  readonly most: typeof mostSent | undefined;
}

/** Maximum distinct events in memory at a time, and maximum characters of their records. */
export const mostSent = { events: 100_000, characters: 32 * 1024 * 1024 };
const noLimit = { events: Number.POSITIVE_INFINITY, characters: Number.POSITIVE_INFINITY };

/** Maximum events to settle that are also looked for at other hours. */
const mostShifted = 100_000;

/** Share of these that remains when later days are put off. */
const room = 3 / 4;

/**
 * Multiset of the events that were sent. If there are too many, only the earliest days are in
 * memory, and the others follow when the input is read again. A day is never split.
 */
export class SentEvents {
  readonly #zone: TimeZone;
  readonly #most: typeof mostSent;
  /** Events in memory by day and exact key. */
  readonly #days = new Map<Day, Map<string, EqualEvents>>();
  #size = 0;
  /** Characters of their records. */
  #characters = 0;
  readonly #done = new Set<Day>();
  readonly #waiting = new Set<Day>();
  /** Interned event names. */
  readonly #names = new Map<string, string>();
  /** Bloom filter of near keys (2^24 bits), to skip most events that were not sent by us. */
  readonly #kinds = new Uint8Array(2 ** 21);
  readonly #near = new Map<string, string[]>();
  #nearHeld = { events: 0, characters: 0 };
  #isNearCut = false;
  /** Days and keys without the hour of events to settle, with their times, to notice a wrong time zone. */
  readonly #shifted = new Map<string, number[]>();
  /**
   * Names and seconds of the events to settle, with the users of whom the account shows such an event, whatever its
   * properties: the service may show both in another way.
   */
  readonly #otherUsers = new Map<string, Set<string>>();
  #otherUsersHeld = 0;
  /** Keys without the user of events that the account shows without one: it may be anybody. */
  readonly #ofNobody = new Set<string>();
  /** The same of events that it shows with a user. */
  readonly #ofOthers = new Set<string>();
  /** Events to settle that the account may show of another user, and why. */
  readonly #aliased = new Map<EqualEvents, string>();
  /** Days of events that were found at their time, and of those that were found at another hour. */
  readonly #foundDays = new Set<Day>();
  readonly #shiftedDays = new Set<Day>();
  /** The latter, each by its time and its key without the hour. */
  readonly #shiftedEvents = new Set<string>();
  /** Events for which the service sent some of other days, or whose day cannot be read. */
  readonly #distrusted = new Set<string>();

  constructor({ zone, most = noLimit }: BookOptions) {
    this.#zone = zone;
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  add(record: SentRecord, members: SentMembers): Unfindable | undefined {
    const key = this.#keyOf(members);
    if (typeof key === 'string') return key;
    if (this.#done.has(key.day) || this.#waiting.has(key.day)) return undefined;
    if (record.row !== undefined && this.#shifted.size < mostShifted) {
      const shifted = `${key.day} ${key.shifted()}`;
      const sameButHour = this.#shifted.get(shifted);
      if (sameButHour) sameButHour.push(key.time);
      else this.#shifted.set(shifted, [key.time]);
    }
    if (record.row !== undefined) {
      const ofAnyUser = key.ofAnyUser();
      this.#otherUsers.set(ofAnyUser, this.#otherUsers.get(ofAnyUser) ?? new Set());
    }
    const day = this.#days.get(key.day) ?? new Map<string, EqualEvents>();
    const equal = day.get(key.exact);
    if (equal) {
      if (record.row === undefined) equal.sent += 1;
      else addOther(equal, record);
      return undefined;
    }
    const name = this.#names.get(key.name) ?? key.name;
    this.#names.set(name, name);
    day.set(key.exact, { name, day: key.day, record, sent: 1, found: 0 });
    this.#days.set(key.day, day);
    this.#size += 1;
    this.#characters += record.text.length;
    const [byte, bit] = placeOf(key.near);
    this.#kinds[byte]! |= bit;
    if (this.#size > this.#most.events || this.#characters > this.#most.characters) this.#putOff();
    return undefined;
  }

  /** Whether an event of that time belongs to another pass. */
  isOfOtherDay(epochSeconds: number): boolean {
    const day = dayOf(localTime(epochSeconds, this.#zone));
    return this.#done.has(day) || this.#waiting.has(day);
  }

  /** Finishes the days in memory. Returns true if others wait for another pass. */
  turn(): boolean {
    for (const day of this.#days.keys()) this.#done.add(day);
    this.#days.clear();
    this.#size = 0;
    this.#characters = 0;
    this.#forgetNear();
    this.#kinds.fill(0);
    const isOver = this.#waiting.size === 0;
    this.#waiting.clear();
    return !isOver;
  }

  /** Moves the latest days to a later pass until there is room for more events, but for one day. */
  #putOff(): void {
    if (this.#days.size === 1) return;
    const { events, characters } = this.#most;
    const [_earliest, ...others] = [...this.#days.keys()].toSorted((a, b) => a - b);
    for (const day of others.toReversed()) {
      if (this.#size <= room * events && this.#characters <= room * characters) return;
      for (const { record } of this.#days.get(day)!.values()) {
        this.#size -= 1;
        this.#characters -= record.text.length;
      }
      this.#days.delete(day);
      this.#waiting.add(day);
    }
  }

  /** Returns events whose numbers sent and found differ. */
  differing(): EqualEvents[] {
    return [...this.all()].filter(({ sent, found }) => sent !== found);
  }

  *all(): Generator<EqualEvents> {
    for (const events of this.#days.values()) yield* events.values();
  }

  /** Groups the days of events by name. */
  daysOf(events: Iterable<EqualEvents>): EventDays[] {
    const names = new Map<string, Set<Day>>();
    for (const { name, day } of events) {
      names.set(name, (names.get(name) ?? new Set<Day>()).add(day));
    }
    return [...names].map(([name, days]) => ({ name, days }));
  }

  /**
   * Returns the days beside those of events to settle that were not found at any hour: with a wrong time zone they are
   * there. `end` is the last day that has begun anywhere.
   */
  daysBeside(end: Day): EventDays[] {
    const open = [...this.all()].filter((event) => this.#isOpen(event));
    const read = new Map(this.daysOf(this.all()).map(({ name, days }) => [name, days]));
    return this.daysOf(open).map(({ name, days }) => {
      const beside = [...days].flatMap((day) => [addDays(day, -1), addDays(day, 1)]);
      return {
        name,
        days: new Set(beside.filter((day) => day <= end && !read.get(name)!.has(day))),
      };
    });
  }

  /** Whether an event to settle was not found at any hour. */
  #isOpen({ record, found, sent }: EqualEvents): boolean {
    if (record.row === undefined || found >= sent) return false;
    return !this.#isShifted(this.#keyOfEvent(record));
  }

  #isShifted({ time, shifted }: EventKey): boolean {
    return this.#shiftedEvents.has(`${time} ${shifted()}`);
  }

  /** Resets what was found on these days, before they are checked again. */
  forget(days: readonly EventDays[]): void {
    const again = new Map(days.map((one) => [one.name, one.days]));
    this.#forgetNear();
    for (const event of this.all()) {
      if (!again.get(event.name)?.has(event.day)) continue;
      event.found = 0;
      if (event.places) event.sent = mostOf(event, 'lines');
    }
  }

  /** Matches an exported event with those sent. */
  find(name: string, exported: LosslessJson): void {
    if (!isMap(exported)) return;
    const [profile, ts, props = none] = ['profile', 'ts', 'event_props'].map((one) =>
      exported.get(one),
    );
    const time = textOf(ts) ?? '';
    for (const by of ['identity', 'objectId'] as const) {
      const value = textOf(isMap(profile) ? profile.get(by) : undefined);
      if (value === undefined) continue;
      const near = nearKey({ by, value }, name, time);
      const event = this.#days.get(dayOf(time))?.get(exactKey(near, props));
      if (event) {
        event.found += 1;
        if (event.places && event.found === event.sent) event.sent = mostOf(event, 'count');
        this.#foundDays.add(event.day);
        // One more than is to settle may be another of these, whose user or properties the service shows like this.
        const mayBeOther = event.record.row !== undefined && event.found > event.sent;
        if (!mayBeOther) return;
      }
      if (this.#shifted.size > 0)
        this.#keepShifted(shiftedKey({ by, value }, name, time, props), secondsOf(time));
      this.#keepNear(near, props);
    }
    if (this.#otherUsers.size === 0) return;
    const ofAnyUser = anyUserKey(name, time);
    const others = this.#otherUsers.get(ofAnyUser);
    if (!others) return;
    const users = usersOf(profile);
    const alike = users.length === 0 ? this.#ofNobody : this.#ofOthers;
    this.#keepOther(alike, exactKey(ofAnyUser, props));
    for (const user of users) this.#keepOther(others, user);
  }

  /** Notes that an answer to an export of this event is not of the days asked for, so that it proves nothing missing. */
  distrust(name: string): void {
    this.#distrusted.add(name);
  }

  #keepOther(others: Set<string>, user: string): void {
    if (others.has(user) || this.#otherUsersHeld > mostNear.characters) return;
    this.#otherUsersHeld += user.length;
    others.add(user);
  }

  /** Yields the events to settle that were not found, and of whose name and second the account has some of other users. */
  *withOtherUsers(): Generator<{ readonly identifier: Identifier; readonly origin: EqualEvents }> {
    for (const event of this.all()) {
      if (event.record.row === undefined || event.found >= event.sent) continue;
      const key = this.#keyOfEvent(event.record);
      if (this.#othersOf(key).size > 0) yield { identifier: key.user, origin: event };
    }
  }

  /**
   * Compares these other users with the profile of the user, as JSON text: the service may show one of its identities.
   * Without a profile, the service may show the user in other characters: then an equal event of another user is in doubt.
   */
  compareUsers(event: EqualEvents, profile: string | undefined): void {
    const key = this.#keyOfEvent(event.record);
    if (profile === undefined) {
      if (this.#ofOthers.has(key.ofNobody())) this.#aliased.set(event, ofUnknownUser);
      return;
    }
    const others = this.#othersOf(key);
    const isAlias = usersOf(parseLossless(profile)).some((user) => others.has(user));
    if (isAlias) this.#aliased.set(event, ofOtherIdentity);
  }

  #othersOf({ ofAnyUser }: EventKey): ReadonlySet<string> {
    return this.#otherUsers.get(ofAnyUser()) ?? new Set();
  }

  /** Returns the user, and the properties of a found event with the same user, name and second. */
  wordsOf(event: EqualEvents): {
    readonly identity: string;
    readonly near: () => string | undefined;
    /** Why an event that was not found may have arrived all the same. */
    readonly doubt: string | undefined;
  } {
    const key = this.#keyOfEvent(event.record);
    const { user, near } = key;
    const identity = user.value;
    const isMoreOfLine = event.places && event.sent > mostOf(event, 'lines');
    const doubt = this.#near.has(near)
      ? otherProperties
      : (this.#doubtOfUser(event, key) ?? (isMoreOfLine ? moreOfLine : this.#doubtOf(key)));
    return { identity, doubt, near: () => this.#near.get(near)?.shift() };
  }

  /** Returns why an event of this name and second that the account shows may be of this user. */
  #doubtOfUser(event: EqualEvents, key: EventKey): string | undefined {
    const others = this.#othersOf(key);
    if (this.#ofNobody.has(key.ofNobody()))
      return 'events of which the account does not show the user';
    const isCut = this.#otherUsersHeld > mostNear.characters;
    const isOfOther = isCut || others.has(identityText(key.user.value));
    return isOfOther ? ofOtherIdentity : this.#aliased.get(event);
  }

  /** Notes the events to settle that have this key at another hour. Ignores events that recur daily. */
  #keepShifted(key: string, time: number): void {
    const day = utcToDay(1000 * time);
    const days = [addDays(day, -1), day, addDays(day, 1)];
    for (const sent of days.flatMap((one) => this.#shifted.get(`${one} ${key}`) ?? [])) {
      if (Math.abs(time - sent) >= daySeconds) continue;
      this.#shiftedDays.add(utcToDay(1000 * sent));
      this.#shiftedEvents.add(`${sent} ${key}`);
    }
  }

  #doubtOf(key: EventKey): string | undefined {
    const { name, day } = key;
    if (this.#distrusted.has(name))
      return 'events for which the service sent events of other days, or without a time that can be read';
    if (this.#isNearCut) return otherProperties;
    // With daylight saving time, a wrong time zone may be right for other days.
    const isDayShifted = this.#shiftedDays.has(day) && !this.#foundDays.has(day);
    return this.#isShifted(key) ||
      isDayShifted ||
      (this.#shiftedDays.size > 0 && this.#foundDays.size === 0)
      ? "events of a file that the account has at other hours: is the account's time zone set?"
      : undefined;
  }

  /** Returns the key of an event in memory, which has one. */
  readonly #keyOfEvent = (record: SentRecord): EventKey =>
    this.#keyOf(sentMembers(record)) as EventKey;

  #keyOf(members: SentMembers): EventKey | Unfindable {
    const user = userOf(members);
    const [name, ts, props = none] = ['evtName', 'ts', 'evtData'].map((one) => members.get(one));
    if (user === undefined) return 'events with another key than identity or objectId';
    if (typeof name !== 'string') return 'events without a name';
    if (!(ts instanceof LosslessNumber)) return 'events without ts, whose time the service chose';
    const local = localTime(Number(ts.text), this.#zone);
    const near = nearKey(user, name, local);
    const day = dayOf(local);
    const shifted = () => shiftedKey(user, name, local, props);
    const ofAnyUser = () => anyUserKey(name, local);
    const ofNobody = () => exactKey(ofAnyUser(), props);
    const time = secondsOf(local);
    const exact = exactKey(near, props);
    return { name, user, day, time, near, exact, shifted, ofAnyUser, ofNobody };
  }

  #keepNear(near: string, props: LosslessJson): void {
    const [byte, bit] = placeOf(near);
    const held = this.#nearHeld;
    if ((this.#kinds[byte]! & bit) === 0) return;
    const isFull = held.events === mostNear.events;
    const text = isFull ? '' : stringifyLossless(props);
    this.#isNearCut ||= isFull || held.characters + text.length > mostNear.characters;
    if (this.#isNearCut) return;
    held.events += 1;
    held.characters += text.length;
    const known = this.#near.get(near);
    if (known) known.push(text);
    else this.#near.set(near, [text]);
  }

  #forgetNear(): void {
    this.#near.clear();
    this.#isNearCut = false;
    this.#nearHeld = { events: 0, characters: 0 };
  }
}

/** Adds a record to settle. */
function addOther(equal: EqualEvents, record: SentRecord): void {
  const { source } = record;
  const places = (equal.places ??= new Map([
    [equal.record.source, { lines: new Set([reportedPlace(equal.record)]), count: 1 }],
  ]));
  const ofFile = places.get(source) ?? { lines: new Set(), count: 0 };
  ofFile.lines.add(reportedPlace(record));
  ofFile.count += 1;
  places.set(source, ofFile);
  equal.sent = Math.max(equal.sent, ofFile.lines.size);
  (equal.others ??= []).push(record);
}

/** Returns the most lines of the input, or records, that one rejects file reports. */
function mostOf({ places }: EqualEvents, what: 'lines' | 'count'): number {
  let most = 1;
  for (const { lines, count } of places?.values() ?? [])
    most = Math.max(most, what === 'lines' ? lines.size : count);
  return most;
}

const otherProperties =
  'events of a user, name and second that the account has with other properties';
const ofOtherIdentity = 'events that the account shows under another identity of the user';
const ofUnknownUser =
  'events of which the account does not have the user, but an equal event of another user';
const moreOfLine =
  'equal events of the same line of the input: the account has fewer than the file, which may report one several times';

/** Returns the records of equal events: first one for each line of the input that the file with most of them reports. */
export function recordsToSettle({ record, others = [], places }: EqualEvents): SentRecord[] {
  const all = [record, ...others];
  const [most] = [...(places ?? [])].toSorted(([, a], [, b]) => b.lines.size - a.lines.size);
  if (!most) return all;
  const [file, left] = [most[0], new Set(most[1].lines)];
  const first = all.filter((one) => one.source === file && left.delete(reportedPlace(one)));
  return [...new Set([...first, ...all])];
}

const dayOf = (localTime: string): Day => Number(localTime.slice(0, 8));

const daySeconds = 86_400;

/** Returns a local time in seconds, as if it were UTC. */
const secondsOf = (localTime: string): number =>
  dayToUtc(dayOf(localTime)) / 1000 +
  3600 * Number(localTime.slice(8, 10)) +
  60 * Number(localTime.slice(10, 12)) +
  Number(localTime.slice(12));

const none: LosslessJson = new Map<string, LosslessJson>();

const nearKey = ({ by, value }: Identifier, name: string, localTime: string): string =>
  digest(`${by} ${value}\n${name}\n${localTime}`);

const exactKey = (near: string, props: LosslessJson): string => digest(near + propsText(props));

/** Time zones differ by quarters of an hour. */
const shiftedKey = (user: Identifier, name: string, localTime: string, props: LosslessJson) =>
  exactKey(
    nearKey(user, name, `${Number(localTime.slice(10, 12)) % 15} ${localTime.slice(12)}`),
    props,
  );

const anyUserKey = (name: string, localTime: string): string => digest(`${name}\n${localTime}`);

/** The service may show identities in other letters. */
const identityText = (identity: string): string => `identity ${identity.toLowerCase()}`;

/** Returns all identities and objectIds of a profile: after a merge, the service shows some of them. */
function usersOf(profile: LosslessJson | undefined): readonly string[] {
  if (!isMap(profile)) return [];
  const listOf = (key: string) => {
    const list = profile.get(key);
    return isList(list) ? list : [];
  };
  const identities = [profile.get('identity'), ...listOf('all_identities')];
  const platforms = [profile, ...listOf('platformInfo')];
  const objectIds = platforms.map((one) => (isMap(one) ? one.get('objectId') : undefined));
  return [
    ...textsOf(identities).map(identityText),
    ...textsOf(objectIds).map((one) => `objectId ${one}`),
  ];
}

/** Returns the bit of a near key in the Bloom filter. */
function placeOf(near: string): readonly [byte: number, bit: number] {
  const [low, middle, high] = [near.charCodeAt(0), near.charCodeAt(1), near.charCodeAt(2)];
  return [(middle << 13) | (high << 5) | (low >> 3), 1 << (low & 7)];
}

/** Returns a string, or a number as written: the service may show identities of digits as numbers. */
function textOf(value: LosslessJson | undefined): string | undefined {
  if (value instanceof LosslessNumber) return value.text;
  return typeof value === 'string' ? value : undefined;
}

const textsOf = (values: readonly (LosslessJson | undefined)[]): readonly string[] =>
  values.map(textOf).filter((one) => one !== undefined);

/** Formats a time as in exports: yyyyMMddHHmmSS in the account's time zone. */
function localTime(epochSeconds: number, zone: TimeZone): string {
  const local = new Date((epochSeconds + zone.offsetAt(epochSeconds)) * 1000);
  return local.toISOString().replaceAll(/\D/g, '').slice(0, 14);
}

const propsText = (props: LosslessJson): string => canonicalJson(withoutDates(props), foldKey);

/** Converts dates to seconds, since they may come back so. */
function withoutDates(value: LosslessJson): LosslessJson {
  if (isList(value)) return value.map(withoutDates);
  if (isMap(value)) return new Map([...value].map(([key, one]) => [key, withoutDates(one)]));
  const seconds = parseDateValue(value);
  return seconds === undefined ? value : new LosslessNumber(seconds);
}

/** Returns a 16-byte digest as a string of 16 characters. */
const digest = (text: string): string =>
  createHash('sha256').update(text).digest().toString('latin1', 0, 16);
