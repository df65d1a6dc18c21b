import { EngagectlError } from '../errors.js';
import type { Failure } from './failure.js';

/**
 * The error that ends a command after a request's last failure: E-CREDENTIALS, E-ANSWER or
 * E-UNAVAILABLE. `what` names the request, e.g. `POST /1/upload`.
 */
export function failureError(
  failure: Failure,
  { what, attempts }: { readonly what: string; readonly attempts: number },
): EngagectlError {
  const tried = attempts > 1 ? ` (after ${attempts} attempts)` : '';
  const message = `${what}: ${failure.message}${tried}`;
  if (failure.kind === 'unreadable') return notThisService(message, failure);
  if (failure.kind === 'refused') {
    const { status } = failure;
    if (status === 400) return refusedRequest(message);
    if (status === 401 || status === 403) return wrongCredentials(message);
    if (status < 500 && status !== 408 && status !== 429) return notThisService(message, failure);
  }
  return new EngagectlError('E-UNAVAILABLE', message, {
    why: failure.sent
      ? 'the service failed, throttled or did not answer in time'
      : 'no connection to the service could be made',
    fix: failure.sent
      ? 'run the same command again later; --max-attempts and --retry-for give it more time'
      : 'check the base URL (engagectl config show) and the network; or run the same command again later',
  });
}

function refusedRequest(message: string): EngagectlError {
  return new EngagectlError('E-ANSWER', message, {
    why: 'the service refuses this request as it is',
    fix: 'correct what its answer names; if it names nothing, check the base URL: engagectl config show',
  });
}

function wrongCredentials(message: string): EngagectlError {
  return new EngagectlError('E-CREDENTIALS', message, {
    why: 'the service does not know this account and passcode in this region',
    fix: 'check --region first (the right passcode fails in the wrong region), then: engagectl config check',
  });
}

function notThisService(message: string, failure: Failure): EngagectlError {
  const redirected = failure.kind === 'refused' && failure.status >= 300 && failure.status < 400;
  return new EngagectlError('E-ANSWER', message, {
    why: redirected
      ? 'redirects are not followed, as they would take the passcode to another address'
      : 'the service does not answer as it should: perhaps something else listens at this address',
    fix: 'check the base URL: engagectl config show',
  });
}
