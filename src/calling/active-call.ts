import {
  CallDirection,
  CallEvent,
  isTerminal,
  declineCodes,
  type AckData,
  type CallDetails,
  type DeclineCode,
  type IceServer,
  type RouterFrame,
  type RouterFrames,
} from './protocol.js';
import type { RouterConnection } from './connection.js';
import type { CallStats, Environment, MediaSession, MediaOptions } from './environment.js';
import type { FrameAnswer } from './socket.js';
import { callSafely, type Listeners, type NetworkQuality } from './listeners.js';

/** Dependencies on the session. */
interface ActiveCallOptions {
  readonly env: Environment;
  readonly listeners: Listeners;
  readonly connection: () => RouterConnection;
  /** Returns whether to report an event of an outgoing call that is not the current call. */
  readonly admit: (frame: RouterFrames['event']) => boolean;
  /** Called after the listener when a call has ended. */
  readonly onOver: () => void;
}

/** Tracks the client's current call: applies router frames, fires listeners, starts and stops media. */
export class ActiveCall {
  readonly #options: ActiveCallOptions;
  #call: LocalCall | undefined;
  readonly #onceOver: (() => void)[] = [];

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
        // The router decides who is busy, so the call replaces any earlier one.
        this.#clear();
        this.begin(frame.details, CallDirection.Incoming);
        return void this.#ring(frame);
      case 'event':
        return this.#event(frame);
      case 'over':
        return this.#isCurrent(frame.callId) ? this.#endQuietly() : undefined;
      case 'sdp':
        return this.#isCurrent(frame.callId) ? this.#call?.media.receive(frame.payload) : undefined;
      case 'missed':
        return this.#missed(frame);
      case 'action':
        return this.#clicked(frame);
      default:
        return frame satisfies never;
    }
  }

  /** Sets the current call. */
  begin(details: CallDetails, direction: CallDirection): void {
    const { callId } = details;
    const { env, connection } = this.#options;
    const isCurrent = () => this.#isCurrent(callId);
    const media = new CallMedia(env, {
      signal: (payload) => void connection().post('sdp', { callId, payload }, isCurrent),
      connected: () => void connection().post('ready', { callId }, isCurrent),
      failed: () => this.hangup(),
      iceServers: async () => iceServersIn(await connection().request('ice', {}, env.times.answer)),
      quality: (quality, stats) =>
        this.#options.listeners.fire('SignedCallOnNetworkQualityChanged', {
          quality,
          stats,
          callDetails: details,
        }),
    });
    this.#call = { details, direction, media, isAnswered: false, isSpeakerOn: false };
  }

  /** Stops media at once; the call ends when the router confirms it. */
  hangup(): void {
    const call = this.#call;
    if (call === undefined) return;
    call.media.close();
    void this.#options.connection().post('hangup', { callId: call.details.callId });
  }

  get isMuted(): boolean {
    return this.#call?.media.isMuted ?? false;
  }

  setMuted(isMuted: boolean): void {
    this.#call?.media.setMuted(isMuted);
  }

  get isSpeakerOn(): boolean {
    return this.#call?.isSpeakerOn ?? false;
  }

  setSpeaker(isOn: boolean): void {
    if (this.#call === undefined || this.#call.isSpeakerOn === isOn) return;
    this.#call.isSpeakerOn = isOn;
    this.#options.env.device.setSpeaker(isOn);
  }

  async stats(): Promise<CallStats | undefined> {
    return await this.#call?.media.stats();
  }

  /** Resolves when there is no call. */
  async whenOver(): Promise<void> {
    if (this.#call !== undefined)
      await new Promise<void>((resolve) => this.#onceOver.push(resolve));
  }

  decline(callId: string, reasonCode?: DeclineCode): Promise<FrameAnswer> {
    const frame = reasonCode === undefined ? { callId } : { callId, reasonCode };
    return this.#options.connection().post('decline', frame);
  }

  /** Ends the call locally: the router lost its state, or rejects this client. */
  connectionLost(): void {
    const call = this.#call;
    if (call === undefined) return;
    this.#clear();
    this.#fire(call.direction, CallEvent.Ended, call.details);
    this.#options.onOver();
  }

  /** Ends the call locally with the event of a hangup: the client leaves before the router has confirmed it. */
  abandon(): void {
    const call = this.#call;
    if (call === undefined) return;
    const { direction, details, isAnswered } = call;
    const unanswered =
      direction === CallDirection.Outgoing ? CallEvent.Cancelled : CallEvent.Declined;
    this.#clear();
    this.#fire(direction, isAnswered ? CallEvent.Ended : unanswered, details);
  }

  /** Drops the call without an event; the router delivers its end after the next `initialize`. */
  discard(): void {
    this.#clear();
  }

  #isCurrent(callId: string): boolean {
    return this.#call?.details.callId === callId;
  }

  /**
   * Rings, unless the device declines. The call is current meanwhile: if it ends before the device has answered,
   * it does not ring.
   */
  async #ring({ callId, details, expiresAt }: RouterFrames['incoming']): Promise<void> {
    const { device, log } = this.#options.env;
    if (!(await device.canNotify())) {
      log.info(`declined ${callId}: notifications are off`);
      this.#declineCurrent(callId, declineCodes.notificationsDisabled);
    } else if (await device.isOnTelephone()) {
      log.info(`declined ${callId}: a telephone call is active`);
      this.#declineCurrent(callId, declineCodes.busyOnPstn);
    } else if (this.#isCurrent(callId)) {
      this.#options.listeners.ring({ callId, callDetails: details, expiresAt });
    }
  }

  #declineCurrent(callId: string, reasonCode: DeclineCode): void {
    if (this.#isCurrent(callId)) void this.decline(callId, reasonCode);
  }

  #event(frame: RouterFrames['event']): void {
    const { direction, event, details } = frame;
    const isOutgoing = direction === CallDirection.Outgoing;
    if (isOutgoing && !this.#isCurrent(frame.callId) && !this.#options.admit(frame)) return;
    const call = this.#isCurrent(frame.callId) ? this.#call : undefined;
    // Cleared before the listener fires, so that the app may place a call inside it.
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
    this.setSpeaker(false);
    this.#call?.media.close();
    this.#call = undefined;
    this.#options.listeners.stopRinging();
    // Resolved after the listener of the last event has returned, which fires in the same turn.
    for (const resolve of this.#onceOver.splice(0)) resolve();
  }

  #fire(direction: CallDirection, callEvent: CallEvent, callDetails: CallDetails): void {
    const { listeners, env } = this.#options;
    env.log.info(`${direction} call ${callDetails.callId}: ${callEvent}`);
    const eventId = `${callDetails.callId}/${callEvent}`;
    const result = { eventId, direction, callEvent, callDetails };
    listeners.fire('SignedCallOnCallStatusChanged', result);
  }

  #missed({ callId, actions, details }: RouterFrames['missed']): void {
    this.#options.env.device.showMissedCall({ callId, actions, callDetails: details });
  }

  #clicked({ actionId, label, details }: RouterFrames['action']): void {
    const { listeners } = this.#options;
    const eventId = `${details.callId}/action/${actionId}`;
    const result = { eventId, action: { actionId, actionLabel: label }, callDetails: details };
    listeners.fire('SignedCallOnMissedCallActionClicked', result);
  }
}

