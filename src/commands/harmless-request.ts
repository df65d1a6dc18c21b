import { randomUUID } from 'node:crypto';
import type { Client } from '../client/client.js';
import type { Failure } from '../client/failure.js';
import { paths } from '../contract/endpoints.js';

/**
 * Endpoint 5 with an identity that nobody has: it needs the right credentials and changes nothing.
 * Returns what it failed with.
 */
export async function harmlessRequest(
  client: Client,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const outcome = await client.profile('identity', randomUUID(), signal);
  return outcome.ok ? undefined : outcome.failure;
}

/** What it is called in messages. */
export const harmlessRequestAt = (baseUrl: string): string => `GET ${baseUrl}${paths.profile}`;

/** The service does not know this account and passcode. */
export const refusesCredentials = (failure: Failure): boolean =>
  failure.kind === 'refused' && (failure.status === 401 || failure.status === 403);
