import { timeZone } from '../time-zone.js';
import { upgradeToWebSocket } from './calls/http-routes.js';
import { Clock, WriteLag } from './clock.js';
import { FaultRules } from './control/fault-rules.js';
import { RequestLog } from './control/request-log.js';
import { listen } from './http-server.js';
import { router } from './router.js';
import { routes } from './routes.js';
import { loadSeed } from './seed.js';
import { Settings } from './settings.js';
import { Database } from './store/database.js';
import { Snapshots } from './store/snapshots.js';
import { LookUpHold, RequestMutex } from './concurrency.js';
import type { RunningService, ServiceContext, ServiceOptions } from './service.js';

export { SeedError } from './seed.js';
export { type CallingOptions as CallOptions } from './calls/call-options.js';
export { type PushOffer } from './calls/call-options.js';
export { type RunningService } from './service.js';
export { type ServiceOptions } from './service.js';
export { type Variants } from './settings.js';

/**
 * Starts the local service. Throws RangeError for an unknown time zone, the system error if the port is in
 * use, SqliteError if the store cannot be opened, SeedError for an invalid seed, the reason of `options.signal` if it
 * aborts while the seed is loaded.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const closing = new AbortController();
  const service = await buildService(options, closing.signal);
  const { store, snapshots } = service;
  const end = () => {
    service.calls?.stop();
    service.lag.finish();
    snapshots.close();
    store.close();
  };
  try {
    const isSeeded = await service.loadSeed();
    const { host = '127.0.0.1', tls } = options;
    const { port, close } = await listen(
      { port: options.port, host, tls },
      {
        answer: router(routes, service),
        upgradeOf: (request) => upgradeToWebSocket(request, service),
      },
    );
    let closed: Promise<void> | undefined;
    return {
      url: `${tls ? 'https' : 'http'}://${loopbackName(host)}:${port}`,
      isSeeded,
      service,
      close: () => {
        closing.abort();
        service.calls?.stop();
        return (closed ??= close().then(end));
      },
    };
  } catch (error) {
    end();
    throw error;
  }
}

/** Host name under which this machine reaches the interface. */
function loopbackName(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

async function buildService(
  options: ServiceOptions,
  closing: AbortSignal,
): Promise<ServiceContext> {
  const { passcode, keptBodyText, onRequest, now, dataDir, calls, random, onDefect } = options;
  const zone = timeZone(options.timezone);
  // Loaded on demand: most services do not route calls.
  const Calls = calls && (await import('./calls/call-system.js')).CallingSystem;
  const clock = new Clock(now);
  const store = new Database(dataDir);
  const settings = new Settings(options);
  const latencyMs = () => settings.values.latencyMs;
  const context = { store, clock, random, latencyMs, onDefect };
  const service = {
    options,
    settings,
    zone,
    clock,
    lag: new WriteLag(options.lagSeconds ?? 0, clock, (error) => onDefect?.(error)),
    store,
    inFlight: new Map<string, number>(),
    lookUps: new LookUpHold(),
    mutex: new RequestMutex(),
    requests: new RequestLog({ passcode, now, clock, mostText: keptBodyText, onRequest }),
    faults: new FaultRules(),
    snapshots: new Snapshots(store, dataDir),
    calls: calls && Calls && new Calls(calls, context),
    closing,
  };
  return { ...service, loadSeed: () => loadSeed(service) };
}
