import { limits } from '../../contract/limits.js';
import { membersOf, stringOf } from '../raw-json.js';
import { changeProfile } from '../store/change-profile.js';
import type { Database } from '../store/database.js';
import { addEvent } from '../store/events.js';
import { addressOf, addressTypeOf, setBlocked } from '../store/addresses.js';
import { applyData } from './profile-data.js';
import type { Endpoint } from './rest-route.js';
import { checkUploadRecord, type UploadRecord } from './upload-record.js';
import { writeRecords } from './write-records.js';

/** Endpoint 1: profiles and events. */
export const uploadUserProfiles: Endpoint = ({ body }, service) => {
  const seconds = Math.floor(service.clock.now() / 1000);
  const write = {
    most: limits.recordsPerUpload,
    check: checkUploadRecord,
    save: (store: Database, record: UploadRecord) => saveUpload(store, record, seconds),
  };
  return writeRecords(body, write, service);
};

/** Stores a checked record; `now` in epoch seconds. */
export function saveUpload(store: Database, record: UploadRecord, now: number): void {
  if (record.type === 'profile') {
    changeProfile(store, record.keys, (profile) => applyData(profile, record.data));
    return;
  }
  const { keys, name, ts, props } = record;
  const { id } = changeProfile(store, keys, (profile) => profile);
  addEvent(store, { name, profile: id, ts: ts ?? now, props });
  if (name === 'Channel Unsubscribed') unsubscribeChannel(store, props);
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
