import { paths } from '../contract/endpoints.js';
import { requestTexts } from '../contract/codes.js';
import type { ServiceOptions } from './options.js';
import { refused } from './refusal.js';

/** Counts the requests in flight of each endpoint (service-facts, Limits). */
export class InFlight {
  readonly #limits: ServiceOptions['maxConcurrent'];
  readonly #counts = new Map<string, number>();

  constructor(limits: ServiceOptions['maxConcurrent']) {
    this.#limits = limits;
  }

  /** Takes a place and returns how to give it back; throws the Refusal 429 when none is left. */
  enter(path: string): () => void {
    const count = this.#counts.get(path) ?? 0;
    const limit = path === paths.upload ? this.#limits.upload : this.#limits.other;
    if (count >= limit) throw refused(429, requestTexts.tooManyRequests);
    this.#counts.set(path, count + 1);
    return () => this.#counts.set(path, (this.#counts.get(path) ?? 1) - 1);
  }
}
