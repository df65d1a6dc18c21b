import type { CursorQuery } from '../client/client.js';
import type { Output, RecordPage } from '../output/output.js';

/** What a slice's pages are written to: an output, or a spill until it is their turn. */
export type PageTarget = Pick<
  Output,
  'name' | 'rewindable' | 'writePage' | 'checkpoint' | 'rewind'
>;

/** Holds the pages of a slice that is read before its turn, outside of memory. */
export interface Spill extends PageTarget {
  pages(): AsyncIterable<RecordPage>;
  discard(): Promise<void>;
}

export interface PlannedSlice {
  readonly slice: CursorQuery;
  readonly openSpill: () => Promise<Spill>;
}

interface AheadOptions {
  readonly slices: readonly PlannedSlice[];
  /** Most slices that are read at the same time, the one whose turn it is included. */
  readonly width: number;
  /** Reads a whole slice; fails only for reasons of its own, or when `signal` is aborted. */
  readonly read: (planned: PlannedSlice, signal: AbortSignal) => Promise<Spill>;
}

/** Reads the slices that follow the one whose turn it is: one late day does not hold up the others. */
export class SlicesAhead {
  readonly #options: AheadOptions;
  readonly #begun = new Map<CursorQuery, Promise<Spill>>();
  readonly #stop = new AbortController();

  constructor(options: AheadOptions) {
    this.#options = options;
  }

  /** Begins what may be read beside this slice, and hands out the slice if it was begun itself. */
  take(slice: CursorQuery): Promise<Spill> | undefined {
    const { slices, width, read } = this.#options;
    const index = slices.findIndex((planned) => planned.slice === slice);
    for (const next of slices.slice(index + 1, index + width)) {
      if (this.#begun.has(next.slice)) continue;
      const spill = read(next, this.#stop.signal);
      spill.catch(() => undefined); // told when its turn comes
      this.#begun.set(next.slice, spill);
    }
    const begun = this.#begun.get(slice);
    this.#begun.delete(slice);
    return begun;
  }

  /** Gives up what was begun and never taken. */
  async close(): Promise<void> {
    this.#stop.abort();
    const left = await Promise.allSettled(this.#begun.values());
    for (const spill of left) if (spill.status === 'fulfilled') await spill.value.discard();
  }
}
