import type { Attempt } from '../../client/client.js';
import type { RetryPolicy } from '../../client/retry.js';
import type { WriteAnswer } from '../../contract/answers.js';
import type { RowBlock } from '../../input/rows.js';
import type { RecordBlock } from '../../mapping/records.js';
import type { Runtime } from '../../runtime.js';
import type { EarlierParts } from '../run/earlier-parts.js';
import type { Tally } from '../tally.js';
import type { Frame } from './batch.js';
import type { IdentitySet } from './identity-set.js';

/** Stop when more records than this were rejected; a percentage is judged from 1000 records on. */
export type RejectLimit = { readonly records: number } | { readonly percent: number };

/** One run of upload, subscribe or demerge. */
export interface WriteJob {
  readonly rows: AsyncIterable<RowBlock>;
  readonly map: (rows: RowBlock) => RecordBlock;
  /** Take this many records and no more. */
  readonly limit?: number | undefined;
  /** Demerge: an identity that is in here already is a duplicate, and is not sent again. */
  readonly seen?: IdentitySet | undefined;
  /**
   * One attempt; an answer without content means that every record was accepted. Undefined:
   * nothing is sent, the records are only read and checked.
   */
  readonly send:
    ((body: Buffer, signal: AbortSignal) => Promise<Attempt<WriteAnswer | undefined>>) | undefined;
  readonly frame: Frame;
  readonly batchRecords: number;
  /** Bytes of a request body. */
  readonly batchBytes: number;
  /** Most requests in flight. */
  readonly concurrency: number;
  readonly order: 'key' | 'none';
  readonly maxRejects?: RejectLimit | undefined;
  /** Nothing is to be changed, `--check` or `--dry-run`: there is nothing to go on with, either. */
  readonly trial: boolean;
  readonly tally: Tally;
  readonly policy: RetryPolicy;
  readonly runtime: Runtime;
  /** The endpoint as messages name it, e.g. `POST /1/upload`. */
  readonly endpoint: string;
  /** What earlier parts of the run settled, and what they may have sent. */
  readonly earlier?: Pick<EarlierParts, 'settled' | 'intended'> | undefined;
  /** Send records whose outcome is unknown again, knowingly. */
  readonly retryUnknown: boolean;
  /**
   * The input is a pipe. It may trickle, and must not wait for a batch to be full; it cannot be
   * read again, so what is left unread when the run stops is not counted.
   */
  readonly piped: boolean;
  readonly log: (line: string) => void;
  readonly warn: (text: string) => void;
}

/** What the requests of a run came to. */
export interface Traffic {
  requests: number;
  retries: number;
  bytesSent: number;
}
