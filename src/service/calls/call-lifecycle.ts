import {
  initialTransition,
  transition,
  type Ending,
  type Transition,
  type Trigger,
  type Side,
} from './call-state.js';
import { ongoingCalls, detailsOf, saveCall } from './call-records.js';
import { randomUUID } from 'node:crypto';
import { CallDirection, declineCodes, type CallDetails } from '../../calling/protocol.js';
import { updateProfile } from '../store/profiles.js';
import { addEvent } from '../store/events.js';
import type { CallScript, CallSteering } from './steering.js';
import type { Call, RegisteredUser, UserDirectory } from './users.js';
import type { Database } from '../store/database.js';
import type { Timers } from '../clock.js';
import type { CallingRules } from './call-options.js';
import type { TurnTransaction } from './turn-transaction.js';

/** Applies the transitions of all calls. The first transition wins (docs/calling.md, States of a call). */
export class CallLifecycle {
  readonly #context: CallContext;

  constructor(context: CallContext) {
    this.#context = context;
  }

  /** Creates a call of an initiator that has none. `begin` announces it. */
  place(initiator: RegisteredUser, receiver: RegisteredUser, request: CallRequestDetails): Call {
    const call = newCall(initiator, receiver, request, this.#context.now());
    initiator.call = call;
    return call;
  }

  /** Reports the call as placed to the initiator, and offers it to the receiver if it can receive calls. */
  begin(call: Call, script?: CallScript): void {
    const { receiver } = call;
    call.isScripted = script !== undefined;
    this.#transition(call, initialTransition);
    const unavailable = unavailableTrigger(receiver, call.isScripted);
    if (unavailable) return void this.apply(call, unavailable);
    receiver.call = call;
    if (script) return this.#play(call, script);
    this.#offer(call);
    if (!receiver.session) this.#push(call);
    this.#startTimer(call, this.#context.rules.timers.ringing, { type: 'unanswered' });
  }

  /** Offers a placed call to a new session of its receiver. */
  resendOffer(call: Call): void {
    call.receiver.inbox.forgetCall(call.id);
    call.details = { ...call.details, channel: 'Push' };
    this.#offer(call);
  }

  /**
   * Applies a trigger; returns false if the call has no such transition any more. `accepted` is called before
   * any side is notified.
   */
  apply(call: Call, trigger: Trigger, accepted: () => void = () => undefined): boolean {
    const next = transition(call.state, trigger);
    if (!next) return false;
    accepted();
    this.#transition(call, next);
    return true;
  }

  /** Ends the calls that were active when the previous router stopped. */
  endAbandoned(): void {
    const { store, directory } = this.#context;
    for (const record of ongoingCalls(store)) {
      const { phase, placedAt, answeredAt, inProgressAt } = record;
      const details = detailsOf(record);
      const initiator = directory.find(details.callerCuid);
      const receiver = directory.find(details.calleeCuid);
      if (!initiator || !receiver) continue;
      const call: Call = {
        ...newCall(initiator, receiver, details, placedAt),
        id: details.callId,
        details,
        state: { phase, ready: [] },
        answeredAt,
        inProgressAt,
      };
      this.apply(call, { type: 'restart' });
    }
  }

  /** Lets the receiver of a call do what the script of a test says. */
  #play(call: Call, { does, reason, afterSeconds = 0, hangupAfterSeconds }: CallScript): void {
    const { rules, timers } = this.#context;
    this.#startTimer(call, rules.timers.ringing, { type: 'unanswered' });
    if (does === 'ignore') return;
    const reasonCode = reason === undefined ? {} : { reasonCode: declineCodes[reason] };
    const act = () => {
      if (does === 'decline') this.apply(call, { type: 'decline', ...reasonCode });
      else if (this.apply(call, { type: 'answer' })) this.#connect(call, hangupAfterSeconds);
    };
    timers.after(1000 * afterSeconds, act);
  }

