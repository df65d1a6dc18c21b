import { failureError } from '../client/failure.js';
import { paths } from '../contract/endpoints.js';
import type { Client } from '../client/client.js';
import type { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';

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
  const request = `GET ${baseUrl}${paths.profile}`;
  const nobody = [random(), random()].map((part) => part.toString(36).slice(2)).join('-');
  const outcome = await client.profile('identity', nobody, signal);
  if (outcome.ok) return { status: 'accepted', baseUrl, request, error: undefined };
  const { failure } = outcome;
  const isRefused =
    failure.kind === 'refused' && (failure.status === 401 || failure.status === 403);
  const error = failureError(failure, { what: request, attempts: 1 });
  return { status: isRefused ? 'refused' : 'no answer', baseUrl, request, error };
}
