/** Bytes of text processed between two turns: a few milliseconds. */
const unitsPerTurn = 256 * 1024;

/**
 * Yields to the event loop after a fixed amount of work, so that signals, responses and timers do not
 * wait long: bytes in memory would otherwise be processed without a turn.
 */
export class Breaks {
  #units = 0;

  /** Adds the bytes of text that were processed. True if a break is due. */
  areDue(units: number): boolean {
    this.#units += units;
    return this.#units >= unitsPerTurn;
  }

  /** Resolves after other work had its turn. */
  async take(): Promise<void> {
    this.#units = 0;
    await nextTurn();
  }
}

/** Resolves when the event loop has looked for input once more. */
export const nextTurn = async (): Promise<void> =>
  new Promise((resolve) => void setImmediate(resolve));

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
