import path from 'node:path';
import { once } from 'node:events';
import { defaultHeaderPrefix } from '../../contract/endpoints.js';
import { jsonAnswer, inert, sanitizedJson } from '../../ui/sanitize.js';
import { messagePrinter, type Messages } from '../../ui/messages.js';
import { callingForServe } from './calls.js';
import { writeTrustFile, resolveTls, type TrustFile, type Tls } from './tls.js';
import { quoteForShell } from '../../wording.js';
import { mask } from '../../ui/mask.js';
import type { Credentials } from '../../config/credentials.js';
import type { Runtime } from '../../runtime.js';
import type { RunningService, ServiceOptions } from '../../service/start.js';
import type { ServeFlags } from './flags.js';
import type { GlobalOptions } from '../shared/global-options.js';
import type { LoggedRequest } from '../../service/control/request-log.js';

/** Where the data is, the account it belongs to, and how it is reached. */
interface Place {
  readonly folder: string;
  readonly credentials: Credentials;
  /** Where the passcode is kept; undefined: it came from the environment. */
  readonly passcodeFolder: string | undefined;
  readonly tls: Tls | undefined;
}

/** Runs the embedded service until the signal comes, which is success: signals are how it is stopped. */
export async function serve(
  flags: ServeFlags,
  settings: GlobalOptions,
  runtime: Runtime,
): Promise<void> {
  const { startServiceOrExplain } = await import('../shared/local-service.js');
  const told = messagePrinter(settings, runtime);
  const { stderr, unredactedStderr = stderr, env, now, program } = runtime;
  const terminalOnly = messagePrinter(settings, { stderr: unredactedStderr, env, now, program });
  const place = await resolveStore(flags, runtime);
  const { signal } = runtime;
  const { folder } = place;
  const calls = await callingForServe(
    flags,
    { folder, memory: flags.memory === true },
    runtime,
    told,
  );
  let certificate: TrustFile | undefined;
  try {
    const options = {
      ...(await optionsOf(flags, settings, place, runtime)),
      calls: calls.options,
      onDefect: (error: unknown) => told.warn(`defect of the service: ${String(error)}`),
    };
    const service = await startServiceOrExplain(options, calls.otherRouter);
    try {
      const { url } = service;
      if (place.tls?.isMade) certificate = await writeTrustFile(place.tls, folder, url);
      runtime.stdout.write(settings.json ? jsonAnswer({ url }) : `${url}\n`);
      await announce(service, flags, place, certificate?.file, told);
      // The sign-in link holds the passcode: it is shown on a terminal, never in a file or a log.
      if (stderr.isTTY) terminalOnly.note(`look at it: ${linkTo(service, place.credentials)}`);
      else told.note(`look at it: ${url}`);
      await calls.announce(url);
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      await service.close();
    }
  } finally {
    calls.release();
    certificate?.remove();
  }
}

async function resolveStore(flags: ServeFlags, runtime: Runtime): Promise<Place> {
  const { environmentCredentials } = await import('../../config/credentials.js');
  const { localCredentials, localDataDirectory } = await import('../../config/local-account.js');
  const folder = localDataDirectory(runtime, flags.data);
  const fromEnvironment = await environmentCredentials(runtime);
  return {
    folder,
    credentials: fromEnvironment ?? (await localCredentials(folder, runtime)),
    passcodeFolder: fromEnvironment ? undefined : folder,
    tls: await resolveTls(flags, runtime),
  };
}

async function optionsOf(
  { port, memory, seed, log, host, allowHost = [], ...flags }: ServeFlags,
  settings: GlobalOptions,
  { folder, credentials, tls }: Place,
  runtime: Runtime,
): Promise<ServiceOptions> {
  const { checkedHeaderPrefix } = await import('../../config/credentials.js');
  const { latency, lag, pending, failRate, maxConcurrent, ...variants } = flags;
  const { headerPrefixes: prefixes } = settings;
  return {
    dataDir: memory ? undefined : folder,
    seed: seed?.map((file) => path.resolve(runtime.cwd, file)),
    port,
    host,
    allowHosts: allowHost,
    tls,
    headerPrefixes: (prefixes.length > 0 ? prefixes : [defaultHeaderPrefix]).map((prefix) =>
      checkedHeaderPrefix(prefix, '--header-prefix'),
    ),
    ...credentials,
    timezone: settings.timezone ?? 'UTC',
    latencyMs: latency,
    lagSeconds: lag,
    pendingPolls: pending,
    failRate,
    maxConcurrent,
    variants,
    random: runtime.random,
    now: runtime.now,
    ...(log || settings.verbose || runtime.log
      ? { onRequest: requestLogger(log === true || settings.verbose, settings, runtime) }
      : {}),
  };
}

