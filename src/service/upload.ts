import { limits } from '../contract/limits.js';
import type { Answer } from './answer.js';
import { unsubscribeCallOf } from './channel-unsubscribed.js';
import { addEvent } from './events.js';
import { applyData } from './profile-data.js';
import { isFault } from './record-faults.js';
import { changeProfile } from './change-profile.js';
import type { Service, ServiceRequest } from './service.js';
import type { Store } from './store.js';
import { setSubscription } from './subscriptions.js';
import type { EventRecord, ProfileRecord } from './upload-records.js';
import { validateRecord } from './validate-record.js';
import { recordsOf, writeAnswer } from './write-answer.js';

/** Endpoint 1: profiles and events, in the order of the request, in one transaction. */
export function upload({ body }: ServiceRequest, { store, now, variants }: Service): Answer {
  const texts = recordsOf(body, limits.recordsPerUpload);
  const checked = texts.map(validateRecord);
  const seconds = Math.floor(now() / 1000);
  store.transaction(() => {
    for (const record of checked) if (!isFault(record)) saveRecord(store, record, seconds);
  });
  const faults = checked.map((record) => (isFault(record) ? record : undefined));
  return writeAnswer(texts, faults, variants.echo);
}

function saveRecord(store: Store, record: ProfileRecord | EventRecord, now: number): void {
  if (record.type === 'profile') {
    changeProfile(store, record.keys, (profile) => applyData(profile, record.data));
    return;
  }
  const { keys, name, ts, props } = record;
  const { id } = changeProfile(store, keys, (profile) => profile);
  addEvent(store, { name, profile: id, ts: ts ?? now, props });
  const call = unsubscribeCallOf(name, props);
  if (call) setSubscription(store, call);
}
