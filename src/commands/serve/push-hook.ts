import { spawn } from 'node:child_process';
import type { Runtime } from '../../runtime.js';
import type { PushOffer } from '../../service/start.js';
import type { Messages } from '../../ui/messages.js';

/** For which a URL may take to answer. */
const answerMilliseconds = 5000;

/**
 * What is done about a call for a device that is not connected: the offer goes to a URL by POST, or
 * to a command of the shell on its standard input, so that a supervisor can start the receiver. That
 * it fails is told, and the call goes on ringing.
 */
export function pushHookOf(
  hook: string,
  runtime: Runtime,
  told: Messages,
): (offer: PushOffer) => void {
  const push = /^https?:\/\//i.test(hook) ? post : run;
  return (offer) =>
    void push(hook, offer, runtime).catch((error: unknown) =>
      told.warn(`the push hook failed for ${offer.cuid}: ${reasonOf(error)}`),
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

/** The command may run on as the receiver itself; its output goes nowhere, its errors to ours. */
function run(command: string, offer: PushOffer, { env, cwd }: Runtime): Promise<void> {
  const { callId, cuid, deviceId } = offer;
  const own = {
    ENGAGECTL_PUSH_CALL_ID: callId,
    ENGAGECTL_PUSH_CUID: cuid,
    ENGAGECTL_PUSH_DEVICE_ID: deviceId,
  };
  const child = spawn(command, {
    cwd,
    env: { ...env, ...own },
    shell: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.unref();
  child.stdin.on('error', () => undefined); // it need not read
  child.stdin.end(`${JSON.stringify(offer)}\n`);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => (code ? reject(new Error(`exit code ${code}`)) : resolve()));
  });
}

const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message ? cause.message : message;
};
