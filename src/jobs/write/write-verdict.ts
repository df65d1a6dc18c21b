import {
  EngagectlError,
  exitCodes,
  grouped,
  mostSerious,
  someWere,
  type ExitCode,
} from '../../errors.js';
import { whyRejected } from '../why-rejected.js';
import type { Tally } from '../../bulk/outcomes/tally.js';
import type { Rehearsal } from '../job-options.js';
import type { Words } from '../job-context.js';

interface EndedWrite {
  readonly stopped: EngagectlError | undefined;
  readonly job: string;
  readonly rehearsal: Rehearsal | undefined;
  readonly words: Words;
}

/** The most serious thing that can be said of a write that ended; undefined when all went well. */
export function writeVerdict(
  tally: Tally,
  { stopped, job, rehearsal, words }: EndedWrite,
): EngagectlError | undefined {
  const { rejects } = tally;
  const { read, rejected, unknown } = tally.counts;
  const codes: ExitCode[] = [];
  if (stopped) codes.push(stopped.exitCode);
  if (unknown > 0) codes.push(exitCodes.unknown);
  if (rejected > 0) codes.push(exitCodes.rejected);
  const worst = mostSerious(codes);

  if (stopped?.exitCode === worst) return stopped;
  if (worst === exitCodes.unknown) {
    const again = `sending that file with ${words.option('retryUnknown')} sends them again`;
    const message = `the outcome of ${grouped(unknown)} of ${grouped(read)} records is unknown`;
    return new EngagectlError('E-UNKNOWN', message, {
      why: stopped?.message ?? 'no answer told whether the service processed them',
      fix: rejects.missing > 0 ? stopped?.details.fix : `${words.lookUp(rejects.path)}; ${again}`,
      cause: stopped,
    });
  }
  if (worst === exitCodes.rejected) {
    return new EngagectlError('E-REJECTED', `${someWere(rejected, read, 'records')} rejected`, {
      why: whyRejected(tally.samples),
      fix: rehearsal
        ? `correct them in the input; ${rejects.path} says where and why`
        : words.correct(job, rejects.path),
    });
  }
  return undefined;
}
