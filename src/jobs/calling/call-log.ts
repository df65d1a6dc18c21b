import { createCallingClient, type CallingClient } from '../../client/http-client.js';
import { requestError } from '../../client/failure.js';
import { RetryStatus, withRetry, type RetryPolicy } from '../../client/retry.js';
import { EngagectlError, groupDigits } from '../../errors.js';
import { openRecordOutput } from '../record-output.js';
import { requestLogger } from '../connection.js';
import { containsSecret } from '../../redact.js';
import { accountRejectedError, apiKeyRemover, type CallingAccount } from './phone.js';
import type { FileOptions } from '../job-options.js';
import type { JobContext } from '../job-context.js';

/** Account of the calling system, with request options. */
export interface CallsAccount extends CallingAccount {
  readonly headerPrefix: string;
  readonly timeoutMs: number;
  readonly policy: RetryPolicy;
}

export type CallLogContext = Pick<JobContext, 'runtime' | 'messages' | 'words'>;

/** A call in the history of the calling system. Times are epoch milliseconds. */
export interface CallRecord {
  readonly callId?: string;
  readonly callerCuid?: string;
  readonly calleeCuid?: string;
  readonly callContext?: string;
  readonly status?: string;
  readonly endedAt?: number | null;
  readonly actions?: Readonly<Record<string, string>> | null;
}

/** Yields the calls placed since a time in epoch milliseconds, oldest first, as they are, but without the API key. */
async function* callsSince(
  since: number,
  client: CallingClient,
  account: CallsAccount,
  { runtime, messages }: CallLogContext,
): AsyncGenerator<CallRecord> {
  const { url, policy, passcode } = account;
  const [isKey, withoutKey] = [containsSecret(passcode), apiKeyRemover(account)];
  const { random, sleep, monotonic, signal } = runtime;
  const waits = new RetryStatus(new URL(url).host, {
    monotonic,
    log: (line) => messages.verbose(line),
  });
  const list = (after: number) =>
    withRetry(async (stop) => client.list({ since, after }, stop), {
      policy,
      runtime: { random, sleep, monotonic },
      signal,
      waits,
      counts: { requests: 0, retries: 0 },
      what: 'GET /call/v1/calls',
    });
  for (let after: number | undefined = 0; after !== undefined;) {
    const { records, next }: Awaited<ReturnType<typeof list>> = await list(after);
    for (const call of records) yield isKey(JSON.stringify(call)) ? withoutKey(call) : call;
    after = next;
  }
}

/** Characters of missed calls that are listed: all are in memory at once. */
const mostListed = 16_000_000;

/**
 * Lists the missed calls since a time in epoch milliseconds whose notification has buttons, oldest first. Throws E-USAGE
 * if they are too many.
 */
export async function missedCalls(
  since: number,
  account: CallsAccount,
  context: CallLogContext,
): Promise<readonly CallRecord[]> {
  return withClient(account, context, async (client) => {
    const missed: CallRecord[] = [];
    let length = 0;
    for await (const call of callsSince(since, client, account, context)) {
      const { status, actions } = call;
      if (status !== 'missed' || Object.keys(actions ?? {}).length === 0) continue;
      missed.push(call);
      length += JSON.stringify(call).length;
      if (length > mostListed) throw tooManyMissed(missed.length, context);
    }
    return missed;
  });
}

const tooManyMissed = (count: number, { words }: CallLogContext): EngagectlError =>
  new EngagectlError('E-USAGE', `there are more than ${groupDigits(count)} missed calls`, {
    why: 'they are too many for a list',
    fix: `choose a shorter time with ${words.option('since', '<age>')}`,
  });

/** Writes the call history to an output like that of exports; returns the number of calls. */
export async function logCalls(
  { since, output, ...how }: FileOptions & { readonly since: number; readonly output?: string },
  account: CallsAccount,
  context: CallLogContext,
): Promise<number> {
  return withClient(account, context, async (client) => {
    const calls = callsSince(since, client, account, context);
    let call = await calls.next(); // a request that fails leaves no file
    const sink = await openRecordOutput(output, how, context);
    let count = 0;
    try {
      for (; !call.done; call = await calls.next()) {
        await sink.write(Buffer.from(JSON.stringify(call.value)));
        count += 1;
      }
      await sink.finish();
    } finally {
      await sink.abort();
    }
    for (const warning of sink.warnings) context.messages.warn(warning);
    return count;
  });
}

/** Clicks a button of a missed-call notification. Throws E-NOT-FOUND if there is no such button. */
export async function clickMissedCall(
  callId: string,
  actionId: string,
  account: CallsAccount,
  context: CallLogContext,
): Promise<void> {
  await withClient(account, context, async (client) => {
    const made = await client.click(callId, actionId, context.runtime.signal);
    if (made.ok) return;
    const { failure } = made;
    const status = failure.kind === 'refused' ? failure.status : 0;
    const what = `POST ${account.url}/call/v1/missed`;
    if (status !== 404 && status !== 409) throw requestError(failure, { what, attempts: 1 });
    const why =
      status === 409
        ? 'a button of this notification was already clicked'
        : 'the notification has no such button';
    throw new EngagectlError(
      'E-NOT-FOUND',
      `action ${actionId} of call ${callId} cannot be clicked`,
      {
        why,
        fix: 'list calls and their actions: engagectl call missed list',
      },
    );
  });
}

async function withClient<T>(
  { url, accountId, passcode, headerPrefix, timeoutMs }: CallsAccount,
  { runtime: { env, now, monotonic }, messages }: CallLogContext,
  work: (client: CallingClient) => Promise<T>,
): Promise<T> {
  const client = await createCallingClient({
    baseUrl: url,
    accountId,
    passcode,
    headerPrefix,
    timeoutMs,
    maxInFlight: 1,
    env,
    now,
    monotonic,
    onRequest: requestLogger(messages),
  });
  try {
    return await work(client);
  } catch (error) {
    throw error instanceof EngagectlError && error.id === 'E-CREDENTIALS'
      ? accountRejectedError(error)
      : error;
  } finally {
    await client.close();
  }
}
