import { channels } from '../../contract/record-fields.js';
import {
  stringifyLossless,
  isList,
  isMap,
  parseLossless,
  canonicalJson,
  LosslessNumber,
  type LosslessJson,
} from '../../text/lossless-json.js';
import { isAddressBlocked } from '../../mapping/reachability.js';
import { inconclusive, type Difference, type Verdict } from './verdict.js';
import {
  foldKey,
  plainAddress,
  sentMembers,
  type Expected,
  type SentRecord,
  type SentUser,
  type SentAddress,
} from './sent-records.js';
import { limits } from '../../contract/limits.js';

/** Flags of addresses, which an upload does not set and a profile may show with any value. */
const addressFlags = new Set(
  Object.values(channels).flatMap(({ address }) => address.map((name) => name.toLowerCase())),
);

/** Compares a profile with what was sent; undefined if there is no such user. */
export function compareUser(user: SentUser, profile: string | undefined): Verdict {
  const { records } = user;
  const identity = user.identifier!.value;
  const about = { what: 'users', count: 1, records } as const;
  const keys = user.expected();
  if (profile === undefined) {
    // A demerge that was processed may leave no user either: sent again, it would be a second one.
    if (records.some((record) => record.row !== undefined && !hasData(record)))
      return inconclusive('users', records, 'records without a value, such as demerges');
    const differences = [missingUser(user, identity)];
    return { ...about, verdict: 'missing', differences, untold: [], foldedKeys: 0 };
  }
  const found = new FoundUser(profile);
  const untold: string[] = [];
  const differences: Difference[] = [];
  let foldedKeys = 0;
  for (const [key, expected] of keys) {
    const messages = compareKey(found, key, expected);
    if (messages === 'same') continue;
    if (messages === 'folded') foldedKeys += 1;
    else if (typeof messages === 'string') untold.push(messages);
    else differences.push({ ...placeOf(expected), identity, key, ...messages });
  }
  const verdict = verdictOf(user, { untold, differences, keys: keys.size });
  return { ...about, verdict, differences, untold, foldedKeys };
}

function hasData(record: SentRecord): boolean {
  const data = sentMembers(record).get('profileData');
  return isMap(data) && data.size > 0;
}

interface Compared {
  readonly keys: number;
  readonly untold: readonly string[];
  readonly differences: readonly Difference[];
}

/**
 * Decides the verdict of a user. A record of unknown outcome needs at least one key, and all keys
 * compared, because otherwise the effect of another record could make it count as accepted.
 */
function verdictOf({ records }: SentUser, { keys, untold, differences }: Compared) {
  const isOpen = records[0]?.row !== undefined;
  if (isOpen && (untold.length > 0 || keys === 0)) return 'untold';
  if (differences.length > 0) return 'different';
  return keys > 0 && untold.length === keys ? 'untold' : 'same';
}

type Finding = Pick<Difference, 'sent' | 'found' | 'verdict'>;

/** Returns a difference, `same`, `folded`, or why the key cannot be compared. */
function compareKey(found: FoundUser, key: string, expected: Expected): string | Finding {
  const { state, value } = expected;
  if (state === 'untold') return 'operators such as $incr and $add';
  if (addressFlags.has(key.toLowerCase()))
    return 'flags of addresses, which an upload does not set';
  const sent = stringifyLossless(expected.sent);
  const values = found.valuesOf(key);
  const [first] = values;
  if (state === 'absent') {
    if (first === undefined || first.value === null) return 'same';
    return { sent, found: stringifyLossless(first.value), verdict: 'different' };
  }
  if (first === undefined) {
    // The service may hide phone numbers.
    if (key === 'Phone') return 'phone numbers, which the profiles do not show';
    return { sent, found: 'null', verdict: 'missing' };
  }
  const same = values.find((one) => isSameValue(key, value, one.value));
  if (same) return same.isFolded ? 'folded' : 'same';
  return { sent, found: stringifyLossless(first.value), verdict: 'different' };
}

const placeOf = ({ record: { source, line } }: Expected) => ({ source, line });

function missingUser({ records }: SentUser, identity: string): Difference {
  const { source, line } = records.at(-1)!;
  return { source, line, identity, key: null, sent: 'null', found: 'null', verdict: 'missing' };
}

const channelOf = { phone: 'sms', whatsapp: 'whatsapp', email: 'email' } as const;

/** Compares the flag of an address, on the profile of its user, with the status that was sent. */
export function compareAddress(address: SentAddress, profile: string | undefined): Verdict {
  const { records, value, record, isBlocked, type } = address;
  const cannot = (why: string) => inconclusive('addresses', records, `addresses ${why}`);
  if (profile === undefined) return cannot('that no user shows');
  if (!shows(profile, address)) return cannot('that the user shows no more');
  const { profileData } = JSON.parse(profile) as { readonly profileData?: unknown };
  const found = isAddressBlocked(profileData, channelOf[type]);
  if (found === undefined) return cannot('whose flag is not shown');
  const about = { what: 'addresses' as const, count: 1, records, untold: [], foldedKeys: 0 };
  if (found === isBlocked) return { ...about, verdict: 'same', differences: [] };
  const difference = {
    source: record.source,
    line: record.line,
    identity: value,
    key: type,
    sent: statusText(isBlocked),
    found: statusText(found),
    verdict: 'different',
  } as const;
  return { ...about, verdict: 'different', differences: [difference] };
}

