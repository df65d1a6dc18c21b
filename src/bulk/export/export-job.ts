import type { CursorQuery, Client } from '../../client/client.js';
import type { DayRange } from '../../contract/dates.js';
import type { Checkpoint, Output, FileMark, RecordPage } from '../../output/output.js';
import type { SpillFile } from '../../output/spill-file.js';
import type { RetryPolicy, RetryStatus } from '../../client/retry.js';
import type { OptionName, QuotedText } from '../../errors.js';
import type { Runtime } from '../../runtime.js';
import type { PageScanner } from '../../text/page-scanner.js';
import type { ConcurrencyLimiter } from '../adaptive-concurrency.js';
import type { ExportJournal } from './export-journal.js';

/** One cursor of the run. */
export interface PlannedSlice {
  /** Number in the run, from 0. */
  readonly index: number;
  /** Replaced by a narrower range when the slice is divided. */
  query: CursorQuery;
  readonly openSpill: (resume: Checkpoint | undefined) => Promise<SpillFile>;
}

/** Destination of a slice's pages: an output, or a spill until the slice's turn comes. */
export type PageTarget = Pick<
  Output,
  'name' | 'rewindable' | 'writePage' | 'checkpoint' | 'rewind' | 'sync'
>;

/** One document and its slices, in order. */
export interface ExportDocument {
  /** Grows when a slice is divided. */
  readonly slices: PlannedSlice[];
  /** Creates the slice with this number. */
  readonly newSlice: (index: number, query: CursorQuery) => PlannedSlice;
  /** Opens the document; with `resume`, continues the partial file of an earlier process. */
  readonly open: (resume: Checkpoint | undefined) => Promise<Output>;
  /** Publishes a document that an earlier process sealed. */
  readonly publish: (sealed: FileMark) => Promise<void>;
  /** Removes temporary files that killed processes left beside the published document. */
  readonly tidy: () => Promise<void>;
  /** Removes a document that will not be published. */
  readonly discard: () => Promise<void>;
}

/**
 * Divides a slice of the document into consecutive ranges. The slice keeps its number and the first
 * range; returns the new slices, which follow it and are numbered from `nextIndex`.
 */
export function divideSlice(
  document: ExportDocument,
  slice: PlannedSlice,
  { ranges, nextIndex }: { readonly ranges: readonly DayRange[]; readonly nextIndex: number },
): readonly PlannedSlice[] {
  const [first, ...others] = ranges.map((range) => ({ ...slice.query, ...range }));
  slice.query = first!;
  const added = others.map((query, at) => document.newSlice(nextIndex + at, query));
  document.slices.splice(document.slices.indexOf(slice) + 1, 0, ...added);
  return added;
}

/** One export: documents, journal, and what its requests need. */
export interface ExportJob {
  readonly documents: readonly ExportDocument[];
  readonly log: ExportJournal;
  /** An earlier process started the run. */
  readonly resumed: boolean;
  /** Checks or transforms a page before it is written. `query`: what was asked for. */
  readonly prepare?: (page: RecordPage, query: CursorQuery) => Promise<RecordPage>;
  /** Restart a slice once if its cursor is refused. */
  readonly restarts: boolean;
  /** Divide slices that prove large while other slots are idle. */
  readonly divides: boolean;
  /** Minimum records of a document; one with fewer is not published. */
  readonly minRecords: number;
  /** Maximum records; if finite, the export has one document and one request in flight. */
  readonly limit: number;
  readonly client: Client;
  readonly policy: RetryPolicy;
  readonly runtime: Pick<Runtime, 'monotonic' | 'sleep' | 'random'>;
  /** Aborted by Ctrl-C; reads stop at once. */
  readonly signal: AbortSignal;
  readonly waits: RetryStatus;
  /** Receives one line per poll. */
  readonly verbose: (line: string) => void;
  readonly warn: (text: string, quoted?: QuotedText) => void;
  readonly state: ExportCounters;
  readonly limiter: ConcurrencyLimiter;
  /** Pool of unused scanners: they are large, and slices are many. */
  readonly scanners: PageScanner[];
  /** Cursors and pages so far, to find those that the service sends for two slices. */
  readonly pages: SlicePages;
  readonly option: OptionName;
  readonly pollIntervalMs: number;
  readonly pendingTimeoutMs: number;
}

/** Slices by their first cursors, and by the pages read for them, with hashes of their records. */
export class SlicePages {
  readonly #cursors = new Map<string, PlannedSlice>();
  readonly #slices = new Map<string, Map<bigint, PlannedSlice>>();

  /** Adds the digest of a slice's first cursor. Returns another slice with this cursor, if any. */
  addCursor(slice: PlannedSlice, digest: string): PlannedSlice | undefined {
    const other = this.#cursors.get(digest) ?? slice;
    this.#cursors.set(digest, other);
    return other === slice ? undefined : other;
  }

  /** Adds a page. Returns another slice of the same event with these records, if any. */
  add(slice: PlannedSlice, hash: bigint): PlannedSlice | undefined {
    const { eventName } = slice.query;
    const pages = this.#slices.get(eventName) ?? new Map<bigint, PlannedSlice>();
    this.#slices.set(eventName, pages);
    const other = pages.get(hash) ?? slice;
    pages.set(hash, other);
    return other === slice ? undefined : other;
  }

  /** Removes the pages of a slice that is read again. */
  drop(slice: PlannedSlice): void {
    const pages = this.#slices.get(slice.query.eventName);
    for (const [hash, one] of pages ?? []) if (one === slice) pages?.delete(hash);
  }
}

/** Counters of a running export, read by the progress display. */
export type ExportCounters = ReturnType<typeof newExportCounters>;

export const newExportCounters = () => ({
  requests: 0,
  retries: 0,
  records: 0,
  pages: 0,
  /** Bytes of the pages so far. */
  bytesReceived: 0,
  /** Bytes of complete documents and of the one being written. */
  bytes: 0,
  /** Time between polls of cursors that were not ready. */
  pendingMs: 0,
  /** Slices read completely, and all slices. */
  slicesDone: 0,
  slices: 0,
  /** Documents that were published, and those with too few records. */
  published: new Set<number>(),
  short: new Set<number>(),
  /** Reason for waiting; undefined while pages arrive. */
  note: undefined as string | undefined,
});
