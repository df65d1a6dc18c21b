import { success, type Answer } from './answer.js';
import { fillGaps } from './gaps.js';
import { profileByEmail, profileByKey } from './profiles.js';
import { malformed } from './refusal.js';
import { concatenated, profileRecord } from './record-sql.js';
import type { Service, ServiceRequest } from './service.js';

const allParts = { app: true, summaries: true, properties: true };

/** Endpoint 5: by exactly one of email, identity, objectId. No such user: success without `record`. */
export function readProfile({ query }: ServiceRequest, { store, zone, variants }: Service): Answer {
  const given = (['email', 'identity', 'objectId'] as const).filter((name) => query.has(name));
  const [by] = given;
  const value = by === undefined ? null : query.get(by);
  if (by === undefined || given.length > 1 || !value || query.getAll(by).length > 1)
    throw malformed();
  const found =
    by === 'email' ? profileByEmail(store, value) : profileByKey(store, { kind: by, value });
  if (!found) return success();
  const select = `SELECT ${concatenated(profileRecord(allParts, variants.keyStyle))} FROM profiles p WHERE p.id = ?`;
  const record = fillGaps(store.bytes(select, [found.id]), zone, allParts.app);
  return success({ record: record.toString() });
}
