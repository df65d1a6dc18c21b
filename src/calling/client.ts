import { CallingSession } from './session.js';
import {
  withDefaults,
  expectLevel,
  checkNotifications,
  type Environment,
  type SignedCallEnv,
  type LogLevel,
} from './environment.js';
import { lintInitProperties, type InitProperties } from './init-properties.js';
import {
  listenerNames,
  Listeners,
  type IncomingCall,
  type ListenerName,
  type ListenerPayloads,
} from './listeners.js';
import { failed, success, type CallFault, type SignedCallResponse } from './errors.js';
import type { CallProperties } from './call-request.js';
import type { SignedCallState } from './active-call.js';

/**
 * Calls between two users, each known by a cuid. What fails in operation or by its value resolves with an
 * error; a mistake of the program (an unknown listener, a callback that is none) throws a TypeError.
 */
export class SignedCallClient {
  readonly SignedCallOnCallStatusChanged = listenerNames.SignedCallOnCallStatusChanged;
  readonly SignedCallOnMissedCallActionClicked = listenerNames.SignedCallOnMissedCallActionClicked;

  #env: Environment;
  #level: LogLevel | undefined;
  readonly #listeners = new Listeners(() => this.#env.log);
  #session: CallingSession | undefined;
  /** A session that logs out; `told`: the router knows. */
  #leaving: { readonly session: CallingSession; readonly told: Promise<void> } | undefined;
  /** `initialize` calls take turns. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(env: SignedCallEnv) {
    this.#env = withDefaults(env);
  }

  /** Gives it another environment: the next `initialize` goes by it. */
  use(env: SignedCallEnv): void {
    this.#env = withDefaults(env);
    if (this.#level !== undefined) this.#env.log.level = this.#level;
  }

  /** Signs a user in, and opens the socket. Needed again after `logout` and `disconnectSignallingSocket`. */
  initialize(initProperties: InitProperties): Promise<SignedCallResponse> {
    const done = this.#turn.then(() => this.#initialize(initProperties));
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** Resolves when the call is placed, not when it is over. */
  call(
    receiverCuid: string,
    callContext: string,
    callProperties?: CallProperties | null,
  ): Promise<SignedCallResponse> {
    return this.#ask((session) => session.call(receiverCuid, callContext, callProperties));
  }

  /** Takes the call that rings. Without the microphone it is declined, and this resolves with MIC_DENIED. */
  answer(callId: string): Promise<SignedCallResponse> {
    return this.#ask((session) => session.answer(callId));
  }

  decline(callId: string): Promise<SignedCallResponse> {
    return this.#ask((session) => session.decline(callId));
  }

  /** Ends the call there is, whatever its state: cancels, declines or ends it. */
  hangup(): void {
    this.#session?.hangup();
  }

  /** The same as `hangup`. */
  hangupCall(): void {
    this.hangup();
  }

  /** Ends the call there is. No calls can be made or received until `initialize`. */
  logout(): void {
    this.#leave();
    // An `initialize` that is under way comes first.
    void this.#turn.then(() => this.#leave());
  }

  /** Closes the socket, at once or when the active call ends. Calls come by push only until `initialize`. */
  disconnectSignallingSocket(): void {
    this.#session?.disconnect();
  }

  /** Takes the place of the callback that this listener had. */
  addListener<Name extends ListenerName>(
    name: Name,
    callback: (payload: ListenerPayloads[Name]) => unknown,
  ): void {
    this.#listeners.add(name, callback);
  }

  removeListener(name: ListenerName): void {
    this.#listeners.remove(name);
  }

  /** Who shows incoming calls: on a phone, the app's own screen. Takes the place of an earlier callback. */
  onIncomingCall(callback: (call: IncomingCall) => unknown): void {
    this.#listeners.onIncomingCall(callback);
  }

  getCallState(): SignedCallState {
    return (this.#session ?? this.#leaving?.session)?.state ?? 'NoCall';
  }

  setDebugLevel(level: LogLevel): void {
    expectLevel(level);
    this.#level = level;
    this.#env.log.level = level;
  }

  /** Resolves when the router has answered what `hangup` and `logout` sent. */
  async whenIdle(): Promise<void> {
    await this.#turn;
    await Promise.all([this.#session?.idle(), this.#leaving?.told]);
  }

  /**
   * Leaves the router at once, which ends a call there is. Nothing more is told: that waits at the router
   * until `initialize`.
   */
  close(): void {
    this.#end();
    void this.#turn.then(() => this.#end());
  }

  async #initialize(properties: InitProperties): Promise<SignedCallResponse> {
    const fault =
      this.#checkCore() ??
      this.#checkProperties(properties) ??
      (await checkNotifications(this.#env)) ??
      (await this.#enter(properties));
    return this.#response(fault);
  }

  #checkCore(): CallFault | undefined {
    return this.#env.core?.accountId ? undefined : { name: 'CORE_REQUIRED' };
  }

  #checkProperties(properties: InitProperties): CallFault | undefined {
    let first: CallFault | undefined;
    for (const { errorName, message, pointer } of lintInitProperties(
      properties,
      this.#env.platform,
    )) {
      if (errorName === null) this.#env.log.debug(`initialize: ${message}`);
      else first ??= { name: errorName, detail: message, field: pointer.slice(1) };
    }
    return first;
  }

  async #enter(properties: InitProperties): Promise<CallFault | undefined> {
    await this.#left();
    if (this.#session?.isOf(this.#env, properties)) return await this.#session.reopen();
    this.#session?.close();
    this.#session = undefined;
    const session = new CallingSession(this.#env, properties, this.#listeners);
    const fault = await session.open();
    if (fault === undefined) this.#session = session;
    return fault;
  }

  /** The user before is logged out first, if the router can be told in time. */
  async #left(): Promise<void> {
    const leaving = this.#leaving;
    if (leaving === undefined) return;
    const { clock, times } = this.#env;
    const late = new Promise<void>((resolve) => {
      const stop = clock.after(times.answer, resolve);
      void leaving.told.finally(stop);
    });
    await Promise.race([leaving.told, late]);
    leaving.session.close();
    this.#leaving = undefined;
  }

  #leave(): void {
    const session = this.#session;
    if (session === undefined) return;
    this.#session = undefined;
    this.#leaving = { session, told: session.logout() };
  }

  #end(): void {
    this.#session?.close();
    this.#leaving?.session.close();
    this.#session = undefined;
    this.#leaving = undefined;
  }

  async #ask(
    act: (session: CallingSession) => Promise<CallFault | undefined>,
  ): Promise<SignedCallResponse> {
    const session = this.#session;
    return this.#response(session === undefined ? { name: 'NOT_INITIALIZED' } : await act(session));
  }

  #response(fault: CallFault | undefined): SignedCallResponse {
    if (fault === undefined) return success;
    const response = failed(fault, this.#env.platform);
    this.#env.log.info(`${fault.name}: ${response.error?.errorDescription}`);
    return response;
  }
}
