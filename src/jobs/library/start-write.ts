import { EngagectlError } from '../../errors.js';
import type { JobOptions, WriteOptions } from '../job-options.js';
import type { Source, WriteRun } from './library.js';
import { runOf, type LibraryWorld } from './library-world.js';
import type { WriteHooks, WriteRequest } from '../write/write-request.js';
import { RejectsQueue } from './rejects-queue.js';
import type { WriteResult } from '../results.js';
import { openSource } from './open-source.js';
import type { World } from '../world.js';

type WriteJob<Options> = (
  request: WriteRequest & Options,
  world: World,
  hooks: WriteHooks,
) => Promise<WriteResult>;

/** Begins a write; `load` gives the function that does it. */
export function startWrite<Options extends WriteOptions>(
  library: LibraryWorld,
  load: () => Promise<WriteJob<Options>>,
  { source, options }: { readonly source: Source; readonly options: Options & JobOptions },
): WriteRun {
  const rejects = new RejectsQueue();
  const { files, stream, format } = openSource(source);
  const world = library.of(options.signal, stream);
  const work = runOf(world, async (begun) => {
    refuseNumbers(options);
    if (options.resume) library.needRuns();
    const job = await load();
    return job(
      { ...(format && { inputFormat: format }), ...options, files, journal: library.keepsRuns },
      world,
      { begun, rejected: (record) => rejects.add(record), ready: () => rejects.ready() },
    );
  });
  const { lines, ...run } = rejects.of(work);
  return { ...run, rejects: lines };
}

/** Numbers that would make the run wait for ever. The service judges those that are too large. */
function refuseNumbers(options: WriteOptions): void {
  for (const name of ['chunkSize', 'chunkBytes', 'concurrency', 'maxRecordBytes'] as const) {
    const value = options[name];
    if (value === undefined || (Number.isInteger(value) && value > 0)) continue;
    throw new EngagectlError('E-USAGE', `${name} ${value} is no whole number above 0`);
  }
}
