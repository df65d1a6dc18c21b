import { randomUUID } from 'node:crypto';
import { CallDirection } from '../../calling/call-event.js';
import { placedCall, type Side } from './call-state.js';
import type { CallDetails } from '../../calling/protocol.js';
import type { Call, User } from './user.js';

/** What the initiator says of it. */
export type Asked = Pick<CallDetails, 'callContext' | 'initiatorImage' | 'receiverImage'>;

export function newCall(initiator: User, receiver: User, asked: Asked, now: number): Call {
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
    state: placedCall.state,
    placedAt: now,
  };
}

export const sideOf = (call: Call, user: User): Side =>
  call.initiator === user ? 'initiator' : 'receiver';

export const directionOf = (side: Side): CallDirection =>
  side === 'initiator' ? CallDirection.Outgoing : CallDirection.Incoming;
