import type { RequestCounts } from '../../client/with-retry.js';

/** Where an export stands; changed as it goes, and shown by whoever looks. */
export interface ExportState extends RequestCounts {
  records: number;
  pages: number;
  /** Of pages, so far. */
  bytesReceived: number;
  /** Of all documents that are complete, and of the one being written. */
  bytes: number;
  /** Time spent between the polls of cursors that were not ready. */
  pendingMs: number;
  /** Cursors followed to their end, and how many there are. */
  slicesDone: number;
  slices: number;
  /** Documents that have their final name, and those that were too short to get it. */
  readonly published: Set<number>;
  readonly short: Set<number>;
  /** What the run is waiting for; undefined while pages arrive. */
  note: string | undefined;
}

export const startState = (): ExportState => ({
  requests: 0,
  retries: 0,
  records: 0,
  pages: 0,
  bytesReceived: 0,
  bytes: 0,
  pendingMs: 0,
  slicesDone: 0,
  slices: 0,
  published: new Set(),
  short: new Set(),
  note: undefined,
});
