import { createSignedCall, type SignedCall } from '../../calling/index.js';
import { devicePresets, type DeviceCapabilities, type MissedCall } from '../../calling/device.js';
import { withDefaults, type MediaAdapter, type SocketClass } from '../../calling/environment.js';
import { nodeEnv } from '../../calling/node/index.js';
import { challengeRouter } from '../../calling/key-proof.js';
import { FrameSocket } from '../../calling/socket.js';
import { validateCallRequest } from '../../calling/call-request.js';
import { errorTable, type SignedCallError } from '../../calling/errors.js';
import { validateCuid } from '../../calling/cuid.js';
import { EngagectlError, interruptionError, type ErrorId } from '../../errors.js';
import { containsSecret, redactor } from '../../redact.js';
import { fileErrorReason } from '../../files/file-errors.js';
import { sanitizeLine, shellPath } from '../../wording.js';
import {
  CallEvent,
  type CallDetails,
  type MissedCallActions,
  type Platform,
} from '../../calling/protocol.js';
import type { IncomingCall } from '../../calling/listeners.js';
import type { JobContext } from '../job-context.js';

/** An account of the calling system. */
export interface CallingAccount {
  readonly url: string;
  readonly accountId: string;
  /** API key. */
  readonly passcode: string;
  /** Signs a token for a cuid, where the router requires one. */
  readonly signToken?: ((cuid: string) => string) | undefined;
}

/** Returns a function that redacts the API key in what a router sent: in all texts, names and numbers. */
export function apiKeyRemover({ passcode }: CallingAccount): <Value>(value: Value) => Value {
  const [redact, isKey] = [redactor(passcode), containsSecret(passcode)];
  const remove = (value: unknown): unknown => {
    if (typeof value === 'string') return redact(value);
    if (typeof value === 'number' && isKey(String(value))) return redact(String(value));
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(remove);
    const entries = Object.entries(value).map(([name, of]) => [redact(name), remove(of)] as const);
    return Object.fromEntries(entries);
  };
  return <Value>(value: Value) => remove(value) as Value;
}

/** A virtual device in this process. */
export interface PhoneOptions {
  readonly cuid: string;
  readonly platform?: Platform;
  readonly microphone?: 'granted' | 'denied';
  readonly notifications?: 'on' | 'off';
  readonly missedCallActions?: MissedCallActions;
  /** File that keeps the device id, to receive waiting calls. Default: a new id each time. */
  readonly deviceIdFile?: string;
  /** Voice adapter; default: no voice. */
  readonly media?: MediaAdapter;
}

/** An event of a call. */
export interface PhoneEvent extends CallDetails {
  /** ISO 8601, UTC. */
  readonly ts: string;
  readonly event: CallEvent | 'MissedCallActionClicked';
  readonly direction: 'Incoming' | 'Outgoing';
  /** Clicked button of a missed-call notification. */
  readonly actionId?: string;
  readonly actionLabel?: string;
}

export interface PhoneHooks {
  readonly event: (event: PhoneEvent) => void;
  readonly rings?: (call: IncomingCall) => void;
  readonly missed?: (missed: MissedCall) => void;
  /** Called when the router rejects a reconnect, with the name of the error. */
  readonly refused?: (errorName: string) => void;
}

/** Connects a device to the router. Throws E-CREDENTIALS, E-UNAVAILABLE, E-CALL. */
export async function openPhone(
  options: PhoneOptions,
  account: CallingAccount,
  { runtime, messages }: Pick<JobContext, 'runtime' | 'messages'>,
  hooks: PhoneHooks,
): Promise<SignedCall> {
  const { cuid, platform = 'android', missedCallActions, deviceIdFile, media } = options;
  const { url, accountId, passcode: apiKey, signToken } = account;
  const withoutKey = apiKeyRemover(account);
  const leaving = new AbortController();
  const env = await nodeEnv({
    url,
    core: { accountId },
    platform,
    device: deviceOf(options, hooks),
    random: runtime.random,
    log: (line) => messages.verbose(sanitizeLine(withoutKey(line))),
    onRefused: (errorName) => hooks.refused?.(errorName),
    ...(deviceIdFile !== undefined && { deviceIdFile }),
    ...(media && { media }),
    ...(signToken && { token: () => signToken(cuid) }),
  }).catch((cause: unknown) => {
    throw deviceIdFile === undefined ? cause : noDeviceId(deviceIdFile, cause);
  });
  const phone = createSignedCall({
    ...env,
    ...(env.WebSocket && { WebSocket: leavable(env.WebSocket, leaving.signal) }),
  });
  listen(phone, runtime, hooks);
  const leave = () => leaving.abort();
  runtime.signal.addEventListener('abort', leave, { once: true });
  const { error } = await phone.initialize({
    accountId,
    apiKey,
    cuid,
    allowPersistSocketConnection: true,
    production: false,
    ...(missedCallActions && { missedCallActions }),
  });
  runtime.signal.removeEventListener('abort', leave);
  if (error === null && !runtime.signal.aborted) return phone;
  phone.close();
  if (error === null || runtime.signal.aborted) throw interruptionError(runtime.signal.reason);
  throw new CallError(error, `${cuid} could not connect`, account);
}

