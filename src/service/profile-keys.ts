/** What identifies a profile in an upload. `social`: `FBID:…` or `GPID:…`. */
export interface ProfileKey {
  readonly kind: 'identity' | 'objectId' | 'social';
  readonly value: string;
}

/** The column of table `profiles` that lists the profile's keys of each kind. */
export const keyColumns = {
  identity: 'identities',
  objectId: 'object_ids',
  social: 'social_ids',
} as const satisfies Record<ProfileKey['kind'], string>;
