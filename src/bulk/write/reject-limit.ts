import { EngagectlError, grouped, someWere } from '../../errors.js';
import type { Tally } from '../outcomes/tally.js';
import type { WriteJob } from './write-job.js';

/** Records of which one at least has to be another case than the others. */
const alikeAtMost = 5000;

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
  if (rejected === 0) return undefined;
  if (maxRejects === undefined) {
    const isSent = rehearsal !== 'check' && when === 'running';
    return isSent ? allRejectedAlike(tally, option) : undefined;
  }
  const limit =
    'records' in maxRejects ? maxRejects.records : Math.floor((read * maxRejects.percent) / 100);
  const judged = 'records' in maxRejects || read >= judgedFrom || when === 'end';
  if (!judged || rejected <= limit) return undefined;
  const allowed = 'records' in maxRejects ? grouped(maxRejects.records) : `${maxRejects.percent} %`;
  const higher = option('maxRejects');
  const of = when === 'end' ? 'of' : 'of the first';
  return new EngagectlError('E-REJECTED', `${someWere(rejected, read, 'records', of)} rejected`, {
    why: `at most ${allowed} may be (${higher}, ${option('strict')})`,
    fix: rehearsal
      ? `correct the input, or allow more with ${higher}`
      : `correct the input and run the same command again; or go on by ${option('resume')} with a higher ${higher}`,
  });
}

/** What is wrong with all of the first thousands is wrong with the rest, too. */
function allRejectedAlike(
  { counts, samples }: Tally,
  option: WriteJob['option'],
): EngagectlError | undefined {
  const { read, rejected, accepted, resumed, unknown, duplicates, unchanged } = counts;
  if (rejected < alikeAtMost || !samples.areAlike) return undefined;
  if (accepted + resumed + unknown + duplicates + unchanged > 0) return undefined;
  // Records that are under way may be taken yet, unless the service refused all others.
  if (read > rejected && !samples.first[0]?.kind.startsWith('service')) return undefined;
  const what = `each of the first ${grouped(rejected)} records was rejected, for the same reason`;
  return new EngagectlError('E-REJECTED', what, {
    why: samples.first[0]?.error,
    personal: samples.first[0]?.personal,
    fix: `correct what they have in common and run the same command again; ${option('maxRejects', '100%')} sends the rest all the same`,
  });
}
