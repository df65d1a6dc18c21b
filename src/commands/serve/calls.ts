import { EngagectlError, refuseUnverifiedTls, withWhy } from '../../errors.js';
import { quoteForShell } from '../../wording.js';
import path from 'node:path';
import { spawn } from 'node:child_process';
import type { Credentials } from '../../config/credentials.js';
import type { Runtime } from '../../runtime.js';
import type { CallOptions, PushOffer } from '../../service/start.js';
import type { Messages } from '../../ui/messages.js';
import type { ServeFlags } from './flags.js';

/** The calling system of `serve`. */
interface ServedCalls {
  /** Undefined if another process routes the calls of this directory. */
  readonly options: CallOptions | undefined;
  /** Address of that process. */
  readonly otherRouter?: string | undefined;
  /** Publishes the address to the user and to other processes. */
  announce(url: string): void;
  release(): void;
}

/** With `memory`, nothing is stored, and no other process can route the same calls. */
export async function callingForServe(
  flags: ServeFlags,
  { folder, memory }: { readonly folder: string; readonly memory: boolean },
  runtime: Runtime,
  messages: Messages,
): Promise<ServedCalls> {
  const { announcedRouter, claimRouter } = await import('../../config/call-router-claim.js');
  const claim = memory ? undefined : await claimRouter(folder);
  if (!memory && !claim) {
    const otherRouter = await announcedRouter(folder);
    const at = otherRouter ? `, at ${otherRouter}` : '';
    messages.warn(`calls of ${folder} are routed by another process${at}`);
    return { ...noCalls, otherRouter };
  }
  const account = await accountOf(folder, runtime, messages);
  if (!account) {
    claim?.release();
    return noCalls;
  }
  const { credentials, how } = account;
  const tokenKey = flags.requireTokens ? await tokenKeyOf(folder, runtime, messages) : undefined;
  return {
    options: { ...(await optionsOf(flags, credentials, runtime, messages)), tokenKey },
    announce: (url) => {
      claim?.announce(url);
      messages.note(`calls: ENGAGECTL_CALL_ACCOUNT_ID=${credentials.accountId} ${how}`);
    },
    release: () => claim?.release(),
  };
}

async function tokenKeyOf(folder: string, runtime: Runtime, messages: Messages): Promise<string> {
  const { callTokenKey } = await import('../../config/local-account.js');
  const { key, file } = await callTokenKey(folder, runtime);
  messages.note(`key of call tokens: ${file}`);
  return key;
}

const noCalls: ServedCalls = {
  options: undefined,
  announce: () => undefined,
  release: () => undefined,
};

interface CallAccount {
  readonly credentials: Credentials;
  /** How to pass the key to another command. */
  readonly how: string;
}

/**
 * Returns undefined and prints why if the directory cannot keep a secret; the rest of the service does
 * not need one.
 */
async function accountOf(
  folder: string,
  runtime: Runtime,
  messages: Messages,
): Promise<CallAccount | undefined> {
  const { callingAccount, environmentCredentials } = await import('../../config/credentials.js');
  const { localCredentials, localSecretFile } = await import('../../config/local-account.js');
  const given = await environmentCredentials(runtime, callingAccount);
  if (given) return { credentials: given, how: 'and the API key of this environment' };
  try {
    const credentials = await localCredentials(folder, runtime, callingAccount);
    const file = quoteForShell(localSecretFile(folder, callingAccount));
    return { credentials, how: `ENGAGECTL_CALL_API_KEY_FILE=${file}` };
  } catch (error) {
    if (!(error instanceof EngagectlError)) throw error;
    messages.warn(`calls are not served: ${withWhy(error)}`);
    return undefined;
  }
}

async function optionsOf(
  { calls, callSpeed, callDrops, pushHook, iceServers }: ServeFlags,
  { accountId, passcode }: Credentials,
  runtime: Runtime,
  messages: Messages,
): Promise<CallOptions> {
  const { callTimers } = await import('../../calling/protocol.js');
  const { callLimits } = await import('../../service/calls/call-options.js');
  const { ringing, connecting, gone, ping } = callTimers;
  const faster = (milliseconds: number) => milliseconds / callSpeed;
  return {
    accountId,
    apiKey: passcode,
    timers: {
      ringing: faster(ringing),
      connecting: faster(connecting),
      gone: faster(gone),
      ping: faster(ping),
    },
    limits: { callsPerMinute: callLimits.callsPerMinute * callSpeed },
    dropRate: callDrops,
    isOff: calls === 'off',
    iceServers: iceServers === undefined ? undefined : await iceServersIn(iceServers, runtime),
    onPush: pushHook === undefined ? undefined : pushHookOf(pushHook, runtime, messages),
  };
}

