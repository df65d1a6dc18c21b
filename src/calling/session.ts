import { ActiveCall, type SignedCallState } from './active-call.js';
import { CallPlacement } from './call-placement.js';
import { validateCallRequest, type CallProperties } from './call-request.js';
import { RouterConnection } from './connection.js';
import { faultOfAnswer } from './socket.js';
import { ensureMicrophone, type Environment } from './environment.js';
import { declineCodes } from './protocol.js';
import type { InitProperties } from './init-properties.js';
import type { Listeners } from './listeners.js';
import type { CallFault } from './errors.js';

/** One user on this device, from `initialize` to `logout`. */
export class CallingSession {
  readonly #env: Environment;
  readonly #properties: InitProperties;
  readonly #placement: CallPlacement;
  readonly #desk: ActiveCall;
  #connection: RouterConnection;
  /** `disconnectSignallingSocket` was called: the socket goes when no call is left. */
  #isLeaving = false;
  /** Why the router does not let this client back. */
  #refusal: CallFault | undefined;

  constructor(env: Environment, properties: InitProperties, listeners: Listeners) {
    this.#env = env;
    this.#properties = { ...properties };
    this.#connection = this.#newConnection(undefined);
    const connection = () => this.#connection;
    const { cuid } = properties;
    this.#placement = new CallPlacement({ env, cuid, connection, desk: () => this.#desk });
    this.#desk = new ActiveCall({
      env,
      listeners,
      connection,
      admit: (frame) => this.#placement.acceptsEvent(frame),
      onOver: () => this.#leaveWhenOver(),
    });
  }

  /** Undefined: the client is at the router. */
  open(): Promise<CallFault | undefined> {
    return this.#connection.open();
  }

  /** Initialized again by the same user. */
  async reopen(): Promise<CallFault | undefined> {
    this.#isLeaving = false;
    if (!this.#connection.isClosed) return undefined;
    this.#refusal = undefined;
    this.#connection = this.#newConnection(this.#connection.lastSeq);
    return await this.#connection.open();
  }

  isOf(env: Environment, properties: InitProperties): boolean {
    return env === this.#env && JSON.stringify(properties) === JSON.stringify(this.#properties);
  }

  get state(): SignedCallState {
    const { state } = this.#desk;
    return state === 'NoCall' && this.#placement.isPlacing ? 'OutgoingCall' : state;
  }

  /** Undefined: the call is placed. */
  async call(
    receiverCuid: string,
    callContext: string,
    callProperties: CallProperties | null | undefined,
  ): Promise<CallFault | undefined> {
    const { cuid } = this.#properties;
    const wrong = validateCallRequest({ cuid, receiverCuid, callContext, callProperties });
    if (wrong !== undefined) return wrong;
    if (this.state !== 'NoCall') return { name: 'CALL_IN_PROGRESS' };
    if (this.#refusal !== undefined) return this.#refusal;
    if (this.#connection.isClosed) return { name: 'SOCKET_REQUIRED' };
    const { initiator_image: initiatorImage, receiver_image: receiverImage } = callProperties ?? {};
    const fault = await this.#placement.place({
      to: receiverCuid,
      context: callContext,
      ...(initiatorImage ? { initiatorImage } : {}),
      ...(receiverImage ? { receiverImage } : {}),
    });
    this.#leaveWhenOver();
    return fault;
  }

  /** Undefined: the router has taken the answer. */
  async answer(callId: string): Promise<CallFault | undefined> {
    if (!this.#rings(callId)) return noSuchCall(callId);
    if (!(await ensureMicrophone(this.#env.device))) {
      void this.#desk.decline(callId, declineCodes.microphoneNotGranted);
      return { name: 'MIC_DENIED' };
    }
    const isWanted = () => this.#rings(callId);
    return faultOfAnswer(await this.#connection.post('answer', { callId }, isWanted));
  }

  async decline(callId: string): Promise<CallFault | undefined> {
    if (!this.#rings(callId)) return noSuchCall(callId);
    return faultOfAnswer(await this.#desk.decline(callId));
  }

  hangup(): void {
    this.#placement.cancel();
    if (this.state !== 'NoCall') this.#desk.hangup();
  }

  /** The socket goes at once, or when the active call ends. */
  disconnect(): void {
    this.#isLeaving = true;
    this.#leaveWhenOver();
  }

  /** The router ends the call and marks the cuid; what it tells of that is heard before the socket goes. */
  async logout(): Promise<void> {
    this.#placement.cancel();
    if (this.#connection.isClosed && this.#refusal === undefined) await this.reopen();
    await this.#connection.post('logout', {});
    this.disconnect();
  }

  close(): void {
    this.#connection.close();
    this.#desk.leave();
  }

  /** Resolves when the frames of methods that return nothing have been answered. */
  idle(): Promise<void> {
    return this.#connection.idle();
  }

  #rings(callId: string): boolean {
    const { call, state } = this.#desk;
    return state === 'IncomingCall' && call?.details.callId === callId;
  }

  #leaveWhenOver(): void {
    if (this.#isLeaving && this.state === 'NoCall') this.#connection.close();
  }

  #newConnection(lastSeq: number | undefined): RouterConnection {
    const { deviceId, platform, device } = this.#env;
    const { accountId, apiKey, cuid, missedCallActions = {} } = this.#properties;
    const actions = platform === 'android' ? missedCallActions : {};
    const fixed = { accountId, cuid, deviceId, platform, missedCallActions: actions };
    return new RouterConnection({
      env: this.#env,
      apiKey,
      identity: () => ({
        ...fixed,
        caps: { notifications: platform === 'ios' || device.notificationsEnabled() },
      }),
      receiver: {
        hear: (frame) => this.#desk.receive(frame),
        forgotten: () => this.#desk.connectionLost(),
        refused: (fault) => this.#refused(fault),
      },
      lastSeq,
    });
  }

  #refused(fault: CallFault): void {
    this.#refusal = fault;
    this.#desk.connectionLost();
    this.#env.onRefused(fault.name);
  }
}

const noSuchCall = (callId: string): CallFault => ({
  name: 'CALL_FAILED',
  detail: `No call ${callId} rings`,
});
