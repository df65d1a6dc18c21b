import { setImmediate, setTimeout as delay } from 'node:timers/promises';

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
const mostPauses = 10;

/**
 * Waits for a pause between arrivals. A look-up takes less time than a client needs to send the next one, so the number
 * of parallel requests beyond the concurrency limit would vary otherwise.
 */
export class ArrivalPause {
  #arrivals = 0;

  arrived(): void {
    this.#arrivals++;
  }

  /** Resolves when nothing has arrived for 5 ms, after 50 ms at the latest. */
  async wait(): Promise<void> {
    for (let pauses = 0, seen; pauses < mostPauses && seen !== this.#arrivals; pauses++) {
      seen = this.#arrivals;
      await delay(pauseMilliseconds);
      await yieldToEventLoop();
    }
  }
}
