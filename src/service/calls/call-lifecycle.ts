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
import { CallDirection, type CallDetails } from '../../calling/protocol.js';
import { updateProfile } from '../store/profiles.js';
import { addEvent } from '../store/events.js';
import type { Call, RegisteredUser, UserDirectory } from './users.js';
import type { Database } from '../store/database.js';
import type { Timers } from '../clock.js';
import type { CallingRules } from './call-options.js';
import type { TurnTransaction } from './turn-transaction.js';

/** Decides every transition of every call: the first one wins (calling.md §5). */
export class CallLifecycle {
  readonly #world: CallContext;

  constructor(world: CallContext) {
    this.#world = world;
  }

  /** A call of an initiator that has none; `begin` is what makes it known. */
  place(initiator: RegisteredUser, receiver: RegisteredUser, asked: CallRequestDetails): Call {
    const call = newCall(initiator, receiver, asked, this.#world.now());
    initiator.call = call;
    return call;
  }

  /** Tells the initiator that it is placed, and offers it to the receiver unless something hinders it. */
  begin(call: Call): void {
    const { receiver } = call;
    this.#apply(call, initialTransition);
    const hindrance = unreachableReason(receiver);
    if (hindrance) return void this.judge(call, hindrance);
    receiver.call = call;
    this.#offer(call);
    if (!receiver.session) this.#push(call);
    this.#limit(call, this.#world.rules.timers.ringing, { type: 'unanswered' });
  }

  /** Offers a placed call to a receiver that knows nothing of it: its process is a new one. */
  offerAgain(call: Call): void {
    call.receiver.inbox.forgetCall(call.id);
    call.details = { ...call.details, channel: 'Push' };
    this.#offer(call);
  }

  /** Whether the trigger came in time; `accepted` is called before anybody learns of what follows. */
  judge(call: Call, trigger: Trigger, accepted: () => void = () => undefined): boolean {
    const next = transition(call.state, trigger);
    if (!next) return false;
    accepted();
    this.#apply(call, next);
    return true;
  }

  /** The calls that a router before this one left behind end for both sides (§5). */
  endAbandoned(): void {
    const { store, directory } = this.#world;
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
      this.judge(call, { type: 'restart' });
    }
  }

  #offer({ id: callId, receiver, details, placedAt }: Call): void {
    const { channel } = details;
    const expiresAt = placedAt + this.#world.rules.timers.ringing;
    const { directory } = this.#world;
    directory.deliver(receiver, { t: 'incoming', callId, details, channel, expiresAt });
  }

  #push({ id: callId, receiver, details, placedAt }: Call): void {
    const { timers, onPush } = this.#world.rules;
    const { cuid, device } = receiver;
    const { deviceId, platform } = device;
    const expiresAt = placedAt + timers.ringing;
    onPush?.({ callId, cuid, deviceId, platform, expiresAt, details });
  }

  #apply(call: Call, { state, ending, ...events }: Transition): void {
    const { directory, store, turn, now } = this.#world;
    const { phase } = state;
    const isNew = phase !== call.state.phase || phase === 'placed';
    call.state = state;
    if (isNew) {
      call.cancelAlarm?.();
      turn.save(call, () => saveCall(store, call));
    }
    if (isNew && phase === 'answered') {
      call.answeredAt = now();
      this.#limit(call, this.#world.rules.timers.connecting, { type: 'unconnected' });
    }
    if (isNew && phase === 'inProgress') call.inProgressAt = now();
    const wasOffered = call.receiver.call === call;
    if (ending) this.#end(call, ending);
    for (const side of ['initiator', 'receiver'] as const) {
      const event = events[side];
      const { id: callId, details } = call;
      const direction = directionOf(side);
      if (event) directory.deliver(call[side], { t: 'event', callId, direction, event, details });
    }
    if (ending) this.#tellReceiver(call, ending, wasOffered && !events.receiver);
  }

  #limit(call: Call, milliseconds: number, trigger: Trigger): void {
    call.cancelAlarm = this.#world.alarms.after(milliseconds, () => this.judge(call, trigger));
  }

  /** From now on both may have another call. */
  #end(call: Call, ending: Ending): void {
    const { directory, store, turn, now } = this.#world;
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

  /** What a receiver learns of the end besides its event, or instead of one. */
  #tellReceiver(
    { id: callId, receiver, details, actions }: Call,
    { reason }: Ending,
    isSilent: boolean,
  ) {
    const { directory } = this.#world;
    if (isSilent) directory.deliver(receiver, { t: 'over', callId, reason });
    if (actions) directory.deliver(receiver, { t: 'missed', callId, actions, details });
  }
}

/** Why a call cannot even be offered. */
function unreachableReason({
  call,
  loggedOut,
  session,
  device,
}: RegisteredUser): Trigger | undefined {
  if (call) return { type: 'busy' };
  if (loggedOut) return { type: 'loggedOut' };
  if (!session && device.caps.notifications === false) return { type: 'notificationsOff' };
  return undefined;
}

/** What the initiator says of it. */
export type CallRequestDetails = Pick<
  CallDetails,
  'callContext' | 'initiatorImage' | 'receiverImage'
>;

function newCall(
  initiator: RegisteredUser,
  receiver: RegisteredUser,
  asked: CallRequestDetails,
  now: number,
): Call {
  const id = randomUUID();
  const details: CallDetails = {
    callId: id,
    callerCuid: initiator.cuid,
    calleeCuid: receiver.cuid,
    ...asked,
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

/** What the parts of a calling system work with. */
export interface CallContext {
  readonly rules: CallingRules;
  readonly store: Database;
  readonly turn: TurnTransaction;
  readonly directory: UserDirectory;
  readonly alarms: Timers;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Writes a call's end as system events (calling.md §6): SCOutgoing and SCEnd of the initiator's
 * profile, SCIncoming of the receiver's. A profile whose identity is the cuid is made when there is
 * none. `cuid` is the other party; `epoch` is when the call was placed, in seconds.
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
