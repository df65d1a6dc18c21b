import type { ErrorName } from '../../calling/errors.js';
import type { CallDetails, CallEvent, declineCodes } from '../../calling/protocol.js';

/** Script of the next calls to a cuid. The router plays the callee, even if a device is registered with the cuid. */
export interface CallScript {
  readonly to: string;
  /** Only calls of this cuid. */
  readonly from?: string | undefined;
  /** `fail`: refused with `error`. `ignore`: rings until it is missed or cancelled. */
  readonly does: 'answer' | 'decline' | 'ignore' | 'fail';
  /** Time of ringing before the answer or decline; default 0. */
  readonly afterSeconds?: number | undefined;
  /** Time from the answer until the callee hangs up; without it only the caller does. */
  readonly hangupAfterSeconds?: number | undefined;
  /** Reason of a decline; without it the callee declined by hand. */
  readonly reason?: keyof typeof declineCodes | undefined;
  /** Error of `fail`; default `CALL_FAILED`. */
  readonly error?: ErrorName | undefined;
  /** Number of calls; default 1. */
  readonly times?: number | undefined;
}

/** Network between the router and the device of a cuid. */
export interface CallNetwork {
  readonly cuid: string;
  /** Delay of each frame of the router. */
  readonly delayMs?: number | undefined;
  /** Whether all frames vanish in both directions while the socket seems open. */
  readonly lose?: boolean | undefined;
}

/** Selects an event of a call, as its caller gets it. */
export interface CallEventFilter {
  readonly to?: string | undefined;
  readonly from?: string | undefined;
  readonly event?: CallEvent | undefined;
}

/** An event of a call, as its caller gets it; of a call that has no caller any more, as its receiver does. */
export interface ObservedCallEvent {
  readonly event: CallEvent;
  readonly callDetails: CallDetails;
  /** Milliseconds since 1970. */
  readonly at: number;
}

interface Waiter {
  readonly filter: CallEventFilter;
  readonly resolve: (event: ObservedCallEvent) => void;
}

const maxEvents = 1000;

/** Steers calls for tests: what happens to them, and the network of single devices. */
export class CallSteering {
  #scripts: { readonly script: CallScript; left: number }[] = [];
  readonly #networks = new Map<string, CallNetwork>();
  /** Cuids that get no socket until a call has been pushed to them. */
  readonly #pushOnly = new Set<string>();
  /** Events that no `waitFor` has returned yet. */
  #events: ObservedCallEvent[] = [];
  readonly #waiters = new Set<Waiter>();

  /** Adds a script, which is used after the earlier ones for the same calls. */
  add(script: CallScript): void {
    this.#scripts.push({ script, left: script.times ?? 1 });
  }

  /** Returns the script of a new call, and counts it. */
  take(from: string, to: string): CallScript | undefined {
    const found = this.#scripts.find(
      ({ script }) => script.to === to && (script.from === undefined || script.from === from),
    );
    if (found === undefined) return undefined;
    found.left -= 1;
    if (found.left === 0) this.#scripts.splice(this.#scripts.indexOf(found), 1);
    return found.script;
  }

  setNetwork(network: CallNetwork): void {
    this.#networks.set(network.cuid, network);
  }

  networkOf(cuid: string | undefined): CallNetwork | undefined {
    return cuid === undefined ? undefined : this.#networks.get(cuid);
  }

  requirePush(cuid: string): void {
    this.#pushOnly.add(cuid);
  }

  /** Whether the device of the cuid sleeps, so that only a push reaches it. */
  isAsleep(cuid: string): boolean {
    return this.#pushOnly.has(cuid);
  }

  wake(cuid: string): void {
    this.#pushOnly.delete(cuid);
  }

  observe(observed: ObservedCallEvent): void {
    for (const waiter of this.#waiters) {
      if (!matches(waiter.filter, observed)) continue;
      this.#waiters.delete(waiter);
      return waiter.resolve(observed);
    }
    this.#events.push(observed);
    if (this.#events.length > maxEvents) this.#events.shift();
  }

  /**
   * Resolves with the oldest matching event that was not returned before, or with the next one. Rejects with an Error
   * that lists the events so far after `timeoutMs`.
   */
  waitFor(
    filter: CallEventFilter,
    timeoutMs: number,
    after: (milliseconds: number, ring: () => void) => () => void,
  ): Promise<ObservedCallEvent> {
    const index = this.#events.findIndex((event) => matches(filter, event));
    const [found] = index < 0 ? [] : this.#events.splice(index, 1);
    if (found !== undefined) return Promise.resolve(found);
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        filter,
        resolve: (event) => {
          cancel();
          resolve(event);
        },
      };
      const cancel = after(timeoutMs, () => {
        this.#waiters.delete(waiter);
        reject(new Error(timeoutText(filter, timeoutMs, this.#events)));
      });
      this.#waiters.add(waiter);
    });
  }

  /** Removes all scripts, network conditions and observed events. */
  clear(): void {
    this.#scripts = [];
    this.#events = [];
    this.#networks.clear();
    this.#pushOnly.clear();
  }
}

const matches = (
  { to, from, event }: CallEventFilter,
  { event: observed, callDetails: { calleeCuid, callerCuid } }: ObservedCallEvent,
): boolean =>
  (to === undefined || to === calleeCuid) &&
  (from === undefined || from === callerCuid) &&
  (event === undefined || event === observed);

function timeoutText(
  filter: CallEventFilter,
  timeoutMs: number,
  events: readonly ObservedCallEvent[],
): string {
  const latest = events
    .slice(-10)
    .map(
      ({ event, callDetails: { callerCuid, calleeCuid } }) =>
        `${callerCuid} to ${calleeCuid}: ${event}`,
    );
  const seen =
    latest.length > 0 ? `the latest events were: ${latest.join(', ')}` : 'there was no event';
  return `no event ${JSON.stringify(filter)} in ${timeoutMs} ms; ${seen}`;
}
