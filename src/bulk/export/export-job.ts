import type { CursorQuery, Client } from '../../client/client.js';
import type { Checkpoint, Output, FileMark, RecordPage } from '../../output/output.js';
import type { SpillFile } from '../../output/spill-file.js';
import type { RetryPolicy, RetryStatus } from '../../client/retry.js';
import type { OptionName } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { PageScanner } from '../../text/page-scanner.js';
import type { ConcurrencyLimiter } from '../adaptive-concurrency.js';
import type { ExportJournal } from './export-journal.js';

/** One cursor of the run. */
export interface PlannedSlice {
  /** Number in the run, from 0. */
  readonly index: number;
  readonly query: CursorQuery;
  readonly openSpill: (resume: Checkpoint | undefined) => Promise<SpillFile>;
}

/** What a slice's pages are written to: an output, or a spill until it is their turn. */
export type PageTarget = Pick<
  Output,
  'name' | 'rewindable' | 'writePage' | 'checkpoint' | 'rewind' | 'sync'
>;

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
  readonly log: ExportJournal;
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
  readonly waits: RetryStatus;
  /** Gets one line for each poll. */
  readonly verbose: (line: string) => void;
  readonly warn: (text: string) => void;
  readonly state: ExportCounters;
  readonly budget: ConcurrencyLimiter;
  /** Those that no page needs at the moment: they are large, and days of events are many. */
  readonly scanners: PageScanner[];
  readonly option: OptionName;
  readonly pollIntervalMs: number;
  readonly pendingTimeoutMs: number;
}

/** Where an export stands; changed as it goes, and shown by whoever looks. */
export type ExportCounters = ReturnType<typeof newExportCounters>;

export const newExportCounters = () => ({
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
