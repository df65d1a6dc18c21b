import { openSource } from './open-source.js';
import type { JobOptions, VerifyOptions } from '../job-options.js';
import type { Source, VerifyDifference, VerifyRun } from './library.js';
import { runOf, type LibraryWorld } from './library-world.js';
import { RejectsQueue } from './rejects-queue.js';
import type { RejectedRecord } from '../results.js';

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
    const { verify } = await import('../verify-job.js');
    const request = { ...(format && { inputFormat: format }), ...options, files };
    return verify({ ...request, into: () => Promise.resolve(sink) }, world, { begun });
  });
  const { lines, ...run } = found.of(work);
  return { ...run, differences: lines };
}
