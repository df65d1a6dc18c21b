import type { Client } from '../client/client.js';
import { createClient, type ClientOptions } from '../client/create-client.js';
import { failureError } from '../client/failure-error.js';
import { paths } from '../contract/endpoints.js';
import type { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';

/** What the service says of an account and its passcode. */
export interface AccountCheck {
  readonly status: 'accepted' | 'refused' | 'no answer';
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
  if (outcome.ok) return { status: 'accepted', request, error: undefined };
  const { failure } = outcome;
  const isRefused =
    failure.kind === 'refused' && (failure.status === 401 || failure.status === 403);
  const error = failureError(failure, { what: request, attempts: 1 });
  return { status: isRefused ? 'refused' : 'no answer', request, error };
}

const ignore = () => undefined;

/** The same of an account that nothing else is done with. */
export async function checkAccountAt(
  account: Pick<ClientOptions, 'baseUrl' | 'headerPrefix' | 'accountId' | 'passcode' | 'timeoutMs'>,
  runtime: Runtime,
): Promise<AccountCheck> {
  const { env, now, monotonic } = runtime;
  const client = await createClient({
    ...account,
    maxInFlight: 1,
    env,
    now,
    monotonic,
    onRequest: ignore,
  });
  try {
    return await checkAccount(client, account.baseUrl, runtime);
  } finally {
    await client.close();
  }
}