  /** Reports the voice as connected: a scripted callee has none, so the call does not wait for that of the caller. */
  #connect(call: Call, hangupAfterSeconds: number | undefined): void {
    for (const by of ['receiver', 'initiator'] as const) this.apply(call, { type: 'ready', by });
    if (hangupAfterSeconds === undefined) return;
    const hangUp = () => void this.apply(call, { type: 'hangup', by: 'receiver' });
    this.#context.timers.after(1000 * hangupAfterSeconds, hangUp);
  }

  #offer({ id: callId, receiver, details, placedAt }: Call): void {
    const { channel } = details;
    const expiresAt = placedAt + this.#context.rules.timers.ringing;
    const { directory } = this.#context;
    directory.deliver(receiver, { t: 'incoming', callId, details, channel, expiresAt });
  }

  #push({ id: callId, receiver, details, placedAt }: Call): void {
    const { timers, onPush } = this.#context.rules;
    this.#context.steering.wake(receiver.cuid);
    const { cuid, device } = receiver;
    const { deviceId, platform } = device;
    const expiresAt = placedAt + timers.ringing;
    onPush?.({ callId, cuid, deviceId, platform, expiresAt, details });
  }

  #transition(call: Call, { state, ending, ...events }: Transition): void {
    const { directory, store, turn, now, steering } = this.#context;
    const { phase } = state;
    const isNew = phase !== call.state.phase || phase === 'placed';
    call.state = state;
    if (isNew) {
      call.cancelTimer?.();
      turn.save(call, () => saveCall(store, call));
    }
    if (isNew && phase === 'answered') {
      call.answeredAt = now();
      this.#startTimer(call, this.#context.rules.timers.connecting, { type: 'unconnected' });
    }
    if (isNew && phase === 'inProgress') call.inProgressAt = now();
    const wasOffered = call.receiver.call === call;
    if (ending) this.#end(call, ending);
    for (const side of ['initiator', 'receiver'] as const) {
      const event = events[side];
      const { id: callId, details } = call;
      const direction = directionOf(side);
      const isHeard = side === 'initiator' || !call.isScripted;
      if (event && isHeard)
        directory.deliver(call[side], { t: 'event', callId, direction, event, details });
    }
    const observed = events.initiator ?? events.receiver;
    if (observed) steering.observe({ event: observed, callDetails: call.details, at: now() });
    if (ending && !call.isScripted)
      this.#notifyReceiver(call, ending, wasOffered && !events.receiver);
  }

  #startTimer(call: Call, milliseconds: number, trigger: Trigger): void {
    call.cancelTimer = this.#context.timers.after(milliseconds, () => this.apply(call, trigger));
  }

  /** Records the end of a call and frees both users for another one. */
  #end(call: Call, ending: Ending): void {
    const { directory, store, turn, now } = this.#context;
    call.endedAt = now();
    call.ending = ending;
    if (ending.status === 'missed') call.actions = call.receiver.device.missedCallActions;
    for (const user of [call.initiator, call.receiver]) {
      user.inbox.forgetCall(call.id);
      if (user.call === call) user.call = undefined;
      directory.save(user);
    }
    turn.save(call.id, () => saveSystemEvents(store, call));
  }

  /** Notifies the receiver of the end without an event, or of a missed call in addition to its event. */
  #notifyReceiver(
    { id: callId, receiver, details, actions }: Call,
    { reason }: Ending,
    isSilent: boolean,
  ) {
    const { directory } = this.#context;
    if (isSilent) directory.deliver(receiver, { t: 'over', callId, reason });
    if (actions) directory.deliver(receiver, { t: 'missed', callId, actions, details });
  }
}

/** Returns the trigger that ends a call to a user who cannot be offered one. */
function unavailableTrigger(
  { call, loggedOut, session, device }: RegisteredUser,
  isScripted: boolean,
): Trigger | undefined {
  if (call) return { type: 'busy' };
  if (isScripted) return undefined;
  if (loggedOut) return { type: 'loggedOut' };
  if (!session && device.caps.notifications === false) return { type: 'notificationsOff' };
  return undefined;
}

/** Details of a call that the initiator chooses. */
export type CallRequestDetails = Pick<
  CallDetails,
  'callContext' | 'initiatorImage' | 'receiverImage'
>;

function newCall(
  initiator: RegisteredUser,
  receiver: RegisteredUser,
  request: CallRequestDetails,
  now: number,
): Call {
  const id = randomUUID();
  const details: CallDetails = {
    callId: id,
    callerCuid: initiator.cuid,
    calleeCuid: receiver.cuid,
    ...request,
    channel: receiver.session ? 'Socket' : 'Push',
  };
  return {
    id,
    initiator,
    receiver,
    details,
    state: initialTransition.state,
    placedAt: now,
  };
}

export const sideOf = (call: Call, user: RegisteredUser): Side =>
  call.initiator === user ? 'initiator' : 'receiver';

const directionOf = (side: Side): CallDirection =>
  side === 'initiator' ? CallDirection.Outgoing : CallDirection.Incoming;

/** Dependencies that the parts of the router share. */
export interface CallContext {
  readonly rules: CallingRules;
  readonly store: Database;
  readonly turn: TurnTransaction;
  readonly directory: UserDirectory;
  readonly timers: Timers;
  readonly steering: CallSteering;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Writes the end of a call as system events: SCOutgoing and SCEnd of the initiator's profile, SCIncoming of the
 * receiver's (docs/call-router.md). Creates missing profiles with the cuid as identity. `cuid` is the other party;
 * `epoch` is the time of placement in seconds.
 */
function saveSystemEvents(store: Database, call: Call): void {
  const { id, details, placedAt, endedAt = placedAt, ending } = call;
  const ts = Math.floor(endedAt / 1000);
  const add = (name: string, own: string, other: string): void => {
    const profile = updateProfile(store, [{ kind: 'identity', value: own }], (same) => same).id;
    const props = JSON.stringify({
      call_id: id,
      cuid: other,
      context: details.callContext,
      epoch: Math.floor(placedAt / 1000),
      call_status: ending?.status,
      reason: ending?.reason,
      reason_code: ending?.reasonCode,
    });
    addEvent(store, { name, profile, ts, props });
  };
  const { callerCuid, calleeCuid } = details;
  add('SCOutgoing', callerCuid, calleeCuid);
  add('SCIncoming', calleeCuid, callerCuid);
  add('SCEnd', callerCuid, calleeCuid);
}
