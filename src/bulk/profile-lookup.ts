import { isThrottled, withRetry, type RetryContext } from '../client/retry.js';
import { endpointPaths } from '../contract/endpoints.js';
import { interruptionError } from '../errors.js';
import { PeekableIterator } from './peekable-iterator.js';
import type { Client } from '../client/client.js';
import type { Identifier } from '../mapping/identity.js';
import type { Runtime } from '../runtime.js';
import type { ConcurrencyLimiter } from './adaptive-concurrency.js';

/** Lookups that may be finished ahead of the one whose turn it is, for each one in flight. */
const aheadPerRequest = 16;

/** A user that is looked up, and whatever the caller wants to find again beside the result. */
export interface LookupItem<T> {
  readonly identifier: Identifier;
  /** Where it was asked for, as a log says it. */
  readonly place?: string;
  readonly origin: T;
}

/** `record` is undefined when no user matches; without it the run stopped before an answer came. */
export interface LookupAnswer<T> extends LookupItem<T> {
  readonly answer: { readonly record: Buffer | undefined } | undefined;
}

export interface LookUpContext extends Omit<RetryContext, 'signal' | 'what'> {
  readonly client: Pick<Client, 'profile'>;
  readonly runtime: Pick<Runtime, 'monotonic' | 'sleep' | 'random' | 'signal'>;
  readonly budget: ConcurrencyLimiter;
}

/**
 * Looks users up, several at a time, and gives them out in the order asked for; one that is still
 * looked for, or waits for its turn, is asked for once, however often it was named. Waits for
 * neither a slow input nor a slow answer when the other is there. When a lookup fails for good,
 * what was taken and not given out yet comes without an answer, and then the failure is thrown;
 * a failure of the input is thrown when all that came before it was given out.
 */
export async function* lookUpProfiles<T>(
  wanted: AsyncIterable<LookupItem<T>>,
  context: LookUpContext,
): AsyncGenerator<LookupAnswer<T>> {
  const stop = new AbortController();
  const { signal } = context.runtime;
  const find = finder(context, AbortSignal.any([stop.signal, signal]));
  const input = new PeekableIterator(wanted);
  const most = aheadPerRequest * context.budget.most;
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

/** A user who is asked for again while the first answer is awaited. */
const isSame = (one: Identifier, other: Identifier): boolean =>
  one.by === other.by && one.value === other.value;

const isInput = () => 'input' as const;

/** Which of the two is there first; an input that failed is there, too. */
async function turnOf(
  answer: Promise<unknown> | undefined,
  input: Promise<unknown> | undefined,
): Promise<'answer' | 'input'> {
  const turns = [answer?.then(() => 'answer' as const), input?.then(isInput, isInput)];
  return Promise.race(turns.filter((turn) => turn !== undefined));
}

/** A promise whose failure is dealt with when its turn comes. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** A slot is kept while a request waits for its next attempt: an outage draws no crowd. */
function finder(
  { client, policy, runtime, budget, waits, counts }: LookUpContext,
  signal: AbortSignal,
) {
  const retry = { policy, runtime, signal, waits, counts, what: `GET ${endpointPaths.profile}` };
  return async ({ identifier: { by, value }, place }: LookupItem<unknown>) => {
    const ticket = await budget.acquire();
    try {
      signal.throwIfAborted();
      return await withRetry(async () => {
        const attempt = await client.profile(by, value, signal, place);
        if (attempt.ok) budget.succeeded();
        else if (isThrottled(attempt.failure)) budget.throttled(ticket);
        return attempt;
      }, retry);
    } finally {
      budget.release();
    }
  };
}
