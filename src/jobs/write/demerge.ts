import { countIdentities, IdentitySet } from '../../bulk/write/deduplication.js';
import { limitRecords } from '../../input/row-block.js';
import { demergeMapper } from '../../mapping/demerge-mapper.js';
import { noRecovery, inputFingerprint } from '../input-files.js';
import { runWrite } from './run-write.js';
import type { WriteResult } from '../job-results.js';
import type { JobContext } from '../job-context.js';
import type { DemergeOptions } from '../job-options.js';
import type { WriteHooks, WriteRequest } from './write-request.js';

/** Demerges profiles by identity; each identity is sent once. */
export async function demerge(
  request: WriteRequest & DemergeOptions,
  context: JobContext,
  hooks?: WriteHooks,
): Promise<WriteResult> {
  const { identity = 'identity', retryUnknown = false, limit = Number.POSITIVE_INFINITY } = request;
  if (request.recoverQuotes) throw noRecovery('demerges', context.words);
  const seen = new IdentitySet(context.runtime.random);
  return runWrite(
    {
      name: 'demerge',
      listColumn: identity,
      keyColumns: [identity],
      fingerprinted: { ...inputFingerprint(request), identity },
      frame: ['{"identities":[', ']}'],
      mapper: () => demergeMapper({ identity, retryUnknown }),
      keys: [identity],
      seen,
      countIdentities: (inputs, mapper) =>
        countIdentities(limitRecords(inputs.blocks(), limit), (rows) => mapper.map(rows), seen),
    },
    request,
    context,
    hooks,
  );
}
