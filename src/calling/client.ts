import { CallingSession } from './session.js';
import {
  withDefaults,
  type CallStats,
  type Environment,
  type SignedCallEnv,
} from './environment.js';
import { expectLevel, type LogLevel } from './logger.js';
import { lintInitProperties, type InitProperties } from './init-properties.js';
import {
  listenerNames,
  Listeners,
  type IncomingCall,
  type ListenerName,
  type ListenerPayloads,
} from './listeners.js';
import {
  failed,
  success,
  type CallFailure,
  type ErrorName,
  type SignedCallResponse,
} from './errors.js';
import type { CallProperties } from './call-request.js';
import type { SignedCallState } from './active-call.js';

/**
 * Places and receives calls between users, each identified by a cuid. Methods that return a promise always resolve,
 * with an error for failures and invalid values; the others throw a TypeError for programmer errors (an unknown
 * listener, a callback that is not a function). Methods may be destructured. See docs/calling.md.
 */
export class SignedCallClient {
  readonly SignedCallOnCallStatusChanged = listenerNames.SignedCallOnCallStatusChanged;
  readonly SignedCallOnMissedCallActionClicked = listenerNames.SignedCallOnMissedCallActionClicked;

  readonly SignedCallOnNetworkQualityChanged = listenerNames.SignedCallOnNetworkQualityChanged;
  readonly SignedCallOnConnectionChanged = listenerNames.SignedCallOnConnectionChanged;

