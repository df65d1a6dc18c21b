import type { Tally } from '../tally.js';

/**
 * Commits the outcomes of several answers at once: a write that waits for the disk costs about the
 * same for one and for eight. It is put off until somebody waits for an outcome or for a place in
 * flight; so long the requests keep their places, and a crash sends no others again.
 */
export class GroupCommit {
  readonly #tally: Tally;
  #group: Group | undefined;
  #waiting = 0;

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  /** Resolves when what was counted before the call is on the disk. Throws E-FILE-WRITE. */
  async join(): Promise<void> {
    if (this.#tally.log && this.#waiting === 0) {
      this.#group ??= openGroup();
      await this.#group.started;
    }
    await this.#tally.commit();
  }

  /** Waits for an event that may need what was put off. */
  async hurry<T>(event: Promise<T>): Promise<T> {
    this.#waiting += 1;
    this.#group?.start();
    this.#group = undefined;
    try {
      return await event;
    } finally {
      this.#waiting -= 1;
    }
  }
}

interface Group {
  readonly started: Promise<void>;
  readonly start: () => void;
}

function openGroup(): Group {
  let start!: () => void;
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  return { started, start };
}
