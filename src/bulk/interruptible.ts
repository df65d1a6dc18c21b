/** Items that can be left at any moment, even while waiting for one, and taken up again. */
export class Interruptible<T> {
  readonly #items: AsyncIterator<T>;
  /** A step that was asked for and not yet handed out. */
  #pending: Promise<IteratorResult<T>> | undefined;

  constructor(items: AsyncIterable<T>) {
    this.#items = items[Symbol.asyncIterator]();
  }

  /** Ends with the items, or as soon as `signal` is aborted. */
  async *until(signal: AbortSignal): AsyncGenerator<T> {
    while (!signal.aborted) {
      this.#pending ??= this.#items.next();
      const step = await orAborted(this.#pending, signal);
      if (step === undefined) return;
      this.#pending = undefined;
      if (step.done === true) return;
      yield step.value;
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