  #env: Environment;
  #level: LogLevel | undefined;
  readonly #listeners = new Listeners(() => this.#env.log);
  #session: CallingSession | undefined;
  /** Session that is logging out; `done` resolves when the router has confirmed it. */
  #leaving: { readonly session: CallingSession; readonly done: Promise<void> } | undefined;
  /** Serializes calls of `initialize`. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(env: SignedCallEnv) {
    this.#env = withDefaults(env);
  }

  /** Replaces the environment; it takes effect with the next `initialize`. */
  readonly use = (env: SignedCallEnv): void => {
    this.#env = withDefaults(env);
    if (this.#level !== undefined) this.#env.log.level = this.#level;
  };

  /** Signs a user in and opens the socket. Required again after `logout` and `disconnectSignallingSocket`. */
  readonly initialize = (initProperties: InitProperties): Promise<SignedCallResponse> => {
    const done = this.#queue.then(() => this.#initialize(initProperties));
    this.#queue = done.catch(() => undefined);
    return done;
  };

  /** Places a call. Resolves when it is placed, not when it has ended. */
  readonly call = (
    receiverCuid: string,
    callContext: string,
    callProperties?: CallProperties | null,
  ): Promise<SignedCallResponse> => {
    return this.#respond((session) => session.call(receiverCuid, callContext, callProperties));
  };

  /** Answers a ringing call. Without the microphone the call is declined and this resolves with MIC_DENIED. */
  readonly answer = (callId: string): Promise<SignedCallResponse> => {
    return this.#respond((session) => session.answer(callId));
  };

  /** Declines a ringing call. */
  readonly decline = (callId: string): Promise<SignedCallResponse> => {
    return this.#respond((session) => session.decline(callId));
  };

  /** Cancels, declines or ends the current call, depending on its state. */
  readonly hangup = (): void => {
    this.#session?.hangup();
  };

  /** Alias of `hangup`. */
  readonly hangupCall = (): void => {
    this.hangup();
  };

  /** Mutes the microphone of the current call, or unmutes it: the other side gets silence. */
  readonly setMuted = (isMuted: boolean): void => {
    expectBoolean(isMuted, 'setMuted');
    this.#session?.activeCall.setMuted(isMuted);
  };

  readonly isMuted = (): boolean => this.#session?.activeCall.isMuted ?? false;

  /** Switches the current call to the loudspeaker or the earpiece, where every call starts. */
  readonly setSpeaker = (isOn: boolean): void => {
    expectBoolean(isOn, 'setSpeaker');
    this.#session?.activeCall.setSpeaker(isOn);
  };

  readonly isSpeakerOn = (): boolean => this.#session?.activeCall.isSpeakerOn ?? false;

  /** Returns the figures of the current call's voice; null without a call in progress or without voice. */
  readonly getStats = async (): Promise<CallStats | null> =>
    (await this.#session?.activeCall.stats()) ?? null;

  /** Ends the current call and signs the user out. No calls can be made or received until `initialize`. */
  readonly logout = (): void => {
    this.#leave();
    // Also applies to an `initialize` that is still pending.
    void this.#queue.then(() => this.#leave());
  };

  /** Closes the socket, at once or when the active call ends. Calls arrive by push only until `initialize`. */
  readonly disconnectSignallingSocket = (): void => {
    this.#session?.disconnect();
  };

  /** Sets the callback of a listener, replacing an earlier one. */
  readonly addListener = <Name extends ListenerName>(
    name: Name,
    callback: (payload: ListenerPayloads[Name]) => unknown,
  ): void => {
    this.#listeners.add(name, callback);
  };

  /** Removes the callback of a listener. */
  readonly removeListener = (name: ListenerName): void => {
    this.#listeners.remove(name);
  };

  /** Sets the callback that shows incoming calls, replacing an earlier one. */
  readonly onIncomingCall = (callback: (call: IncomingCall) => unknown): void => {
    this.#listeners.onIncomingCall(callback);
  };

  /** Returns the state of the current call. */
  readonly getCallState = (): SignedCallState => {
    return (this.#session ?? this.#leaving?.session)?.state ?? 'NoCall';
  };

  /** Sets the log level. Throws TypeError for a value that is not a `LogLevel`. */
  readonly setDebugLevel = (level: LogLevel): void => {
    expectLevel(level);
    this.#level = level;
    this.#env.log.level = level;
  };

  /** Resolves when the router has acknowledged the frames of `hangup` and `logout`. */
  readonly whenIdle = async (): Promise<void> => {
    await this.#queue;
    await Promise.all([this.#session?.idle(), this.#leaving?.done]);
  };

  /**
   * Disconnects at once, which ends the current call. Later events wait at the router until the next
   * `initialize`.
   */
  readonly close = (): void => {
    this.#end();
    void this.#queue.then(() => this.#end());
  };

  async #initialize(properties: InitProperties): Promise<SignedCallResponse> {
    return this.#response('INIT_CONFIG', async () => {
      return (
        this.#checkCore() ??
        this.#checkProperties(properties) ??
        (await this.#env.device.checkNotifications()) ??
        (await this.#enter(properties))
      );
    });
  }

  #checkCore(): CallFailure | undefined {
    return this.#env.core?.accountId ? undefined : { name: 'CORE_REQUIRED' };
  }

  #checkProperties(properties: InitProperties): CallFailure | undefined {
    let first: CallFailure | undefined;
    for (const { errorName, message, pointer } of lintInitProperties(
      properties,
      this.#env.platform,
    )) {
      if (errorName === null) this.#env.log.debug(`initialize: ${message}`);
      else first ??= { name: errorName, detail: message, field: pointer.slice(1) };
    }
    return first;
  }

  async #enter(properties: InitProperties): Promise<CallFailure | undefined> {
    await this.#logoutDone();
    if (this.#session?.isOf(this.#env, properties)) return await this.#session.reopen(properties);
    await this.#replaceSession();
    const session = new CallingSession(this.#env, properties, this.#listeners);
    const failure = await session.open();
    if (failure === undefined) this.#session = session;
    return failure;
  }

  /** Waits for the logout of the previous user and the end of its call, for at most the answer timeout. */
  async #logoutDone(): Promise<void> {
    const leaving = this.#leaving;
    if (leaving === undefined) return;
    await this.#atMostAnswerTimeout(leaving.done);
    leaving.session.abandon();
    this.#leaving = undefined;
  }

  /** Ends the call of a user who did not log out, and closes its session. */
  async #replaceSession(): Promise<void> {
    const session = this.#session;
    if (session === undefined) return;
    await this.#atMostAnswerTimeout(session.endCall());
    session.abandon();
    this.#session = undefined;
  }

  #atMostAnswerTimeout(work: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.#env.clock.after(this.#env.times.answer, resolve);
      void work.finally(() => {
        stop();
        resolve();
      });
    });
  }

  #leave(): void {
    const session = this.#session;
    if (session === undefined) return;
    this.#session = undefined;
    this.#leaving = { session, done: session.logout() };
  }

  #end(): void {
    this.#session?.close();
    this.#leaving?.session.close();
    this.#session = undefined;
    this.#leaving = undefined;
  }

  async #respond(
    act: (session: CallingSession) => Promise<CallFailure | undefined>,
  ): Promise<SignedCallResponse> {
    const session = this.#session;
    return this.#response('CALL_FAILED', async () =>
      session === undefined ? { name: 'NOT_INITIALIZED' } : await act(session),
    );
  }

  /** Converts the result of an operation to a response; an unexpected error becomes a failure of this name. */
  async #response(
    unexpected: ErrorName,
    run: () => Promise<CallFailure | undefined>,
  ): Promise<SignedCallResponse> {
    const failure = await run().catch((error: unknown) => ({
      name: unexpected,
      detail: error instanceof Error ? error.message : String(error),
    }));
    if (failure === undefined) return success;
    const response = failed(failure, this.#env.platform);
    this.#env.log.info(`${failure.name}: ${response.error.errorDescription}`);
    return response;
  }
}

function expectBoolean(value: unknown, method: string): void {
  if (typeof value !== 'boolean') throw new TypeError(`${method} requires true or false`);
}
