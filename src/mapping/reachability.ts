import { channels } from '../contract/record-fields.js';

type Reachable = 'reachable' | 'unreachable' | null;

/** Whether a flag blocks, by its value: the specification shows words, deployments send booleans. */
type FlagValues = ReadonlyMap<string, boolean>;
const words = [
  ['unsubscribed', true],
  ['subscribed', false],
] as const;
const addressFlag: FlagValues = new Map([...words, ['true', true], ['false', false]]);
const userFlag: FlagValues = new Map([...words, ['true', false], ['false', true]]);

const closeBrace = 0x7d;

/**
 * Returns the record with `"reachability":{"sms":…,"whatsapp":…,"email":…}` as its last member; the rest
 * of its text is unchanged. `record` is the text of a JSON object.
 */
export function addReachability(record: Buffer): Buffer {
  const parsed = JSON.parse(record.toString()) as { readonly profileData?: unknown };
  const member = `"reachability":${JSON.stringify(reachabilityOf(parsed.profileData))}}`;
  const comma = Object.keys(parsed).length > 0 ? ',' : '';
  const end = record.lastIndexOf(closeBrace);
  return Buffer.concat([record.subarray(0, end), Buffer.from(comma + member)]);
}

/**
 * Applies the specification's table (States): unreachable if any flag present blocks, reachable if both
 * levels are present and neither blocks, otherwise null.
 */
function reachabilityOf(profileData: unknown): object {
  const flags = Object.entries(profileData ?? {});
  const entries = Object.entries(channels).map(([channel, names]): [string, Reachable] => {
    const byAddress = blocks(flags, names.address, addressFlag);
    const byUser = blocks(flags, names.user, userFlag);
    if (byAddress === true || byUser === true) return [channel, 'unreachable'];
    return [channel, byAddress === false && byUser === false ? 'reachable' : null];
  });
  return Object.fromEntries(entries);
}

/** Whether the address of a channel is blocked; undefined if its flag is missing. */
export const isAddressBlocked = (
  profileData: unknown,
  channel: keyof typeof channels,
): boolean | undefined =>
  blocks(Object.entries(profileData ?? {}), channels[channel].address, addressFlag);

/** Whether a level blocks, under any spelling of its flag; undefined if the flag is missing. */
function blocks(
  flags: readonly (readonly [key: string, value: unknown])[],
  names: readonly string[],
  values: FlagValues,
): boolean | undefined {
  // Keys may come back in lower case (service-facts, Upload).
  const spellings = new Set(names.map((name) => name.toLowerCase()));
  const present = flags
    .filter(([key]) => spellings.has(key.toLowerCase()))
    .map(([, value]) => values.get(String(value).toLowerCase()))
    .filter((blocked) => blocked !== undefined);
  return present.length === 0 ? undefined : present.includes(true);
}
