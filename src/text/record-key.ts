import type { keySpaces } from './record-hash.js';

/** Members that say whose record it is (service-facts, Upload), the one that orders it first. */
export const keyParts = ['identity', 'objectId', 'FBID', 'GPID'] as const;
export type KeyPart = (typeof keyParts)[number];

/** A key as a record has it: whose it is, by a member of users or the type of an address, and its text. */
export interface RecordKey {
  readonly space: keyof typeof keySpaces;
  readonly key: string;
}

/**
 * Whose record it is, from its JSON text as it is sent: the first of its keys; type and value of an
 * address; of a demerge the identity that the record is.
 */
export function keyOfRecord(json: string): RecordKey {
  const record = JSON.parse(json) as string | Readonly<Record<string, string>>;
  if (typeof record === 'string') return { space: 'identity', key: record };
  const part = keyParts.find((name) => record[name] !== undefined);
  if (part) return { space: part, key: record[part]! };
  return { space: record['type'] as RecordKey['space'], key: record['value']! };
}

export const isOfUser = ({ space }: Pick<RecordKey, 'space'>): boolean =>
  keyParts.some((part) => part === space);
