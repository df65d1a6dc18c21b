import { EngagectlError } from '../errors.js';
import { AimdLimiter } from '../bulk/adaptive-concurrency.js';
import type { OutcomeLog } from '../jobs/job-context.js';

/** Of a lease: what is left of it is for the difference of two clocks. */
const usable = 0.8;

/**
 * How long a worker may go on with a shard: until a while after the store said so last. A process
 * that was stopped meanwhile finds by its own clock that it may not, before it does anything more.
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

  /** Aborted when it is lost, for good. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  renew(): void {
    if (this.isHeld()) this.#renewedAt = this.#monotonic();
  }

  lose(): void {
    this.#lost.abort(leaseLost());
  }

  /** Looks at the clock. */
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

/** An outcome log that takes nothing any more once the lease is lost. */
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
 * The one request in flight of a running shard: how many shards run is the queue's global
 * concurrency, which is the account's budget. When the lease is lost, the run is stopped by its
 * signal before the request is made.
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
