import { EngagectlError } from '../../errors.js';
import { runOf, type LibraryWorld } from './library-context.js';
import { RejectsQueue } from './async-channel.js';
import { openSource } from './open-source.js';
import type { JobOptions, WriteOptions, VerifyOptions } from '../job-options.js';
import type { Source, WriteRun, VerifyDifference, VerifyRun } from './api.js';
import type { WriteHooks, WriteRequest } from '../write/write-request.js';
import type { WriteResult, RejectedRecord } from '../job-results.js';
import type { World } from '../job-context.js';

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

/** Begins to read back what a source says was sent. */
export function startVerify(
  library: LibraryWorld,
  source: Source,
  options: VerifyOptions & JobOptions,
): VerifyRun {
  const found = new RejectsQueue<VerifyDifference | RejectedRecord>();
  const { files, stream, format } = openSource(source);
  const world = library.of(options.signal, stream);
  const sink = {
    write: async (line: Buffer) => {
      found.add(JSON.parse(line.toString()) as VerifyDifference | RejectedRecord);
      await found.ready();
    },
    finish: () => Promise.resolve(),
    abort: () => Promise.resolve(),
  };
  const work = runOf(world, async (begun) => {
    const { verify } = await import('../verify/verify.js');
    const request = { ...(format && { inputFormat: format }), ...options, files };
    return verify({ ...request, into: () => Promise.resolve(sink) }, world, { begun });
  });
  const { lines, ...run } = found.of(work);
  return { ...run, differences: lines };
}
