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

/** The router of `--region local`, in this process or in another. */
interface LocalRouter extends Credentials {
  /** Stays the same when another process takes over. */
  readonly url: string;
  close(): Promise<void>;
}

/** Between two looks whether the router's process is still there. */
const lookMilliseconds = 250;
/** For which a router may be on its way up. */
const patienceMilliseconds = 15_000;
const answerMilliseconds = 2000;
/** In which a router hears what phones say without an answer: which events they have seen. */
const lingerMs = 100;

/**
 * Joins the router of `--region local`. The first command that needs it runs it inside itself, and
 * says so; those that come later join; when it leaves, one of them takes over on the same port, so
 * that clients have only to connect again (calling.md §7).
 */
export async function joinLocalRouter(
  account: Account,
  runtime: Runtime,
  messages: Messages,
): Promise<LocalRouter> {
  const credentials = await localCredentials(localDataDirectory(runtime), runtime, callingAccount);
  const world = { account, runtime, messages, credentials };
  const first = await joinOrRun(world);
  const stop = new AbortController();
  const successor = first.own ? undefined : takeOverWhenGone(first.url, world, stop.signal);
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

interface World {
  readonly account: Account;
  readonly runtime: Runtime;
  readonly messages: Messages;
  readonly credentials: Credentials;
}

/** A router in this process. */
interface OwnRouter {
  readonly url: string;
  close(): Promise<void>;
}

async function joinOrRun(
  world: World,
): Promise<{ readonly url: string; readonly own?: OwnRouter }> {
  const { runtime, messages } = world;
  const folder = localDataDirectory(runtime);
  const deadline = runtime.monotonic() + patienceMilliseconds;
  /** Where somebody answers who is not the router. */
  let stranger: string | undefined;
  while (runtime.monotonic() < deadline) {
    const claim = await claimRouter(folder, runtime);
    if (claim) {
      const own = await run(claim, 0, world);
      messages.note(`calls are routed by this command, at ${own.url}; others join it`);
      return { url: own.url, own };
    }
    const url = await announcedRouter(folder);
    stranger = undefined;
    if (url !== undefined && (await isListening(url))) {
      if (await provesKey(url, world)) return { url };
      stranger = url;
    }
    await runtime.sleep(lookMilliseconds, runtime.signal);
  }
  const other = stranger && `, and the program at ${stranger} does not hold their API key`;
  throw new EngagectlError('E-UNAVAILABLE', 'the router of --region local does not answer', {
    why: `another process says that it routes the calls of ${folder}${other ?? ''}`,
    fix: 'try again; if it stays so, end that process',
  });
}

/** Waits until the router's process has left, and runs the next one unless another is faster. */
async function takeOverWhenGone(
  url: string,
  world: World,
  signal: AbortSignal,
): Promise<OwnRouter | undefined> {
  const { runtime, messages } = world;
  for (;;) {
    await runtime.sleep(lookMilliseconds, signal).catch(() => undefined);
    if (signal.aborted) return undefined;
    const claim = await claimRouter(localDataDirectory(runtime), runtime);
    if (!claim) continue;
    try {
      const own = await run(claim, portOf(url), world);
      messages.note(`the command that routed the calls has left: this one does so now, at ${url}`);
      return own;
    } catch (error) {
      messages.warn(`calls are not routed any more: ${String(error)}`);
      return undefined;
    }
  }
}

async function run(claim: RouterClaim, port: number, world: World): Promise<OwnRouter> {
  try {
    const service = await startLocalService(world.account, { ...world, port, calls: calls(world) });
    await claim.announce(service.url);
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

const calls = ({ credentials: { accountId, passcode } }: World): CallOptions => ({
  accountId,
  apiKey: passcode,
});

/** Whoever has taken the port of a router that has ended is not sent the API key. */
async function provesKey(url: string, { credentials, runtime }: World): Promise<boolean> {
  const { isKeyHolder } = await import('../../jobs/calling/phone.js');
  return isKeyHolder({ ...credentials, url }, runtime, answerMilliseconds);
}

const portOf = (url: string): number => Number(new URL(url).port);

/** Whether a router listens there: it asks a plain request for a WebSocket. Rejects when it cannot be trusted. */
async function isListening(url: string): Promise<boolean> {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !isLoopback(hostname))
    throw new EngagectlError('E-UNAVAILABLE', 'the router of --region local is not on loopback', {
      why: `a serve without TLS routes the calls, at ${url}: others could read along`,
      fix: 'start it with --tls, or without --host',
    });
  try {
    const signal = AbortSignal.timeout(answerMilliseconds);
    const { signalPath } = await import('../../calling/protocol.js');
    const { status } = await fetch(url + signalPath, { signal, redirect: 'error' });
    return status === 426;
  } catch (error) {
    const { code = '' } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    if (!/CERT|VERIFY/.test(code)) return false;
    throw new EngagectlError('E-UNAVAILABLE', 'the router of --region local is not trusted', {
      why: `a serve with TLS routes the calls, at ${url}: ${code}`,
      fix: 'NODE_EXTRA_CA_CERTS=<the certificate that serve names>',
      cause: error,
    });
  }
}
