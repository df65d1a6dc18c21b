import {
  headerLinesOf,
  headerNews,
  requestLineOf,
  type RequestSeen,
} from '../client/request-log.js';
import type { ClientOptions } from '../client/http-client.js';
import type { RetryPolicy } from '../client/retry.js';
import type { Zone } from '../zone.js';
import type { Runtime } from '../runtime.js';
import type { Connection, Said } from './job-context.js';

/** An account, and how to talk to it. */
export interface Address extends Omit<ClientOptions, 'env' | 'now' | 'monotonic' | 'onRequest'> {
  /** Is told of each request. */
  readonly said: Pick<Said, 'verbose' | 'debug'>;
  readonly zone: Zone;
  readonly policy: RetryPolicy;
  /** The host that runs belong to, where it is not that of the address. */
  readonly host?: string | undefined;
}

/** It takes a while, in which other things can be done. */
export const loadClient = async () => import('../client/http-client.js');

/** Nothing is sent yet. Throws E-CONFIG. */
export async function openConnection(
  { zone, policy, host, said, ...options }: Address,
  { env, now, monotonic }: Runtime,
): Promise<Connection> {
  const { createClient } = await loadClient();
  const client = await createClient({
    ...options,
    env,
    now,
    monotonic,
    onRequest: tellingOf(said),
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
export function tellingOf(said: Pick<Said, 'verbose' | 'debug'>): (seen: RequestSeen) => void {
  const newHeaders = headerNews();
  return (seen) => {
    const { headers: _, ...about } = seen;
    said.verbose(requestLineOf(seen), about);
    said.debug(() => {
      const headers = newHeaders(seen);
      return headers && [headerLinesOf(seen, headers), { ...about, headers }];
    });
  };
}
