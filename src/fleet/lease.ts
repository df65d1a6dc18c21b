import { EngagectlError } from '../errors.js';
import { AimdLimiter } from '../bulk/adaptive-concurrency.js';
import type { OutcomeLog } from '../jobs/job-context.js';

/** Usable share of a lease; the rest allows for clock differences. */
const usable = 0.8;

/**
 * How long a worker may process a shard: a fixed time after the store last confirmed it. A process that
 * was suspended finds by its own clock that the lease has expired before it does anything else.
 */
export class Lease {
  readonly #lost = new AbortController();
  readonly #monotonic: () => number;
  readonly #milliseconds: number;
  #renewedAt: number;

  constructor(milliseconds: number, monotonic: () => number) {
    this.#milliseconds = milliseconds * usable;
    this.#monotonic = monotonic;
    this.#renewedAt = monotonic();
  }

  /** Aborted when the lease is lost for good. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  renew(): void {
    if (this.isHeld()) this.#renewedAt = this.#monotonic();
  }

  lose(): void {
    this.#lost.abort(leaseLost());
  }

  /** Compares the lease with the clock. */
  isHeld(): boolean {
    if (this.#monotonic() - this.#renewedAt > this.#milliseconds) this.lose();
    return !this.#lost.signal.aborted;
  }

  /** Throws E-RUN-LOCKED. */
  readonly assertHeld = (): void => {
    if (!this.isHeld()) throw leaseLost();
  };
}

const leaseLost = (): EngagectlError =>
  new EngagectlError('E-RUN-LOCKED', 'the lease of this shard has run out', {
    why: 'the store could not be told in time that this worker is alive, so another may go on',
    fix: 'leave the shard to the fleet',
  });

/** Wraps an outcome log so that it rejects writes once the lease is lost. */
export const leasedOutcomes = (log: OutcomeLog, { assertHeld }: Lease): OutcomeLog => ({
  opened: (rows) => log.opened(rows),
  record: (...outcome) => log.record(...outcome),
  skipped: (...rows) => log.skipped(...rows),
  get nonIdempotent() {
    return log.nonIdempotent;
  },
  intend: async (ordinals, kind) => {
    assertHeld();
    return log.intend(ordinals, kind);
  },
  retractIntent: async (ordinals) => {
    assertHeld();
    return log.retractIntent(ordinals);
  },
  write: () => {
    assertHeld();
    return log.write();
  },
  commit: async () => {
    assertHeld();
    return log.commit();
  },
});

/**
 * One request in flight per running shard: the number of running shards is the queue's global
 * concurrency, which is the account's limit. When the lease is lost, the run's signal stops it before
 * the request is made.
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