/** Reads a file of ICE servers. Throws E-FILE-READ, E-USAGE. */
async function iceServersIn(
  file: string,
  { cwd, signal }: Runtime,
): Promise<CallOptions['iceServers']> {
  const { parseIceServers } = await import('../../service/control/settings-schema.js');
  const { fileReadError } = await import('../../files/file-errors.js');
  const { readTextFile } = await import('../../files/read-file.js');
  const text = await readTextFile(path.resolve(cwd, file), signal).catch((cause: unknown) => {
    if (signal.aborted) throw cause;
    throw fileReadError(file, 'name a readable file with --ice-servers', cause);
  });
  try {
    return parseIceServers(JSON.parse(text));
  } catch (cause) {
    throw new EngagectlError('E-USAGE', `--ice-servers ${file} is invalid`, {
      why: cause instanceof SyntaxError ? 'it is not JSON' : (cause as Error).message,
      fix: 'write an array like [{"urls":"turn:turn.example.com:3478","secret":"…"}]',
      file,
    });
  }
}

/** Time limit for the answer of a push hook URL. */
const answerMilliseconds = 5000;

/**
 * Creates the hook for calls to a device that is not connected: the offer is sent to a URL by POST, or
 * to a shell command on its standard input, so that a supervisor can start the receiver. A failure is
 * reported, and the call keeps ringing.
 */
function pushHookOf(
  hook: string,
  runtime: Runtime,
  messages: Messages,
): (offer: PushOffer) => void {
  if (/^https:/i.test(hook))
    refuseUnverifiedTls(runtime.env, 'anyone who answers at that address could read who is called');
  const push = /^https?:\/\//i.test(hook) ? post : run;
  return (offer) =>
    void push(hook, offer, runtime).catch((error: unknown) =>
      messages.warn(`the push hook failed for ${offer.cuid}: ${reasonOf(error)}`),
    );
}

async function post(url: string, offer: PushOffer): Promise<void> {
  const { ok, status } = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(offer),
    redirect: 'error',
    signal: AbortSignal.timeout(answerMilliseconds),
  });
  if (!ok) throw new Error(`HTTP ${status}`);
}

/**
 * Variables passed to a hook on all platforms: what a shell and Node.js need, and where an engagectl
 * that it starts finds its files. Passcodes and keys are not among them: a receiver has its own, or
 * those of the local region.
 */
const hookVariables: ReadonlySet<string> = new Set(
  [
    'PATH HOME SHELL USER LOGNAME TMPDIR TZ LANG LANGUAGE',
    'XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR',
    'ENGAGECTL_CONFIG_DIR ENGAGECTL_STATE_DIR NODE_EXTRA_CA_CERTS',
    // Windows
    'SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT TEMP TMP USERPROFILE',
    'APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES',
  ].flatMap((names) => names.split(' ')),
);

/** Windows variable names are case-insensitive. */
const isForHooks = (name: string, platform: string): boolean =>
  hookVariables.has(platform === 'win32' ? name.toUpperCase() : name) || name.startsWith('LC_');

/**
 * The command may keep running as the receiver itself; its output is discarded, its errors go to stderr. Async, so
 * that a device id with a NUL, which no variable can contain, rejects instead of throwing in the router.
 */
async function run(
  command: string,
  offer: PushOffer,
  { env, cwd, platform }: Runtime,
): Promise<void> {
  const { callId, cuid, deviceId } = offer;
  const inherited = Object.entries(env).filter(([name]) => isForHooks(name, platform));
  const own = {
    ENGAGECTL_PUSH_CALL_ID: callId,
    ENGAGECTL_PUSH_CUID: cuid,
    ENGAGECTL_PUSH_DEVICE_ID: deviceId,
  };
  const child = spawn(command, {
    cwd,
    env: { ...Object.fromEntries(inherited), ...own },
    shell: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.unref();
  await new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => (code ? reject(new Error(`exit code ${code}`)) : resolve()));
    // Without free file descriptors it does not start, and has no stdin.
    child.on('spawn', () => {
      child.stdin.on('error', () => undefined); // it may not read
      child.stdin.end(`${JSON.stringify(offer)}\n`);
    });
  });
}

const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message ? cause.message : message;
};
