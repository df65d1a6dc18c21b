import { countIdentities, IdentitySet } from '../../bulk/write/deduplication.js';
import { limitRecords } from '../../input/row-block.js';
import { demergeMapper } from '../../mapping/demerge-mapper.js';
import { noRecovery, inputFingerprint } from '../input-files.js';
import { cellCleaning } from '../../text/cell-cleaning.js';
import { runWrite } from './run-write.js';
import type { WriteResult } from '../job-results.js';
import type { JobContext } from '../job-context.js';
import type { DemergeOptions, ReadOptions } from '../job-options.js';
import type { RecordForm, WriteHooks, WriteRequest } from './write-request.js';

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
      formOf: async (options) => formOf(options as unknown as Fingerprinted),
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

type Fingerprinted = ReadOptions & { readonly identity: string };

/** Returns the form of the records of an earlier demerge. The column of a list has the name that this one gives it. */
const formOf = ({ identity, ...options }: Fingerprinted): RecordForm => ({
  cleaning: cellCleaning(options),
  reading: options,
  mapper: () => ({
    map: (rows) => {
      const header = rows.cells?.header;
      const column = header?.length === 1 ? header[0]! : identity;
      return demergeMapper({ identity: column, retryUnknown: true }).map(rows);
    },
  }),
});
