import type { Shown } from './redact.js';

/**
 * Why one attempt of a request gave no usable answer. `sent` tells whether the service may have
 * processed it: false only where that is provably impossible (name lookup, connection refused,
 * connect timeout, TLS).
 */
export type Failure =
  | { readonly kind: 'connection' | 'timeout'; readonly sent: boolean; readonly message: string }
  /** HTTP 200 with a body that is cut, empty, unparsable or of no known shape. */
  | { readonly kind: 'unreadable'; readonly sent: true; readonly message: string }
  /**
   * The service said no. `status` is the body's `code` where the body is
   * `{"status":"fail","code":n}` without `processed`, else the HTTP status.
   */
  | {
      readonly kind: 'refused';
      readonly sent: true;
      readonly status: number;
      readonly message: string;
      /** It knows no event of that name. */
      readonly namesEvent?: true;
      /** Its words speak of a cursor. */
      readonly namesCursor?: true;
      /** From `Retry-After`, in milliseconds; a date is measured against the answer's `Date`. */
      readonly retryAfterMs?: number;
      /** By which the service finds the request in its own log. */
      readonly requestId?: string;
    };

/** Carries a failure out of a function that returns its answer plainly, e.g. while a page is read. */
export class FailureError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.message, options);
    this.name = 'FailureError';
    this.failure = failure;
  }
}

/**
 * The failure in whatever breaks a connection or its answer off, HTTP that is none included.
 * Undefined: a request that is wrong in itself, which is a defect of ours.
 */
export function brokenOff(error: unknown, sent: boolean, shown: Shown): Failure | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'UND_ERR_INVALID_ARG') return undefined;
  const kind = code === 'UND_ERR_CONNECT_TIMEOUT' ? 'timeout' : 'connection';
  return { kind, sent, message: shown(messageOf(error) || code || 'it broke off') };
}

/** Several addresses may have been tried: then the first one's words stand for all. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
