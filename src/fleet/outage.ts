import { EngagectlError } from '../errors.js';

/** Says why a store is away, each reason once until it answers again: it is asked again and again. */
export class Outage {
  readonly #said: { warn(text: string): void };
  readonly #told = new Set<string>();

  constructor(said: { warn(text: string): void }) {
    this.#said = said;
  }

  readonly tell = (error: Error): void => {
    const why = (error instanceof EngagectlError ? error.details.why : error.message) || error.name;
    if (!this.#told.has(why)) this.#said.warn(`the queue is waited for: ${why}`);
    this.#told.add(why);
  };

  over(): void {
    this.#told.clear();
  }
}
