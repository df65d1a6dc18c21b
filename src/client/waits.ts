import type { Failure } from './failure.js';
import { isThrottled } from './retry.js';
import type { ServiceSilence } from './service-silence.js';

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

/** Silence that is worth a word. */
const noticedMs = 5000;

/**
 * What a run waits for: its last request that failed, until one is answered; else an answer that
 * takes its time.
 */
export class Waits {
  readonly #host: string;
  readonly #monotonic: () => number;
  readonly #log: (line: string) => void;
  readonly #silence: Pick<ServiceSilence, 'ms' | 'limitMs'> | undefined;
  #last: (Wait & { readonly until: number }) | undefined;

  constructor(
    host: string,
    { monotonic, log }: { readonly monotonic: () => number; readonly log: (line: string) => void },
    silence?: Pick<ServiceSilence, 'ms' | 'limitMs'>,
  ) {
    this.#host = host;
    this.#monotonic = monotonic;
    this.#log = log;
    this.#silence = silence;
  }

  began(wait: Wait): void {
    const { what, failure, ms } = wait;
    this.#last = { ...wait, until: this.#monotonic() + ms };
    this.#log(`${what} (${this.#host}): ${failure.message}; again in ${Math.round(ms)} ms`);
  }

  answered(): void {
    this.#last = undefined;
  }

  /**
   * `waiting for eu1.example.com: connection refused, try 3, next in 4 s`, or
   * `waiting for eu1.example.com: no answer for 5 s, given up after 60 s`.
   */
  get text(): string | undefined {
    if (!this.#last) return this.#silent();
    const { failure, attempts, until } = this.#last;
    const left = until - this.#monotonic();
    const now = attempts === 0 ? 'again now' : `try ${attempts + 1} now`; // 429s are not counted
    const tried = attempts === 0 ? '' : `try ${attempts}, `;
    const next = left > 0 ? `${tried}next in ${Math.ceil(left / 1000)} s` : now;
    return `waiting for ${this.#host}: ${reasonOf(failure)}, ${next}`;
  }

  #silent(): string | undefined {
    const { ms = 0, limitMs = 0 } = this.#silence ?? {};
    if (ms < noticedMs) return undefined;
    const [now, most] = [Math.floor(ms / 1000), Math.round(limitMs / 1000)];
    return `waiting for ${this.#host}: no answer for ${now} s, given up after ${most} s`;
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
