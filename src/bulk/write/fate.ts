/** What became of one batch so far, over all its attempts and halves. */
export type Fate = ReturnType<typeof openFate>;

/** Of a batch that nothing was done with; `since` are monotonic milliseconds. */
export const openFate = (since: number) => ({
  since,
  /** Failed attempts; 429 does not count. */
  attempts: 0,
  unknown: 0,
  refused: 0,
  /** Its records that must not be sent twice are written down as about to be sent. */
  intended: false,
  /** Resolves when all outcomes are on the disk; undefined: nobody has asked for that yet. */
  synced: undefined as Promise<void> | undefined,
  /** Called once all outcomes are on the disk. */
  remembers: [] as (() => void)[],
});
