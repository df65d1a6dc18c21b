import { EngagectlError, exitCodes, mostSerious, type ExitCode } from '../../errors.js';
import type { Tally } from '../tally.js';

/** The most serious thing that can be said of a run that ended; undefined when all went well. */
export function verdict(
  { counts, rejects }: Tally,
  {
    stopped,
    command,
    trial,
  }: {
    readonly stopped: EngagectlError | undefined;
    readonly command: string;
    readonly trial: boolean;
  },
): EngagectlError | undefined {
  const { read, rejected, unknown } = counts;
  const codes: ExitCode[] = [];
  if (stopped) codes.push(stopped.exitCode);
  if (unknown > 0) codes.push(exitCodes.unknown);
  if (rejected > 0) codes.push(exitCodes.rejected);
  const worst = mostSerious(codes);

  if (stopped?.exitCode === worst) return stopped;
  if (worst === exitCodes.unknown) {
    return new EngagectlError(
      'E-UNKNOWN',
      `the outcome of ${unknown} of ${read} records is unknown`,
      {
        why: stopped?.message ?? 'no answer told whether the service processed them',
        fix:
          rejects.missing > 0
            ? stopped?.details.fix
            : `look them up in ${rejects.path}; sending that file with --retry-unknown sends them again`,
        cause: stopped,
      },
    );
  }
  if (worst === exitCodes.rejected) {
    return new EngagectlError('E-REJECTED', `${rejected} of ${read} records were rejected`, {
      fix: trial
        ? `correct them in the input; ${rejects.path} says where and why`
        : `correct ${rejects.path}, then: engagectl ${command} ${rejects.path}, with the same options`,
    });
  }
  return undefined;
}
