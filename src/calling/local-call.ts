import { CallDirection } from './call-event.js';
import type { CallMedia } from './call-media.js';
import type { CallDetails } from './protocol.js';

/** Whether there is a call, and of what kind. */
export type SignedCallState = 'NoCall' | 'OutgoingCall' | 'IncomingCall' | 'OngoingCall';

/** The one call that this client has, as far as the router has told of it. */
export interface LocalCall {
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
