import type { CellText } from './cell-text.js';
import { identityFault, objectIdFault } from './identity.js';
import { hashBytes, keySeeds, recordKey } from './key-hash.js';
import type { RecordBuilder } from './record-builder.js';

/** Members that say whose record it is (service-facts, Upload), the one that orders it first. */
export const keyParts = ['identity', 'objectId', 'FBID', 'GPID'] as const;
export type KeyPart = (typeof keyParts)[number];

/** Takes the text as the record's key; says why it cannot be one. */
export function takeKey(part: KeyPart, text: CellText, records: RecordBuilder): string | undefined {
  const fault = part === 'objectId' ? objectIdFault(text) : identityFault(text);
  if (fault !== undefined) return fault;
  records.key = recordKey(hashBytes(text.bytes, text.start, text.end, keySeeds[part]));
  return undefined;
}
