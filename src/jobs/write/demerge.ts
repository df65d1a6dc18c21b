import { surveyIdentities, IdentitySet } from '../../bulk/write/deduplication.js';
import { firstRecords } from '../../input/row-block.js';
import { demergeMapper } from '../../mapping/demerge-mapper.js';
import { noRecovery, readMeaning } from '../input-files.js';
import { performWrite } from './run-write.js';
import type { WriteResult } from '../job-results.js';
import type { World } from '../job-context.js';
import type { DemergeOptions } from '../job-options.js';
import type { WriteHooks, WriteRequest } from './write-request.js';

/** Demerges profiles by identity; each identity is sent once. */
export async function demerge(
  request: WriteRequest & DemergeOptions,
  world: World,
  hooks?: WriteHooks,
): Promise<WriteResult> {
  const { identity = 'identity', retryUnknown = false, limit = Number.POSITIVE_INFINITY } = request;
  if (request.recoverQuotes) throw noRecovery('demerges', world.words);
  const seen = new IdentitySet(world.runtime.random);
  return performWrite(
    {
      name: 'demerge',
      listColumn: identity,
      meaning: { ...readMeaning(request), identity },
      frame: ['{"identities":[', ']}'],
      mapper: () => demergeMapper({ identity, retryUnknown }),
      keys: [identity],
      seen,
      survey: (inputs, mapper) =>
        surveyIdentities(firstRecords(inputs.blocks(), limit), (rows) => mapper.map(rows), seen),
    },
    request,
    world,
    hooks,
  );
}
