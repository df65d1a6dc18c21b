import {
  CallDirection,
  CallEvent,
  isTerminal,
  declineCodes,
  type CallDetails,
  type DeclineCode,
  type RouterFrame,
  type RouterFrames,
} from './protocol.js';
import type { RouterConnection } from './connection.js';
import type { Environment, MediaSession, MediaOptions } from './environment.js';
import type { FrameAnswer } from './socket.js';
import type { Listeners } from './listeners.js';

/** What the desk needs of the session it belongs to. */
interface ActiveCallOptions {
  readonly env: Environment;
  readonly listeners: Listeners;
  readonly connection: () => RouterConnection;
  /** Asked about an event of an outgoing call that the desk does not know: whether the app is to hear of it. */
  readonly admit: (frame: RouterFrames['event']) => boolean;
  /** Called behind the listener when a call is over. */
  readonly onOver: () => void;
}

/** The client's one call: what the router says of it, and what becomes of that here. */
export class ActiveCall {
  readonly #options: ActiveCallOptions;
  #call: LocalCall | undefined;

  constructor(options: ActiveCallOptions) {
    this.#options = options;
  }

  get call(): LocalCall | undefined {
    return this.#call;
  }

  get state(): SignedCallState {
    return stateOf(this.#call);
  }

  receive(frame: RouterFrame): void {
    switch (frame.t) {
      case 'incoming':
        return this.#ring(frame);
      case 'event':
        return this.#event(frame);
      case 'over':
        return this.#isCurrent(frame.callId) ? this.#endQuietly() : undefined;
      case 'sdp':
        return this.#isCurrent(frame.callId) ? this.#call?.media.hear(frame.payload) : undefined;
      case 'missed':
        return this.#missed(frame);
      case 'action':
        return this.#clicked(frame);
      default:
        return frame satisfies never;
    }
  }

  /** Makes it the client's call. */
  begin(details: CallDetails, direction: CallDirection): void {
    const { callId } = details;
    const { env, connection } = this.#options;
    const isWanted = () => this.#isCurrent(callId);
    const media = new CallMedia(env, {
      signal: (payload) => void connection().post('sdp', { callId, payload }, isWanted),
      connected: () => void connection().post('ready', { callId }, isWanted),
      failed: () => this.hangup(),
    });
    this.#call = { details, direction, media, isAnswered: false };
  }

  /** The voice stops at once. The call ends when the router says so. */
  hangup(): void {
    const call = this.#call;
    call?.media.close();
    const connection = this.#options.connection();
    // Of a call that is being placed the id is not known yet.
    if (call === undefined) void connection.post('hangup', {}, () => this.#call === undefined);
    else void connection.post('hangup', { callId: call.details.callId });
  }

  decline(callId: string, reasonCode?: DeclineCode): Promise<FrameAnswer> {
    const frame = reasonCode === undefined ? { callId } : { callId, reasonCode };
    return this.#options.connection().post('decline', frame);
  }

  /** The call is lost: the router has forgotten it, or does not let this client back. */
  connectionLost(): void {
    const call = this.#call;
    if (call === undefined) return;
    this.#clear();
    this.#fire(call.direction, CallEvent.Ended, call.details);
    this.#options.onOver();
  }

  /** Nobody is told of its end here: that waits at the router for the next life of the app. */
  leave(): void {
    this.#clear();
  }

  #isCurrent(callId: string): boolean {
    return this.#call?.details.callId === callId;
  }

  #ring({ callId, details, expiresAt }: RouterFrames['incoming']): void {
    const { device, log, platform } = this.#options.env;
    if (platform === 'android' && !device.notificationsEnabled()) {
      log.info(`declined ${callId}: notifications are off`);
      void this.decline(callId, declineCodes.notificationsDisabled);
    } else if (device.pstnBusy()) {
      log.info(`declined ${callId}: a telephone call is going on`);
      void this.decline(callId, declineCodes.busyOnPstn);
    } else {
      // The router judges who is busy: what it lets ring takes the place of what was here.
      this.#clear();
      this.begin(details, CallDirection.Incoming);
      this.#options.listeners.ring({ callId, callDetails: details, expiresAt });
    }
  }

