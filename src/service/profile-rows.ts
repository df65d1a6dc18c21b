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
export type ProfileRow = StoredProfile & {
  /** 1 when the address is unsubscribed. */
  readonly phone_blocked: number;
  readonly whatsapp_blocked: number;
  readonly email_blocked: number;
  /** Members of the event summaries, as JSON text without braces. */
  readonly event_summaries: string | null;
};

const blocked = (type: string, column: string): string =>
  `EXISTS (SELECT 1 FROM blocked WHERE type = '${type}' AND address = p.${column})`;

const summaries = `(SELECT group_concat(json_quote(n.name) || ':{"count":' || s.count
  || ',"first_seen":' || s.first_seen || ',"last_seen":' || s.last_seen || '}')
  FROM summaries s JOIN event_names n ON n.id = s.event WHERE s.profile = p.id)`;

/** The columns of ProfileRow, from table `profiles` named p. */
export const profileColumns = (parts: ProfileParts): string => `
  p.id, p.identities, p.object_ids, p.email, p.name, p.phone,
  ${parts.properties ? 'p.data' : "''"} AS data,
  ${blocked('phone', 'phone')} AS phone_blocked,
  ${blocked('whatsapp', 'phone')} AS whatsapp_blocked,
  ${blocked('email', 'email')} AS email_blocked,
  ${parts.summaries ? summaries : 'NULL'} AS event_summaries`;
