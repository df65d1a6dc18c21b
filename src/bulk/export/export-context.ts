import type { Client } from '../../client/client.js';
import type { RetryPolicy } from '../../client/retry.js';
import type { RequestCounts } from '../../client/with-retry.js';
import type { OptionName } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { Budget } from '../budget.js';
import type { PageScanner } from '../../text/page-scanner.js';

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
  /** What the run is waiting for; undefined while pages arrive. */
  note: string | undefined;
}

/** What every request of an export needs. */
export interface ExportContext {
  readonly client: Client;
  readonly policy: RetryPolicy;
  readonly runtime: Pick<Runtime, 'monotonic' | 'sleep' | 'random'>;
  /** Aborted by Ctrl-C: reads are given up at once. */
  readonly signal: AbortSignal;
  /** Gets one line for each retry and poll. */
  readonly log: (line: string) => void;
  readonly warn: (text: string) => void;
  readonly state: ExportState;
  readonly budget: Budget;
  /** Those that no page needs at the moment: they are large, and days of events are many. */
  readonly scanners: PageScanner[];
  readonly option: OptionName;
  readonly pollIntervalMs: number;
  readonly pendingTimeoutMs: number;
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
  note: undefined,
});
