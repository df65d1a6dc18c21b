import { EngagectlError, interruptionError, groupDigits, fractionOf } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { Tally } from '../outcomes/tally.js';
import type { WriteJob } from './write-job.js';

/** Milliseconds that requests in flight get to finish after an interrupt. */
const graceMilliseconds = 10_000;

/** Whether a run stops early, why, and how far: first nothing more is sent, then all is given up. */
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

  /** The first thing that stopped the run. */
  get error(): EngagectlError | undefined {
    return this.#error;
  }

  /** Aborted when nothing more is to be sent. */
  get drainSignal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Aborted when requests in flight are given up, too. */
  get abortSignal(): AbortSignal {
    return this.#giveUp.signal;
  }

  stopAt(error: EngagectlError | undefined): void {
    if (error === undefined || this.#error) return;
    this.#error = error;
    this.#stop.abort(error);
  }

  /** Runs a part of the work; what it throws stops the run instead of passing through. */
  async guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#stopBy(error);
    }
  }

  /** The same for work that waits for nothing; false when it threw. */
  attempt(work: () => boolean): boolean {
    try {
      return work();
    } catch (error) {
      this.#stopBy(error);
      return false;
    }
  }

  /** Waits; false when the run stopped meanwhile. */
  async sleep(milliseconds: number): Promise<boolean> {
    try {
      await this.#runtime.sleep(milliseconds, this.drainSignal);
      return true;
    } catch (error) {
      if (this.#error) return false;
      throw error;
    }
  }

  /** Ends the watch over the run. Throws what was a defect of ours. */
  close(): void {
    this.#runtime.signal.removeEventListener('abort', this.#interrupted);
    this.#giveUp.abort();
    if (this.#defect !== undefined) throw this.#defect;
  }

  #stopBy(error: unknown): void {
    if (error instanceof EngagectlError) return this.stopAt(error);
    this.#defect ??= error;
    this.stopAt(new EngagectlError('E-INTERRUPTED', 'stopped by a defect', { cause: error }));
  }

  readonly #interrupted = (): void => {
    const { signal, sleep } = this.#runtime;
    this.stopAt(interruptionError(signal.reason));
    sleep(graceMilliseconds, this.abortSignal).then(
      () => this.#giveUp.abort(signal.reason),
      () => undefined, // everything settled in time
    );
  };
}

/** Records of which one at least has to be another case than the others. */
const alikeAtMost = 5000;

/** Records from which on a percentage of rejects means something. */
const judgedFrom = 1000;

/** The error to stop with when more records were rejected than are allowed. */
export function checkRejectLimit(
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
  const allowed =
    'records' in maxRejects ? groupDigits(maxRejects.records) : `${maxRejects.percent} %`;
  const higher = option('maxRejects');
  const of = when === 'end' ? 'of' : 'of the first';
  return new EngagectlError('E-REJECTED', `${fractionOf(rejected, read, 'records', of)} rejected`, {
    why: `at most ${allowed} may be (${higher}, ${option('strict')})`,
    fix: rehearsal
      ? `correct the input, or allow more with ${higher}`
      : `correct the input and run the same command again; or go on by ${option('resume')} with a higher ${higher}`,
    resumes: !rehearsal,
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
  const what = `each of the first ${groupDigits(rejected)} records was rejected, for the same reason`;
  return new EngagectlError('E-REJECTED', what, {
    why: samples.first[0]?.error,
    personal: samples.first[0]?.personal,
    fix: `correct what they have in common and run the same command again; ${option('maxRejects', '100%')} sends the rest all the same`,
  });
}
