import { EngagectlError } from '../../errors.js';
import type { WriteJob } from './write-job.js';

/** Records from which on a percentage of rejects means something. */
const judgedFrom = 1000;

/** The error to stop with when more records were rejected than `--max-rejects` allows. */
export function rejectLimitReached(
  { maxRejects, tally, rehearsal }: Pick<WriteJob, 'maxRejects' | 'tally' | 'rehearsal'>,
  when: 'running' | 'end',
): EngagectlError | undefined {
  const { rejected, read } = tally.counts;
  if (maxRejects === undefined || rejected === 0) return undefined;
  const limit =
    'records' in maxRejects ? maxRejects.records : Math.floor((read * maxRejects.percent) / 100);
  const judged = 'records' in maxRejects || read >= judgedFrom || when === 'end';
  if (!judged || rejected <= limit) return undefined;
  const allowed = 'records' in maxRejects ? `${maxRejects.records}` : `${maxRejects.percent} %`;
  return new EngagectlError('E-REJECTED', `${rejected} of ${read} records were rejected`, {
    why: `${allowed} are allowed (--max-rejects, --strict)`,
    fix: rehearsal
      ? 'correct the input, or allow more with --max-rejects'
      : 'go on by --resume with a higher --max-rejects, or correct the input and start anew by --fresh',
  });
}
