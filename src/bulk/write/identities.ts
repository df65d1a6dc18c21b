import { EngagectlError, grouped } from '../../errors.js';
import type { RowBlock } from '../../input/rows.js';
import type { RecordBlock } from '../../mapping/records.js';
import type { IdentitySet } from './deduplication.js';

/** Identities shown before a demerge is confirmed. */
const shownIdentities = 5;

/** What a demerge is about to do. */
export interface IdentitySurvey {
  /** Different identities. */
  readonly count: number;
  readonly first: readonly string[];
}

/** Reads all identities once, before anything is sent; `told` is lent. Throws E-TOO-MANY. */
export async function surveyIdentities(
  blocks: AsyncIterable<RowBlock>,
  map: (rows: RowBlock) => RecordBlock,
  told: IdentitySet,
): Promise<IdentitySurvey> {
  const first: string[] = [];
  for await (const rows of blocks) {
    const block = map(rows);
    for (let index = 0; index < block.count; index += 1) {
      const isNew = tellIdentity(told, block, index);
      if (isNew && first.length < shownIdentities) first.push(identityAt(block, index));
    }
    const error = tooManyIdentities(told);
    if (error) throw error;
  }
  const count = told.size;
  told.clear();
  return { count, first };
}

/** False when record `index` repeats an identity: it has the same bytes however the input spells it. */
export const tellIdentity = (
  told: IdentitySet,
  { json, bounds }: RecordBlock,
  index: number,
): boolean => told.add(json, bounds[2 * index] ?? 0, bounds[2 * index + 1] ?? 0);

const identityAt = ({ json, bounds }: RecordBlock, index: number): string =>
  JSON.parse(json.toString('utf8', bounds[2 * index], bounds[2 * index + 1])) as string;

/** Duplicates of a run are found among so many, so that memory stays bounded. */
export function tooManyIdentities({
  size,
  most,
}: Pick<IdentitySet, 'size' | 'most'>): EngagectlError | undefined {
  if (size <= most) return undefined;
  const message = `more than ${grouped(most)} identities in one run`;
  return new EngagectlError('E-TOO-MANY', message, {
    why: 'duplicates are found among at most so many',
    fix: 'split the input into several runs',
  });
}
