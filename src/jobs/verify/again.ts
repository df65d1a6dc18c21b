import type { Runtime } from '../../runtime.js';

/** First and longest pause between two looks, in milliseconds. */
const firstPause = 1000;
const longestPause = 30_000;

/** How long is looked again at what is not as it was sent, since reads may lag behind writes. */
export class Again {
  readonly #within: number;
  readonly #runtime: Pick<Runtime, 'sleep' | 'signal'>;
  #waited = 0;
  #pause = firstPause;

  /** `within` in milliseconds. */
  constructor(within: number, runtime: Pick<Runtime, 'sleep' | 'signal'>) {
    this.#within = within;
    this.#runtime = runtime;
  }

  /** Whether there is time for another look. */
  get isLeft(): boolean {
    return this.#waited < this.#within;
  }

  async pause(): Promise<void> {
    const pause = Math.min(this.#pause, this.#within - this.#waited);
    await this.#runtime.sleep(pause, this.#runtime.signal);
    this.#waited += pause;
    this.#pause = Math.min(2 * this.#pause, longestPause);
  }
}
