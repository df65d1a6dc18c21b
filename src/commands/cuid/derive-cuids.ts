import { deriveCuids, type DeriveCuidsOptions } from '../../jobs/cuid/derive-cuids-job.js';
import type { Call } from '../command-spec.js';
import { needInput } from '../flags/input-flags.js';
import { runJob } from '../job/run-job.js';
import { shownWrite } from '../job/shown-write.js';

export type DeriveFlags = Omit<DeriveCuidsOptions, 'files'>;

/** `cuid derive`: the rows go to stdout or a file, figures to stderr. */
export async function runDerive(call: Call<DeriveFlags>): Promise<void> {
  const { operands: files, flags, runtime } = call;
  needInput(files, call);
  await runJob(
    {
      name: 'cuid derive',
      flags: flags.output === undefined ? {} : { output: flags.output },
      files: [],
      concurrency: 1,
      nouns: 'cuids',
      reads: true,
      job: (world, hooks) => deriveCuids({ ...flags, files }, world, hooks),
      shown: shownWrite,
    },
    call.settings(),
    runtime,
  );
}
