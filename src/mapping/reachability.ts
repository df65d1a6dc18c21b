import { channels } from '../contract/record-fields.js';

type Reachable = 'reachable' | 'unreachable' | null;

/** Whether a level's flag blocks, by its value: the specification shows words, deployments booleans. */
type Meaning = ReadonlyMap<string, boolean>;
const words = [
  ['unsubscribed', true],
  ['subscribed', false],
] as const;
const ofAddress: Meaning = new Map([...words, ['true', true], ['false', false]]);
const ofUser: Meaning = new Map([...words, ['true', false], ['false', true]]);

const closeBrace = 0x7d;

/**
 * The record with `"reachability":{"sms":…,"whatsapp":…,"email":…}` as its last member; the rest
 * of its text stays as it is. `record` is the text of a JSON object.
 */
export function addReachability(record: Buffer): Buffer {
  const parsed = JSON.parse(record.toString()) as { readonly profileData?: unknown };
  const member = `"reachability":${JSON.stringify(reachabilityOf(parsed.profileData))}}`;
  const comma = Object.keys(parsed).length > 0 ? ',' : '';
  const end = record.lastIndexOf(closeBrace);
  return Buffer.concat([record.subarray(0, end), Buffer.from(comma + member)]);
}

/**
 * The specification's table (States): unreachable when any flag shown blocks, reachable when both
 * levels are shown and neither blocks, else null.
 */
function reachabilityOf(profileData: unknown): object {
  const flags = Object.entries(profileData ?? {});
  const entries = Object.entries(channels).map(([channel, names]): [string, Reachable] => {
    const byAddress = blocks(flags, names.address, ofAddress);
    const byUser = blocks(flags, names.user, ofUser);
    if (byAddress === true || byUser === true) return [channel, 'unreachable'];
    return [channel, byAddress === false && byUser === false ? 'reachable' : null];
  });
  return Object.fromEntries(entries);
}

/** Whether the address of a channel is blocked; undefined when its flag is not shown. */
export const isAddressBlocked = (
  profileData: unknown,
  channel: keyof typeof channels,
): boolean | undefined =>
  blocks(Object.entries(profileData ?? {}), channels[channel].address, ofAddress);

/** Whether a level blocks, under any spelling of its flag; undefined when it is not shown. */
function blocks(
  flags: readonly (readonly [key: string, value: unknown])[],
  names: readonly string[],
  meaning: Meaning,
): boolean | undefined {
  // Keys may come back in lower case (service-facts, Upload).
  const spellings = new Set(names.map((name) => name.toLowerCase()));
  const shown = flags
    .filter(([key]) => spellings.has(key.toLowerCase()))
    .map(([, value]) => meaning.get(String(value).toLowerCase()))
    .filter((blocked) => blocked !== undefined);
  return shown.length === 0 ? undefined : shown.includes(true);
}
