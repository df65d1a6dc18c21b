import type { Database } from '../store/database.js';
import { Alarms } from './alarms.js';
import { rulesOf, type CallOptions } from './call-options.js';
import { CallRouter } from './call-router.js';
import { SignalServer } from './signal-server.js';

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

/** The calling system of a service: its router, and the sockets of its clients. */
export class CallSystem {
  readonly router: CallRouter;
  readonly sockets: SignalServer;
  readonly #alarms = new Alarms();

  constructor(options: CallOptions, surroundings: Surroundings) {
    const { store, latencyMs, random, now, onDefect = () => undefined } = surroundings;
    const alarms = this.#alarms;
    const rules = rulesOf(options);
    this.router = new CallRouter(rules, { store, alarms, now, onDefect });
    const delay = (send: () => void) =>
      latencyMs > 0 ? void alarms.after(latencyMs, send) : send();
    const breaks = () => rules.dropRate > 0 && random() < rules.dropRate;
    this.sockets = new SignalServer({ router: this.router, alarms, weather: { delay, breaks } });
  }

  /** Clients are told; their calls wait on the disk for the next router. */
  stop(): void {
    this.router.stop();
    this.#alarms.stop();
    this.sockets.stop();
  }
}
