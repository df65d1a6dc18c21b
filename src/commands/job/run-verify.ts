import { EngagectlError } from '../../errors.js';
import type { VerifyOptions } from '../../jobs/job-options.js';
import { openRecordSink } from '../../jobs/record-sink.js';
import type { WriteProgress } from '../../jobs/results.js';
import { verify } from '../../jobs/verify-job.js';
import type { Call } from '../command-spec.js';
import { needInput } from '../flags/input-flags.js';
import { runJob } from './run-job.js';
import type { VerifyFlags } from '../verify-command.js';

/** Runs verify from its flags to its summary. Throws what the command must end with. */
export async function runVerify(
  call: Pick<Call<VerifyFlags>, 'operands' | 'command' | 'runtime' | 'settings'>,
  flags: Omit<VerifyFlags, 'type' | 'subscriptions' | 'status'> & VerifyOptions,
): Promise<void> {
  const { operands: files, runtime } = call;
  needInput(files, call);
  const { output, settle } = flags;
  if (settle && files.length === 0) {
    throw new EngagectlError('E-USAGE', '--settle needs a rejects file', {
      why: 'it settles records of an unknown outcome, and only that file names them',
      fix: 'name the file that the write left behind: <input>.rejects.ndjson',
    });
  }
  await runJob(
    {
      name: 'verify',
      nouns: 'records',
      flags,
      files: [...files, output],
      concurrency: flags.concurrency,
      reads: true,
      job: async (world, hooks) => {
        const how = { format: 'ndjson', overwrite: flags.overwrite === true } as const;
        const into = async () => openRecordSink(output, how, world);
        return verify({ ...flags, files, into }, world, hooks);
      },
      shown: ({ settled, rejected, waiting, bytesRead }: WriteProgress) => ({
        records: settled,
        rejected,
        bytes: bytesRead,
        totalBytes: undefined,
        inFlight: 0,
        waiting,
      }),
    },
    call.settings(),
    runtime,
  );
}
