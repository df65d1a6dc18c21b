import type { Database } from '../store/database.js';

/**
 * Collects the changes of one event-loop turn: stores them in one transaction, then sends the frames. So no
 * client receives a frame whose cause a killed router would forget.
 */
export class TurnTransaction {
  readonly #store: Database;
  readonly #onDefect: (error: unknown) => void;
  /** Keyed by object, so that several changes of one object are stored once. */
  #saves = new Map<unknown, () => void>();
  #sends: (() => void)[] = [];
  #isDue = false;

  constructor(store: Database, onDefect: (error: unknown) => void) {
    this.#store = store;
    this.#onDefect = onDefect;
  }

  /** Schedules a write of an object, replacing an earlier one of this turn. */
  save(object: unknown, write: () => void): void {
    this.#saves.set(object, write);
    this.#begin();
  }

  /** Schedules sending, after the writes. */
  send(send: () => void): void {
    this.#sends.push(send);
    this.#begin();
  }

  /** Ends the turn now. Failed writes are retried at the end of the next turn; calls continue. */
  end(): void {
    const { background } = this.#store;
    // Writing would hold the event loop until the statements on the other thread are done.
    if (background) return void background.then(() => this.end());
    this.#isDue = false;
    const [saves, sends] = [this.#saves, this.#sends];
    this.#sends = [];
    try {
      if (saves.size > 0) this.#store.transaction(() => saves.forEach((write) => write()));
      this.#saves = new Map();
    } catch (error) {
      this.#onDefect(error);
    }
    for (const send of sends) send();
  }

  #begin(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      if (this.#isDue) this.end();
    });
  }
}
