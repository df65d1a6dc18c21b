import manifest from 'undici/package.json' with { type: 'json' };
import type { WriteResponse } from '../contract/response-schemas.js';
import type { WriteEndpoint } from '../contract/endpoints.js';
import type { Day } from '../contract/dates.js';
import type { Attempt } from './failure.js';
import type { Redact } from '../redact.js';
import type { StallTimer } from './timeouts.js';
import type { ReadBody } from './transport.js';

export type ReadKind = 'profiles' | 'events';
export type IdentifierKind = 'identity' | 'email' | 'objectId';

/** First step of a bulk read (specification, endpoints 3 and 6). */
export interface CursorQuery {
  readonly kind: ReadKind;
  readonly eventName: string;
  readonly from: Day;
  readonly to: Day;
  readonly batchSize: number;
  /** Sent as URL parameters `app`, `events` and `profile` only when set. */
  readonly app?: true;
  readonly events?: false;
  readonly profile?: false;
}

/** A page's body, still to arrive. Reading it may fail: that is the attempt's failure, thrown. */
export interface PageBody {
  /** Bytes, when the answer said. */
  readonly length: number | undefined;
  readonly read: ReadBody;
}

/**
 * One function per endpoint, one attempt per call: who calls decides with `retry.ts` about
 * the next. Every function takes a signal, and rejects with its reason when it is aborted.
 */
export interface Client {
  /** Endpoints 1, 2 and 8; `body` is the whole request body. Some answers count nothing. */
  write(
    to: WriteEndpoint,
    body: Buffer,
    signal: AbortSignal,
    options?: {
      readonly dryRun?: boolean;
      /** It must not be sent again, and so does not take the risk of a connection that was used. */
      readonly once?: boolean;
      /** What it is for, as a log says it. */
      readonly of?: string | undefined;
    },
  ): Promise<Attempt<WriteResponse | undefined>>;
  /** Endpoints 3 and 6: the cursor, exactly as received. */
  openCursor(query: CursorQuery, signal: AbortSignal): Promise<Attempt<string>>;
  /** Endpoints 4 and 7: HTTP 200 answers, whatever their body says. */
  page(
    kind: ReadKind,
    cursor: string,
    signal: AbortSignal,
    of?: string,
  ): Promise<Attempt<PageBody>>;
  /** Endpoint 5: the record's text as the service wrote it; undefined when no user matches. */
  profile(
    by: IdentifierKind,
    value: string,
    signal: AbortSignal,
    of?: string,
  ): Promise<Attempt<Buffer | undefined>>;
  /** Throws E-CURSOR for one that cannot go into a URL, or holds the passcode: cursors are journalled. */
  checkCursor(cursor: string): void;
  /** Makes words of the service fit for messages and files. */
  readonly shown: Redact;
  /** Of the service. */
  readonly silence: Pick<StallTimer, 'ms' | 'limitMs'>;
  close(): Promise<void>;
}

/** Of the HTTP client that is used. */
export const undiciVersion: string = manifest.version;
