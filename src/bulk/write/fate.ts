/** What became of one batch so far, over all its attempts and halves. */
export interface Fate {
  /** Failed attempts; 429 does not count. */
  attempts: number;
  /** Monotonic milliseconds. */
  readonly since: number;
  unknown: number;
  refused: number;
  /** Its records that must not be sent twice are written down as about to be sent. */
  intended: boolean;
  /** Resolves when all outcomes are on the disk; undefined: nobody has asked for that yet. */
  synced: Promise<void> | undefined;
  /** Called once all outcomes are on the disk. */
  readonly remembers: (() => void)[];
}

/** Of a batch that nothing was done with; `since` are monotonic milliseconds. */
export const openFate = (since: number): Fate => ({
  attempts: 0,
  since,
  unknown: 0,
  refused: 0,
  intended: false,
  synced: undefined,
  remembers: [],
});
