import { Timers } from '../clock.js';
import { withDefaults, type CallingOptions } from './call-options.js';
import { CallRouter } from './call-router.js';
import { SignalServer } from './websocket-server.js';
import type { Database } from '../store/database.js';

interface CallSystemContext {
  readonly store: Database;
  /** Delay of each frame of the router in milliseconds. */
  readonly latencyMs: number;
  /** In [0, 1). */
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onDefect?: ((error: unknown) => void) | undefined;
}

/** Parts that live from one start of the calling system to the next. */
interface Running {
  readonly router: CallRouter;
  readonly sockets: SignalServer;
  readonly timers: Timers;
}

/** Calling system of the local service: the router and the sockets of its clients. */
export class CallingSystem {
  readonly #start: () => Running;
  #running: Running;

  constructor(options: CallingOptions, context: CallSystemContext) {
    this.#start = () => start(options, context);
    this.#running = this.#start();
  }

  get router(): CallRouter {
    return this.#running.router;
  }

  get sockets(): SignalServer {
    return this.#running.sockets;
  }

  /** Stops the router and closes all sockets; active calls stay stored until the next start. */
  stop(): void {
    const { router, timers, sockets } = this.#running;
    router.stop();
    timers.stop();
    sockets.stop();
  }

  /** Stops the system, runs a change of the store, and starts again. Clients reconnect to the new state. */
  restart<Result>(change: () => Result): Result {
    this.stop();
    try {
      return change();
    } finally {
      this.#running = this.#start();
    }
  }
}

function start(
  options: CallingOptions,
  { store, latencyMs, random, now, onDefect = () => undefined }: CallSystemContext,
): Running {
  const timers = new Timers();
  const rules = withDefaults(options);
  const router = new CallRouter(rules, { store, timers, now, onDefect });
  const delay = (send: () => void) => (latencyMs > 0 ? void timers.after(latencyMs, send) : send());
  const breaks = () => rules.dropRate > 0 && random() < rules.dropRate;
  const sockets = new SignalServer({ router, timers, faults: { delay, breaks } });
  return { router, sockets, timers };
}
