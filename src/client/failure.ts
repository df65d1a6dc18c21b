/**
 * Why one attempt of a request gave no usable answer. `sent` tells whether the service may have
 * processed it: false only where that is provably impossible (name lookup, connection refused,
 * connect timeout, TLS).
 */
export type Failure =
  | { readonly kind: 'connection'; readonly sent: boolean; readonly message: string }
  | { readonly kind: 'timeout'; readonly sent: boolean; readonly message: string }
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
      /** From `Retry-After`, in milliseconds; a date is measured against the answer's `Date`. */
      readonly retryAfterMs?: number;
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
