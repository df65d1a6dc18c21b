import type { Failure } from './failure.js';
import { isThrottled } from './retry.js';

/** A request that failed and is to be made again. */
export interface Wait {
  /** Names the request, e.g. `GET /1/profile.json`. */
  readonly what: string;
  readonly failure: Failure;
  /** So far, this one included. */
  readonly attempts: number;
  /** Milliseconds until the next one. */
  readonly ms: number;
}

/** What a run waits for: its last request that failed, until one is answered. */
export class Waits {
  readonly #host: string;
  readonly #monotonic: () => number;
  readonly #log: (line: string) => void;
  #last: (Wait & { readonly until: number }) | undefined;

  constructor(host: string, monotonic: () => number, log: (line: string) => void) {
    this.#host = host;
    this.#monotonic = monotonic;
    this.#log = log;
  }

  began(wait: Wait): void {
    const { what, failure, ms } = wait;
    this.#last = { ...wait, until: this.#monotonic() + ms };
    this.#log(`${what} (${this.#host}): ${failure.message}; again in ${Math.round(ms)} ms`);
  }

  answered(): void {
    this.#last = undefined;
  }

  /** `waiting for eu1.example.com: connection refused, try 3, next in 4 s`. */
  get text(): string | undefined {
    if (!this.#last) return undefined;
    const { failure, attempts, until } = this.#last;
    const left = until - this.#monotonic();
    const next = left > 0 ? `next in ${Math.ceil(left / 1000)} s` : `try ${attempts + 1} now`;
    return `waiting for ${this.#host}: ${reasonOf(failure)}, try ${attempts}, ${next}`;
  }
}

const longestReason = 80;

function reasonOf(failure: Failure): string {
  if (isThrottled(failure)) return 'too many requests (HTTP 429)';
  const { message } = failure;
  const code = Object.keys(reasons).find((word) => message.includes(word));
  return code === undefined ? message.slice(0, longestReason) : reasons[code]!;
}

/** What the codes of the network say. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name cannot be looked up',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
};
