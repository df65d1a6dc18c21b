export type RejectStage = 'parse' | 'validate' | 'service' | 'unknown' | 'notSent';

/** One line of the rejects file; `record` is JSON text of what was read. */
export interface Reject {
  readonly source: string;
  readonly line: number;
  readonly stage: RejectStage;
  readonly code?: number | undefined;
  readonly error: string;
  /** JSON text of the member `record`. */
  readonly record?: string;
  /** Instead of `record`: bytes that are no UTF-8. */
  readonly recordBase64?: string;
  /** Of a line of a CSV that could not be read: what its cells would have been called, … */
  readonly columns?: readonly string[] | undefined;
  /** … and what stands between and around them, where it is not what RFC 4180 says. */
  readonly delimiter?: string | undefined;
  readonly quote?: string | undefined;
  readonly escape?: string | undefined;
}
