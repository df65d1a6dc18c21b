import { lookUp, type Wanted } from '../../bulk/look-up.js';
import { isAddressBlocked } from '../../mapping/reachability.js';
import { Again } from './again.js';
import type { Looking } from './check-users.js';
import { FoundUser } from './found-user.js';
import type { SentAddress } from './sent-address.js';
import type { Verdict } from './verdict.js';

/** Holds the flags of addresses, on the profiles of who has them, against the statuses that were sent. */
export async function* checkAddresses(
  addresses: readonly SentAddress[],
  looking: Looking,
): AsyncGenerator<Verdict> {
  const again = new Again(looking.within, looking.runtime);
  let open = addresses.filter((address) => address.identifier !== undefined);
  for (const address of addresses) {
    if (address.identifier === undefined) yield untold(address, byNumber);
  }
  for (;;) {
    const others: SentAddress[] = [];
    for await (const { answer, origin } of lookUp(wanted(open), looking)) {
      if (!answer) continue; // the failure follows
      const verdict = verdictOf(origin, answer.record?.toString());
      if (verdict.verdict === 'same' || !again.isLeft) yield verdict;
      else others.push(origin);
    }
    if (others.length === 0) return;
    await again.pause();
    open = others;
  }
}

const byNumber = 'numbers of rows without identity: users are not found by their number';
const channelOf = { phone: 'sms', whatsapp: 'whatsapp', email: 'email' } as const;

// oxlint-disable-next-line typescript/require-await -- the shape of an input
async function* wanted(addresses: readonly SentAddress[]): AsyncGenerator<Wanted<SentAddress>> {
  for (const origin of addresses) yield { identifier: origin.identifier!, origin };
}

function verdictOf(address: SentAddress, profile: string | undefined): Verdict {
  if (profile === undefined) return untold(address, 'addresses that no user shows');
  if (!shows(profile, address)) return untold(address, 'addresses that the user shows no more');
  const { profileData } = JSON.parse(profile) as { readonly profileData?: unknown };
  const found = isAddressBlocked(profileData, channelOf[address.type]);
  if (found === undefined) return untold(address, 'addresses whose flag is not shown');
  const { records, value, record, isBlocked, type } = address;
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

const untold = ({ records }: SentAddress, why: string): Verdict => ({
  what: 'addresses',
  verdict: 'untold',
  count: 1,
  records,
  differences: [],
  untold: [why],
  foldedKeys: 0,
});
