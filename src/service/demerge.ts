import { limits } from '../contract/limits.js';
import { success, type Answer } from './answer.js';
import type { ProfileKey } from './profile-keys.js';
import {
  blankProfile,
  claimKey,
  profileByKey,
  saveProfile,
  stringsIn,
  withKeys,
  type StoredProfile,
} from './profiles.js';
import { elementsOf, isArray, isObject, membersOf, stringOf } from './raw-json.js';
import { malformed } from './refusal.js';
import type { Service, ServiceRequest } from './service.js';
import type { Store } from './store.js';

/** Endpoint 8. The real service queues this; here it is done when the answer arrives. */
export function demerge({ body }: ServiceRequest, { store }: Service): Answer {
  const identities = identitiesOf(body);
  store.transaction(() => {
    for (const value of identities) {
      const profile = profileByKey(store, { kind: 'identity', value });
      if (profile) fallApart(store, profile);
    }
  });
  return success();
}

function identitiesOf(body: string | undefined): string[] {
  if (!isObject(body)) throw malformed();
  const list = membersOf(body).get('identities') ?? '[]';
  if (!isArray(list)) throw malformed();
  const identities = elementsOf(list).map((element) => stringOf(element));
  if (identities.length > limits.identitiesPerDemerge) throw malformed();
  return identities.map((identity) => {
    if (identity === undefined) throw malformed();
    return identity;
  });
}

/**
 * Every identity and every device becomes a profile of its own with a copy of the data, devices
 * without an identity. The first identity stays where it is and keeps the events.
 */
function fallApart(store: Store, profile: StoredProfile): void {
  const [first, ...identities] = stringsIn(profile.identities);
  const leaving: ProfileKey[] = [
    ...identities.map((value) => ({ kind: 'identity', value }) as const),
    ...stringsIn(profile.object_ids).map((value) => ({ kind: 'objectId', value }) as const),
  ];
  if (leaving.length === 0) return;
  const { email, name, phone, data } = profile;
  const staying = { ...profile, identities: JSON.stringify([first]), object_ids: '[]' };
  saveProfile(store, staying, profile);
  for (const key of leaving) {
    const alone = withKeys({ ...blankProfile, email, name, phone, data }, [key]);
    claimKey(store, key, saveProfile(store, alone, blankProfile).id);
  }
}
