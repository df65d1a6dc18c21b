import type { Gate } from '../gate.js';
import type { Tally } from '../tally.js';
import type { Halt } from './halt.js';

/** Requests whose outcomes are synced together. */
interface Group {
  /** Requests that keep their places in flight: nothing of them is written yet. */
  places: number;
  /** Requests that gave them back. */
  written: number;
  converges: boolean;
  readonly committed: Promise<void>;
  readonly resolve: () => void;
}

/**
 * Commits the outcomes of several requests at once: a line of the journal costs about the same for
 * one and for eight, and so does a sync of the disk.
 *
 * What is written outlives the process, what is synced a power cut as well. A request keeps its
 * place until its outcomes are written, which is put off until somebody asks for a place: after
 * `kill -9` no others are sent again than were in flight. The disk is not waited for where records
 * converge; only their keys stay taken until they are synced, so that no record overtakes an
 * earlier one of the same key after a power cut. That sends up to twice as many requests again as
 * may be in flight, beside those that were. Other records keep their place until they are synced:
 * what is lost of them is unknown for good.
 */
export class GroupCommit {
  readonly #tally: Tally;
  readonly #halt: Halt;
  readonly #gate: Gate;
  readonly #concurrency: number;
  #group: Group | undefined;
  /** Requests that are written and not synced. */
  #unsynced = 0;
  /** Who waits for what a sync gives back. */
  #waiting = 0;

  constructor(
    { tally, concurrency }: { readonly tally: Tally; readonly concurrency: number },
    { halt, gate }: { readonly halt: Halt; readonly gate: Gate },
  ) {
    this.#tally = tally;
    this.#halt = halt;
    this.#gate = gate;
    this.#concurrency = concurrency;
    gate.onFull = () => this.#write();
  }

  /**
   * Gives back the place of a request whose outcomes were counted; resolves when they are on the
   * disk. What cannot be written down stops the run instead, before the place is free.
   */
  async leave({ converges }: { readonly converges: boolean }): Promise<void> {
    const group = (this.#group ??= openGroup());
    group.places += 1;
    group.converges &&= converges;
    const isUrgent = this.#waiting > 0 || !this.#tally.log;
    if (isUrgent || this.#gate.isAsked) this.#write();
    if (isUrgent) this.#sync();
    return group.committed;
  }

  /** Waits for an event that may need what a sync gives back. */
  async hurry(event: Promise<void>): Promise<void> {
    this.#waiting += 1;
    this.#write();
    this.#sync();
    try {
      await event;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Gives the group's places back, as soon as it may. */
  #write(): void {
    const group = this.#group;
    if (!group) return;
    const isWritten = this.#halt.attempt(() => this.#tally.write());
    if (!isWritten || !this.#mayLag(group)) return this.#sync();
    const { places } = group;
    group.places = 0;
    group.written += places;
    this.#unsynced += places;
    this.#gate.leave(places);
    if (group.written >= this.#concurrency) this.#sync();
  }

  #mayLag({ converges, places }: Group): boolean {
    return converges && this.#unsynced + places <= 2 * this.#concurrency;
  }

  #sync(): void {
    const group = this.#group;
    this.#group = undefined;
    if (group) void this.#commit(group);
  }

  async #commit({ places, written, resolve }: Group): Promise<void> {
    await this.#halt.guard(async () => this.#tally.commit());
    this.#unsynced -= written;
    this.#gate.leave(places);
    resolve();
  }
}

function openGroup(): Group {
  let resolve!: () => void;
  const committed = new Promise<void>((done) => {
    resolve = done;
  });
  return { places: 0, written: 0, converges: true, committed, resolve };
}
