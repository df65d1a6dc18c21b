import { CallEvent, declineCodes, type DeclineCode } from '../../calling/protocol.js';

export type Side = 'initiator' | 'receiver';

/** State of a call. `over` is final. */
export interface CallState {
  readonly phase: 'placed' | 'answered' | 'inProgress' | 'over';
  /** Sides whose media is connected. */
  readonly ready: readonly Side[];
}

/** Input of the state machine. */
export type Trigger =
  /** The receiver has another call, is logged out, or cannot show notifications. */
  | { readonly type: 'busy' | 'loggedOut' | 'notificationsOff' }
  | { readonly type: 'answer' }
  | { readonly type: 'decline'; readonly reasonCode?: DeclineCode }
  /** `gone`: disconnected for too long, or reconnected with a new session. */
  | { readonly type: 'hangup' | 'logout' | 'ready' | 'gone'; readonly by: Side }
  /** Timeout of ringing or connecting, or a restart of the router. */
  | { readonly type: 'unanswered' | 'unconnected' | 'restart' };

/** End of a call, as recorded in the system events. */
export interface Ending {
  readonly status: 'over' | 'declined' | 'missed' | 'cancelled';
  readonly reason: string;
  readonly reasonCode?: DeclineCode;
}

export interface Transition {
  readonly state: CallState;
  /** Event for each side; a side without one is not notified. */
  readonly initiator?: CallEvent;
  readonly receiver?: CallEvent;
  /** Set by transitions to `over`. */
  readonly ending?: Ending;
}

/** Transition of a call that the router has just accepted. */
export const initialTransition: Transition = {
  state: { phase: 'placed', ready: [] },
  initiator: CallEvent.CallIsPlaced,
};

/**
 * State machine of a call (docs/calling.md, States of a call). Returns undefined for a trigger that is too late,
 * because another transition was first.
 */
export function transition(state: CallState, trigger: Trigger): Transition | undefined {
  switch (state.phase) {
    case 'placed':
      return fromPlaced(trigger);
    case 'answered':
    case 'inProgress':
      return trigger.type === 'ready' ? withReady(state, trigger.by) : fromAnswered(state, trigger);
    case 'over':
      return undefined;
    default:
      return state.phase satisfies never;
  }
}

function fromPlaced(trigger: Trigger): Transition | undefined {
  switch (trigger.type) {
    case 'busy':
      return declinedBy(declineCodes.busy);
    case 'loggedOut':
      return declinedBy(declineCodes.loggedOutCuid);
    case 'notificationsOff':
      return declinedBy(declineCodes.notificationsDisabled);
    case 'answer':
      return {
        state: { phase: 'answered', ready: [] },
        initiator: CallEvent.Answered,
        receiver: CallEvent.Answered,
      };
    case 'decline':
      return declinedBy(trigger.reasonCode);
    case 'hangup':
    case 'logout':
      return trigger.by === 'initiator'
        ? both(CallEvent.Cancelled, { status: 'cancelled', reason: trigger.type })
        : both(CallEvent.Declined, { status: 'declined', reason: trigger.type });
    case 'gone':
      if (trigger.by === 'receiver') return undefined;
      return both(CallEvent.Cancelled, { status: 'cancelled', reason: 'gone' });
    case 'unanswered':
      return both(CallEvent.Missed, { status: 'missed', reason: 'unanswered' });
    case 'restart':
      return both(CallEvent.Ended, { status: 'over', reason: 'restart' });
    case 'ready':
    case 'unconnected':
      return undefined;
    default:
      return trigger satisfies never;
  }
}

function fromAnswered({ phase }: CallState, trigger: Trigger): Transition | undefined {
  switch (trigger.type) {
    case 'hangup':
    case 'logout':
    case 'gone':
    case 'restart':
      return both(CallEvent.Ended, { status: 'over', reason: trigger.type });
    case 'unconnected':
      if (phase === 'inProgress') return undefined;
      return both(CallEvent.Ended, { status: 'over', reason: 'unconnected' });
    default:
      return undefined;
  }
}

/** Marks a side as ready. Idempotent. */
function withReady(state: CallState, by: Side): Transition {
  if (state.ready.includes(by)) return { state };
  const ready = [...state.ready, by];
  if (ready.length < 2) return { state: { ...state, ready } };
  return {
    state: { phase: 'inProgress', ready },
    initiator: CallEvent.CallInProgress,
    receiver: CallEvent.CallInProgress,
  };
}

/** Event and reason of a decline, by its code. */
const declines: Readonly<Record<DeclineCode, readonly [event: CallEvent, reason: string]>> = {
  [declineCodes.busy]: [CallEvent.ReceiverBusyOnAnotherCall, 'busy'],
  [declineCodes.busyOnVoip]: [CallEvent.ReceiverBusyOnAnotherCall, 'busy'],
  [declineCodes.busyOnPstn]: [CallEvent.ReceiverBusyOnAnotherCall, 'busy'],
  [declineCodes.loggedOutCuid]: [CallEvent.DeclinedDueToLoggedOutCuid, 'loggedOut'],
  [declineCodes.notificationsDisabled]: [
    CallEvent.DeclinedDueToNotificationsDisabled,
    'notificationsDisabled',
  ],
  [declineCodes.microphoneNotGranted]: [
    CallEvent.DeclinedDueToMicrophonePermissionsNotGranted,
    'microphoneNotGranted',
  ],
};

function declinedBy(reasonCode: DeclineCode | undefined): Transition {
  if (reasonCode === undefined)
    return both(CallEvent.Declined, { status: 'declined', reason: 'declined' });
  const [event, reason] = declines[reasonCode];
  const declined = both(event, { status: 'declined', reason, reasonCode });
  if (reason !== 'busy' && reason !== 'loggedOut') return declined;
  // A receiver that is busy or logged out gets no event.
  const { receiver: _, ...silent } = declined;
  return silent;
}

const both = (event: CallEvent, ending: Ending): Transition => ({
  state: { phase: 'over', ready: [] },
  initiator: event,
  receiver: event,
  ending,
});
