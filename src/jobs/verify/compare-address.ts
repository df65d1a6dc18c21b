import { isAddressBlocked } from '../../mapping/reachability.js';
import { FoundUser } from './found-user.js';
import type { SentAddress } from './sent-address.js';
import { untold, type Verdict } from './verdict.js';

const channelOf = { phone: 'sms', whatsapp: 'whatsapp', email: 'email' } as const;

/** Holds the flag of an address, on the profile of who has it, against the status that was sent. */
export function compareAddress(address: SentAddress, profile: string | undefined): Verdict {
  const { records, value, record, isBlocked, type } = address;
  const cannot = (why: string) => untold('addresses', records, `addresses ${why}`);
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

/** Whether the profile still has the address; numbers with or without their plus. */
function shows(profile: string, { type, value }: SentAddress): boolean {
  const values = new FoundUser(profile).valuesOf(type === 'email' ? 'Email' : 'Phone');
  return values.some((one) => typeof one.value === 'string' && plain(one.value) === plain(value));
}

const plain = (text: string): string => text.replace(/^\+/, '');
