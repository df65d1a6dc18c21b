import { dayToUtc, type Day } from '../../contract/dates.js';
import { limits } from '../../contract/limits.js';
import { membersOf, stringOf } from '../raw-json.js';
import { changeProfile } from '../store/change-profile.js';
import type { Service } from '../service.js';
import type { Database } from '../store/database.js';
import { addEvent } from '../store/events.js';
import { addressOf, addressTypeOf, setBlocked } from '../store/addresses.js';
import { isDryRun } from './played-query.js';
import { applyData } from './profile-data.js';
import type { Endpoint } from './rest-route.js';
import { checkUploadRecord, type UploadRecord } from './upload-record.js';
import { writeRecords } from './write-records.js';

/** Endpoint 1: profiles and events. `dryRun=1` answers the same and changes nothing. */
export const uploadUserProfiles: Endpoint = ({ query, body }, service) => {
  const write = {
    most: limits.recordsPerUpload,
    check: checkUploadRecord,
    save: (_: Database, record: UploadRecord) => saveUpload(service, record),
    isDryRun: isDryRun(query),
  };
  return writeRecords(body, write, service);
};

type Stores = Pick<Service, 'store' | 'clock' | 'variants' | 'zone'>;

/** Stores a checked record. Throws a RecordFault, and has stored nothing then. */
export function saveUpload(service: Stores, record: UploadRecord): void {
  const { store, clock, zone } = service;
  const now = Math.floor(clock.now() / 1000);
  if (record.type === 'profile') return saveProfile(service, record, now);
  const ts = record.ts ?? now;
  const { keys, name, props } = record;
  const { id } = changeProfile(store, keys, (profile) => profile);
  addEvent(store, { name, profile: id, ts, props });
  const isInForce = ts >= zone.toEpoch(dayToUtc(unsubscribingSince) / 1000);
  if (name === 'Channel Unsubscribed' && isInForce) unsubscribeChannel(store, props);
}

/** Since this day the event is an Unsubscribe call (specification, Transitions). */
const unsubscribingSince: Day = 20200113;

/** What says that it is older than the profile fills its gaps alone, unless the variant has it overwrite. */
function saveProfile(
  { store, variants }: Stores,
  { keys, data, ts = Number.MAX_SAFE_INTEGER }: Extract<UploadRecord, { type: 'profile' }>,
  now: number,
): void {
  changeProfile(store, keys, (profile) => {
    const isOlder = ts < profile.ts && variants.olderProfile === 'fills';
    return { ...applyData(profile, data, isOlder), ts: Math.max(Math.min(ts, now), profile.ts) };
  });
}

/**
 * The Unsubscribe call that the event stands for (specification, Transitions). The names of its
 * properties are our reading: `Channel` (phone or sms, whatsapp, email) and `Address`. It acts on
 * the address and so on everybody who has it, not on the user who did the event.
 */
function unsubscribeChannel(store: Database, props: string): void {
  const members = membersOf(props);
  const word = stringOf(members.get('Channel'))?.toLowerCase();
  const type = addressTypeOf(word === 'sms' ? 'phone' : word);
  const address = type && addressOf(type, stringOf(members.get('Address')));
  if (type && address !== undefined) setBlocked(store, { type, address, isBlocked: true });
}
