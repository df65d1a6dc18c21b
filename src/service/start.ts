import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { zoneOf } from '../contract/zones.js';
import { answerRequest } from './answer-request.js';
import { InFlight } from './in-flight.js';
import { defaultVariants, type RunningService, type ServiceOptions } from './options.js';
import type { Service } from './service.js';
import { Store } from './store.js';

export type { RunningService, ServiceOptions, Variants } from './options.js';

/**
 * Starts the local service on 127.0.0.1. Throws RangeError for an unknown time zone, the system's
 * error when the port is taken, SqliteError when the store cannot be opened.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const service = serviceOf(options);
  const inFlight = new InFlight(options.maxConcurrent);
  const running = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const answered = answerRequest(request, response, service, inFlight)
      .catch(() => void response.destroy())
      .finally(() => running.delete(answered));
    running.add(answered);
  });
  server.keepAliveTimeout = keepAliveMilliseconds;
  try {
    await listen(server, options.port);
  } catch (error) {
    service.store.close();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  let closed: Promise<void> | undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => (closed ??= close(server, running, service.store)),
  };
}

function serviceOf(options: ServiceOptions): Service {
  const zone = zoneOf(options.timezone);
  const store = new Store(options.dataDir);
  return {
    store,
    zone,
    options,
    variants: { ...defaultVariants, ...options.variants },
    cursorSecret: store.secret('cursor'),
    random: options.random ?? Math.random,
    now: options.now ?? Date.now,
  };
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });

/** Longer than a client pauses: closing just when it sends would leave the outcome of an event unknown. */
const keepAliveMilliseconds = 60_000;
const graceMilliseconds = 1000;

async function close(server: Server, running: Set<Promise<void>>, store: Store): Promise<void> {
  server.close();
  server.closeIdleConnections();
  await Promise.race([Promise.all(running), delay(graceMilliseconds, undefined, { ref: false })]);
  server.closeAllConnections();
  await Promise.all(running);
  store.close();
}
