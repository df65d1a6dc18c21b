import type { StoredProfile } from './profiles.js';

/** Which parts of a profile a read asks for (endpoints 3 and 6). */
export interface ProfileParts {
  /** OS and app version, make and model of devices. */
  readonly app: boolean;
  /** Event summaries. */
  readonly summaries: boolean;
  /** profileData. */
  readonly properties: boolean;
}

/** A profile with what lies in other tables. Columns that were not asked for are null. */
export type ProfileRow = Omit<StoredProfile, 'social_ids'> & {
  /** Sum of `blockedBits`: which of the profile's addresses are unsubscribed. */
  readonly blocked: number;
  /** Members of the event summaries, as JSON text without braces. */
  readonly event_summaries: string | null;
};

/** One number for three flags: a column costs more than its bits. */
export const blockedBits = { phone: 1, whatsapp: 2, email: 4 } as const;

const isBlocked = (type: keyof typeof blockedBits, column: string): string =>
  `${blockedBits[type]} * EXISTS (SELECT 1 FROM blocked WHERE type = '${type}' AND address = p.${column})`;

const summaries = `(SELECT group_concat(json_quote(n.name) || ':{"count":' || s.count
  || ',"first_seen":' || s.first_seen || ',"last_seen":' || s.last_seen || '}')
  FROM summaries s JOIN event_names n ON n.id = s.event WHERE s.profile = p.id)`;

/** The columns of ProfileRow, from table `profiles` named p. */
export const profileColumns = (parts: ProfileParts): string => `
  p.id, p.identities, p.object_ids, p.email, p.name, p.phone,
  ${parts.properties ? 'p.data' : "''"} AS data,
  ${isBlocked('phone', 'phone')} + ${isBlocked('whatsapp', 'phone')} + ${isBlocked('email', 'email')}
    AS blocked,
  ${parts.summaries ? summaries : 'NULL'} AS event_summaries`;

/** The row of these columns, which come first; `rest` are those that follow. */
export function profileRowOf(tuple: readonly unknown[]): {
  row: ProfileRow;
  rest: readonly unknown[];
} {
  const [id, identities, object_ids, email, name, phone, data, blocked, event_summaries, ...rest] =
    tuple;
  const row = { id, identities, object_ids, email, name, phone, data, blocked, event_summaries };
  return { row: row as ProfileRow, rest };
}
