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
    const aborted = new Promise<undefined>((resolve) => {
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    while (!signal.aborted) {
      this.#pending ??= this.#items.next();
      const step = await Promise.race([this.#pending, aborted]);
      if (step === undefined) return;
      this.#pending = undefined;
      if (step.done === true) return;
      yield step.value;
    }
  }
}
