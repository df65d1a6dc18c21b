import { zoneOf, type Zone } from '../zone.js';
import { limits } from '../contract/limits.js';
import type { Client } from '../client/client.js';
import type { ClientOptions } from '../client/create-client.js';
import type { RetryPolicy } from '../client/retry.js';
import { resolveAccount, type Account } from '../config/account.js';
import { localFolder } from '../config/local-account.js';
import { localRegion } from '../config/saved-account.js';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import type { Messages } from '../ui/messages.js';
import type { Settings } from './settings.js';

/** An account to work with. Who connects, closes. */
export interface Connection {
  readonly client: Client;
  readonly account: Account;
  /** Of the account: for relative dates and times without an offset. */
  readonly zone: Zone;
  readonly policy: RetryPolicy;
  /** Ends the connections, and the embedded service of `--region local`. */
  close(): Promise<void>;
}

interface ConnectOptions {
  /** Most requests in flight: the client keeps enough connections for them. */
  readonly maxInFlight: number;
  readonly messages: Messages;
  /** Gets the headers of each answer. */
  readonly onHeaders?: ClientOptions['onHeaders'];
}

/**
 * From the global options to a client. Nothing is sent. For region `local` the embedded service
 * is started inside this process, on a free loopback port, and used over real HTTP.
 */
export async function connect(
  settings: Settings,
  runtime: Runtime,
  options: ConnectOptions,
): Promise<Connection> {
  const [chosen] = await Promise.all([
    resolveAccount(settings, runtime),
    import('../client/create-client.js'), // meanwhile
  ]);
  return connectTo(chosen, settings, runtime, options);
}

/** The same, for an account that is chosen already. */
export async function connectTo(
  chosen: Account,
  settings: Settings,
  runtime: Runtime,
  { maxInFlight, messages, onHeaders }: ConnectOptions,
): Promise<Connection> {
  const zone = zoneOfAccount(chosen);
  const { createClient } = await import('../client/create-client.js');
  const service =
    chosen.region === localRegion ? await startLocal(chosen, runtime, messages) : undefined;
  const account = service ? { ...chosen, baseUrl: service.url } : chosen;
  try {
    const client = await createClient({
      ...account,
      timeoutMs: settings.timeoutMs,
      maxInFlight,
      env: runtime.env,
      now: runtime.now,
      monotonic: runtime.monotonic,
      log: (line) => messages.verbose(line),
      ...(onHeaders && { onHeaders }),
    });
    const close = async () => {
      await client.close();
      await service?.close();
    };
    return { client, account, zone, policy: settings, close };
  } catch (error) {
    await service?.close();
    throw error;
  }
}

/** What comes of some work with a connection, which is closed then. */
export async function closing<T>(connection: Connection, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    await connection.close();
  }
}

/** Data under the state folder, shared with `serve` and with other commands at the same time. */
async function startLocal(account: Account, runtime: Runtime, messages: Messages) {
  const { startService } = await import('./start-service.js');
  return startService({
    dataDir: localFolder(runtime),
    port: 0,
    headerPrefix: account.headerPrefix,
    accountId: account.accountId,
    passcode: account.passcode,
    timezone: account.timezone,
    latencyMs: 0,
    pendingPolls: 0,
    failRate: 0,
    maxConcurrent: { upload: limits.uploadsInFlight, other: limits.othersInFlight },
    variants: {},
    random: runtime.random,
    now: runtime.now,
    onDefect: (error) => messages.warn(`defect of the local service: ${String(error)}`),
  });
}

/** A zone from the config file was not checked by the parser of `--timezone`. */
function zoneOfAccount({ timezone, sources }: Account): Zone {
  try {
    return zoneOf(timezone);
  } catch (error) {
    throw new EngagectlError(
      'E-CONFIG',
      `time zone "${timezone}" (${sources.timezone}) is unknown`,
      {
        why: 'it is no IANA name',
        fix: 'use a name like Europe/Berlin or UTC',
        cause: error,
      },
    );
  }
}
