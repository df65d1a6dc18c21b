import { timeZone, type TimeZone } from '../../time-zone.js';
import { resolveAccount, type Account } from '../../config/account.js';
import { localRegion } from '../../config/profiles.js';
import { EngagectlError } from '../../errors.js';
import { age, positiveAge } from '../flags/value-parsers.js';
import { messagePrinter, type Messages } from '../../ui/messages.js';
import { startLocalService } from './local-service.js';
import type { AccountCheck, ConnectionOptions } from '../../jobs/connection.js';
import type { Connection as JobConnection } from '../../jobs/job-context.js';
import type { Runtime } from '../../runtime.js';
import type { GlobalOptions } from './global-options.js';

/** A connection to an account. The caller that opened it closes it. */
export interface AccountConnection extends JobConnection {
  readonly account: Account;
  /** Closes the connections, and stops the embedded service of `--region local`. */
  close(): Promise<void>;
}

interface ConnectOptions extends Pick<ConnectionOptions, 'onHeaders'> {
  /** Maximum requests in flight; the client keeps as many connections. */
  readonly maxInFlight: number;
  readonly messages: Messages;
}

/**
 * Creates a client from the global options without sending anything. For region `local`, the embedded
 * service is started in this process on a free loopback port and used over real HTTP.
 */
export async function connectAccount(
  settings: GlobalOptions,
  runtime: Runtime,
  options: ConnectOptions,
): Promise<AccountConnection> {
  const [chosen] = await Promise.all([
    resolveAccount(settings, runtime),
    import('../../jobs/connection.js').then(({ loadClient }) => loadClient()), // in parallel
  ]);
  return connectTo(chosen, settings, runtime, options);
}

/** Connects to an account that is already chosen. */
export async function connectTo(
  chosen: Account,
  settings: GlobalOptions,
  runtime: Runtime,
  { messages, maxInFlight, ...listeners }: ConnectOptions,
): Promise<AccountConnection> {
  const zone = accountTimeZone(chosen);
  const rememberMs = memoryTime(chosen);
  const { openConnection } = await import('../../jobs/connection.js');
  const isLocal = chosen.region === localRegion;
  const service = isLocal ? await startLocalService(chosen, { runtime, messages }) : undefined;
  const account = service ? { ...chosen, baseUrl: service.url } : chosen;
  try {
    const { baseUrl, accountId, passcode, headerPrefix } = account;
    const { timeoutMs } = settings;
    logRequestSettings(account, settings, { maxInFlight, messages });
    const connection = await openConnection(
      {
        baseUrl,
        accountId,
        passcode,
        headerPrefix,
        zone,
        rememberMs,
        timeoutMs,
        maxInFlight,
        policy: settings,
        // Its port differs each time.
        host: isLocal ? localRegion : undefined,
        messages,
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

/** Awaits work that uses a connection, then closes the connection. */
export async function closeAfter<T>(connection: AccountConnection, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    await connection.close();
  }
}

/** Checks the account with one read-only request, without retries. */
export async function checkAccess(
  account: Account,
  settings: GlobalOptions,
  runtime: Runtime,
  onHeaders?: ConnectOptions['onHeaders'],
): Promise<AccountCheck> {
  const messages = messagePrinter(settings, runtime);
  const listeners = onHeaders && { onHeaders };
  const how = { maxInFlight: 1, messages, ...listeners };
  const connection = await connectTo(account, settings, runtime, how);
  const { checkAccount } = await import('../../jobs/connection.js');
  const { client, account: connected } = connection;
  return closeAfter(connection, checkAccount(client, connected.baseUrl, runtime));
}

/** Validates the time zone, since one from the config file was not checked by the parser of `--timezone`. */
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

/** Parses the time for which sent events are remembered; one from the config file was not checked before. */
function memoryTime({ remember, sources }: Account): number {
  try {
    return age(positiveAge(remember));
  } catch (error) {
    throw new EngagectlError('E-CONFIG', `"${remember}" (${sources.remember}) is not a duration`, {
      why: 'it is how long sent events are remembered',
      fix: 'use an age like 90d',
      cause: error,
    });
  }
}

/** Logs the effective request settings, given or default. */
function logRequestSettings(
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