/** Error for a device id that cannot be read or created, such as one that a full disk left empty. */
const noDeviceId = (file: string, cause: unknown): EngagectlError =>
  new EngagectlError('E-FILE-READ', `the device id in ${file} cannot be read`, {
    why: fileErrorReason(cause),
    fix: `remove it (rm ${shellPath(file)}), and a new one is created`,
    file,
    cause,
  });

/** Whether the router proves that it has the account's key within `answer` milliseconds. */
export async function isKeyHolder(
  { url, accountId, passcode }: CallingAccount,
  { random }: Pick<JobContext['runtime'], 'random'>,
  answer: number,
): Promise<boolean> {
  const env = withDefaults(
    await nodeEnv({ url, core: { accountId }, random, log: () => undefined, times: { answer } }),
  );
  const link = await FrameSocket.open(env);
  if (!(link instanceof FrameSocket)) return false;
  const challenge = await challengeRouter(link, passcode, env);
  link.drop();
  return 'routerNonce' in challenge;
}

/** Wraps a socket class so that a signal aborts even a pending connection. */
const leavable = (Socket: SocketClass, leaving: AbortSignal): SocketClass =>
  class extends Socket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols);
      leaving.addEventListener('abort', () => this.terminate?.());
    }
  };

/** Adds the listeners. Call before connecting, since waiting calls arrive immediately. */
function listen(phone: SignedCall, { now }: Pick<JobContext['runtime'], 'now'>, hooks: PhoneHooks) {
  // The router chooses the members of the details.
  const put = (known: Omit<PhoneEvent, keyof CallDetails | 'ts'>, details: CallDetails) => {
    const own = { ts: new Date(now()).toISOString(), ...known };
    hooks.event({ ...own, ...details, ...own });
  };
  phone.addListener('SignedCallOnCallStatusChanged', ({ callEvent, direction, callDetails }) =>
    put({ event: callEvent, direction }, callDetails),
  );
  phone.addListener('SignedCallOnMissedCallActionClicked', ({ action, callDetails }) =>
    put({ event: 'MissedCallActionClicked', direction: 'Incoming', ...action }, callDetails),
  );
  phone.onIncomingCall((call) => hooks.rings?.(call));
}

/** Builds the device, which never prompts for permissions. */
const deviceOf = (
  { microphone = 'granted', notifications = 'on' }: PhoneOptions,
  { missed }: PhoneHooks,
): DeviceCapabilities => ({
  ...devicePresets.allowAll,
  microphone: () => microphone,
  notificationsEnabled: () => notifications === 'on',
  showMissedCall: (call) => missed?.(call),
});

/** How a ringing phone answers. */
export type AnswerMode = 'auto' | 'decline' | 'ignore' | 'prompt';

export interface AnsweringOptions {
  readonly answer: AnswerMode;
  /** Ringing time before the answer, in milliseconds. */
  readonly answerAfter?: number;
  /** Duration of a call before hanging up, in milliseconds. */
  readonly hangupAfter?: number;
}

/** Prompts whether to answer a call; rejects if the call ends before. */
export type AskPerson = (call: IncomingCall, over: AbortSignal) => Promise<boolean>;

interface AnsweringHooks {
  /** Called with an error of an answer, or of the phone that was to answer. */
  readonly failed: (error: unknown) => void;
  readonly ask?: AskPerson | undefined;
}

/** Answers, declines and hangs up calls automatically. Calls may ring before the phone is open. */
export class AutoAnswer {
  readonly #options: AnsweringOptions;
  readonly #sleep: JobContext['runtime']['sleep'];
  readonly #hooks: AnsweringHooks;
  /** Aborts the timers of a call, by call id. */
  readonly #waits = new Map<string, AbortController>();

  constructor(
    options: AnsweringOptions,
    { sleep }: Pick<JobContext['runtime'], 'sleep'>,
    hooks: AnsweringHooks,
  ) {
    this.#options = options;
    this.#sleep = sleep;
    this.#hooks = hooks;
  }

