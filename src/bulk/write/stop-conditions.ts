import { EngagectlError, interruption } from '../../errors.js';
import type { Runtime } from '../../runtime.js';

/** Milliseconds that requests in flight get to finish after an interrupt. */
const graceMilliseconds = 10_000;

/** Whether a run stops early, why, and how far: first nothing more is sent, then all is given up. */
export class Halt {
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
  get stopping(): AbortSignal {
    return this.#stop.signal;
  }

  /** Aborted when requests in flight are given up, too. */
  get givingUp(): AbortSignal {
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
      await this.#runtime.sleep(milliseconds, this.stopping);
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
    this.stopAt(interruption(signal.reason));
    sleep(graceMilliseconds, this.givingUp).then(
      () => this.#giveUp.abort(signal.reason),
      () => undefined, // everything settled in time
    );
  };
}
