import type { Runtime } from '../runtime.js';

/** Async iterator whose next item can be awaited without consuming it. */
export class PeekableIterator<T> {
  readonly #items: AsyncIterator<T>;
  #next: Promise<IteratorResult<T>> | undefined;

  constructor(items: AsyncIterable<T>) {
    this.#items = items[Symbol.asyncIterator]();
  }

  /** Resolves when the next item is available, or at the end. */
  async ready(): Promise<void> {
    this.#next ??= this.#items.next();
    await this.#next;
  }

  /** Consumes the next item. Undefined at the end, or when `signal` aborts, which consumes nothing. */
  async take(signal?: AbortSignal): Promise<T | undefined> {
    if (signal?.aborted) return undefined;
    this.#next ??= this.#items.next();
    const step = signal ? await orAborted(this.#next, signal) : await this.#next;
    if (step === undefined) return undefined;
    if (step.done === true) return undefined; // stays at the end
    this.#next = undefined;
    return step.value;
  }

  /** Yields items until the end or until `signal` aborts. */
  async *until(signal: AbortSignal): AsyncGenerator<T> {
    for (let item = await this.take(signal); item !== undefined; item = await this.take(signal)) {
      yield item;
    }
  }
}

/**
 * Returns undefined if the signal aborts first. Promise.race with one promise of the signal would
 * retain every item for as long as that promise lives.
 */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const leave = () => resolve(undefined);
    signal.addEventListener('abort', leave, { once: true });
    promise.finally(() => signal.removeEventListener('abort', leave)).then(resolve, reject);
  });
}

/** Milliseconds without input after which `whileIdle` flushes. */
const momentMs = 1000;

/**
 * Awaits `input`. If it takes longer than a second, calls `work` once, with a signal that aborts
 * when the input arrives. Resolves after both.
 */
export async function whileIdle<T>(
  input: Promise<T>,
  { sleep }: Pick<Runtime, 'sleep'>,
  work: (moreInput: AbortSignal) => Promise<void>,
): Promise<T> {
  const moreInput = new AbortController();
  const silent = sleep(momentMs, moreInput.signal).then(
    async () => work(moreInput.signal),
    () => undefined, // the input arrived in time
  );
  try {
    return await input;
  } finally {
    moreInput.abort();
    await silent;
  }
}
