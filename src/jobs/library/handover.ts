/** Hands items over to a reader, each when the one before was dealt with. */
export class Handover<T> {
  #item: { readonly value: T } | undefined;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  readonly #waiting: (() => void)[] = [];

  /** Resolves when the item was dealt with, or nobody reads any more. */
  async put(value: T): Promise<void> {
    this.#item = { value };
    this.#wake();
    while (this.#item && !this.#isOver) await this.#change();
  }

  /** Nothing more comes; a failure is thrown to the reader. */
  end(failure?: { readonly error: unknown }): void {
    this.#failure ??= failure;
    this.#isOver = true;
    this.#wake();
  }

  async *read(): AsyncGenerator<T> {
    for (;;) {
      if (this.#item) {
        yield this.#item.value;
        this.#item = undefined;
        this.#wake();
      } else if (this.#isOver) {
        if (this.#failure) throw this.#failure.error;
        return;
      } else {
        await this.#change();
      }
    }
  }

  async #change(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/**
 * What a job hands over, to be read in a loop; leaving the loop ends the job. What the job returns is
 * the failure it ended with.
 */
export async function* handedOver<T>(
  job: (handover: Handover<T>, stop: AbortSignal) => Promise<Error | undefined>,
): AsyncGenerator<T> {
  const handover = new Handover<T>();
  const stop = new AbortController();
  const ended = job(handover, stop.signal).then(
    (error) => handover.end(error && { error }),
    (error: unknown) => handover.end({ error }),
  );
  try {
    yield* handover.read();
  } finally {
    stop.abort();
    handover.end();
    await ended;
  }
}
