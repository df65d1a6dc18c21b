import { requestCodes } from '../contract/error-codes.js';
import { EngagectlError } from '../errors.js';
import { toText, type Redact } from '../redact.js';

/**
 * Failure of one attempt of a request. `sent`: the service may have processed it. False only if
 * that is provably impossible (name lookup, connection refused, connect timeout, TLS).
 */
export type Failure =
  | { readonly kind: 'connection' | 'timeout'; readonly sent: boolean; readonly message: string }
  /** HTTP 200 with a body that is truncated, empty, malformed or of unknown shape. */
  | { readonly kind: 'unreadable'; readonly sent: true; readonly message: string }
  /**
   * The service refused the request. `status` is the `code` of a body
   * `{"status":"fail","code":n}` without `processed`, otherwise the HTTP status.
   */
  | {
      readonly kind: 'refused';
      readonly sent: true;
      readonly status: number;
      readonly message: string;
      /** The HTTP status is 5xx or 408, whatever the code says. */
      readonly mayBeProcessed?: true;
      /** The event does not exist in the account. */
      readonly namesEvent?: true;
      /** The message mentions a cursor. */
      readonly namesCursor?: true;
      /** `Retry-After` in milliseconds; a date is relative to the response's `Date`. */
      readonly retryAfterMs?: number;
      /** Id of the request in the service's log. */
      readonly requestId?: string;
    };

/** Statuses of an overloaded or busy service: the request may have been processed, or still be. */
export const isTransient = (status: number): boolean =>
  status === 408 || status >= 500 || status === requestCodes.pending;

/** Carries a failure as an exception, e.g. while a page is read. */
export class RequestFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.message, options);
    this.name = 'RequestFailure';
    this.failure = failure;
  }
}

/** Shortens a text before its last whole word: half an address would not be recognized and masked. */
export const cutAtWord = (text: string, most: number): string =>
  text.length > most
    ? text.slice(0, most).replace(/(?<![\p{L}\p{N}._%+'@-])[\p{L}\p{N}._%+'@-]{1,100}$/u, '')
    : text;

/**
 * Converts an error of a connection or of malformed HTTP to a failure. Undefined for an invalid
 * request, which is a defect of this program.
 */
export function connectionFailure(
  error: unknown,
  sent: boolean,
  redact: Redact,
): Failure | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'UND_ERR_INVALID_ARG') return undefined;
  const kind = code === 'UND_ERR_CONNECT_TIMEOUT' ? 'timeout' : 'connection';
  return { kind, sent, message: redact(messageOf(error) || code || 'connection lost') };
}

/** Returns the message; for several addresses, that of the first; of OpenSSL, the reason without its source lines. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0]);
  const message = error instanceof Error ? error.message : String(error);
  const reason = /:error:[0-9A-F]+:SSL routines:[^:]*:([^:]+):/.exec(message)?.[1];
  if (reason === undefined) return message;
  return reason === 'wrong version number' || reason === 'packet length too long'
    ? 'the server does not speak TLS: the address may need http:// or another port'
    : `TLS failed: ${reason}`;
}

/** Whether an answer has the code or the text of an error, so that its status "success" is not believed. */
export const isError = ({ code, error }: { code?: unknown; error?: unknown }): boolean =>
  !/^(?:0|2\d\d|ok|success)?$/i.test(toText(code) ?? '') ||
  !/^(?:0|false|\[\s*\]|\{\s*\})?$/.test((toText(error) ?? '').trim());

/** Outcome of one attempt of a request. */
export type Attempt<T> =
  { readonly ok: true; readonly answer: T } | { readonly ok: false; readonly failure: Failure };

/** Returns the outcome of `work` as a value. Throws everything else, such as an abort. */
export async function toAttempt<T>(work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { ok: true, answer: await work() };
  } catch (error) {
    if (error instanceof RequestFailure) return { ok: false, failure: error.failure };
    throw error;
  }
}

/**
 * Builds the error of a request that failed for good: E-CREDENTIALS, E-USAGE, E-ANSWER or
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
  const { message: foreign } = failure;
  return new EngagectlError(id, `${what}: ${foreign}${tried}`, { ...details, foreign });
}

function adviceOn(failure: Failure) {
  if (failure.kind === 'unreadable') return advice.notThisService;
  if (failure.kind === 'refused') {
    const { status } = failure;
    if (status === 400 && failure.namesEvent) return advice.unknownEvent;
    if (status === 400) return advice.refusedRequest;
    if (status === 401 || status === 403) return advice.wrongCredentials;
    if (status >= 300 && status < 400) return advice.redirected;
    if (!isTransient(status) && status !== 429) return advice.notThisService;
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
    why: 'the service considers the request invalid',
    fix: `correct what the response names; if it names nothing, ${checkBaseUrl}`,
  },
  wrongCredentials: {
    id: 'E-CREDENTIALS',
    why: 'the service does not know this account and passcode in this region',
    fix: 'check --region first (the right passcode fails in the wrong region), then: engagectl config check',
  },
  redirected: {
    id: 'E-ANSWER',
    why: 'redirects are not followed, because they would send the passcode to another address',
    fix: checkBaseUrl,
  },
  notThisService: {
    id: 'E-ANSWER',
    why: 'this is not a response of the service; another program may be listening at this address',
    fix: checkBaseUrl,
  },
  unavailable: {
    id: 'E-UNAVAILABLE',
    why: 'the service failed, throttled or timed out',
    fix: 'rerun the same command later; --max-attempts and --retry-for allow more time',
  },
  unreachable: {
    id: 'E-UNAVAILABLE',
    why: 'the service cannot be reached',
    fix: 'check the base URL (engagectl config show) and the network, or rerun the same command later',
  },
} as const;
