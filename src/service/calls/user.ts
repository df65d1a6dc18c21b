import type { CallState, Ending } from './call-state.js';
import type { CallDetails, Caps, MissedCallActions, Platform } from '../../calling/protocol.js';
import type { Inbox } from './inbox.js';

/** The device on which a cuid last registered, as it described itself. */
export interface Device {
  readonly deviceId: string;
  readonly platform: Platform;
  readonly caps: Caps;
  readonly missedCallActions: MissedCallActions;
}

/** A cuid that has registered. */
export interface User {
  readonly cuid: string;
  device: Device;
  loggedOut: boolean;
  /** Milliseconds since 1970 of its last `auth`. */
  registeredAt: number;
  readonly inbox: Inbox;
  /** Its socket, while it has one. */
  session?: Session | undefined;
  /** The call it places, is offered, or is in. */
  call?: Call | undefined;
  /** Ends the wait for its return. */
  cancelGone?: () => void;
}

/** A client's socket, as the router sees it. */
export interface Session {
  readonly id: string;
  /** Undefined until `auth` was accepted, and again when the socket was taken from the user. */
  user: User | undefined;
  /** One frame. What the socket cannot take any more is lost with it. */
  send(text: string): void;
  /** Lets what was sent arrive first. */
  close(code: number, reason: string): void;
}

/** A call and how far it has come. Times in milliseconds since 1970. */
export interface Call {
  readonly id: string;
  readonly initiator: User;
  readonly receiver: User;
  details: CallDetails;
  state: CallState;
  readonly placedAt: number;
  answeredAt?: number | undefined;
  inProgressAt?: number | undefined;
  endedAt?: number | undefined;
  ending?: Ending | undefined;
  /** Buttons of the receiver's missed-call notification. */
  actions?: MissedCallActions | undefined;
  /** Stops the time that runs for its present state. */
  cancelAlarm?: () => void;
}
