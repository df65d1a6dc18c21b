import type { Budget } from '../jobs/ports.js';
import type { Lease } from './lease.js';

/**
 * The one request in flight of a running shard: how many shards run is the queue's global
 * concurrency, which is the account's budget. When the lease is lost, the run is stopped by its
 * signal before the request is made.
 */
export class LeasedSlot implements Budget {
  readonly most = 1;
  readonly limit = 1;
  onFull: () => void = () => undefined;
  readonly #lease: Lease;
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  constructor(lease: Lease) {
    this.#lease = lease;
  }

  get inFlight(): number {
    return this.#isTaken ? 1 : 0;
  }

  get isAsked(): boolean {
    return this.#waiting.length > 0;
  }

  async enter(): Promise<number> {
    if (this.#isTaken) this.onFull();
    while (this.#isTaken) {
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    }
    this.#isTaken = true;
    this.#lease.isHeld();
    return 0;
  }

  leave(slots = 1): void {
    if (slots === 0) return;
    this.#isTaken = false;
    this.#waiting.shift()?.();
  }

  /** There is nothing to grow or to cut: the request that was turned down waits by itself. */
  succeeded(): void {}
  throttled(): void {}
}
