import { ActiveCall, type SignedCallState } from './active-call.js';
import { CallPlacement } from './call-placement.js';
import { validateCallRequest, type CallProperties } from './call-request.js';
import { RouterConnection } from './connection.js';
import { failureOfAnswer } from './socket.js';
import type { Environment } from './environment.js';
import { declineCodes, type MissedCallActions } from './protocol.js';
import type { InitProperties } from './init-properties.js';
import { callSafely, type Listeners } from './listeners.js';
import type { CallFailure } from './errors.js';

/** Session of one user on this device, from `initialize` to `logout`. */
export class CallingSession {
  readonly #env: Environment;
  #properties: InitProperties;
  readonly #placement: CallPlacement;
  readonly activeCall: ActiveCall;
  #connection: RouterConnection;
  /** `disconnectSignallingSocket` was called; the socket closes once there is no call. */
  #isLeaving = false;
  /** Error with which the router rejected a reconnect. */
  #rejection: CallFailure | undefined;

  readonly #listeners: Listeners;

  constructor(env: Environment, properties: InitProperties, listeners: Listeners) {
    this.#env = env;
    this.#listeners = listeners;
    this.#properties = { ...properties };
    this.#connection = this.#newConnection(undefined);
    const connection = () => this.#connection;
    const { cuid } = properties;
    this.#placement = new CallPlacement({
      env,
      cuid,
      connection,
      activeCall: () => this.activeCall,
    });
    this.activeCall = new ActiveCall({
      env,
      listeners,
      connection,
      admit: (frame) => this.#placement.acceptsEvent(frame),
      onOver: () => this.#leaveWhenOver(),
    });
  }

  /** Connects to the router; returns undefined on success. */
  open(): Promise<CallFailure | undefined> {
    return this.#connection.open();
  }

  /**
   * Handles a repeated `initialize` of the same user. Reconnects if the socket was closed, or to register changed
   * missed-call actions; during a call these are registered with the next socket.
   */
  async reopen(properties = this.#properties): Promise<CallFailure | undefined> {
    const before = JSON.stringify(this.#missedCallActions);
    this.#properties = { ...properties };
    this.#isLeaving = false;
    const isChanged = JSON.stringify(this.#missedCallActions) !== before;
    if (isChanged && this.state === 'NoCall') this.#connection.close();
    if (!this.#connection.isClosed) return undefined;
    this.#rejection = undefined;
    this.#connection = this.#newConnection(this.#connection.lastSeq);
    return await this.#connection.open();
  }

  /** Whether the properties are those of the same user and account. */
  isOf(env: Environment, { accountId, apiKey, cuid }: InitProperties): boolean {
    const own = this.#properties;
    const isSameAccount = accountId === own.accountId && apiKey === own.apiKey;
    return env === this.#env && isSameAccount && cuid === own.cuid;
  }

  get state(): SignedCallState {
    const { state } = this.activeCall;
    return state === 'NoCall' && this.#placement.isPlacing ? 'OutgoingCall' : state;
  }

  /** Places a call; returns undefined on success. */
  async call(
    receiverCuid: string,
    callContext: string,
    callProperties: CallProperties | null | undefined,
  ): Promise<CallFailure | undefined> {
    const { cuid } = this.#properties;
    const wrong = validateCallRequest({ cuid, receiverCuid, callContext, callProperties });
    if (wrong !== undefined) return wrong;
    if (this.state !== 'NoCall') return { name: 'CALL_IN_PROGRESS' };
    if (this.#rejection !== undefined) return this.#rejection;
    if (this.#connection.isClosed) return { name: 'SOCKET_REQUIRED' };
    const { initiator_image: initiatorImage, receiver_image: receiverImage } = callProperties ?? {};
    const failure = await this.#placement.place({
      to: receiverCuid,
      context: callContext,
      ...(initiatorImage ? { initiatorImage } : {}),
      ...(receiverImage ? { receiverImage } : {}),
    });
    this.#leaveWhenOver();
    return failure;
  }

  /** Answers a ringing call; returns undefined on success. */
  async answer(callId: string): Promise<CallFailure | undefined> {
    if (!this.#rings(callId)) return noSuchCall(callId);
    if (!(await this.#env.device.ensureMicrophone())) {
      void this.activeCall.decline(callId, declineCodes.microphoneNotGranted);
      return { name: 'MIC_DENIED' };
    }
    if (this.#properties.promptReceiverReadPhoneStatePermission === true)
      await this.#env.device.requestPhoneState();
    const isCurrent = () => this.#rings(callId);
    return failureOfAnswer(await this.#connection.post('answer', { callId }, isCurrent));
  }

  async decline(callId: string): Promise<CallFailure | undefined> {
    if (!this.#rings(callId)) return noSuchCall(callId);
    return failureOfAnswer(await this.activeCall.decline(callId));
  }

  hangup(): void {
    this.#placement.cancel();
    this.activeCall.hangup();
  }

  /** Hangs up; resolves when the call has ended. */
  async endCall(): Promise<void> {
    this.hangup();
    await this.#placement.pending;
    await this.activeCall.whenOver();
  }

  /** Closes the socket, at once or when the active call ends. */
  disconnect(): void {
    this.#isLeaving = true;
    this.#leaveWhenOver();
  }

  /** Logs out at the router, which ends the call. The socket closes after the events of that call. */
  async logout(): Promise<void> {
    this.#placement.cancel();
    if (this.#connection.isClosed && this.#rejection === undefined) await this.reopen();
    await this.#connection.post('logout', {});
    await this.#placement.pending;
    this.disconnect();
    if (!this.#connection.isClosed) await this.activeCall.whenOver();
  }

  /** Closes the connection without an event; the end of a call is reported after the next `initialize`. */
  close(): void {
    this.#connection.close();
    this.activeCall.discard();
  }

  /** Closes the connection, and ends a call that the router did not end in time. */
  abandon(): void {
    this.#connection.close();
    this.activeCall.abandon();
  }

  /** Resolves when all posted frames have been answered. */
  async idle(): Promise<void> {
    await this.#placement.pending;
    await this.#connection.idle();
  }

  #rings(callId: string): boolean {
    const { call, state } = this.activeCall;
    return state === 'IncomingCall' && call?.details.callId === callId;
  }

  #leaveWhenOver(): void {
    if (this.#isLeaving && this.state === 'NoCall') this.#connection.close();
  }

  #newConnection(lastSeq: number | undefined): RouterConnection {
    const { deviceId, platform, device } = this.#env;
    const { accountId, apiKey, cuid } = this.#properties;
    const fixed = { accountId, cuid, deviceId, platform };
    return new RouterConnection({
      env: this.#env,
      apiKey,
      identity: async () => ({
        ...fixed,
        missedCallActions: this.#missedCallActions,
        caps: { notifications: await device.canNotify() },
      }),
      receiver: {
        receive: (frame) => this.activeCall.receive(frame),
        stateLost: () => this.activeCall.connectionLost(),
        rejected: (failure) => this.#rejected(failure),
        changed: (result) => this.#listeners.fire('SignedCallOnConnectionChanged', result),
      },
      lastSeq,
    });
  }

  get #missedCallActions(): MissedCallActions {
    const { missedCallActions = {} } = this.#properties;
    return this.#env.platform === 'android' ? missedCallActions : {};
  }

  #rejected(failure: CallFailure): void {
    this.#rejection = failure;
    this.activeCall.connectionLost();
    callSafely(() => this.#env.onRefused(failure.name), 'onRefused', this.#env.log);
  }
}

const noSuchCall = (callId: string): CallFailure => ({
  name: 'CALL_FAILED',
  detail: `Call ${callId} is not ringing`,
});
