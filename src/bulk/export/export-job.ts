import type { Client } from '../../client/client.js';
import type { RetryPolicy, Waits } from '../../client/retry.js';
import type { OptionName } from '../../errors.js';
import type { Checkpoint, FileMark, Output, RecordPage } from '../../output/output.js';
import type { Runtime } from '../../runtime.js';
import type { PageScanner } from '../../text/page-scanner.js';
import type { Budget } from '../budget.js';
import type { PlannedSlice } from './export-ahead.js';
import type { ExportLog } from './export-log.js';
import type { ExportState } from './export-state.js';

/** One document and the cursors whose records it holds, in order. */
export interface ExportDocument {
  readonly slices: readonly PlannedSlice[];
  /** `resume`: goes on in what an earlier process left. */
  readonly open: (resume: Checkpoint | undefined) => Promise<Output>;
  /** Publishes what an earlier process sealed. */
  readonly publish: (sealed: FileMark) => Promise<void>;
  /** Removes what processes that were ended left beside the published document. */
  readonly tidy: () => Promise<void>;
  /** Removes a document that is not to be published. */
  readonly discard: () => Promise<void>;
}

/** One export: what is written, from where, and what its requests need. */
export interface ExportJob {
  readonly documents: readonly ExportDocument[];
  readonly log: ExportLog;
  /** Whether an earlier process began this run. */
  readonly resumed: boolean;
  /** What is written for a page, where it is not the page itself. */
  readonly prepare?: (page: RecordPage, eventName: string) => RecordPage;
  /** Whether a slice whose cursor is refused is asked for again, once: days of events. */
  readonly restarts: boolean;
  /** A document with fewer is not published. */
  readonly minRecords: number;
  /** Most records in all; infinite, or the export is one document and takes one request at a time. */
  readonly limit: number;
  readonly client: Client;
  readonly policy: RetryPolicy;
  readonly runtime: Pick<Runtime, 'monotonic' | 'sleep' | 'random'>;
  /** Aborted by Ctrl-C: reads are given up at once. */
  readonly signal: AbortSignal;
  readonly waits: Waits;
  /** Gets one line for each poll. */
  readonly verbose: (line: string) => void;
  readonly warn: (text: string) => void;
  readonly state: ExportState;
  readonly budget: Budget;
  /** Those that no page needs at the moment: they are large, and days of events are many. */
  readonly scanners: PageScanner[];
  readonly option: OptionName;
  readonly pollIntervalMs: number;
  readonly pendingTimeoutMs: number;
}
