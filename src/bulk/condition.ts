/** Condition variable: a waiter checks its own predicate again after each notification. */
export class Condition {
  #waiters: (() => void)[] = [];

  /** Resolves at the next notification. */
  async next(): Promise<void> {
    return new Promise((resolve) => void this.#waiters.push(resolve));
  }

  notifyAll(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