  #event(frame: RouterFrames['event']): void {
    const { direction, event, details } = frame;
    const isOutgoing = direction === CallDirection.Outgoing;
    if (isOutgoing && !this.#isCurrent(frame.callId) && !this.#options.admit(frame)) return;
    const call = this.#isCurrent(frame.callId) ? this.#call : undefined;
    // Before the listener: the app may call again inside it.
    if (call !== undefined && isTerminal(event)) this.#clear();
    else if (call !== undefined && event === CallEvent.Answered) this.#answered(call);
    this.#fire(direction, event, details);
    if (isTerminal(event)) this.#options.onOver();
  }

  #answered(call: LocalCall): void {
    call.isAnswered = true;
    this.#options.listeners.stopRinging();
    const isInitiator = call.direction === CallDirection.Outgoing;
    void call.media.open(isInitiator ? 'initiator' : 'receiver');
  }

  #endQuietly(): void {
    this.#clear();
    this.#options.onOver();
  }

  #clear(): void {
    this.#call?.media.close();
    this.#call = undefined;
    this.#options.listeners.stopRinging();
  }

  #fire(direction: CallDirection, callEvent: CallEvent, callDetails: CallDetails): void {
    const { listeners, env } = this.#options;
    env.log.info(`${direction} call ${callDetails.callId}: ${callEvent}`);
    const result = { direction, callEvent, callDetails };
    listeners.fire('SignedCallOnCallStatusChanged', result);
  }

  #missed({ callId, actions, details }: RouterFrames['missed']): void {
    this.#options.env.device.showMissedCall({ callId, actions, callDetails: details });
  }

  #clicked({ actionId, label, details }: RouterFrames['action']): void {
    const { listeners } = this.#options;
    const result = { action: { actionId, actionLabel: label }, callDetails: details };
    listeners.fire('SignedCallOnMissedCallActionClicked', result);
  }
}

/** Whether there is a call, and of what kind. */
export type SignedCallState = 'NoCall' | 'OutgoingCall' | 'IncomingCall' | 'OngoingCall';

/** The one call that this client has, as far as the router has told of it. */
interface LocalCall {
  readonly details: CallDetails;
  readonly direction: CallDirection;
  readonly media: CallMedia;
  isAnswered: boolean;
}

export function stateOf(call: LocalCall | undefined): SignedCallState {
  if (call === undefined) return 'NoCall';
  if (call.isAnswered) return 'OngoingCall';
  return call.direction === CallDirection.Incoming ? 'IncomingCall' : 'OutgoingCall';
}

/** What a call's voice asks of the call. */
interface CallMediaEvents {
  signal(payload: unknown): void;
  connected(): void;
  /** There will be no voice. */
  failed(): void;
}

/** The voice of one call, from its answer to its end. */
class CallMedia {
  readonly #env: Environment;
  readonly #events: CallMediaEvents;
  #session: MediaSession | undefined;
  #isClosed = false;
  /** What the other side signalled before this side was there to hear it. */
  #early: unknown[] = [];
  #handler: ((payload: unknown) => void) | undefined;

  constructor(env: Environment, events: CallMediaEvents) {
    this.#env = env;
    this.#events = events;
  }

  async open(role: MediaOptions['role']): Promise<void> {
    try {
      const session = await this.#env.media.open({
        role,
        sendSignal: (payload) => !this.#isClosed && this.#events.signal(payload),
        onSignal: (handler) => this.#handOver(handler),
      });
      if (this.#isClosed) session.close();
      else this.#session = session;
      await session.connected;
      if (!this.#isClosed) this.#events.connected();
    } catch (error) {
      if (this.#isClosed) return;
      this.#env.log.info(`no voice: ${String(error)}`);
      this.#events.failed();
    }
  }

  hear(payload: unknown): void {
    if (this.#handler === undefined) this.#early.push(payload);
    else this.#handler(payload);
  }

  close(): void {
    this.#isClosed = true;
    this.#session?.close();
    this.#session = undefined;
  }

  #handOver(handler: (payload: unknown) => void): void {
    this.#handler = handler;
    const early = this.#early;
    this.#early = [];
    for (const payload of early) handler(payload);
  }
}
