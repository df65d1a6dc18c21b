import { EngagectlError } from '../../errors.js';
import { Condition } from '../../event-loop.js';
import type { Run } from './api.js';
import type { RejectedRecord } from '../job-results.js';

/** Unbuffered channel: passes items to a reader one at a time. */
export class AsyncChannel<T> {
  #item: { readonly value: T } | undefined;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  readonly #changed = new Condition();

  /** Resolves when the reader has processed the item, or has left. */
  async put(value: T): Promise<void> {
    this.#item = { value };
    this.#changed.notifyAll();
    while (this.#item && !this.#isOver) await this.#changed.next();
  }

  /** Closes the channel. The reader throws `failure`. */
  end(failure?: { readonly error: unknown }): void {
    this.#failure ??= failure;
    this.#isOver = true;
    this.#changed.notifyAll();
  }

  async *read(): AsyncGenerator<T> {
    for (;;) {
      if (this.#item) {
        yield this.#item.value;
        this.#item = undefined;
        this.#changed.notifyAll();
      } else if (this.#isOver) {
        if (this.#failure) throw this.#failure.error;
        return;
      } else {
        await this.#changed.next();
      }
    }
  }
}

/**
 * Runs a job that puts items into a channel, and yields them. Leaving the loop stops the job. An
 * error that the job returns is thrown.
 */
export async function* channelReader<T>(
  job: (channel: AsyncChannel<T>, stop: AbortSignal) => Promise<Error | undefined>,
): AsyncGenerator<T> {
  const channel = new AsyncChannel<T>();
  const stop = new AbortController();
  const ended = job(channel, stop.signal).then(
    (error) => channel.end(error && { error }),
    (error: unknown) => channel.end({ error }),
  );
  try {
    yield* channel.read();
  } finally {
    stop.abort();
    channel.end();
    await ended;
  }
}

/** Maximum queued rejects; reading of the input pauses beyond that. */
const mostWaiting = 10_000;

/** Queue of rejects with backpressure, for at most one reader. */
export class BoundedQueue<T = RejectedRecord> {
  #waiting: T[] = [];
  #reader: 'none' | 'reading' | 'gone' = 'none';
  #isLost = false;
  #isEnded = false;
  readonly #changed = new Condition();

  add(record: T): void {
    if (this.#reader === 'none' && this.#waiting.length >= mostWaiting) this.#isLost = true;
    if (this.#reader === 'gone' || this.#isLost) this.#waiting = [];
    else this.#waiting.push(record);
    this.#changed.notifyAll();
  }

  /** Resolves when the queue has room for the rejects of another block. */
  async ready(): Promise<void> {
    while (this.#reader === 'reading' && this.#waiting.length >= mostWaiting)
      await this.#changed.next();
  }

  end(): void {
    this.#isEnded = true;
    this.#changed.notifyAll();
  }

  async *#read(): AsyncGenerator<T> {
    if (this.#reader !== 'none') throw readBefore();
    if (this.#isLost) throw tooMany();
    this.#reader = 'reading';
    try {
      for (;;) {
        const some = this.#waiting;
        this.#waiting = [];
        this.#changed.notifyAll();
        yield* some;
        if (this.#waiting.length > 0) continue;
        if (this.#isEnded) return;
        await this.#changed.next();
      }
    } finally {
      this.#reader = 'gone';
      this.#changed.notifyAll();
    }
  }

  /** Ends the queue with its run, and throws the run's error to the reader. */
  of<Result>(run: Run<Result>): Run<Result> & { readonly lines: () => AsyncGenerator<T> } {
    const result = run.result.finally(() => this.end());
    return { ...run, result, lines: () => this.#readBeside(result) };
  }

  async *#readBeside(result: Promise<unknown>): AsyncGenerator<T> {
    result.catch(() => undefined); // thrown here as well
    yield* this.#read();
    await result;
  }
}

const readBefore = (): EngagectlError =>
  new EngagectlError('E-USAGE', 'the rejects of a run can be read only once', {
    fix: 'keep the records that were read, or name a file with the option rejects',
  });

const tooMany = (): EngagectlError =>
  new EngagectlError('E-TOO-MANY', `more than ${mostWaiting} rejects before rejects() was called`, {
    why: 'rejects are not kept in memory without a reader',
    fix: 'call rejects() when the run starts, or name a file with the option rejects',
  });
