import {
  EngagectlError,
  exitCodes,
  interruptionError,
  graceMilliseconds,
  groupDigits,
  fractionOf,
} from '../../errors.js';
import { finishedCount } from '../outcomes/outcome-counts.js';
import type { Runtime } from '../../runtime.js';
import type { Tally } from '../outcomes/tally.js';
import type { WriteJob } from './write-job.js';

/** Stops a run early in two stages: first it sends nothing more, then it aborts requests in flight. */
export class RunStop {
  readonly #runtime: Pick<Runtime, 'signal' | 'sleep'>;
  readonly #stop = new AbortController();
  readonly #giveUp = new AbortController();
  #error: EngagectlError | undefined;
  #defect: unknown;

  constructor(runtime: Pick<Runtime, 'signal' | 'sleep'>) {
    this.#runtime = runtime;
    if (runtime.signal.aborted) this.#interrupted();
    else runtime.signal.addEventListener('abort', this.#interrupted, { once: true });
  }

  /** The error that stopped the run. */
  get error(): EngagectlError | undefined {
    return this.#error;
  }

  /** Aborted when nothing more is to be sent. */
  get drainSignal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Aborted when requests in flight are aborted, too. */
  get abortSignal(): AbortSignal {
    return this.#giveUp.signal;
  }

  /** Stops the run with an error. Later errors are ignored, unless it was too many rejects: all others are more serious. */
  stopAt(error: EngagectlError | undefined): void {
    if (error === undefined) return;
    if (this.#error && this.#error.exitCode !== exitCodes.rejected) return;
    this.#error = error;
    this.#stop.abort(error);
  }

  /** Runs a part of the work. An error stops the run instead of propagating. */
  async guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#stopBy(error);
    }
  }

  /** The same for synchronous work; returns false if it threw. */
  attempt(work: () => boolean): boolean {
    try {
      return work();
    } catch (error) {
      this.#stopBy(error);
      return false;
    }
  }

  /** Waits; returns false if the run stopped. */
  async sleep(milliseconds: number): Promise<boolean> {
    try {
      await this.#runtime.sleep(milliseconds, this.drainSignal);
      return true;
    } catch (error) {
      if (this.#error) return false;
      throw error;
    }
  }

  /** Removes the listeners. Throws a defect that stopped the run. */
  close(): void {
    this.#runtime.signal.removeEventListener('abort', this.#interrupted);
    this.#giveUp.abort();
    if (this.#defect !== undefined) throw this.#defect;
  }

  #stopBy(error: unknown): void {
    if (error instanceof EngagectlError) return this.stopAt(error);
    this.#defect ??= error;
    this.stopAt(
      new EngagectlError('E-INTERRUPTED', 'stopped by a defect in engagectl', { cause: error }),
    );
  }

  readonly #interrupted = (): void => {
    const { signal, sleep } = this.#runtime;
    this.stopAt(interruptionError(signal.reason));
    sleep(graceMilliseconds, this.abortSignal).then(
      () => this.#giveUp.abort(signal.reason),
      () => undefined, // all requests finished in time
    );
  };
}

/** Rejects with the same reason, and no success, that stop a run. */
const alikeMaximum = 5000;

/** Minimum records before a percentage of rejects is evaluated. */
const percentageMinimum = 1000;

/** Returns the error if more records were rejected than `--max-rejects` allows. */
export function checkRejectLimit(
  {
    maxRejects,
    tally,
    rehearsal,
    piped,
    isResumable,
    option,
  }: Pick<WriteJob, 'maxRejects' | 'tally' | 'rehearsal' | 'piped' | 'isResumable' | 'option'>,
  when: 'running' | 'end',
): EngagectlError | undefined {
  const { rejected, read } = tally.counts;
  if (rejected === 0) return undefined;
  if (maxRejects === undefined) {
    const isSent = rehearsal !== 'check' && when === 'running';
    // A pipe cannot be read again: the rest of it would be lost.
    return isSent && !piped ? allRejectedAlike(tally, option) : undefined;
  }
  const limit =
    'records' in maxRejects ? maxRejects.records : Math.floor((read * maxRejects.percent) / 100);
  const isDue = 'records' in maxRejects || read >= percentageMinimum || when === 'end';
  if (!isDue || rejected <= limit) return undefined;
  const allowed =
    'records' in maxRejects ? groupDigits(maxRejects.records) : `${maxRejects.percent} %`;
  const higher = option('maxRejects');
  const resume = isResumable ? `resume with ${option('resume')} and ` : 'do so with ';
  const of = when === 'end' ? 'of' : 'of the first';
  return new EngagectlError('E-REJECTED', `${fractionOf(rejected, read, 'records', of)} rejected`, {
    why: `the limit is ${allowed} (${higher}, ${option('strict')})`,
    fix: rehearsal
      ? `correct the input, or raise the limit with ${higher}`
      : `correct the input and rerun the same command; or ${resume}a higher ${higher}`,
    resumes: !rehearsal,
  });
}

/** Returns the error if all of the first thousands of records were rejected for the same reason. */
function allRejectedAlike(
  { counts, samples }: Tally,
  option: WriteJob['option'],
): EngagectlError | undefined {
  const { read, rejected, notSent } = counts;
  if (rejected < alikeMaximum || !samples.areAlike) return undefined;
  if (finishedCount(counts) > rejected + notSent) return undefined;
  // Records in flight may still be accepted, unless the service rejected all others.
  if (read > rejected && !samples.first[0]?.kind.startsWith('service')) return undefined;
  const what = `each of the first ${groupDigits(rejected)} records was rejected, for the same reason`;
  return new EngagectlError('E-REJECTED', what, {
    why: samples.first[0]?.error,
    personal: samples.first[0]?.personal,
    fix: `correct what they have in common and rerun the same command; ${option('maxRejects', '100%')} sends the rest anyway`,
  });
}