/** State of the client's current call. */
export type SignedCallState = 'NoCall' | 'OutgoingCall' | 'IncomingCall' | 'OngoingCall';

/** The current call as last reported by the router. */
interface LocalCall {
  readonly details: CallDetails;
  readonly direction: CallDirection;
  readonly media: CallMedia;
  isAnswered: boolean;
  isSpeakerOn: boolean;
}

export function stateOf(call: LocalCall | undefined): SignedCallState {
  if (call === undefined) return 'NoCall';
  if (call.isAnswered) return 'OngoingCall';
  return call.direction === CallDirection.Incoming ? 'IncomingCall' : 'OutgoingCall';
}

/** Callbacks from a call's media to the call. */
interface CallMediaEvents {
  signal(payload: unknown): void;
  connected(): void;
  /** Called when media cannot be established. */
  failed(): void;
  iceServers(): Promise<readonly IceServer[]>;
  /** Called when the network quality is known, and when it changes. */
  quality(quality: NetworkQuality, stats: CallStats): void;
}

/** Maximum signals kept for a media adapter that registers no handler, as that without voice. */
const maxEarlySignals = 256;

/** Media session of one call, from its answer to its end. */
class CallMedia {
  readonly #env: Environment;
  readonly #events: CallMediaEvents;
  #session: MediaSession | undefined;
  #isClosed = false;
  #isMuted = false;
  #quality: NetworkQuality | undefined;
  #stopTimer = () => {};
  /** Signals received before the media adapter registered its handler. */
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
        onSignal: (handler) => this.#deliverTo(handler),
        iceServers: () => this.#events.iceServers(),
      });
      if (this.#isClosed) this.#closeSession(session);
      else this.#session = session;
      if (this.#isMuted) session.setMuted(true);
      await session.connected;
      if (this.#isClosed) return;
      this.#events.connected();
      if (session.stats !== undefined) this.#scheduleMeasurement(await this.stats());
    } catch (error) {
      if (this.#isClosed) return;
      this.#env.log.info(`media failed: ${String(error)}`);
      this.#events.failed();
    }
  }

  receive(payload: unknown): void {
    const handler = this.#handler;
    if (handler === undefined && this.#early.length < maxEarlySignals) this.#early.push(payload);
    else if (handler !== undefined) callSafely(() => handler(payload), 'onSignal', this.#env.log);
  }

  get isMuted(): boolean {
    return this.#isMuted;
  }

  setMuted(isMuted: boolean): void {
    this.#isMuted = isMuted;
    callSafely(() => this.#session?.setMuted(isMuted), 'media.setMuted', this.#env.log);
  }

  /** Returns undefined if the adapter does not count, or its connection fails to. */
  async stats(): Promise<CallStats | undefined> {
    try {
      return await this.#session?.stats?.();
    } catch (error) {
      this.#env.log.info(`the figures of the media failed: ${String(error)}`);
      return undefined;
    }
  }

  #scheduleMeasurement(before: CallStats | undefined): void {
    if (this.#isClosed) return;
    const { clock, times } = this.#env;
    this.#stopTimer = clock.after(times.quality, () => void this.#measure(before));
  }

  async #measure(before: CallStats | undefined): Promise<void> {
    const stats = await this.stats();
    if (this.#isClosed) return;
    const quality = before && stats && qualityBetween(before, stats);
    if (quality !== undefined && quality !== this.#quality) {
      this.#quality = quality;
      this.#events.quality(quality, stats!);
    }
    this.#scheduleMeasurement(stats);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopTimer();
    if (this.#session !== undefined) this.#closeSession(this.#session);
    this.#session = undefined;
  }

  /** Closes a session of the app's adapter. An error is logged, so that the call still ends. */
  #closeSession(session: MediaSession): void {
    callSafely(() => session.close(), 'media.close', this.#env.log);
  }

  #deliverTo(handler: (payload: unknown) => void): void {
    this.#handler = handler;
    const early = this.#early;
    this.#early = [];
    for (const payload of early) callSafely(() => handler(payload), 'onSignal', this.#env.log);
  }
}

/** Returns the ICE servers of the router's answer; empty if there is none, because voice may need none. */
const iceServersIn = (answer: FrameAnswer): readonly IceServer[] =>
  answer.kind === 'ok' ? (answer.data as AckData['ice']).iceServers : [];

/** Limits of a quality; beyond any of them it is worse. */
const limits = {
  good: { lossPercent: 3, jitterMs: 50, roundTripMs: 400 },
  poor: { lossPercent: 10, jitterMs: 150, roundTripMs: 1000 },
} as const;

/** Returns the quality of the time between two measurements. If nothing arrived, it is bad. */
export function qualityBetween(before: CallStats, after: CallStats): NetworkQuality {
  const received = after.packetsReceived - before.packetsReceived;
  // Late packets reduce the count.
  const lost = Math.max(0, after.packetsLost - before.packetsLost);
  if (received <= 0) return 'bad';
  const lossPercent = (100 * lost) / (received + lost);
  const isWithin = (limit: (typeof limits)[keyof typeof limits]) =>
    lossPercent <= limit.lossPercent &&
    after.jitterMs <= limit.jitterMs &&
    (after.roundTripMs ?? 0) <= limit.roundTripMs;
  if (isWithin(limits.good)) return 'good';
  return isWithin(limits.poor) ? 'poor' : 'bad';
}
