import { CallDesk, type SignedCallState } from './active-call.js';
import { CallPlacement } from './call-placement.js';
import { checkCall, type CallProperties } from './call-request.js';
import { Connection } from './connection.js';
import { faultOf } from './socket.js';
import { hasMicrophone, type Environment } from './environment.js';
import { declineCodes } from './protocol.js';
import type { InitProperties } from './init-properties.js';
import type { Listeners } from './listeners.js';
import type { Fault } from './errors.js';

/** One user on this device, from `initialize` to `logout`. */
export class CallingSession {
  readonly #env: Environment;
  readonly #properties: InitProperties;
  readonly #placement: CallPlacement;
  readonly #desk: CallDesk;
  #connection: Connection;
  /** `disconnectSignallingSocket` was called: the socket goes when no call is left. */
  #isLeaving = false;
  /** Why the router does not let this client back. */
  #refusal: Fault | undefined;

  constructor(env: Environment, properties: InitProperties, listeners: Listeners) {
    this.#env = env;
    this.#properties = { ...properties };
    this.#connection = this.#newConnection(undefined);
    const connection = () => this.#connection;
    const { cuid } = properties;
    this.#placement = new CallPlacement({ env, cuid, connection, desk: () => this.#desk });
    this.#desk = new CallDesk({
      env,
      listeners,
      connection,
      admit: (frame) => this.#placement.admit(frame),
      onOver: () => this.#leaveWhenOver(),
    });
  }

  /** Undefined: the client is at the router. */
  open(): Promise<Fault | undefined> {
    return this.#connection.open();
  }

  /** Initialized again by the same user. */
  async reopen(): Promise<Fault | undefined> {
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
    return state === 'NoCall' && this.#placement.isUnderWay ? 'OutgoingCall' : state;
  }

  /** Undefined: the call is placed. */
  async call(
    receiverCuid: string,
    callContext: string,
    callProperties: CallProperties | null | undefined,
  ): Promise<Fault | undefined> {
    const { cuid } = this.#properties;
    const wrong = checkCall({ cuid, receiverCuid, callContext, callProperties });
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
  async answer(callId: string): Promise<Fault | undefined> {
    if (!this.#rings(callId)) return noSuchCall(callId);
    if (!(await hasMicrophone(this.#env.device))) {
      void this.#desk.decline(callId, declineCodes.microphoneNotGranted);
      return { name: 'MIC_DENIED' };
    }
    const isWanted = () => this.#rings(callId);
    return faultOf(await this.#connection.post('answer', { callId }, isWanted));
  }

  async decline(callId: string): Promise<Fault | undefined> {
    if (!this.#rings(callId)) return noSuchCall(callId);
    return faultOf(await this.#desk.decline(callId));
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

  #newConnection(lastSeq: number | undefined): Connection {
    const { deviceId, platform, device } = this.#env;
    const { accountId, apiKey, cuid, missedCallActions = {} } = this.#properties;
    const actions = platform === 'android' ? missedCallActions : {};
    const fixed = { accountId, apiKey, cuid, deviceId, platform, missedCallActions: actions };
    return new Connection({
      env: this.#env,
      identity: () => ({
        ...fixed,
        caps: { notifications: platform === 'ios' || device.notificationsEnabled() },
      }),
      receiver: {
        hear: (frame) => this.#desk.hear(frame),
        forgotten: () => this.#desk.lose(),
        refused: (fault) => this.#refused(fault),
      },
      lastSeq,
    });
  }

  #refused(fault: Fault): void {
    this.#refusal = fault;
    this.#desk.lose();
    this.#env.onRefused(fault.name);
  }
}

const noSuchCall = (callId: string): Fault => ({
  name: 'CALL_FAILED',
  detail: `No call ${callId} rings`,
});
