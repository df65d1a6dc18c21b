import type { Checkpoint, FileMark, Output, RecordPage } from '../../output/output.js';
import type { PlannedSlice } from './export-ahead.js';
import type { ExportLog } from './export-log.js';

/** One document and the cursors whose records it holds, in order. */
export interface ExportDocument {
  readonly slices: readonly PlannedSlice[];
  /** `resume`: goes on in what an earlier process left. */
  readonly open: (resume: Checkpoint | undefined) => Promise<Output>;
  /** Publishes what an earlier process sealed. */
  readonly publish: (sealed: FileMark) => Promise<void>;
  /** Removes what processes that were ended left beside the published document. */
  readonly tidy: () => Promise<void>;
}

export interface ExportJob {
  readonly documents: readonly ExportDocument[];
  readonly log: ExportLog;
  /** Whether an earlier process began this run. */
  readonly resumed: boolean;
  /** What is written for a page, where it is not the page itself. */
  readonly prepare?: (page: RecordPage, eventName: string) => RecordPage;
  /** Whether a slice whose cursor is refused is asked for again, once: days of events. */
  readonly restarts: boolean;
}
