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
