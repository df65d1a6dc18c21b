import { isCuid } from '../../calling/cuid.js';
import { Timers, type Clock } from '../clock.js';
import { CallSteering, type CallEventFilter, type ObservedCallEvent } from './steering.js';
import { withDefaults, type CallingOptions } from './call-options.js';
import { CallRouter } from './call-router.js';
import { SignalServer } from './websocket-server.js';
import type { Database } from '../store/database.js';

interface CallSystemContext {
  readonly store: Database;
  /** Returns the delay of each frame of the router in milliseconds. */
  readonly latencyMs: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly clock: Clock;
  readonly onDefect?: ((error: unknown) => void) | undefined;
}

/** Parts that live from one start of the calling system to the next. */
interface Running {
  readonly router: CallRouter;
  readonly sockets: SignalServer;
  readonly timers: Pick<Timers, 'stop'>;
}

/** Calling system of the local service: the router and the sockets of its clients. */
export class CallingSystem {
  /** Lives across restarts. */
  readonly steering = new CallSteering();
  readonly #start: () => Running;
  #running: Running;

  constructor(options: CallingOptions, context: CallSystemContext) {
    this.#start = () => start(options, context, this.steering);
    this.#running = this.#start();
  }

  get router(): CallRouter {
    return this.#running.router;
  }

  get sockets(): SignalServer {
    return this.#running.sockets;
  }

  /** Drops the socket of a cuid, and refuses new ones until a call has been pushed to it. */
  requirePush(cuid: string): void {
    if (!isCuid(cuid)) throw new TypeError(`${JSON.stringify(cuid)} is not a cuid`);
    this.steering.requirePush(cuid);
    this.router.drop(cuid);
  }

  /** Waits for an event of a call in real time, not by the clock that tests move. */
  waitFor(filter: CallEventFilter, timeoutMs: number): Promise<ObservedCallEvent> {
    const timers = new Timers();
    return this.steering.waitFor(filter, timeoutMs, (milliseconds, ring) =>
      timers.after(milliseconds, ring),
    );
  }

  /** Stops the router and closes all sockets; active calls stay stored until the next start. */
  stop(): void {
    const { router, timers, sockets } = this.#running;
    router.stop();
    timers.stop();
    sockets.stop();
  }

  /** Stops the system, runs a change of the store, and starts again. Clients reconnect to the new state. */
  async restart<Result>(change: () => Promise<Result>): Promise<Result> {
    this.stop();
    try {
      return await change();
    } finally {
      this.#running = this.#start();
    }
  }
}

function start(
  options: CallingOptions,
  { store, latencyMs, random, clock, onDefect = () => undefined }: CallSystemContext,
  steering: CallSteering,
): Running {
  const timers = new Timers();
  // Calls ring, connect and end by the clock that tests move; sockets live by the time of their network.
  const callTimers = new Timers((milliseconds, ring) => clock.after(milliseconds, ring));
  const rules = withDefaults(options);
  const router = new CallRouter(rules, {
    store,
    timers: callTimers,
    now: () => clock.now(),
    onDefect,
    steering,
  });
  const breaks = () => rules.dropRate > 0 && random() < rules.dropRate;
  const sockets = new SignalServer({ router, timers, faults: { latencyMs, breaks, steering } });
  const stop = () => {
    timers.stop();
    callTimers.stop();
  };
  return { router, sockets, timers: { stop } };
}