const statusText = (isBlocked: boolean): string => (isBlocked ? '"Unsubscribe"' : '"Resubscribe"');

/** Whether the profile still has the address, in any spelling. */
function shows(profile: string, { type, value }: SentAddress): boolean {
  const values = new FoundUser(profile).valuesOf(type === 'email' ? 'Email' : 'Phone');
  return values.some(
    (one) => typeof one.value === 'string' && plainAddress(one.value) === plainAddress(value),
  );
}

type Members = ReadonlyMap<string, LosslessJson>;

/** A value of a profile, and whether its key came back in another spelling. */
interface FoundValue {
  readonly value: LosslessJson;
  readonly isFolded: boolean;
}

/** Default fields that a profile shows outside of profileData. */
const besides = new Map([
  ['Email', 'email'],
  ['Name', 'name'],
  ['Phone', 'phone'],
]);

/** A user profile from a look-up (docs/service-api.md, Look-ups). */
class FoundUser {
  readonly #profile: Members;
  readonly #data: Members;
  readonly #folded = new Map<string, LosslessJson[]>();

  /** `record` is the JSON text. */
  constructor(record: string) {
    this.#profile = membersIn(parseLossless(record));
    this.#data = membersIn(this.#profile.get('profileData'));
    for (const [key, value] of this.#data) {
      this.#folded.set(foldKey(key), [...(this.#folded.get(foldKey(key)) ?? []), value]);
    }
  }

  /** Returns the values that may belong to a key of an upload, most likely first. */
  valuesOf(key: string): readonly FoundValue[] {
    const exact = this.#data.get(key);
    if (exact !== undefined) return [{ value: exact, isFolded: false }];
    const others = (this.#folded.get(foldKey(key)) ?? []).map((value) => ({
      value,
      isFolded: true,
    }));
    return others.length > 0 ? others : this.#besides(key);
  }

  #besides(key: string): FoundValue[] {
    const name = besides.get(key);
    if (name === undefined) return [];
    const devices = this.#profile.get('platformInfo');
    const places = [this.#profile, ...(isList(devices) ? devices.map(membersIn) : [])];
    const values = places.map((place) => place.get(name));
    return values.flatMap((value) =>
      value === undefined || value === null ? [] : [{ value, isFolded: false }],
    );
  }
}

const membersIn = (value: LosslessJson | undefined): Members =>
  isMap(value) ? value : new Map<string, LosslessJson>();

/** Whether a found value is equivalent to the sent one (docs/service-api.md, Look-ups). */
function isSameValue(key: string, sent: LosslessJson, found: LosslessJson): boolean {
  if (key.toLowerCase().startsWith('msg-') && typeof sent === 'boolean') {
    return flagOf(found) === sent;
  }
  const seconds = parseDateValue(sent);
  if (seconds !== undefined)
    return parseDateValue(found) === seconds || readDate(found) === seconds;
  if (isStrings(sent)) return sameStrings(sent, isList(found) ? found : [found]);
  return canonicalJson(sent, asIs) === canonicalJson(found, asIs);
}

const asIs = (key: string): string => key;

/** Parses a flag of a user: a word in the specification, a boolean in deployments. */
function flagOf(value: LosslessJson): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.toLowerCase() : '';
  const meaning: Readonly<Record<string, boolean>> = {
    subscribed: true,
    true: true,
    unsubscribed: false,
    false: false,
  };
  return meaning[word];
}

/** Parses the epoch seconds of `$D_<epoch seconds>`. */
export function parseDateValue(value: LosslessJson): string | undefined {
  const seconds = typeof value === 'string' ? /^\$D_(-?\d+)$/.exec(value)?.[1] : undefined;
  return seconds === undefined ? undefined : new LosslessNumber(seconds).canonical;
}

/** Parses a date that came back as seconds or ISO 8601, to epoch seconds. */
function readDate(value: LosslessJson): string | undefined {
  if (value instanceof LosslessNumber) return value.canonical;
  if (typeof value !== 'string') return undefined;
  if (/^-?\d+$/.test(value)) return new LosslessNumber(value).canonical;
  const milliseconds = /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(milliseconds)
    ? undefined
    : new LosslessNumber(String(Math.floor(milliseconds / 1000))).canonical;
}

const isStrings = (value: LosslessJson): value is readonly string[] =>
  isList(value) && value.every((one) => typeof one === 'string');

/**
 * Compares multi-values as sets. The service stores each string once, and the last ones beyond the
 * limit; their order is not defined.
 */
function sameStrings(sent: readonly string[], found: readonly LosslessJson[]): boolean {
  const expected = new Set([...new Set(sent)].slice(-limits.multiValueStrings));
  return found.length === expected.size && found.every((one) => expected.has(one as string));
}
