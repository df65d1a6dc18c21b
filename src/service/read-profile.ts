import { success, type Answer } from './answer.js';
import { profileColumns, type ProfileRow } from './profile-rows.js';
import { profileByEmail, profileByKey } from './profiles.js';
import { malformed } from './refusal.js';
import { renderProfile } from './render-profile.js';
import type { Service, ServiceRequest } from './service.js';

const allParts = { app: true, summaries: true, properties: true };
const selectProfile = `SELECT ${profileColumns(allParts)} FROM profiles p WHERE p.id = ?`;

/** Endpoint 5: by exactly one of email, identity, objectId. No such user: success without `record`. */
export function readProfile({ query }: ServiceRequest, { store, variants }: Service): Answer {
  const given = (['email', 'identity', 'objectId'] as const).filter((name) => query.has(name));
  const [by] = given;
  const value = by === undefined ? null : query.get(by);
  if (by === undefined || given.length > 1 || !value || query.getAll(by).length > 1)
    throw malformed();
  const found =
    by === 'email' ? profileByEmail(store, value) : profileByKey(store, { kind: by, value });
  const row = found && store.get<ProfileRow>(selectProfile, [found.id]);
  return success(row ? { record: renderProfile(row, allParts, variants.keyStyle) } : {});
}
