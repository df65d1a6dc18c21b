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

/** First step of a bulk read (docs/service-api.md, "Reads"). */
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

/** Body of a page that is still arriving. Throws RequestFailure while it is read. */
export interface PageBody {
  /** Content-Length in bytes, if sent. */
  readonly length: number | undefined;
  readonly read: ReadBody;
}

/**
 * HTTP client of the service: one function per endpoint, one attempt per call. Callers retry with
 * `retry.ts`. Every function rejects with the reason of its signal when it aborts.
 */
export interface Client {
  /** Sends a write; `body` is the complete request body. */
  write(
    to: WriteEndpoint,
    body: Buffer,
    signal: AbortSignal,
    options?: {
      readonly dryRun?: boolean;
      /** Not safe to resend: uses a new connection, which cannot be closed by an idle timeout. */
      readonly once?: boolean;
      /** Purpose, for the request log. */
      readonly of?: string | undefined;
    },
  ): Promise<Attempt<WriteResponse>>;
  /** Opens a cursor; returns it exactly as received. */
  openCursor(query: CursorQuery, signal: AbortSignal): Promise<Attempt<string>>;
  /** Requests a page; succeeds for every HTTP 200, whatever its body. */
  page(
    kind: ReadKind,
    cursor: string,
    signal: AbortSignal,
    of?: string,
  ): Promise<Attempt<PageBody>>;
  /** Looks up a user; returns the record's JSON text as received, undefined if no user matches. */
  profile(
    by: IdentifierKind,
    value: string,
    signal: AbortSignal,
    of?: string,
  ): Promise<Attempt<Buffer | undefined>>;
  /** Throws E-CURSOR for a cursor that is invalid in a URL or contains the passcode (cursors are journaled). */
  checkCursor(cursor: string): void;
  /** Redacts text of the service for messages and files. */
  readonly redact: Redact;
  /** Time without a byte from the service. */
  readonly stall: Pick<StallTimer, 'ms' | 'limitMs'>;
  close(): Promise<void>;
}

/** Version of the HTTP client. */
export const undiciVersion: string = manifest.version;
