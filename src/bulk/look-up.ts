import type { Client } from '../client/client.js';
import { isThrottled, type RetryPolicy } from '../client/retry.js';
import { withRetry, type RequestCounts } from '../client/with-retry.js';
import { paths } from '../contract/endpoints.js';
import type { Identifier } from '../mapping/identifier.js';
import type { Runtime } from '../runtime.js';
import { Gate } from './gate.js';

/** Lookups that may be finished ahead of the one whose turn it is, for each one in flight. */
const aheadPerRequest = 16;

/** A user that is looked up, and whatever the caller wants to find again beside the result. */
export interface Wanted<T> {
  readonly identifier: Identifier;
  readonly origin: T;
}

/** `record` is undefined when no user matches; without it the run stopped before an answer came. */
export interface LookedUp<T> extends Wanted<T> {
  readonly answer: { readonly record: Buffer | undefined } | undefined;
}

export interface LookUpContext {
  readonly client: Pick<Client, 'profile'>;
  readonly policy: RetryPolicy;
  readonly runtime: Pick<Runtime, 'monotonic' | 'sleep' | 'random' | 'signal'>;
  /** Most requests in flight; 429s lower it for a while. */
  readonly concurrency: number;
  readonly log: (line: string) => void;
  readonly counts: RequestCounts;
}

/**
 * Looks users up, several at a time, and gives them out in the order asked for; waits for
 * neither a slow input nor a slow answer when the other is there. When a lookup fails for good,
 * what was taken and not given out yet comes without an answer, and then the failure is thrown;
 * a failure of the input is thrown when all that came before it was given out.
 */
export async function* lookUp<T>(
  wanted: AsyncIterator<Wanted<T>>,
  context: LookUpContext,
): AsyncGenerator<LookedUp<T>> {
  const stop = new AbortController();
  const find = finder(context, AbortSignal.any([stop.signal, context.runtime.signal]));
  const input = new Input(wanted);
  const open: { readonly one: Wanted<T>; readonly record: Promise<Buffer | undefined> }[] = [];
  try {
    while (!input.ended || open.length > 0) {
      const [first] = open;
      const mayTake = !input.ended && open.length < aheadPerRequest * context.concurrency;
      const turn = await turnOf(first?.record, mayTake ? input.next() : undefined);
      if (turn === 'input') {
        const one = await input.take();
        if (one !== undefined) open.push({ one, record: handled(find(one.identifier)) });
      } else if (first !== undefined) {
        const record = await first.record;
        open.shift(); // only now, so that a failure finds it in the list
        yield { ...first.one, answer: { record } };
      }
    }
  } catch (error) {
    stop.abort(error);
    for (const { one } of open) yield { ...one, answer: undefined };
    throw error;
  } finally {
    stop.abort();
  }
  if (input.failure !== undefined) throw input.failure;
}

/** An input whose next item can be waited for without being taken. */
class Input<T> {
  ended = false;
  failure: unknown;
  readonly #items: AsyncIterator<T>;
  #next: Promise<T | undefined> | undefined;

  constructor(items: AsyncIterator<T>) {
    this.#items = items;
  }

  next(): Promise<T | undefined> {
    this.#next ??= this.#read();
    return this.#next;
  }

  /** Undefined at the end. */
  async take(): Promise<T | undefined> {
    const item = await this.next();
    this.#next = undefined;
    return item;
  }

  async #read(): Promise<T | undefined> {
    try {
      const step = await this.#items.next();
      if (step.done !== true) return step.value;
    } catch (error) {
      this.failure = error;
    }
    this.ended = true;
    return undefined;
  }
}

/** Which of the two is there first; a failed answer is an answer. */
async function turnOf(
  answer: Promise<unknown> | undefined,
  input: Promise<unknown> | undefined,
): Promise<'answer' | 'input'> {
  const turns: Promise<'answer' | 'input'>[] = [];
  if (answer) turns.push(answer.then(() => 'answer'));
  if (input) turns.push(input.then(() => 'input'));
  return Promise.race(turns);
}

/** A promise whose failure is dealt with when its turn comes. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** A place in flight is kept while a request waits for its next attempt: an outage draws no crowd. */
function finder(
  { client, policy, runtime, concurrency, log, counts }: LookUpContext,
  signal: AbortSignal,
) {
  const gate = new Gate(concurrency);
  const retry = { policy, runtime, signal, log, counts, what: `GET ${paths.profile}` };
  return async ({ by, value }: Identifier): Promise<Buffer | undefined> => {
    const ticket = await gate.enter();
    try {
      signal.throwIfAborted();
      return await withRetry(async () => {
        const attempt = await client.profile(by, value, signal);
        if (attempt.ok) gate.succeeded();
        else if (isThrottled(attempt.failure)) gate.throttled(ticket);
        return attempt;
      }, retry);
    } finally {
      gate.leave();
    }
  };
}
