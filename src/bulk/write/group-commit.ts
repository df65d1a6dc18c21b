import type { Gate } from '../gate.js';
import type { Tally } from '../tally.js';
import type { Halt } from './halt.js';

/** Requests whose outcomes are committed together. */
interface Group {
  /** Requests that keep their places in flight until then. */
  places: number;
  /** Requests that gave them back already. */
  behind: number;
  readonly committed: Promise<void>;
  readonly resolve: () => void;
}

/**
 * Commits the outcomes of several requests at once: a sync of the disk costs about the same for
 * one and for eight.
 *
 * What is written outlives the process, what is synced a power cut as well. A request of records
 * that converge gives its place back when its outcomes are written: the next one does not wait for
 * the disk. Only their keys stay taken until they are synced, so that no record overtakes an earlier
 * one of the same key after a power cut, which sends up to twice as many requests again as may be
 * in flight, beside those that were. A request of other records keeps its place until the disk has
 * their outcomes: what it loses is unknown for good.
 */
export class GroupCommit {
  readonly #tally: Tally;
  readonly #halt: Halt;
  readonly #gate: Gate;
  readonly #concurrency: number;
  #group: Group | undefined;
  /** Of all groups that are not committed yet. */
  #behind = 0;
  /** Who waits for what a commit gives back. */
  #waiting = 0;

  constructor(
    { tally, concurrency }: { readonly tally: Tally; readonly concurrency: number },
    parts: { readonly halt: Halt; readonly gate: Gate },
  ) {
    this.#tally = tally;
    this.#halt = parts.halt;
    this.#gate = parts.gate;
    this.#concurrency = concurrency;
  }

  /**
   * Gives back the place of a request whose outcomes were counted; resolves when they are on the
   * disk. What cannot be written down stops the run instead, before the place is free.
   */
  async leave({ converges }: { readonly converges: boolean }): Promise<void> {
    const group = (this.#group ??= openGroup());
    if (converges && this.#write()) {
      group.behind += 1;
      this.#behind += 1;
      this.#gate.leave();
    } else {
      group.places += 1;
    }
    const canWait = group.places === 0 && this.#waiting === 0 && this.#tally.log;
    if (!canWait || group.behind >= this.#concurrency) this.#start();
    return group.committed;
  }

  /** Waits for an event that may need what a commit gives back. */
  async hurry(event: Promise<void>): Promise<void> {
    this.#waiting += 1;
    this.#start();
    try {
      await event;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** False when the disk has to be waited for. */
  #write(): boolean {
    if (this.#behind >= 2 * this.#concurrency) return false;
    return this.#halt.attempt(() => this.#tally.write());
  }

  #start(): void {
    if (this.#group) void this.#commit(this.#group);
    this.#group = undefined;
  }

  async #commit({ places, behind, resolve }: Group): Promise<void> {
    await this.#halt.guard(async () => this.#tally.commit());
    this.#behind -= behind;
    this.#gate.leave(places);
    resolve();
  }
}

function openGroup(): Group {
  let resolve!: () => void;
  const committed = new Promise<void>((done) => {
    resolve = done;
  });
  return { places: 0, behind: 0, committed, resolve };
}
