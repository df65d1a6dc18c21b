import type { ClientOptions } from '../client/create-client.js';
import type { RetryPolicy } from '../client/retry.js';
import type { Zone } from '../zone.js';
import type { Runtime } from '../runtime.js';
import type { Connection } from './world.js';

/** An account, and how to talk to it. */
export interface Address extends Pick<
  ClientOptions,
  'baseUrl' | 'accountId' | 'passcode' | 'headerPrefix' | 'timeoutMs' | 'maxInFlight'
> {
  readonly zone: Zone;
  readonly policy: RetryPolicy;
  /** The host that runs belong to, where it is not that of the address. */
  readonly host?: string | undefined;
}

export interface Listeners {
  readonly log: (line: string) => void;
  /** Gets the headers of each answer. */
  readonly onHeaders?: ClientOptions['onHeaders'];
}

/** It takes a while, in which other things can be done. */
export const loadClient = async () => import('../client/create-client.js');

/** Nothing is sent yet. Throws E-CONFIG. */
export async function openConnection(
  address: Address,
  runtime: Runtime,
  { log, onHeaders }: Listeners,
): Promise<Connection> {
  const { zone, policy, host = new URL(address.baseUrl).host, ...options } = address;
  const { createClient } = await loadClient();
  const client = await createClient({
    ...options,
    env: runtime.env,
    now: runtime.now,
    monotonic: runtime.monotonic,
    log,
    ...(onHeaders && { onHeaders }),
  });
  const { accountId } = options;
  return { client, accountId, host, zone, policy, close: () => client.close() };
}
