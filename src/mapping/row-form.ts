import { limits } from '../contract/limits.js';
import { openProfileData } from './cell-row.js';
import { emptyValue } from './cell-types.js';
import type { Column } from './columns.js';
import { pieceOf, type Piece } from './json-writer.js';
import { keySeeds } from './key-hash.js';
import type { UploadMapping } from './upload-mapping.js';

/** What the records of a CSV are like. */
export interface RowForm {
  /** Of records that have no key but one column; undefined where there is more to a head. */
  readonly head: HeadForm | undefined;
  readonly members: readonly MemberForm[];
}

interface HeadForm {
  readonly column: number;
  /** A key of so many bytes is surely not too long. */
  readonly keyBytes: number;
  readonly keySeed: number;
  /** What stands before the key, and between that and the members. */
  readonly opening: Piece;
  readonly middle: Piece;
}

interface MemberForm {
  readonly column: number;
  readonly kind: 'string' | 'boolean' | 'other';
  /** `,"key":` */
  readonly prefix: Piece;
  /** What stands for an empty cell; undefined where the member is left out. */
  readonly empty: Piece | undefined;
}

const opening = pieceOf('{"identity":');

/** The form of records from these columns. */
export function formOf(columns: readonly Column[], options: UploadMapping): RowForm {
  const members = columns.flatMap(({ role, type, prefix }, column) => {
    if (role !== 'data') return [];
    return [{ column, kind: kindOf(type), prefix, empty: emptyValue(type, options) }];
  });
  return { head: headOf(columns, options), members };
}

function headOf(columns: readonly Column[], { kind }: UploadMapping): HeadForm | undefined {
  const column = columns.findIndex(({ role }) => role === 'identity');
  const isKeyedTwice = columns.some(({ role }) => role === 'objectId');
  if (kind === 'event' || column < 0 || isKeyedTwice) return undefined;
  const keyBytes = limits.identityLength;
  return { column, keyBytes, keySeed: keySeeds.identity, opening, middle: openProfileData };
}

function kindOf(type: Column['type']): MemberForm['kind'] {
  if (type === undefined || type === 'string') return 'string';
  return type === 'boolean' ? 'boolean' : 'other';
}
