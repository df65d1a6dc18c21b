import { EngagectlError } from '../errors.js';
import { AimdLimiter } from '../bulk/adaptive-concurrency.js';
import type { OutcomeLog } from '../jobs/job-context.js';

/** Share of a lease that is used. The rest allows for clocks of different speed. */
const usable = 0.8;

/**
 * The right of a worker to work on a shard, for a time after the queue last granted it. Counted from
 * when the queue was asked, not from its answer: a process may be stopped in between. A process that
 * was stopped finds by its own clock that the lease is over, before it does anything more. The epoch
 * of the shard (fencing token) detects what a clock cannot, such as a suspended machine.
 */
export class Lease {
  readonly #lost = new AbortController();
  readonly #monotonic: () => number;
  readonly #milliseconds: number;
  #grantedAt: number;
  #isCurrent = (): boolean => true;

  /** `requestedAt`: the time on `monotonic` before the queue was asked for the lease. */
  constructor(milliseconds: number, monotonic: () => number, requestedAt: number) {
    this.#milliseconds = milliseconds * usable;
    this.#monotonic = monotonic;
    this.#grantedAt = requestedAt;
  }

  /** Aborted when the lease is lost, which is final. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** From now on, the lease is lost when `isCurrent` returns false: another owner claimed the shard. */
  fence(isCurrent: () => boolean): void {
    this.#isCurrent = isCurrent;
  }

  /** `requestedAt`: the time on `monotonic` before the queue was asked for the renewal. */
  renew(requestedAt: number): void {
    if (this.isHeld()) this.#grantedAt = Math.max(this.#grantedAt, requestedAt);
  }

  lose(): void {
    this.#lost.abort(leaseLost());
  }

  /** Checks the clock and the epoch. */
  isHeld(): boolean {
    if (this.#lost.signal.aborted) return false;
    const isOver = this.#monotonic() - this.#grantedAt > this.#milliseconds;
    if (isOver || !this.#isCurrent()) this.lose();
    return !this.#lost.signal.aborted;
  }

  /** Throws E-RUN-LOCKED. */
  readonly assertHeld = (): void => {
    if (!this.isHeld()) throw leaseLost();
  };
}

const leaseLost = (): EngagectlError =>
  new EngagectlError('E-RUN-LOCKED', 'this worker has lost the lease of the shard', {
    why: 'the lease was not renewed in time, or another worker has taken over the shard',
    fix: 'leave the shard to the fleet',
  });

/**
 * An outcome log that fails once the lease is lost. A commit checks again after the sync: if the lease
 * is still held then, the next owner claims the shard later, and reads what was committed.
 */
export const leasedOutcomes = (log: OutcomeLog, { assertHeld }: Lease): OutcomeLog => ({
  opened: (rows) => log.opened(rows),
  record: (...outcome) => log.record(...outcome),
  skipped: (...rows) => log.skipped(...rows),
  get nonIdempotent() {
    return log.nonIdempotent;
  },
  intend: async (ordinals, kind) => {
    assertHeld();
    await log.intend(ordinals, kind);
    assertHeld();
  },
  retractIntent: async (ordinals) => {
    assertHeld();
    await log.retractIntent(ordinals);
    assertHeld();
  },
  write: () => {
    assertHeld();
    return log.write();
  },
  withReserve: (write) => log.withReserve(write),
  commit: async () => {
    assertHeld();
    await log.commit();
    assertHeld();
  },
});

/**
 * Concurrency limiter of a shard: one request in flight. The number of running shards is the queue's
 * global concurrency, which is the budget of the account. If the lease is lost, its signal stops the
 * run before the request is made.
 */
export class LeasedConcurrency extends AimdLimiter {
  readonly #lease: Lease;

  constructor(lease: Lease) {
    super(1);
    this.#lease = lease;
  }

  override async acquire(): Promise<number> {
    const ticket = await super.acquire();
    this.#lease.isHeld();
    return ticket;
  }
}
