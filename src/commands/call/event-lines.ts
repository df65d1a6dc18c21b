import { openLines } from '../../jobs/record-output.js';
import { inertJson } from '../../ui/sanitize.js';
import { jobWords } from '../shared/job-context.js';
import type { Runtime } from '../../runtime.js';

/** Writes values to stdout, a line of JSON each, in their order and at once. */
export class EventLines {
  /** Aborted, with the error, when stdout takes no more. */
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #write: (line: string) => Promise<void>;
  #written: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime) {
    this.signal = this.#stop.signal;
    this.#write = openLines(runtime, jobWords);
  }

  readonly put = (value: object): void => {
    this.#written = this.#written
      .then(async () => this.#write(`${inertJson(value)}\n`))
      .catch((error: unknown) => this.#stop.abort(error));
  };

  /** Resolves when all of it was taken. Throws E-STDOUT-CLOSED, E-FILE-WRITE. */
  async flushed(): Promise<void> {
    await this.#written;
    this.signal.throwIfAborted();
  }
}

/** The runtime of work that also stops when its lines are not taken any more. */
export const stoppedWith = (runtime: Runtime, lines: EventLines): Runtime =>
  Object.create(runtime, {
    signal: { value: AbortSignal.any([runtime.signal, lines.signal]) },
  }) as Runtime;
