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
import type { ChangeTracker } from '../change-tracking/change-tracker.js';
import type { BodyFrame } from './batch.js';
import type { IdentitySet } from './deduplication.js';
import type { ResumeState } from '../outcomes/journal-entries.js';

/** Stop when more records than this were rejected; a percentage is judged from 1000 records on. */
export type RejectLimit = { readonly records: number } | { readonly percent: number };

/** Nothing is to be changed: records are read and checked here, or by the service as well. */
export type DryRunMode = 'check' | 'dryRun';

/** One run of upload, subscribe or demerge. */
export interface WriteJob {
  readonly rows: AsyncIterable<RowBlock>;
  readonly map: (rows: RowBlock) => RecordBlock;
  /** Of a demerge: a record whose identity was told before is a duplicate, and is not sent again. */
  readonly toldOnce?: IdentitySet | undefined;
  /**
   * One attempt; an answer without content means that every record was accepted. Undefined:
   * nothing is sent, the records are only read and checked.
   */
  readonly send:
    | ((
        body: Buffer,
        signal: AbortSignal,
        options: { readonly once: boolean; readonly of: string },
      ) => Promise<Attempt<WriteResponse | undefined>>)
    | undefined;
  /** Makes words of the service fit for messages and files. */
  readonly shown: Redact;
  /** The endpoint as messages name it, e.g. `POST /1/upload`. */
  readonly endpoint: string;
  /** How a request is made up, and how much one holds. */
  readonly request: { readonly frame: BodyFrame; readonly records: number; readonly bytes: number };
  readonly order: 'key' | 'none';
  readonly maxRejects?: RejectLimit | undefined;
  readonly rehearsal?: DryRunMode | undefined;
  readonly tally: Tally;
  readonly budget: ConcurrencyLimiter;
  readonly policy: RetryPolicy;
  readonly runtime: Pick<Runtime, 'monotonic' | 'random' | 'signal' | 'sleep'>;
  /** What the account accepted before: what is as it was is not sent. */
  readonly memory?: ChangeFilter | undefined;
  /** Thrown before records go out that must not be sent twice: they may have been, in another run. */
  readonly onceRefused?: EngagectlError | undefined;
  /** What earlier parts of the run settled, and what they may have sent and must not be repeated. */
  readonly earlier?: Pick<ResumeState, 'settled' | 'intended'> | undefined;
  /**
   * The input is a pipe. It may trickle, and must not wait for a batch to be full; it cannot be
   * read again, so what is left unread when the run stops is not counted.
   */
  readonly piped: boolean;
  readonly option: OptionName;
  readonly waits: RetryStatus;
  readonly log: (line: string) => void;
  readonly warn: (text: string) => void;
}

/** What an account accepted from us, in earlier runs and in this one. */
export type ChangeFilter = Pick<ChangeTracker, 'unchanged' | 'intend' | 'accepted'>;

/** What the requests of a run came to. */
export interface RequestTotals {
  requests: number;
  retries: number;
  bytesSent: number;
}
