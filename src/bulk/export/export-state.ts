/** Where an export stands; changed as it goes, and shown by whoever looks. */
export type ExportState = ReturnType<typeof startState>;

export const startState = () => ({
  requests: 0,
  retries: 0,
  records: 0,
  pages: 0,
  /** Of pages, so far. */
  bytesReceived: 0,
  /** Of all documents that are complete, and of the one being written. */
  bytes: 0,
  /** Time spent between the polls of cursors that were not ready. */
  pendingMs: 0,
  /** Cursors followed to their end, and how many there are. */
  slicesDone: 0,
  slices: 0,
  /** Documents that have their final name, and those that were too short to get it. */
  published: new Set<number>(),
  short: new Set<number>(),
  /** What the run is waiting for; undefined while pages arrive. */
  note: undefined as string | undefined,
});
