import { isThrottled, withRetry, type RetryContext } from '../client/retry.js';
import { endpointPaths } from '../contract/endpoints.js';
import { interruptionError } from '../errors.js';
import { PeekableIterator } from './peekable-iterator.js';
import type { Client } from '../client/client.js';
import type { Identifier } from '../mapping/identity.js';
import type { Runtime } from '../runtime.js';
import type { ConcurrencyLimiter } from './adaptive-concurrency.js';

/** Maximum lookups queued or finished ahead of the next one to yield, per slot. */
const aheadPerRequest = 16;

/** A user to look up, and the caller's own data. */
export interface LookupItem<T> {
  readonly identifier: Identifier;
  /** Source and line, for the request log. */
  readonly place?: string;
  readonly origin: T;
}

/** `record` is undefined if no user matches; `answer` if the run stopped first. */
export interface LookupAnswer<T> extends LookupItem<T> {
  readonly answer: { readonly record: Buffer | undefined } | undefined;
}

export interface LookUpContext extends Omit<RetryContext, 'signal' | 'what'> {
  readonly client: Pick<Client, 'profile'>;
  readonly runtime: Pick<Runtime, 'monotonic' | 'sleep' | 'random' | 'signal'>;
  readonly limiter: ConcurrencyLimiter;
}

/**
 * Looks up users concurrently and yields them in input order. A user that occurs again while an
 * earlier lookup is pending is requested once. Neither a slow input nor a slow response blocks the
 * other. After a permanent failure, yields the pending items without an answer, then throws. A
 * failure of the input is thrown after everything before it.
 */
export async function* lookUpProfiles<T>(
  items: AsyncIterable<LookupItem<T>>,
  context: LookUpContext,
): AsyncGenerator<LookupAnswer<T>> {
  const stop = new AbortController();
  const { signal } = context.runtime;
  const find = finder(context, AbortSignal.any([stop.signal, signal]));
  const input = new PeekableIterator(items);
  const most = aheadPerRequest * context.limiter.most;
  const open: { readonly one: LookupItem<T>; readonly record: Promise<Buffer | undefined> }[] = [];
  let hasInput = true;
  let failure: unknown;
  try {
    while (hasInput || open.length > 0) {
      const [first] = open;
      const mayTake = hasInput && open.length < most;
      if ((await turnOf(first?.record, mayTake ? input.ready() : undefined)) === 'input') {
        const one = await input.take().catch((error: unknown) => void (failure = error));
        if (one === undefined) hasInput = false;
        else {
          const again = open.find(({ one: { identifier } }) => isSame(identifier, one.identifier));
          open.push({ one, record: again?.record ?? handled(find(one)) });
        }
      } else if (first !== undefined) {
        const record = await first.record;
        open.shift(); // only now, so that a failure finds it in the list
        yield { ...first.one, answer: { record } };
      }
    }
  } catch (error) {
    stop.abort(error);
    for (const { one } of open) yield { ...one, answer: undefined };
    throw error === signal.reason ? interruptionError(error) : error;
  } finally {
    stop.abort();
  }
  if (failure !== undefined) throw failure;
}

/** Whether both identify the same user. */
const isSame = (one: Identifier, other: Identifier): boolean =>
  one.by === other.by && one.value === other.value;

const isInput = () => 'input' as const;

/** Waits for the first of the two. A failed input counts as ready. */
async function turnOf(
  answer: Promise<unknown> | undefined,
  input: Promise<unknown> | undefined,
): Promise<'answer' | 'input'> {
  const turns = [answer?.then(() => 'answer' as const), input?.then(isInput, isInput)];
  return Promise.race(turns.filter((turn) => turn !== undefined));
}

/** Marks the promise's failure as handled; the consumer still sees it when it awaits. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Creates the lookup. A request keeps its slot between attempts, so that an outage causes no stampede. */
function finder(
  { client, policy, runtime, limiter, waits, counts }: LookUpContext,
  signal: AbortSignal,
) {
  const retry = { policy, runtime, signal, waits, counts, what: `GET ${endpointPaths.profile}` };
  return async ({ identifier: { by, value }, place }: LookupItem<unknown>) => {
    const ticket = await limiter.acquire();
    try {
      signal.throwIfAborted();
      return await withRetry(async () => {
        const attempt = await client.profile(by, value, signal, place);
        if (attempt.ok) limiter.succeeded();
        else if (isThrottled(attempt.failure)) limiter.throttled(ticket);
        return attempt;
      }, retry);
    } finally {
      limiter.release();
    }
  };
}
