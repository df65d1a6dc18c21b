import { EngagectlError } from '../errors.js';
import type { Redact } from '../redact.js';

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
export class RequestFailure extends Error {
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
export function connectionFailure(
  error: unknown,
  sent: boolean,
  shown: Redact,
): Failure | undefined {
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

/** What came of one attempt of a request. */
export type Attempt<T> =
  { readonly ok: true; readonly answer: T } | { readonly ok: false; readonly failure: Failure };

/** The outcome of `work` as a value; throws what is not the attempt's failure, such as an abort. */
export async function toAttempt<T>(work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { ok: true, answer: await work() };
  } catch (error) {
    if (error instanceof RequestFailure) return { ok: false, failure: error.failure };
    throw error;
  }
}

/**
 * The error that ends a command after a request's last failure: E-CREDENTIALS, E-ANSWER or
 * E-UNAVAILABLE. `what` names the request, e.g. `POST /1/upload`.
 */
export function requestError(
  failure: Failure,
  { what, attempts }: { readonly what: string; readonly attempts: number },
): EngagectlError {
  const about = [
    ...(attempts > 1 ? [`after ${attempts} attempts`] : []),
    ...('requestId' in failure ? [`request id ${failure.requestId}`] : []),
  ];
  const tried = about.length > 0 ? ` (${about.join(', ')})` : '';
  const { id, ...details } = adviceOn(failure);
  return new EngagectlError(id, `${what}: ${failure.message}${tried}`, details);
}

function adviceOn(failure: Failure) {
  if (failure.kind === 'unreadable') return advice.notThisService;
  if (failure.kind === 'refused') {
    const { status } = failure;
    if (status === 400 && failure.namesEvent) return advice.unknownEvent;
    if (status === 400) return advice.refusedRequest;
    if (status === 401 || status === 403) return advice.wrongCredentials;
    if (status >= 300 && status < 400) return advice.redirected;
    if (status < 500 && status !== 408 && status !== 429) return advice.notThisService;
  }
  return failure.sent ? advice.unavailable : advice.unreachable;
}

const checkBaseUrl = 'check the base URL: engagectl config show';
const advice = {
  unknownEvent: {
    id: 'E-USAGE',
    why: 'the account has no event of that name',
    fix: 'compare the spelling with the events of the account: names are case-sensitive',
    namesEvent: true,
  },
  refusedRequest: {
    id: 'E-ANSWER',
    why: 'the service refuses this request as it is',
    fix: `correct what its answer names; if it names nothing, ${checkBaseUrl}`,
  },
  wrongCredentials: {
    id: 'E-CREDENTIALS',
    why: 'the service does not know this account and passcode in this region',
    fix: 'check --region first (the right passcode fails in the wrong region), then: engagectl config check',
  },
  redirected: {
    id: 'E-ANSWER',
    why: 'redirects are not followed, as they would take the passcode to another address',
    fix: checkBaseUrl,
  },
  notThisService: {
    id: 'E-ANSWER',
    why: 'the service does not answer as it should: perhaps something else listens at this address',
    fix: checkBaseUrl,
  },
  unavailable: {
    id: 'E-UNAVAILABLE',
    why: 'the service failed, throttled or did not answer in time',
    fix: 'run the same command again later; --max-attempts and --retry-for give it more time',
  },
  unreachable: {
    id: 'E-UNAVAILABLE',
    why: 'no connection to the service could be made',
    fix: 'check the base URL (engagectl config show) and the network; or run the same command again later',
  },
} as const;
