import { setImmediate } from 'node:timers/promises';

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
