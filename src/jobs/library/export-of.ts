import type { RecordPage } from '../../output/output.js';
import type { ExportRequest } from '../export/export-documents.js';
import { handedOver } from './handover.js';
import type { DayFileOptions, JobOptions } from '../job-options.js';
import type { Export, JsonObject } from './library.js';
import { foreseen, runOf, type LibraryWorld } from './library-world.js';
import { PageChannel, textsOf } from './page-channel.js';
import type { ExportHooks } from '../export/perform-export.js';
import type { ExportResult } from '../results.js';
import type { World } from '../world.js';

type ExportJob = (
  request: Pick<ExportRequest, 'output' | 'into'> & DayFileOptions,
  world: World,
  hooks?: ExportHooks,
) => Promise<ExportResult>;

/** An export that is done when its records are asked for, or when it is written to a file. */
export function exportOf(
  library: LibraryWorld,
  { signal }: JobOptions,
  job: ExportJob,
): Export<DayFileOptions> {
  const texts = () =>
    textsOf(
      handedOver<RecordPage>(async (pages, left) => {
        const world = library.of(signal ? AbortSignal.any([signal, left]) : left);
        const { error } = await foreseen(job({ into: new PageChannel(pages) }, world), world);
        return error;
      }),
    );
  async function* records(): AsyncGenerator<JsonObject> {
    for await (const text of texts()) yield JSON.parse(text) as JsonObject;
  }
  return {
    texts,
    records,
    [Symbol.asyncIterator]: records,
    toFile: (output, options = {}) => {
      const world = library.of(signal);
      return runOf(world, async (begun) => {
        if (options.resume) library.needRuns();
        return job({ ...options, output: output === '-' ? './-' : output }, world, { begun });
      });
    },
  };
}
