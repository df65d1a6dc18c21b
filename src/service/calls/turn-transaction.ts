import type { Database } from '../store/database.js';

/**
 * What happens in one turn of the event loop: all of it is stored in one transaction, and only then
 * is any of it sent. So no client knows what a router that is killed would forget.
 */
export class TurnTransaction {
  readonly #store: Database;
  readonly #onDefect: (error: unknown) => void;
  /** By what is stored, so that several changes of a turn are stored once. */
  #saves = new Map<unknown, () => void>();
  #sends: (() => void)[] = [];
  #isDue = false;

  constructor(store: Database, onDefect: (error: unknown) => void) {
    this.#store = store;
    this.#onDefect = onDefect;
  }

  save(what: unknown, write: () => void): void {
    this.#saves.set(what, write);
    this.#begin();
  }

  send(send: () => void): void {
    this.#sends.push(send);
    this.#begin();
  }

  /** Ends the turn now. What cannot be stored is tried again with the next turn; calls go on. */
  end(): void {
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
