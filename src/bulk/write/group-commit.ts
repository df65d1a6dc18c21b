import type { Gate } from '../gate.js';
import type { Tally } from '../tally.js';
import type { Halt } from './halt.js';

/** Places in flight whose outcomes are committed together. */
interface Group {
  places: number;
  readonly committed: Promise<void>;
  readonly resolve: () => void;
}

/**
 * Commits the outcomes of several answers at once: a write that waits for the disk costs about the
 * same for one and for six. It is put off until most places in flight wait for it, or somebody
 * waits for what it gives back. So long the requests keep their places, and a crash sends no
 * others again.
 */
export class GroupCommit {
  readonly #tally: Tally;
  readonly #halt: Halt;
  readonly #gate: Gate;
  /** Places from which on it is not put off: the others go on while the disk is waited for. */
  readonly #most: number;
  #group: Group | undefined;
  /** Who waits for anything but a commit itself. */
  #waiting = 0;

  constructor(
    { tally, concurrency }: { readonly tally: Tally; readonly concurrency: number },
    parts: { readonly halt: Halt; readonly gate: Gate },
  ) {
    this.#tally = tally;
    this.#halt = parts.halt;
    this.#gate = parts.gate;
    this.#most = (5 / 8) * concurrency;
  }

  /**
   * Keeps a place until what was counted before the call is on the disk; resolves then. What
   * cannot be written down stops the run instead, before the place is free.
   */
  async keepPlace(): Promise<void> {
    const group = (this.#group ??= openGroup());
    group.places += 1;
    if (!this.#tally.log || this.#waiting > 0 || group.places >= this.#most) this.#start();
    return group.committed;
  }

  /** Waits for an event that may need what was put off. */
  async hurry(event: Promise<void>): Promise<void> {
    this.#waiting += 1;
    this.#start();
    try {
      await event;
    } finally {
      this.#waiting -= 1;
    }
  }

  #start(): void {
    if (this.#group) void this.#commit(this.#group);
    this.#group = undefined;
  }

  async #commit({ places, resolve }: Group): Promise<void> {
    await this.#halt.guard(async () => this.#tally.commit());
    this.#gate.leave(places);
    resolve();
  }
}

function openGroup(): Group {
  let resolve!: () => void;
  const committed = new Promise<void>((done) => {
    resolve = done;
  });
  return { places: 0, committed, resolve };
}
