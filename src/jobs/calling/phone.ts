import { createSignedCall, type SignedCall } from '../../calling/index.js';
import {
  devicePresets,
  withDefaults,
  type DeviceCapabilities,
  type MissedCall,
  type MediaAdapter,
  type SocketClass,
} from '../../calling/environment.js';
import { nodeEnv } from '../../calling/node/index.js';
import { challengeRouter } from '../../calling/key-proof.js';
import { FrameSocket } from '../../calling/socket.js';
import { interruptionError } from '../../errors.js';
import { CallError } from './call-errors.js';
import {
  CallEvent,
  type CallDetails,
  type MissedCallActions,
  type Platform,
} from '../../calling/protocol.js';
import type { IncomingCall } from '../../calling/listeners.js';
import type { JobContext } from '../job-context.js';

/** The calling system, and the account in it. */
export interface CallingAccount {
  readonly url: string;
  readonly accountId: string;
  /** Its API key. */
  readonly passcode: string;
}

/** A device that there is only in this process. */
export interface PhoneOptions {
  readonly cuid: string;
  readonly platform?: Platform;
  readonly microphone?: 'granted' | 'denied';
  readonly notifications?: 'on' | 'off';
  readonly missedCallActions?: MissedCallActions;
  /** Keeps the id of the device, so that calls that waited are found; another one each time by default. */
  readonly deviceIdFile?: string;
  /** No voice by default. */
  readonly media?: MediaAdapter;
}

/** What is told of a call, in the order in which it happened. */
export interface PhoneEvent extends CallDetails {
  /** ISO 8601, UTC. */
  readonly ts: string;
  readonly event: CallEvent | 'MissedCallActionClicked';
  readonly direction: 'Incoming' | 'Outgoing';
  /** Of the button of a missed call's notification. */
  readonly actionId?: string;
  readonly actionLabel?: string;
}

export interface PhoneHooks {
  readonly event: (event: PhoneEvent) => void;
  readonly rings?: (call: IncomingCall) => void;
  readonly missed?: (missed: MissedCall) => void;
  /** The router does not let the phone back, for an error of this name. */
  readonly refused?: (errorName: string) => void;
}

/** A device at the router. Throws what it was not let in for: E-CREDENTIALS, E-UNAVAILABLE, E-CALL. */
export async function openPhone(
  options: PhoneOptions,
  account: CallingAccount,
  { runtime, said }: Pick<JobContext, 'runtime' | 'said'>,
  hooks: PhoneHooks,
): Promise<SignedCall> {
  const { cuid, platform = 'android', missedCallActions, deviceIdFile, media } = options;
  const { url, accountId, passcode: apiKey } = account;
  const leaving = new AbortController();
  const env = await nodeEnv({
    url,
    core: { accountId },
    platform,
    device: deviceOf(options, hooks),
    random: runtime.random,
    log: (line) => said.verbose(line),
    onRefused: (errorName) => hooks.refused?.(errorName),
    ...(deviceIdFile !== undefined && { deviceIdFile }),
    ...(media && { media }),
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
  throw new CallError(error, `${cuid} was not let in`);
}

/** Whether the router at this address proves, within so many milliseconds, that it holds the account's key. */
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

/** Sockets that are given up although nobody has answered yet. */
const leavable = (Socket: SocketClass, leaving: AbortSignal): SocketClass =>
  class extends Socket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols);
      leaving.addEventListener('abort', () => this.terminate?.());
    }
  };

/** Before the phone is at the router: what waited there comes at once. */
function listen(phone: SignedCall, { now }: Pick<JobContext['runtime'], 'now'>, hooks: PhoneHooks) {
  const ts = () => new Date(now()).toISOString();
  phone.addListener('SignedCallOnCallStatusChanged', ({ callEvent, direction, callDetails }) =>
    hooks.event({ ts: ts(), event: callEvent, direction, ...callDetails }),
  );
  phone.addListener('SignedCallOnMissedCallActionClicked', ({ action, callDetails }) =>
    hooks.event({
      ts: ts(),
      event: 'MissedCallActionClicked',
      direction: 'Incoming',
      ...callDetails,
      ...action,
    }),
  );
  phone.onIncomingCall((call) => hooks.rings?.(call));
}

/** It asks nobody for permissions: before Android 13 there is none for notifications. */
const deviceOf = (
  { microphone = 'granted', notifications = 'on' }: PhoneOptions,
  { missed }: PhoneHooks,
): DeviceCapabilities => ({
  ...devicePresets.allowAll,
  microphone: () => microphone,
  notificationsEnabled: () => notifications === 'on',
  showMissedCall: (call) => missed?.(call),
});

/** What a phone does when it rings. */
export type AnswerMode = 'auto' | 'decline' | 'ignore' | 'prompt';

export interface AnsweringOptions {
  readonly answer: AnswerMode;
  /** Milliseconds that it rings before. */
  readonly answerAfter?: number;
  /** Milliseconds after which a call in progress is ended. */
  readonly hangupAfter?: number;
}

/** Asks a person whether to take a call; rejects when the call is over before. */
export type AskPerson = (call: IncomingCall, over: AbortSignal) => Promise<boolean>;

/** What a phone does by itself: it takes calls, or does not, and hangs up. */
export class AutoAnswer {
  readonly #options: AnsweringOptions;
  readonly #sleep: JobContext['runtime']['sleep'];
  readonly #ask: AskPerson | undefined;
  /** Ends what waits for a call; it is over with it. */
  readonly #waits = new Map<string, AbortController>();

  constructor(
    options: AnsweringOptions,
    { sleep }: Pick<JobContext['runtime'], 'sleep'>,
    ask?: AskPerson,
  ) {
    this.#options = options;
    this.#sleep = sleep;
    this.#ask = ask;
  }

  /** It rings. */
  async rings(phone: SignedCall, call: IncomingCall): Promise<void> {
    const { answer, answerAfter = 0 } = this.#options;
    if (answer === 'ignore') return;
    const { signal } = this.#waitOf(call.callId);
    try {
      await this.#sleep(answerAfter, signal);
      const isTaken = answer === 'prompt' ? await this.#ask?.(call, signal) : answer === 'auto';
      if (signal.aborted) return;
      await (isTaken === true ? phone.answer(call.callId) : phone.decline(call.callId));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** What is told of the call. */
  async heard(phone: SignedCall, { event, callId }: PhoneEvent): Promise<void> {
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

  /** Nothing is waited for any more. */
  stop(): void {
    for (const wait of this.#waits.values()) wait.abort();
  }

  #waitOf(callId: string): AbortController {
    const wait = new AbortController();
    this.#waits.set(callId, wait);
    return wait;
  }
}
