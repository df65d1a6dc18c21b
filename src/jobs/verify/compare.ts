import { channels } from '../../contract/record-fields.js';
import { exactText } from '../../text/lossless-json.js';
import { FoundUser } from './found-user.js';
import { sameValue } from './same-value.js';
import type { Expected, SentUser } from './sent-records.js';
import type { Difference, Verdict } from './verdict.js';

/** Flags of addresses: an upload does not set them, so that an exported profile may say anything. */
const addressFlags = new Set(
  Object.values(channels).flatMap(({ address }) => address.map((name) => name.toLowerCase())),
);

/** Holds a profile, as endpoint 5 gave it, against what was sent; undefined: nobody has the key. */
export function compareUser(user: SentUser, profile: string | undefined): Verdict {
  const { records } = user;
  const identity = user.identifier!.value;
  const about = { what: 'users', count: 1, records } as const;
  const keys = user.expected();
  if (profile === undefined) {
    const differences = [missingUser(user, identity)];
    return { ...about, verdict: 'missing', differences, untold: [], foldedKeys: 0 };
  }
  const found = new FoundUser(profile);
  const untold: string[] = [];
  const differences: Difference[] = [];
  let foldedKeys = 0;
  for (const [key, expected] of keys) {
    const said = compareKey(found, key, expected);
    if (said === 'same') continue;
    if (said === 'folded') foldedKeys += 1;
    else if (typeof said === 'string') untold.push(said);
    else differences.push({ ...placeOf(expected), identity, key, ...said });
  }
  const verdict = verdictOf(user, { untold, differences, keys: keys.size });
  return { ...about, verdict, differences, untold, foldedKeys };
}

interface Compared {
  readonly keys: number;
  readonly untold: readonly string[];
  readonly differences: readonly Difference[];
}

/**
 * Of a record whose outcome is open all has to be told, and something: else it might count as
 * accepted because of what another record did.
 */
function verdictOf({ records }: SentUser, { keys, untold, differences }: Compared) {
  const isOpen = records[0]?.row !== undefined;
  if (isOpen && (untold.length > 0 || keys === 0)) return 'untold';
  if (differences.length > 0) return 'different';
  return keys > 0 && untold.length === keys ? 'untold' : 'same';
}

type Said = Pick<Difference, 'sent' | 'found' | 'verdict'>;

/** A difference; or that there is none, or why that cannot be told. */
function compareKey(found: FoundUser, key: string, expected: Expected): string | Said {
  const { state, value } = expected;
  if (state === 'untold') return 'operators such as $incr and $add';
  if (addressFlags.has(key.toLowerCase()))
    return 'flags of addresses, which an upload does not set';
  const sent = exactText(expected.sent);
  const values = found.valuesOf(key);
  const [first] = values;
  if (state === 'absent') {
    if (first === undefined || first.value === null) return 'same';
    return { sent, found: exactText(first.value), verdict: 'different' };
  }
  if (first === undefined) {
    // The service may keep it to itself.
    if (key === 'Phone') return 'phone numbers, which the profiles do not show';
    return { sent, found: 'null', verdict: 'missing' };
  }
  const same = values.find((one) => sameValue(key, value, one.value));
  if (same) return same.isFolded ? 'folded' : 'same';
  return { sent, found: exactText(first.value), verdict: 'different' };
}

const placeOf = ({ record: { source, line } }: Expected) => ({ source, line });

function missingUser({ records }: SentUser, identity: string): Difference {
  const { source, line } = records.at(-1)!;
  return { source, line, identity, key: null, sent: 'null', found: 'null', verdict: 'missing' };
}
