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

/** An account, and how to talk to it. */
export interface ConnectionOptions extends Omit<
  ClientOptions,
  'env' | 'now' | 'monotonic' | 'onRequest'
> {
  /** Is told of each request. */
  readonly said: Pick<Reporter, 'verbose' | 'debug'>;
  readonly zone: TimeZone;
  readonly policy: RetryPolicy;
  /** The host that runs belong to, where it is not that of the address. */
  readonly host?: string | undefined;
}

/** It takes a while, in which other things can be done. */
export const loadClient = async () => import('../client/http-client.js');

/** Nothing is sent yet. Throws E-CONFIG. */
export async function openConnection(
  { zone, policy, host, said, ...options }: ConnectionOptions,
  { env, now, monotonic }: Runtime,
): Promise<Connection> {
  const { createClient } = await loadClient();
  const client = await createClient({
    ...options,
    env,
    now,
    monotonic,
    onRequest: requestLogger(said),
  });
  const { accountId, baseUrl } = options;
  return {
    client,
    accountId,
    host: host ?? new URL(baseUrl).host,
    zone,
    policy,
    close: () => client.close(),
  };
}

/** Tells of each request: a line of it, then of its headers those that are new. */
export function requestLogger(
  said: Pick<Reporter, 'verbose' | 'debug'>,
): (seen: RequestLogEntry) => void {
  const newHeaders = changedHeaders();
  return (seen) => {
    const { headers: _, ...about } = seen;
    said.verbose(formatRequest(seen), about);
    said.debug(() => {
      const headers = newHeaders(seen);
      return headers && [formatHeaders(seen, headers), { ...about, headers }];
    });
  };
}

/** What the service says of an account and its passcode. */
export interface AccountCheck {
  readonly status: 'accepted' | 'refused' | 'no answer';
  readonly baseUrl: string;
  /** What was asked, for messages. */
  readonly request: string;
  /** Why it was not accepted. */
  readonly error: EngagectlError | undefined;
}

/**
 * Endpoint 5 with an identity that nobody has: it needs the right credentials and changes nothing.
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
