import type { Tally } from '../tally.js';

/**
 * Commits the outcomes of several answers at once: a write that waits for the disk costs about the
 * same for one and for six. It is put off until most places in flight wait for it, or somebody
 * else does: for an outcome, or for a place. So long the requests keep their places, and
 * a crash sends no others again.
 */
export class GroupCommit {
  readonly #tally: Tally;
  readonly #most: number;
  #group: Group | undefined;
  /** Who waits for anything but the commit itself. */
  #waiting = 0;

  constructor(tally: Tally, places: number) {
    this.#tally = tally;
    this.#most = (3 / 4) * places; // the others go on while the disk is waited for
  }

  /** Resolves when what was counted before the call is on the disk. Throws E-FILE-WRITE. */
  async join(): Promise<void> {
    if (this.#tally.log) {
      this.#group ??= openGroup();
      const { started } = this.#group;
      this.#group.members += 1;
      if (this.#waiting > 0 || this.#group.members >= this.#most) this.#start();
      await started;
    }
    await this.#tally.commit();
  }

  /** Waits for an event that may need what was put off. */
  async hurry<T>(event: Promise<T>): Promise<T> {
    this.#waiting += 1;
    this.#start();
    try {
      return await event;
    } finally {
      this.#waiting -= 1;
    }
  }

  #start(): void {
    this.#group?.start();
    this.#group = undefined;
  }
}

interface Group {
  members: number;
  readonly started: Promise<void>;
  readonly start: () => void;
}

function openGroup(): Group {
  let start!: () => void;
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  return { members: 0, started, start };
}
