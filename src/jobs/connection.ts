import {
  formatHeaders,
  changedHeaders,
  formatRequest,
  type RequestLogEntry,
} from '../client/request-log.js';
import { requestError } from '../client/failure.js';
import { endpointPaths } from '../contract/endpoints.js';
import type { ClientOptions } from '../client/http-client.js';
import type { RetryPolicy } from '../client/retry.js';
import type { TimeZone } from '../time-zone.js';
import type { Runtime } from '../runtime.js';
import type { Connection, Reporter } from './job-context.js';
import type { Client } from '../client/client.js';
import type { EngagectlError } from '../errors.js';

/** Options of a connection to one account. */
export interface ConnectionOptions extends Omit<
  ClientOptions,
  'env' | 'now' | 'monotonic' | 'onRequest'
> {
  /** Logs each request. */
  readonly messages: Pick<Reporter, 'verbose' | 'debug'>;
  readonly zone: TimeZone;
  /** Time for which sent events are remembered. */
  readonly rememberMs: number;
  readonly policy: RetryPolicy;
  /** Host that runs belong to; default: the host of the base URL. */
  readonly host?: string | undefined;
}

/** Loads the HTTP client; call early, since loading takes a while. */
export const loadClient = async () => import('../client/http-client.js');

/** Opens a connection without sending anything. Throws E-CONFIG. */
export async function openConnection(
  { zone, rememberMs, policy, host, messages, ...options }: ConnectionOptions,
  { env, now, monotonic }: Runtime,
): Promise<Connection> {
  const { createClient } = await loadClient();
  const client = await createClient({
    ...options,
    env,
    now,
    monotonic,
    onRequest: requestLogger(messages),
  });
  const { accountId, baseUrl } = options;
  return {
    client,
    accountId,
    host: host ?? new URL(baseUrl).host,
    zone,
    rememberMs,
    policy,
    close: () => client.close(),
  };
}

/** Logs each request: one line, then the headers that changed. */
export function requestLogger(
  messages: Pick<Reporter, 'verbose' | 'debug'>,
): (seen: RequestLogEntry) => void {
  const newHeaders = changedHeaders();
  return (seen) => {
    const { headers: _, ...about } = seen;
    messages.verbose(formatRequest(seen), about);
    messages.debug(() => {
      const headers = newHeaders(seen);
      return headers && [formatHeaders(seen, headers), { ...about, headers }];
    });
  };
}

/** Result of checking an account and its passcode at the service. */
export interface AccountCheck {
  readonly status: 'accepted' | 'refused' | 'no answer';
  readonly baseUrl: string;
  /** Method and URL of the request, for messages. */
  readonly request: string;
  /** Undefined if accepted. */
  readonly error: EngagectlError | undefined;
}

/**
 * Checks the credentials by looking up a random identity, which changes nothing
 * (docs/service-api.md, Look-ups).
 */
export async function checkAccount(
  client: Pick<Client, 'profile'>,
  baseUrl: string,
  { random, signal }: Pick<Runtime, 'random' | 'signal'>,
): Promise<AccountCheck> {
  const request = `GET ${baseUrl}${endpointPaths.profile}`;
  const nobody = [random(), random()].map((part) => part.toString(36).slice(2)).join('-');
  const outcome = await client.profile('identity', nobody, signal);
  if (outcome.ok) return { status: 'accepted', baseUrl, request, error: undefined };
  const { failure } = outcome;
  const isRefused =
    failure.kind === 'refused' && (failure.status === 401 || failure.status === 403);
  const error = requestError(failure, { what: request, attempts: 1 });
  return { status: isRefused ? 'refused' : 'no answer', baseUrl, request, error };
}
