import { limits } from '../../contract/limits.js';
import { parseElements, isArray, isObject, parseMembers, stringOf } from '../raw-json.js';
import { malformed, success } from '../response.js';
import {
  blankProfile,
  keysOf,
  moveKey,
  profileByKey,
  saveProfile,
  withKeys,
  type StoredProfile,
} from '../store/profiles.js';
import type { Database } from '../store/database.js';
import type { Deviations, Endpoint } from './rest-route.js';

/** Handles endpoint 8. Deployments queue a demerge; here it is complete when the response is sent. */
export const demergeUserProfiles: Endpoint = ({ body, deviations }, { store, lag }) => {
  const identities = identitiesOf(body, deviations);
  lag.schedule(() =>
    store.transaction(() => {
      for (const value of identities) {
        const profile = profileByKey(store, { kind: 'identity', value });
        if (profile) splitProfile(store, profile);
      }
    }),
  );
  return success();
};

function identitiesOf(body: string | undefined, deviations: Deviations): string[] {
  if (!isObject(body)) throw malformed('the body is not an object');
  const members = parseMembers(body);
  deviations.unknownMembers(members, ['identities'], 'd');
  const list = members.get('identities') ?? '[]';
  if (!isArray(list)) throw malformed('identities is not an array');
  const elements = parseElements(list);
  if (elements.length > limits.identitiesPerDemerge)
    throw malformed(`${elements.length} identities, at most ${limits.identitiesPerDemerge}`);
  return elements.map((element, at) => {
    const identity = stringOf(element);
    if (identity?.isWellFormed()) return identity;
    throw malformed(`identity number ${at + 1} is not a valid string`);
  });
}

/**
 * Makes every identity and every device a profile with a copy of the data; devices have no identity. The
 * first identity keeps its profile and the events.
 */
function splitProfile(store: Database, profile: StoredProfile): void {
  const [first, ...leaving] = keysOf(profile).filter(({ kind }) => kind !== 'social');
  if (!first || leaving.length === 0) return;
  const { email, name, phone, data, ts } = profile;
  saveProfile(
    store,
    withKeys({ ...profile, identities: '[]', object_ids: '[]' }, [first]),
    profile,
  );
  for (const key of leaving) {
    const alone = withKeys({ ...blankProfile, email, name, phone, data, ts }, [key]);
    moveKey(store, key, saveProfile(store, alone, blankProfile).id);
  }
}
