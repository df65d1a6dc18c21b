import path from 'node:path';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { defaultHeaderPrefix } from '../../contract/endpoints.js';
import { jsonAnswer, sanitize, sanitizedJson } from '../../ui/sanitize.js';
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

/** Data directory, account and TLS of the service. */
interface Place {
  readonly folder: string;
  readonly credentials: Credentials;
  /** Directory of the passcode file; undefined if the passcode is from the environment. */
  readonly passcodeFolder: string | undefined;
  readonly tls: Tls | undefined;
}

/** Runs the local service until a signal or the end of standard input stops it, which counts as success. */
export async function serve(
  flags: ServeFlags,
  settings: GlobalOptions,
  runtime: Runtime,
): Promise<void> {
  const { startServiceOrExplain, warnOfDefects } = await import('../shared/local-service.js');
  const messages = messagePrinter(settings, runtime);
  const { stderr, unredactedStderr = stderr, env, now, program } = runtime;
  const terminalOnly = messagePrinter(settings, { stderr: unredactedStderr, env, now, program });
  const place = await resolveStore(flags, runtime);
  const { signal } = runtime;
  const { folder } = place;
  const calls = await callingForServe(
    flags,
    { folder, memory: flags.memory === true },
    runtime,
    messages,
  );
  let certificate: TrustFile | undefined;
  try {
    const options = {
      ...(await optionsOf(flags, settings, place, runtime)),
      calls: calls.options,
      onDefect: warnOfDefects(messages),
    };
    const service = await startServiceOrExplain(options, calls.otherRouter);
    try {
      const { url } = service;
      if (place.tls?.isMade) certificate = await writeTrustFile(place.tls, folder, url);
      runtime.stdout.write(settings.json ? jsonAnswer({ url }) : `${url}\n`);
      await announce(service, flags, place, certificate?.file, messages);
      // The sign-in link contains the passcode: it is printed on terminals only, never to a file or log.
      if (stderr.isTTY) terminalOnly.note(`web page: ${linkTo(service, place.credentials)}`);
      else messages.note(`web page: ${url}`);
      calls.announce(url);
      await untilStopped(signal, flags.exitWithStdin ? runtime.stdin : undefined);
    } finally {
      await service.close();
    }
  } finally {
    calls.release();
    certificate?.remove();
  }
}

/** Waits for a signal, or for the end of standard input: of a pipe, that of the process that holds it. */
async function untilStopped(
  signal: AbortSignal,
  stdin: NodeJS.ReadableStream | undefined,
): Promise<void> {
  if (signal.aborted) return;
  if (!stdin) {
    await once(signal, 'abort');
    return;
  }
  stdin.resume();
  // An error of the pipe is its end as well.
  await finished(stdin, { signal, writable: false }).catch(() => undefined);
  stdin.pause();
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
  const { latency, lag, pending, failRate, maxConcurrent, strict = false } = flags;
  const { variantValues } = await import('../../service/settings.js');
  const { headerPrefixes: prefixes } = settings;
  return {
    dataDir: memory ? undefined : folder,
    seed: seed?.map((file) => path.resolve(runtime.cwd, file)),
    signal: runtime.signal,
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
    ...failRate,
    ...(failRate.failRate > 0 && failRate.failSeed === undefined
      ? { failSeed: Math.floor(runtime.random() * 1e9) }
      : {}),
    maxConcurrent,
    strict,
    // Other flags are not shown as settings: a push hook may contain a secret.
    variants: Object.fromEntries(Object.entries(flags).filter(([name]) => name in variantValues)),
    random: runtime.random,
    now: runtime.now,
    ...(log || settings.verbose || runtime.log
      ? { onRequest: requestLogger(log === true || settings.verbose, settings, runtime) }
      : {}),
  };
}

