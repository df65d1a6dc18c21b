import type { Attempt } from '../../client/failure.js';
import type { RetryPolicy, RetryStatus } from '../../client/retry.js';
import type { Redact } from '../../redact.js';
import type { WriteResponse } from '../../contract/response-schemas.js';
import type { EngagectlError, OptionName } from '../../errors.js';
import type { RowBlock } from '../../input/row-block.js';
import type { RecordBlock } from '../../mapping/record-block.js';
import type { Runtime } from '../../runtime.js';
import type { ConcurrencyLimiter } from '../adaptive-concurrency.js';
import type { Tally } from '../outcomes/tally.js';
import type { ChangeTracker, TouchedKeys } from '../change-tracking/change-tracker.js';
import type { EventMemory } from '../event-memory/event-memory.js';
import type { BodyFrame } from './batch.js';
import type { IdentitySet } from './deduplication.js';
import type { ResumeState } from '../outcomes/journal-entries.js';
import type { NonIdempotentKind } from '../outcomes/outcome-counts.js';

/** Maximum rejected records, as a number or as a percentage (evaluated from 1000 records on). */
export type RejectLimit = { readonly records: number } | { readonly percent: number };

/** Dry run: `check` validates locally; `dryRun` also lets the service validate. */
export type DryRunMode = 'check' | 'dryRun';

/** Options of one run of upload, subscribe or demerge. */
export interface WriteJob {
  readonly rows: AsyncIterable<RowBlock>;
  readonly map: (rows: RowBlock) => RecordBlock;
  /** Identities of a demerge seen so far; a repeated one is a duplicate and not sent. */
  readonly identities?: IdentitySet | undefined;
  /**
   * Sends one attempt. A response without content accepts every record. Undefined for `--check`,
   * which sends nothing.
   */
  readonly send:
    | ((
        body: Buffer,
        signal: AbortSignal,
        options: { readonly once: boolean; readonly of: string },
      ) => Promise<Attempt<WriteResponse | undefined>>)
    | undefined;
  /** Redacts secrets in texts of the service before they are shown or written. */
  readonly redact: Redact;
  /** Endpoint in messages, e.g. `POST /1/upload`. */
  readonly endpoint: string;
  /** Body frame and limits of a request. */
  readonly request: { readonly frame: BodyFrame; readonly records: number; readonly bytes: number };
  readonly order: 'key' | 'none';
  readonly maxRejects?: RejectLimit | undefined;
  readonly rehearsal?: DryRunMode | undefined;
  /** Whether the run has a journal. */
  readonly isResumable?: boolean;
  readonly tally: Tally;
  readonly limiter: ConcurrencyLimiter;
  readonly policy: RetryPolicy;
  readonly runtime: Pick<Runtime, 'monotonic' | 'random' | 'signal' | 'sleep'>;
  /** Change tracking, which skips unchanged records. */
  readonly changes?: ChangeFilter | undefined;
  /** Columns that options name, set for a pipe: records are held back until each column occurred. */
  readonly namedColumns?: NamedColumns | undefined;
  /** The memory of sent events; undefined if events are not remembered. */
  readonly events?: EventFilter | undefined;
  /** Awaited before non-idempotent records are sent. Throws if another run may have sent them. */
  readonly begin?: ((kind: NonIdempotentKind) => Promise<void>) | undefined;
  /** Records with an outcome from earlier attempts, and records those attempts may have sent. */
  readonly earlier?: Pick<ResumeState, 'settled' | 'intended'> | undefined;
  /**
   * Whether the input is a pipe. A slow pipe must not wait until a batch is full, and unread records
   * are not counted when the run stops, because a pipe cannot be read again.
   */
  readonly piped: boolean;
  readonly option: OptionName;
  readonly waits: RetryStatus;
  readonly log: (line: string) => void;
  readonly warn: (text: string) => void;
}

/** The part of change tracking that the pipeline uses. */
export type ChangeFilter = Pick<
  ChangeTracker | TouchedKeys,
  'unchanged' | 'intend' | 'answered' | 'accepted'
>;

export interface NamedColumns {
  /** Looks at rows before they are mapped to be sent. Returns whether each column has occurred. */
  readonly look: (rows: RowBlock) => boolean;
  /**
   * Returns the error for columns that none of the first `records` records has (undefined: none of the input);
   * undefined if there are none.
   */
  readonly refusal: (records: number | undefined) => EngagectlError | undefined;
}

/** The part of the event memory that the pipeline uses. */
export interface EventFilter extends Pick<EventMemory, 'skip' | 'intend' | 'settle'> {
  /** Set if an input is refused because of its first events. */
  readonly head?: {
    /** Looks the events up among the first `most` records of a block; returns whether there are any. */
    readonly look: (rows: RowBlock, most: number) => boolean;
    /** Returns the error when `records` records were looked up; undefined if the input is not refused. */
    readonly refusal: (records: number) => EngagectlError | undefined;
  };
}

/** Request totals of a run. */
export interface RequestTotals {
  requests: number;
  retries: number;
  bytesSent: number;
}
