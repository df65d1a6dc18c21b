import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import type { Socket } from 'node:net';

/** Lets pending I/O and other requests run before the caller continues. */
export const yieldToEventLoop = (): Promise<void> => setImmediate();

/** A FIFO mutex. Pending I/O is handled before each turn, so all requests that have arrived are counted. */
export class RequestMutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves when it is the caller's turn. The turn lasts until the caller yields. */
  next(): Promise<void> {
    return this.run(() => undefined);
  }

  /** Runs `work` when its turn comes and releases the mutex when it has settled. */
  run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const done = this.#last.then(yieldToEventLoop).then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

const pauseMilliseconds = 5;
/** Consecutive pauses without an arrival after which look-ups are answered. */
const quietPauses = { steady: 1, other: 5, lastSlot: 20 };
const mostPauses = 100;

/**
 * Holds look-ups until no more arrive, so that the number of those beyond the concurrency limit does not depend on how
 * fast a client sends them: a look-up takes less time than a client needs to send the next one.
 */
export class LookUpHold {
  #arrived = 0;
  #accepted = 0;
  /** Pauses that each held look-up demands. */
  readonly #demands: number[] = [];
  /** Connections whose latest look-up was answered while none was rejected: of clients that stay within the limit. */
  readonly #steady = new WeakSet<Socket>();

  /** Counts a look-up. Returns a function that holds it, to be called at once if it is within the concurrency limit. */
  arrived(connection: Socket): (isLastSlot: boolean) => Promise<void> {
    this.#arrived++;
    const isSteady = this.#steady.delete(connection);
    return async (isLastSlot) => {
      this.#accepted++;
      const rejected = this.#rejected;
      const demand = quietPauses[isSteady ? 'steady' : isLastSlot ? 'lastSlot' : 'other'];
      this.#demands.push(demand);
      await this.#quiet();
      this.#demands.splice(this.#demands.indexOf(demand), 1);
      if (rejected === this.#rejected) this.#steady.add(connection);
    };
  }

  get #rejected(): number {
    return this.#arrived - this.#accepted;
  }

  /** Resolves when nothing has arrived for 5, 25 or 100 ms, after 500 ms at the latest. */
  async #quiet(): Promise<void> {
    let seen = this.#arrived;
    for (let pauses = 0, quiet = 0; pauses < mostPauses; pauses++) {
      await delay(pauseMilliseconds);
      await yieldToEventLoop();
      quiet = seen === this.#arrived ? quiet + 1 : 0;
      seen = this.#arrived;
      if (quiet >= Math.max(...this.#demands)) return;
    }
  }
}
