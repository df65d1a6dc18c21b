import { setImmediate } from 'node:timers/promises';

/** Between two pieces of work: all that has arrived is taken in, and others are served. */
export const nextTurn = (): Promise<void> => setImmediate();

/** One after the other, and before each all that has arrived by then is taken in. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when it is the caller's turn, which ends with what it does at once. */
  next(): Promise<void> {
    this.#last = this.#last.then(nextTurn);
    return this.#last;
  }
}
