import { malformed, success } from '../response.js';
import { profileByEmail, profileByKey } from '../store/profiles.js';
import { profileRecordSql, readRecords } from '../store/record-json.js';
import type { Endpoint } from './rest-route.js';

/** Handles endpoint 5: exactly one of email, identity, objectId. An unknown user returns success without `record`. */
export const getUserProfile: Endpoint = ({ query }, service) => {
  const { store, settings } = service;
  const [by, ...others] = (['email', 'identity', 'objectId'] as const).filter((name) =>
    query.has(name),
  );
  const value = by && query.get(by);
  if (by === undefined) throw malformed('one of email, identity and objectId is required');
  if (others.length > 0) throw malformed(`only one of ${[by, ...others].join(' and ')} is allowed`);
  if (!value) throw malformed(`the parameter ${by} is empty`);
  const found =
    by === 'email' ? profileByEmail(store, value) : profileByKey(store, { kind: by, value });
  if (!found) return success();
  const record = profileRecordSql(
    { app: 1, summaries: 1, properties: 1 },
    settings.values.variants,
  );
  const bytes = readRecords(service, record, 'profiles p WHERE p.id = ?', [found.id]);
  return success({ record: bytes.toString() });
};
