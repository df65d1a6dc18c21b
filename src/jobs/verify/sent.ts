import { isMap, parseExact, type ExactJson } from '../../text/lossless-json.js';
import type { Identifier } from '../../mapping/identity.js';

/** A record as it was sent, and where it was read. */
export interface SentRecord {
  readonly source: string;
  /** Physical line, 1-based. */
  readonly line: number;
  /** JSON text of the record of endpoint 1 or 2. */
  readonly text: string;
  /** Its line of a rejects file, where that is what was read. */
  readonly row?: string | undefined;
}

export type SentMembers = ReadonlyMap<string, ExactJson>;

export function membersOfSent({ text }: SentRecord): SentMembers {
  const members = parseExact(text);
  return isMap(members) ? members : new Map<string, ExactJson>();
}

/** Whom the record is of; undefined where endpoint 5 does not find users by its key. */
export function userOf(members: SentMembers): Identifier | undefined {
  for (const by of ['identity', 'objectId'] as const) {
    const value = members.get(by);
    if (typeof value === 'string' && value !== '') return { by, value };
  }
  return undefined;
}

/** A key in the spelling that a deployment may give it back in (service-facts, Open questions). */
export const folded = (key: string): string => key.toLowerCase().replaceAll(/\s+/g, '');
