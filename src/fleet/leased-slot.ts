import { Gate } from '../jobs/ports.js';
import type { Lease } from './lease.js';

/**
 * The one request in flight of a running shard: how many shards run is the queue's global
 * concurrency, which is the account's budget. When the lease is lost, the run is stopped by its
 * signal before the request is made.
 */
export class LeasedSlot extends Gate {
  readonly #lease: Lease;

  constructor(lease: Lease) {
    super(1);
    this.#lease = lease;
  }

  override async enter(): Promise<number> {
    const ticket = await super.enter();
    this.#lease.isHeld();
    return ticket;
  }
}
