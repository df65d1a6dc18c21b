import { EngagectlError } from '../../errors.js';
import type { Run } from './api.js';
import type { RejectedRecord } from '../job-results.js';

/** Hands items over to a reader, each when the one before was dealt with. */
export class AsyncChannel<T> {
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
export async function* channelReader<T>(
  job: (handover: AsyncChannel<T>, stop: AbortSignal) => Promise<Error | undefined>,
): AsyncGenerator<T> {
  const handover = new AsyncChannel<T>();
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

/** Rejects that may wait to be read; while more do, nothing more is read of the input. */
const mostWaiting = 10_000;

/** Rejects on their way to who reads them. */
export class BoundedQueue<T = RejectedRecord> {
  #waiting: T[] = [];
  #reader: 'none' | 'reading' | 'gone' = 'none';
  #isLost = false;
  #isEnded = false;
  #wake: (() => void)[] = [];

  add(record: T): void {
    if (this.#reader === 'none' && this.#waiting.length >= mostWaiting) this.#isLost = true;
    if (this.#reader === 'gone' || this.#isLost) this.#waiting = [];
    else this.#waiting.push(record);
    this.#changed();
  }

  /** Resolves when there is room for the rejects of another block. */
  async ready(): Promise<void> {
    while (this.#reader === 'reading' && this.#waiting.length >= mostWaiting) await this.#change();
  }

  end(): void {
    this.#isEnded = true;
    this.#changed();
  }

  async *#read(): AsyncGenerator<T> {
    if (this.#reader !== 'none') throw readBefore();
    if (this.#isLost) throw tooMany();
    this.#reader = 'reading';
    try {
      for (;;) {
        const some = this.#waiting;
        this.#waiting = [];
        this.#changed();
        yield* some;
        if (this.#waiting.length > 0) continue;
        if (this.#isEnded) return;
        await this.#change();
      }
    } finally {
      this.#reader = 'gone';
      this.#changed();
    }
  }

  /** The run that these are of: they end with it, and who reads them is thrown what it throws. */
  of<Result>(run: Run<Result>): Run<Result> & { readonly lines: () => AsyncGenerator<T> } {
    const result = run.result.finally(() => this.end());
    return { ...run, result, lines: () => this.#readBeside(result) };
  }

  async *#readBeside(result: Promise<unknown>): AsyncGenerator<T> {
    result.catch(() => undefined); // thrown here as well
    yield* this.#read();
    await result;
  }

  async #change(): Promise<void> {
    return new Promise((resolve) => void this.#wake.push(resolve));
  }

  #changed(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

const readBefore = (): EngagectlError =>
  new EngagectlError('E-USAGE', 'the rejects of a run can be read once', {
    fix: 'keep what was read, or name a file with the option rejects',
  });

const tooMany = (): EngagectlError =>
  new EngagectlError('E-TOO-MANY', `more than ${mostWaiting} rejects before they were asked for`, {
    why: 'they do not stay in memory',
    fix: 'ask for rejects() when the run begins, or name a file with the option rejects',
  });
