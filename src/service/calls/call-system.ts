import { Timers } from '../clock.js';
import { withDefaults, type CallingOptions } from './call-options.js';
import { CallRouter } from './call-router.js';
import { SignalServer } from './websocket-server.js';
import type { Database } from '../store/database.js';

interface Surroundings {
  readonly store: Database;
  /** Milliseconds that each frame of the router waits. */
  readonly latencyMs: number;
  /** In [0, 1). */
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onDefect?: ((error: unknown) => void) | undefined;
}

/** What runs from one start of the calling system to the next. */
interface Running {
  readonly router: CallRouter;
  readonly sockets: SignalServer;
  readonly alarms: Timers;
}

/** The calling system of a service: its router, and the sockets of its clients. */
export class CallingSystem {
  readonly #start: () => Running;
  #running: Running;

  constructor(options: CallingOptions, surroundings: Surroundings) {
    this.#start = () => start(options, surroundings);
    this.#running = this.#start();
  }

  get router(): CallRouter {
    return this.#running.router;
  }

  get sockets(): SignalServer {
    return this.#running.sockets;
  }

  /** Clients are told; their calls wait on the disk for the next router. */
  stop(): void {
    const { router, alarms, sockets } = this.#running;
    router.stop();
    alarms.stop();
    sockets.stop();
  }

  /** Stops for a change of all data. Clients come back to what is stored then. */
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
  { store, latencyMs, random, now, onDefect = () => undefined }: Surroundings,
): Running {
  const alarms = new Timers();
  const rules = withDefaults(options);
  const router = new CallRouter(rules, { store, alarms, now, onDefect });
  const delay = (send: () => void) => (latencyMs > 0 ? void alarms.after(latencyMs, send) : send());
  const breaks = () => rules.dropRate > 0 && random() < rules.dropRate;
  const sockets = new SignalServer({ router, alarms, weather: { delay, breaks } });
  return { router, sockets, alarms };
}