/** Says where its data is, what of it others reach, and how it is used. */
async function announce(
  { url, isSeeded }: RunningService,
  flags: ServeFlags,
  { folder, credentials, passcodeFolder }: Place,
  certificate: string | undefined,
  told: Messages,
): Promise<void> {
  const { localSecretFile } = await import('../../config/local-account.js');
  warnAboutExposure(told, flags);
  told.note(`data: ${flags.memory ? 'in memory' : folder}`);
  if (flags.seed && !isSeeded) told.warn('the store has users already: the seed is not loaded');
  const trust = certificate ? `NODE_EXTRA_CA_CERTS=${quoteForShell(certificate)} ` : '';
  if (certificate) told.note(`certificate to trust: ${certificate}`);
  const passcode =
    passcodeFolder === undefined
      ? 'and the passcode of this environment'
      : `ENGAGECTL_PASSCODE_FILE=${quoteForShell(localSecretFile(passcodeFolder))}`;
  told.note(
    `use it with: ${trust}ENGAGECTL_BASE_URL=${url} ENGAGECTL_ACCOUNT_ID=${quoteForShell(credentials.accountId)} ${passcode}`,
  );
}

/** The page, signed in: what is behind `#` is not sent to the service. */
const linkTo = ({ url }: RunningService, { accountId, passcode }: Credentials): string =>
  `${url}/#${new URLSearchParams({ account: accountId, passcode }).toString()}`;

/** What of it others reach. */
function warnAboutExposure(
  told: Messages,
  { host, allowHost = [], tls, tlsCert }: ServeFlags,
): void {
  if (host !== undefined && !/^(127\.|::1$|localhost$)/.test(host)) {
    const plain = tls || tlsCert ? '' : ', and what they send can be read on the way';
    told.warn(`it listens on ${host}: other machines can reach it${plain}`);
  }
  if (allowHost.length > 0) told.note(`it also answers to ${allowHost.join(', ')}`);
}

/**
 * What tells of each request that the service has answered: a line, or an object under `--log-format
 * json`; with `-vv` its headers, too. Never the body.
 */
function requestLogger(
  isShown: boolean,
  settings: Pick<GlobalOptions, 'json' | 'logJson' | 'debug' | 'showPii'>,
  { stderr, log }: Pick<Runtime, 'stderr' | 'log'>,
): (seen: LoggedRequest) => void {
  const { json, logJson, debug, showPii } = settings;
  return ({ headers, body: _, ...whole }) => {
    const seen = showPii ? whole : { ...whole, url: withoutIdentifier(whole.url) };
    const about = debug ? { ...seen, headers } : seen;
    const text = debug ? `${lineOf(seen)}${headerLines(headers)}` : lineOf(seen);
    log?.({ type: 'request', text, about });
    if (!isShown) return;
    const line = json || logJson ? sanitizedJson({ type: 'request', ...about }) : inert(text);
    stderr.write(`${line}\n`);
  };
}

function lineOf(seen: Omit<LoggedRequest, 'headers' | 'body'>): string {
  const { at, method, url, status, ms, bodyBytes, fault } = seen;
  const end = status ?? 'no answer';
  const rule = fault === null ? '' : `, fault ${fault}`;
  return `${at} ${method} ${url} ${end}, ${ms} ms, ${bodyBytes} bytes${rule}`;
}

/** Endpoint 5 names a person in its query. */
const withoutIdentifier = (url: string): string =>
  url.replace(
    /([?&](?:identity|email|objectId)=)([^&]+)/gi,
    (_, name: string, value: string) => `${name}${mask(value.replaceAll('%40', '@'))}`,
  );

const headerLines = (headers: LoggedRequest['headers']): string =>
  Object.entries(headers)
    .map(([name, value]) => `\n< ${name}: ${String(value)}`)
    .join('');
