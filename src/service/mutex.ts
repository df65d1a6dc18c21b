import { setImmediate } from 'node:timers/promises';

/** Between two pieces of work: all that has arrived is taken in, and others are served. */
export const yieldToEventLoop = (): Promise<void> => setImmediate();

/** One after the other, and before each all that has arrived by then is taken in. */
export class RequestMutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves when it is the caller's turn, which ends with what it does at once. */
  next(): Promise<void> {
    return this.take(() => undefined);
  }

  /** Does the work when its turn comes; the next one comes when the work is done. */
  take<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const done = this.#last.then(yieldToEventLoop).then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
