import { channels } from '../contract/subscriptions.js';

type Channel = (typeof channels)[keyof typeof channels];
type Reachable = 'reachable' | 'unreachable' | null;

const closeBrace = 0x7d;

/**
 * The record with `"reachability":{"sms":…,"whatsapp":…,"email":…}` as its last member; the rest
 * of its text stays as it is. `record` is the text of a JSON object.
 */
export function withReachability(record: Buffer): Buffer {
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
export function reachabilityOf(profileData: unknown): Record<keyof typeof channels, Reachable> {
  const flags = typeof profileData === 'object' && profileData !== null ? profileData : {};
  const of = ({ address, user }: Channel): Reachable => {
    const byAddress = blocks(flags, address, true);
    const byUser = blocks(flags, user, false);
    if (byAddress === true || byUser === true) return 'unreachable';
    return byAddress === false && byUser === false ? 'reachable' : null;
  };
  return { sms: of(channels.sms), whatsapp: of(channels.whatsapp), email: of(channels.email) };
}

/** Whether a level blocks, under any spelling of its flag; undefined when it is not shown. */
function blocks(flags: object, names: readonly string[], blocking: boolean): boolean | undefined {
  // Keys may come back in lower case (service-facts, Upload).
  const spellings = new Set(names.map((name) => name.toLowerCase()));
  const shown = Object.entries(flags)
    .filter(([key]) => spellings.has(key.toLowerCase()))
    .map(([, value]) => blocksBy(value, blocking))
    .filter((blocked) => blocked !== undefined);
  return shown.length === 0 ? undefined : shown.includes(true);
}

/** The specification shows the flags as words, deployments as booleans. */
function blocksBy(value: unknown, blocking: boolean): boolean | undefined {
  switch (String(value).toLowerCase()) {
    case 'true':
      return blocking;
    case 'false':
      return !blocking;
    case 'unsubscribed':
      return true;
    case 'subscribed':
      return false;
    default:
      return undefined;
  }
}