/** Prints where the data is, who can reach the service, and how to use it. */
async function announce(
  { url, isSeeded, service }: RunningService,
  flags: ServeFlags,
  { folder, credentials, passcodeFolder }: Place,
  certificate: string | undefined,
  messages: Messages,
): Promise<void> {
  const { localSecretFile } = await import('../../config/local-account.js');
  warnAboutExposure(messages, flags);
  messages.note(`data: ${flags.memory ? 'in memory' : folder}`);
  const { failRate, failSeed } = service.settings.values;
  if (failRate > 0)
    messages.note(
      `fail rate ${failRate}; the same requests fail again with --fail-rate ${failRate},${failSeed}`,
    );
  if (flags.seed && !isSeeded) messages.warn('the store already has users: the seed is not loaded');
  const trust = certificate ? `NODE_EXTRA_CA_CERTS=${quoteForShell(certificate)} ` : '';
  if (certificate) messages.note(`certificate to trust: ${certificate}`);
  const passcode =
    passcodeFolder === undefined
      ? 'and the passcode of this environment'
      : `ENGAGECTL_PASSCODE_FILE=${quoteForShell(localSecretFile(passcodeFolder))}`;
  messages.note(
    `use it with: ${trust}ENGAGECTL_BASE_URL=${url} ENGAGECTL_ACCOUNT_ID=${quoteForShell(credentials.accountId)} ${passcode}`,
  );
}

/** Sign-in link of the page. The part after `#` is not sent to the service. */
const linkTo = ({ url }: RunningService, { accountId, passcode }: Credentials): string =>
  `${url}/#${new URLSearchParams({ account: accountId, passcode }).toString()}`;

/** Warns if other machines can reach the service. */
function warnAboutExposure(
  messages: Messages,
  { host, allowHost = [], tls, tlsCert }: ServeFlags,
): void {
  if (host !== undefined && !/^(127\.|::1$|localhost$)/.test(host)) {
    const plain = tls || tlsCert ? '' : ', and the connection is not encrypted';
    messages.warn(`the service listens on ${host}: other machines can reach it${plain}`);
  }
  if (allowHost.length > 0) messages.note(`accepted host names: ${allowHost.join(', ')}`);
}

/**
 * Returns a function that logs each finished request: a line, or an object with `--log-format json`; with `-vv`
 * including headers. The body of the response is logged with `--show-pii` only, that of the request never.
 */
function requestLogger(
  isPrinted: boolean,
  settings: Pick<GlobalOptions, 'json' | 'logJson' | 'debug' | 'showPii'>,
  { stderr, log }: Pick<Runtime, 'stderr' | 'log'>,
): (seen: LoggedRequest) => void {
  const { json, logJson, debug, showPii } = settings;
  return ({ headers, body: _, answer, ...whole }) => {
    const seen = showPii ? { ...whole, answer } : { ...whole, url: withoutIdentifier(whole.url) };
    const about = debug ? { ...seen, headers } : seen;
    const text = debug ? `${lineOf(seen)}${headerLines(headers)}` : lineOf(seen);
    log?.({ type: 'request', text, about });
    if (!isPrinted) return;
    const line = json || logJson ? sanitizedJson({ type: 'request', ...about }) : sanitize(text);
    stderr.write(`${line}\n`);
  };
}

function lineOf(
  seen: Omit<LoggedRequest, 'headers' | 'body' | 'answer'> & {
    readonly answer?: string | undefined;
  },
): string {
  const { at, method, url, status, result, ms, bodyBytes, fault, reason, warnings, answer } = seen;
  const end = status ?? 'no answer';
  const word = result === null || result === 'success' ? '' : ` ${result}`;
  const rule = fault === null ? '' : `, fault ${fault}`;
  const why = reason === null || fault !== null ? '' : `: ${reason}`;
  const more = [...warnings.map((text) => `\nwarning: ${text}`), answer ? `\n> ${answer}` : ''];
  return `${at} ${method} ${url} ${end}${word}, ${ms} ms, ${bodyBytes} bytes${rule}${why}${more.join('')}`;
}

/** Masks the identifier in the query of endpoint 5. */
const withoutIdentifier = (url: string): string =>
  url.replace(
    /([?&](?:identity|email|objectId)=)([^&]+)/gi,
    (_, name: string, value: string) => `${name}${mask(value.replaceAll('%40', '@'))}`,
  );

const headerLines = (headers: LoggedRequest['headers']): string =>
  Object.entries(headers)
    .map(([name, value]) => `\n< ${name}: ${String(value)}`)
    .join('');
