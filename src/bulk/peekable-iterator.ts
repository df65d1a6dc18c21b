import type { Runtime } from '../runtime.js';

/** Items whose next one can be waited for, and be left, without being taken. */
export class PeekableIterator<T> {
  readonly #items: AsyncIterator<T>;
  #next: Promise<IteratorResult<T>> | undefined;

  constructor(items: AsyncIterable<T>) {
    this.#items = items[Symbol.asyncIterator]();
  }

  /** Resolves when the next item can be taken, or when there is none any more. */
  async ready(): Promise<void> {
    this.#next ??= this.#items.next();
    await this.#next;
  }

  /** The next item; undefined at the end, or as soon as `signal` is aborted: then it stays. */
  async take(signal?: AbortSignal): Promise<T | undefined> {
    if (signal?.aborted) return undefined;
    this.#next ??= this.#items.next();
    const step = signal ? await orAborted(this.#next, signal) : await this.#next;
    if (step === undefined) return undefined;
    if (step.done === true) return undefined; // and again
    this.#next = undefined;
    return step.value;
  }

  /** All that can be taken. */
  async *until(signal: AbortSignal): AsyncGenerator<T> {
    for (let item = await this.take(signal); item !== undefined; item = await this.take(signal)) {
      yield item;
    }
  }
}

/**
 * Undefined when the signal is aborted first. Promise.race with one promise of the signal would
 * keep every item for as long as that promise lives.
 */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const leave = () => resolve(undefined);
    signal.addEventListener('abort', leave, { once: true });
    promise.finally(() => signal.removeEventListener('abort', leave)).then(resolve, reject);
  });
}

/** Milliseconds without input after which what was read is not kept waiting. */
const momentMs = 1000;

/**
 * Waits for input. When it lets itself be waited for longer than a moment, `work` is called once;
 * its signal is aborted when the input is there, which is then given out as soon as work is done.
 */
export async function whileIdle<T>(
  input: Promise<T>,
  { sleep }: Pick<Runtime, 'sleep'>,
  work: (heard: AbortSignal) => Promise<void>,
): Promise<T> {
  const heard = new AbortController();
  const silent = sleep(momentMs, heard.signal).then(
    async () => work(heard.signal),
    () => undefined, // heard in time
  );
  try {
    return await input;
  } finally {
    heard.abort();
    await silent;
  }
}
