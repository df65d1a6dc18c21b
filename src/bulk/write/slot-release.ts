import type { Budget } from '../budget.js';
import type { OutcomeLog } from '../outcome-log.js';
import type { Halt } from './stop-conditions.js';

interface Parts {
  /** Where the outcomes are committed. */
  readonly log: () => Pick<OutcomeLog, 'write' | 'commit'>;
  readonly budget: Pick<Budget, 'most' | 'leave'>;
  readonly halt: Pick<Halt, 'attempt' | 'guard'>;
}

/**
 * Gives the slots of answered requests back.
 *
 * What is written outlives the process, what is synced a power cut as well. A request keeps its
 * slot until its outcomes are written: after `kill -9` no others are sent again than were in
 * flight. The disk is not waited for where records converge; only their keys stay taken until they
 * are synced, so that no record overtakes an earlier one of the same key after a power cut. That
 * sends up to twice as many requests again as may be in flight, beside those that were. Other
 * records keep their slot until they are synced: what is lost of them is unknown for good. Large
 * requests do, too: their text is kept until then.
 */
export class SlotRelease {
  readonly #parts: Parts;
  /** Requests that are written and not synced, and have given their slots back. */
  #unsynced = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Gives back the slot of a request whose outcomes were noted; resolves when they are on the
   * disk. What cannot be written down stops the run instead, before the slot is free.
   */
  async leave({ mayLag }: { readonly mayLag: boolean }): Promise<void> {
    const { log, budget, halt } = this.#parts;
    const isWritten = halt.attempt(() => log().write());
    const lags = isWritten && mayLag && this.#unsynced < 2 * budget.most;
    if (lags) {
      this.#unsynced += 1;
      budget.leave();
    }
    await halt.guard(async () => log().commit());
    if (lags) this.#unsynced -= 1;
    else budget.leave();
  }
}
