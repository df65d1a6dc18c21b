import type { Budget } from '../budget.js';
import type { OutcomeLog } from '../outcome-log.js';
import type { Halt } from './halt.js';

/** Requests whose outcomes are synced together. */
interface Group {
  /** Requests that keep their slots: nothing of them is written yet. */
  kept: number;
  /** Requests that gave them back. */
  released: number;
  mayLag: boolean;
  readonly synced: Promise<void>;
  readonly resolve: () => void;
}

interface Parts {
  /** Where the outcomes are committed. */
  readonly log: () => Pick<OutcomeLog, 'write' | 'commit'>;
  readonly budget: Pick<Budget, 'most' | 'isAsked' | 'leave' | 'onFull'>;
  readonly halt: Pick<Halt, 'attempt' | 'guard'>;
}

/**
 * Gives the slots of answered requests back, and commits the outcomes of several at once: a line
 * of the journal costs about the same for one and for eight, and so does a sync of the disk.
 *
 * What is written outlives the process, what is synced a power cut as well. A request keeps its
 * slot until its outcomes are written, which is put off until somebody asks for a slot: after
 * `kill -9` no others are sent again than were in flight. The disk is not waited for where records
 * converge; only their keys stay taken until they are synced, so that no record overtakes an
 * earlier one of the same key after a power cut. That sends up to twice as many requests again as
 * may be in flight, beside those that were. Other records keep their slot until they are synced:
 * what is lost of them is unknown for good. Large requests do, too: their text is kept until then.
 */
export class SlotRelease {
  readonly #parts: Parts;
  #group: Group | undefined;
  /** Requests that are written and not synced. */
  #unsynced = 0;
  /** Who waits for what a sync gives back. */
  #waiting = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    parts.budget.onFull = () => this.#write();
  }

  /**
   * Gives back the slot of a request whose outcomes were noted; resolves when they are on the
   * disk. What cannot be written down stops the run instead, before the slot is free.
   */
  async leave({ mayLag }: { readonly mayLag: boolean }): Promise<void> {
    const group = (this.#group ??= openGroup());
    group.kept += 1;
    group.mayLag &&= mayLag;
    if (this.#waiting > 0 || this.#parts.budget.isAsked) this.#write();
    if (this.#waiting > 0) this.#sync();
    return group.synced;
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

  /** Gives the group's slots back, as soon as it may. */
  #write(): void {
    const group = this.#group;
    if (!group) return;
    const { log, budget, halt } = this.#parts;
    const isWritten = halt.attempt(() => log().write());
    if (!isWritten || !this.#mayLag(group)) return this.#sync();
    const { kept } = group;
    group.kept = 0;
    group.released += kept;
    this.#unsynced += kept;
    budget.leave(kept);
    if (group.released >= budget.most) this.#sync();
  }

  #mayLag({ mayLag, kept }: Group): boolean {
    return mayLag && this.#unsynced + kept <= 2 * this.#parts.budget.most;
  }

  #sync(): void {
    const group = this.#group;
    this.#group = undefined;
    if (group) void this.#commit(group);
  }

  async #commit({ kept, released, resolve }: Group): Promise<void> {
    const { log, budget, halt } = this.#parts;
    await halt.guard(async () => log().commit());
    this.#unsynced -= released;
    budget.leave(kept);
    resolve();
  }
}

function openGroup(): Group {
  let resolve!: () => void;
  const synced = new Promise<void>((done) => {
    resolve = done;
  });
  return { kept: 0, released: 0, mayLag: true, synced, resolve };
}