  /** Handles a ringing call. */
  rings(phone: Promise<SignedCall>, call: IncomingCall): void {
    phone.then(async (opened) => this.#answer(opened, call)).catch(this.#hooks.failed);
  }

  /** Handles an event of a call. */
  handleEvent(phone: Promise<SignedCall>, event: PhoneEvent): void {
    phone.then(async (opened) => this.#follow(opened, event)).catch(this.#hooks.failed);
  }

  async #answer(phone: SignedCall, call: IncomingCall): Promise<void> {
    const { answer, answerAfter = 0 } = this.#options;
    if (answer === 'ignore') return;
    const { signal } = this.#waitOf(call.callId);
    try {
      await this.#sleep(answerAfter, signal);
      const isTaken =
        answer === 'prompt' ? await this.#hooks.ask?.(call, signal) : answer === 'auto';
      if (signal.aborted) return;
      await (isTaken === true ? phone.answer(call.callId) : phone.decline(call.callId));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #follow(phone: SignedCall, { event, callId }: PhoneEvent): Promise<void> {
    if (event === 'MissedCallActionClicked') return;
    this.#waits.get(callId)?.abort();
    this.#waits.delete(callId);
    const { hangupAfter } = this.#options;
    if (event !== CallEvent.CallInProgress || hangupAfter === undefined) return;
    const { signal } = this.#waitOf(callId);
    await this.#sleep(hangupAfter, signal).then(
      () => phone.hangup(),
      () => undefined,
    );
  }

  /** Cancels all timers. */
  stop(): void {
    for (const wait of this.#waits.values()) wait.abort();
  }

  #waitOf(callId: string): AbortController {
    const wait = new AbortController();
    this.#waits.set(callId, wait);
    return wait;
  }
}

/** SDK errors with an id of their own; all others are E-CALL. */
const ids: Readonly<Partial<Record<SignedCallError['errorName'], ErrorId>>> = {
  AUTH_FAILURE: 'E-CREDENTIALS',
  NO_NETWORK: 'E-UNAVAILABLE',
  NOT_REACHABLE: 'E-UNAVAILABLE',
  RECEIVER_NETWORK_LOST: 'E-UNAVAILABLE',
  BAD_NETWORK: 'E-UNAVAILABLE',
};

const checkCallingAccount =
  'check the calling account and its key: engagectl config show; a router that requires tokens needs ENGAGECTL_CALL_TOKEN_KEY_FILE';

const fixes: Readonly<Partial<Record<SignedCallError['errorName'], string>>> = {
  AUTH_FAILURE: checkCallingAccount,
  NO_NETWORK: 'check that the calling system runs, and its address',
  NOT_REACHABLE: 'connect the receiver once: engagectl call listen --cuid <cuid>',
  CUID_ELSEWHERE: 'stop the other program that uses this cuid, or use another cuid',
  CALL_IN_PROGRESS: 'wait for the end of the other call of this cuid',
};

/** An error of the calling SDK. */
export class CallError extends EngagectlError {
  readonly answered: SignedCallError;

  constructor(error: SignedCallError, what: string, account: CallingAccount) {
    // The router may have written it.
    const answered = apiKeyRemover(account)(error);
    const { errorName, errorCode, errorDescription } = answered;
    super(ids[errorName] ?? 'E-CALL', `${what}: ${errorName} (${errorCode})`, {
      why: sanitizeLine(errorDescription),
      fix: fixes[errorName] ?? `see ${errorName} in docs/calling.md`,
    });
    this.answered = answered;
  }
}

/** Rewrites the error for the calling system, whose accounts have an API key, not a passcode. */
export const accountRejectedError = (cause: EngagectlError): EngagectlError =>
  new EngagectlError('E-CREDENTIALS', 'the calling system rejected the account', {
    why: 'wrong account id or API key',
    fix: checkCallingAccount,
    cause,
  });

/** Throws E-USAGE for a cuid that the SDK would reject. */
export function checkCuid(cuid: string, option: string): void {
  const wrong = validateCuid(cuid).filter(({ severity }) => severity === 'error');
  if (wrong.length === 0) return;
  throw new EngagectlError('E-USAGE', `${option} ${JSON.stringify(cuid)} is not a valid cuid`, {
    why: `it ${wrong.map(({ message }) => message).join('; ')}`,
    fix: 'use 5 to 50 ASCII letters, digits and _, like ann_1',
  });
}

interface Placement {
  readonly cuid: string;
  readonly to: string;
  readonly context: string;
}

/** Throws E-USAGE for a call that the SDK would reject without asking the router. */
export function checkCallOptions({ cuid, to, context }: Placement): void {
  checkCuid(cuid, '--cuid');
  checkCuid(to, '--to');
  const failure = validateCallRequest({
    cuid,
    receiverCuid: to,
    callContext: context,
    callProperties: undefined,
  });
  if (failure === undefined) return;
  const { message, description } = errorTable[failure.name];
  throw new EngagectlError('E-USAGE', `the call to ${to} cannot be placed: ${failure.name}`, {
    why: failure.detail ?? description,
    fix: `${message}: correct --to or --context`,
  });
}
