import { timeZone, type TimeZone } from '../../time-zone.js';
import { resolveAccount, type Account } from '../../config/account.js';
import { localRegion } from '../../config/profiles.js';
import { EngagectlError } from '../../errors.js';
import { messagePrinter, type Messages } from '../../ui/messages.js';
import { startLocalService } from './local-service.js';
import type { AccountCheck, ConnectionOptions } from '../../jobs/connection.js';
import type { Connection as JobConnection } from '../../jobs/job-context.js';
import type { Runtime } from '../../runtime.js';
import type { GlobalOptions } from './global-options.js';

/** An account to work with. Who connects, closes. */
export interface AccountConnection extends JobConnection {
  readonly account: Account;
  /** Ends the connections, and the embedded service of `--region local`. */
  close(): Promise<void>;
}

interface ConnectOptions extends Pick<ConnectionOptions, 'onHeaders'> {
  /** Most requests in flight: the client keeps enough connections for them. */
  readonly maxInFlight: number;
  readonly messages: Messages;
}

/**
 * From the global options to a client. Nothing is sent. For region `local` the embedded service
 * is started inside this process, on a free loopback port, and used over real HTTP.
 */
export async function connectAccount(
  settings: GlobalOptions,
  runtime: Runtime,
  options: ConnectOptions,
): Promise<AccountConnection> {
  const [chosen] = await Promise.all([
    resolveAccount(settings, runtime),
    import('../../jobs/connection.js').then(({ loadClient }) => loadClient()), // meanwhile
  ]);
  return connectTo(chosen, settings, runtime, options);
}

/** The same, for an account that is chosen already. */
export async function connectTo(
  chosen: Account,
  settings: GlobalOptions,
  runtime: Runtime,
  { messages: said, maxInFlight, ...listeners }: ConnectOptions,
): Promise<AccountConnection> {
  const zone = accountTimeZone(chosen);
  const { openConnection } = await import('../../jobs/connection.js');
  const isLocal = chosen.region === localRegion;
  const service = isLocal
    ? await startLocalService(chosen, { runtime, messages: said })
    : undefined;
  const account = service ? { ...chosen, baseUrl: service.url } : chosen;
  try {
    const { baseUrl, accountId, passcode, headerPrefix } = account;
    const { timeoutMs } = settings;
    tellRequestSettings(account, settings, { maxInFlight, messages: said });
    const connection = await openConnection(
      {
        baseUrl,
        accountId,
        passcode,
        headerPrefix,
        zone,
        timeoutMs,
        maxInFlight,
        policy: settings,
        // It has another port every time.
        host: isLocal ? localRegion : undefined,
        said,
        ...listeners,
      },
      runtime,
    );
    const close = async () => {
      await connection.close();
      await service?.close();
    };
    return { ...connection, account, close };
  } catch (error) {
    await service?.close();
    throw error;
  }
}

/** What comes of some work with a connection, which is closed then. */
export async function closeAfter<T>(connection: AccountConnection, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    await connection.close();
  }
}

/** What the service says of the account: one harmless request that is not repeated. */
export async function checkAccess(
  account: Account,
  settings: GlobalOptions,
  runtime: Runtime,
  onHeaders?: ConnectOptions['onHeaders'],
): Promise<AccountCheck> {
  const said = messagePrinter(settings, runtime);
  const listeners = onHeaders && { onHeaders };
  const how = { maxInFlight: 1, messages: said, ...listeners };
  const connection = await connectTo(account, settings, runtime, how);
  const { checkAccount } = await import('../../jobs/connection.js');
  const { client, account: connected } = connection;
  return closeAfter(connection, checkAccount(client, connected.baseUrl, runtime));
}

/** A zone from the config file was not checked by the parser of `--timezone`. */
function accountTimeZone({ timezone, sources }: Account): TimeZone {
  try {
    return timeZone(timezone);
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

/** Says with what values requests are made, whether they were given or not. */
function tellRequestSettings(
  { accountId, region, profile, baseUrl, timezone, sources }: Account,
  { timeoutMs, maxAttempts, retryForMs, retryBaseMs }: GlobalOptions,
  { maxInFlight, messages }: { readonly maxInFlight: number; readonly messages: Messages },
): void {
  const from = profile === undefined ? '' : `, profile ${profile}`;
  const about = { accountId, region, baseUrl, timezone, maxInFlight };
  const limits = { timeoutMs, maxAttempts, retryForMs, retryBaseMs };
  messages.verbose(
    `account ${accountId} (${sources.accountId}), region ${region}${from}, ${baseUrl}; ` +
      `time zone ${timezone}; at most ${maxInFlight} in flight, timeout ${timeoutMs / 1000} s, ` +
      `${maxAttempts} attempts in ${retryForMs / 1000} s, first back-off ${retryBaseMs} ms`,
    { ...about, ...limits },
  );
}
