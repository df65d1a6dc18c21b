import type { CursorQuery } from '../../client/client.js';
import type { Checkpoint, Output } from '../../output/output.js';
import type { PageSpill } from '../../output/spill-file.js';

/** What a slice's pages are written to: an output, or a spill until it is their turn. */
export type PageTarget = Pick<
  Output,
  'name' | 'rewindable' | 'writePage' | 'checkpoint' | 'rewind' | 'sync'
>;

/** One cursor of the run. */
export interface PlannedSlice {
  /** Number in the run, from 0. */
  readonly index: number;
  readonly query: CursorQuery;
  readonly openSpill: (resume: Checkpoint | undefined) => Promise<PageSpill>;
}

interface AheadOptions {
  /** Those still to be read, in order. */
  readonly slices: readonly PlannedSlice[];
  /** Most slices that are read at the same time, the one whose turn it is included. */
  readonly width: number;
  /** Most slices that may wait for their turn. */
  readonly window: number;
  /** Reads a whole slice; fails only for reasons of its own, or when `signal` is aborted. */
  readonly read: (planned: PlannedSlice, signal: AbortSignal) => Promise<PageSpill>;
}

/** Reads the slices that follow the one whose turn it is: a late day holds up no other. */
export class SlicesAhead {
  readonly #options: AheadOptions;
  readonly #begun = new Map<PlannedSlice, Promise<PageSpill>>();
  readonly #stop = new AbortController();
  #turn = 0;
  #reading = 0;

  constructor(options: AheadOptions) {
    this.#options = options;
  }

  /**
   * It is this slice's turn: hands it out if it was begun, or when it is `spilled` in any case.
   * Undefined: the caller reads it. Meanwhile the slices after it are read.
   */
  take(
    slice: PlannedSlice,
    { spilled }: { readonly spilled: boolean },
  ): Promise<PageSpill> | undefined {
    this.#turn = this.#options.slices.indexOf(slice);
    if (spilled && !this.#begun.has(slice)) this.#begin(slice);
    const begun = this.#begun.get(slice);
    this.#fill(begun ? 0 : 1);
    return begun;
  }

  /** Gives up what is being read, and lets go of the spills that were never asked for. */
  async close(): Promise<void> {
    this.#stop.abort();
    const left = await Promise.allSettled(this.#begun.values());
    for (const spill of left) if (spill.status === 'fulfilled') await spill.value.close();
  }

  #fill(others: number): void {
    const { slices, width, window } = this.#options;
    for (const next of slices.slice(this.#turn + 1, this.#turn + window)) {
      if (this.#reading + others >= width || this.#stop.signal.aborted) return;
      if (!this.#begun.has(next)) this.#begin(next);
    }
  }

  #begin(slice: PlannedSlice): void {
    this.#reading += 1;
    const spill = this.#options.read(slice, this.#stop.signal);
    this.#begun.set(slice, spill);
    const ended = () => {
      this.#reading -= 1;
      this.#fill(1);
    };
    spill.then(ended, ended); // why it failed is told when its turn comes
  }
}
