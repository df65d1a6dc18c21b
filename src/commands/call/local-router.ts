import { callingAccount, type Credentials } from '../../config/credentials.js';
import { localCredentials, localDataDirectory } from '../../config/local-account.js';
import { announcedRouter, claimRouter, type RouterClaim } from '../../config/call-router-claim.js';
import { isLoopback } from '../../contract/endpoints.js';
import { EngagectlError } from '../../errors.js';
import { startLocalService } from '../shared/local-service.js';
import type { Account } from '../../config/account.js';
import type { Runtime } from '../../runtime.js';
import type { CallOptions } from '../../service/start.js';
import type { Messages } from '../../ui/messages.js';

/** Router of `--region local`, in this process or another. */
interface LocalRouter extends Credentials {
  /** Does not change when another process takes over. */
  readonly url: string;
  close(): Promise<void>;
}

/** Interval of checks whether the router's process is still alive. */
const pollMs = 250;
/** Timeout for a router that is starting. */
const startTimeoutMs = 15_000;
const answerTimeoutMs = 2000;
/** Time before a stopping router closes, in which acknowledgements of clients still arrive. */
const lingerMs = 100;

/**
 * Joins the router of `--region local`, or runs it in this process if there is none. When the process of the router
 * exits, one of the others takes over on the same port, and all clients reconnect (docs/call-router.md).
 */
export async function joinLocalRouter(
  account: Account,
  runtime: Runtime,
  messages: Messages,
): Promise<LocalRouter> {
  const credentials = await localCredentials(localDataDirectory(runtime), runtime, callingAccount);
  const context = { account, runtime, messages, credentials };
  const first = await joinOrRun(context);
  const stop = new AbortController();
  const successor = first.own ? undefined : takeOverWhenGone(first.url, context, stop.signal);
  return {
    ...credentials,
    url: first.url,
    close: async () => {
      stop.abort();
      const own = first.own ?? (await successor);
      if (!own) return;
      await runtime.sleep(lingerMs);
      await own.close();
    },
  };
}

interface RouterContext {
  readonly account: Account;
  readonly runtime: Runtime;
  readonly messages: Messages;
  readonly credentials: Credentials;
}

/** Router in this process. */
interface OwnRouter {
  readonly url: string;
  close(): Promise<void>;
}

async function joinOrRun(
  context: RouterContext,
): Promise<{ readonly url: string; readonly own?: OwnRouter }> {
  const { runtime, messages } = context;
  const folder = localDataDirectory(runtime);
  const deadline = runtime.monotonic() + startTimeoutMs;
  /** Address of a program that answers but is not the router. */
  let impostor: string | undefined;
  while (runtime.monotonic() < deadline) {
    const claim = await claimRouter(folder);
    if (claim) {
      const own = await run(claim, 0, context);
      messages.note(`this command routes calls at ${own.url}; other commands join it`);
      return { url: own.url, own };
    }
    const url = await announcedRouter(folder);
    impostor = undefined;
    if (url !== undefined && (await isListening(url))) {
      if (await provesKey(url, context)) return { url };
      impostor = url;
    }
    await runtime.sleep(pollMs, runtime.signal);
  }
  const other = impostor && `, and the program at ${impostor} does not have their API key`;
  throw new EngagectlError('E-UNAVAILABLE', 'the router of --region local does not answer', {
    why: `another process has the lock of the router in ${folder}${other ?? ''}`,
    fix: 'retry; if the error persists, stop that process',
  });
}

/** Waits until the router's process has exited, then runs the router in this process unless another is faster. */
async function takeOverWhenGone(
  url: string,
  context: RouterContext,
  signal: AbortSignal,
): Promise<OwnRouter | undefined> {
  const { runtime, messages } = context;
  for (;;) {
    await runtime.sleep(pollMs, signal).catch(() => undefined);
    if (signal.aborted) return undefined;
    const claim = await claimRouter(localDataDirectory(runtime));
    if (!claim) continue;
    try {
      const own = await run(claim, portOf(url), context);
      messages.note(
        `the command that routed calls has exited; this command now routes them at ${url}`,
      );
      return own;
    } catch (error) {
      messages.warn(`cannot take over the routing of calls: ${String(error)}`);
      return undefined;
    }
  }
}

async function run(claim: RouterClaim, port: number, context: RouterContext): Promise<OwnRouter> {
  try {
    const calls = callOptions(context);
    const service = await startLocalService(context.account, { ...context, port, calls });
    claim.announce(service.url);
    return {
      url: service.url,
      close: async () => {
        await service.close();
        claim.release();
      },
    };
  } catch (error) {
    claim.release();
    throw error;
  }
}

const callOptions = ({ credentials: { accountId, passcode } }: RouterContext): CallOptions => ({
  accountId,
  apiKey: passcode,
});

/** Whether the program at the address has the API key. Another program may have taken the port of a stopped router. */
async function provesKey(url: string, { credentials, runtime }: RouterContext): Promise<boolean> {
  const { isKeyHolder } = await import('../../jobs/calling/phone.js');
  return isKeyHolder({ ...credentials, url }, runtime, answerTimeoutMs);
}

const portOf = (url: string): number => Number(new URL(url).port);

/** Whether a router listens at the address: it answers a plain request with 426. Throws E-UNAVAILABLE if untrusted. */
async function isListening(url: string): Promise<boolean> {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !isLoopback(hostname))
    throw new EngagectlError('E-UNAVAILABLE', 'the router of --region local is not on loopback', {
      why: `engagectl serve routes calls at ${url} without TLS, so others could read them`,
      fix: 'restart it with --tls, or without --host',
    });
  try {
    const signal = AbortSignal.timeout(answerTimeoutMs);
    const { signalPath } = await import('../../calling/protocol.js');
    const { status } = await fetch(url + signalPath, { signal, redirect: 'error' });
    return status === 426;
  } catch (error) {
    const { code = '' } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    if (!/CERT|VERIFY/.test(code)) return false;
    throw new EngagectlError('E-UNAVAILABLE', 'the router of --region local is not trusted', {
      why: `engagectl serve routes calls at ${url} with an unknown certificate (${code})`,
      fix: 'set NODE_EXTRA_CA_CERTS=<the certificate that serve prints>',
      cause: error,
    });
  }
}
