import type { ClientOptions } from '../client/create-client.js';
import type { RetryPolicy } from '../client/retry.js';
import type { Zone } from '../zone.js';
import type { Runtime } from '../runtime.js';
import type { Connection } from './world.js';

/** An account, and how to talk to it. */
export interface Address extends Omit<ClientOptions, 'env' | 'now' | 'monotonic'> {
  readonly zone: Zone;
  readonly policy: RetryPolicy;
  /** The host that runs belong to, where it is not that of the address. */
  readonly host?: string | undefined;
}

/** It takes a while, in which other things can be done. */
export const loadClient = async () => import('../client/create-client.js');

/** Nothing is sent yet. Throws E-CONFIG. */
export async function openConnection(
  { zone, policy, host, ...options }: Address,
  { env, now, monotonic }: Runtime,
): Promise<Connection> {
  const { createClient } = await loadClient();
  const client = await createClient({ ...options, env, now, monotonic });
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
