/** Units of work between two turns: bytes of text. Some milliseconds. */
const unitsPerTurn = 256 * 1024;

/**
 * Lets the event loop turn after every so much work, so that signals, answers and timers do not wait for long: bytes that are
 * in memory already are worked through without a turn otherwise.
 */
export class Breaks {
  #units = 0;

  /** Counts work that was done: the bytes of text that were looked at. True when a break is due. */
  areDue(units: number): boolean {
    this.#units += units;
    return this.#units >= unitsPerTurn;
  }

  /** Resolves when whoever waits for the event loop had its turn. */
  async take(): Promise<void> {
    this.#units = 0;
    await new Promise(setImmediate);
  }
}
