import { zoneOf } from '../zone.js';
import { listen } from './listen.js';
import { router } from './router.js';
import { routes } from './routes.js';
import {
  defaultVariants,
  type RunningService,
  type Service,
  type ServiceOptions,
} from './service.js';
import { Database } from './store/database.js';

export type { RunningService, ServiceOptions, Variants } from './service.js';

/**
 * Starts the local service on 127.0.0.1. Throws RangeError for an unknown time zone, the system's
 * error when the port is taken, SqliteError when the store cannot be opened.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const service: Service = {
    options,
    variants: { ...defaultVariants, ...options.variants },
    zone: zoneOf(options.timezone),
    store: new Database(options.dataDir),
    inFlight: new Map(),
  };
  try {
    const { port, close } = await listen(options.port, router(routes, service));
    let closed: Promise<void> | undefined;
    return {
      url: `http://127.0.0.1:${port}`,
      close: () => (closed ??= close().then(() => service.store.close())),
    };
  } catch (error) {
    service.store.close();
    throw error;
  }
}
