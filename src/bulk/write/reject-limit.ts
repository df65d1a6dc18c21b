import { EngagectlError, grouped } from '../../errors.js';
import type { WriteJob } from './write-job.js';

/** Records from which on a percentage of rejects means something. */
const judgedFrom = 1000;

/** The error to stop with when more records were rejected than are allowed. */
export function rejectLimitReached(
  {
    maxRejects,
    tally,
    rehearsal,
    option,
  }: Pick<WriteJob, 'maxRejects' | 'tally' | 'rehearsal' | 'option'>,
  when: 'running' | 'end',
): EngagectlError | undefined {
  const { rejected, read } = tally.counts;
  if (maxRejects === undefined || rejected === 0) return undefined;
  const limit =
    'records' in maxRejects ? maxRejects.records : Math.floor((read * maxRejects.percent) / 100);
  const judged = 'records' in maxRejects || read >= judgedFrom || when === 'end';
  if (!judged || rejected <= limit) return undefined;
  const allowed = 'records' in maxRejects ? `${maxRejects.records}` : `${maxRejects.percent} %`;
  const higher = option('maxRejects');
  const goOn = `go on by ${option('resume')} with a higher ${higher}`;
  return new EngagectlError(
    'E-REJECTED',
    `${grouped(rejected)} of ${grouped(read)} records were rejected`,
    {
      why: `${allowed} are allowed (${higher}, ${option('strict')})`,
      fix: rehearsal
        ? `correct the input, or allow more with ${higher}`
        : `${goOn}, or correct the input and start anew by ${option('fresh')}`,
    },
  );
}
