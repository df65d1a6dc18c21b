import { CallEvent, declineCodes, type DeclineCode } from '../../calling/protocol.js';

export type Side = 'initiator' | 'receiver';

/** Where a call is. It begins as `placedCall`; nothing follows `over`. */
export interface CallState {
  readonly phase: 'placed' | 'answered' | 'inProgress' | 'over';
  /** Sides whose media stand. */
  readonly ready: readonly Side[];
}

/** What can happen to a call. */
export type Trigger =
  /** The receiver has another call, or its cuid is logged out, or it can show no notification. */
  | { readonly type: 'busy' | 'loggedOut' | 'notificationsOff' }
  | { readonly type: 'answer' }
  | { readonly type: 'decline'; readonly reasonCode?: DeclineCode }
  /** `gone`: off its socket for too long, or back without knowing of the call. */
  | { readonly type: 'hangup' | 'logout' | 'ready' | 'gone'; readonly by: Side }
  /** The time to ring, or to connect, is up; the router has been restarted. */
  | { readonly type: 'unanswered' | 'unconnected' | 'restart' };

/** How a call ended, in the words of the system events (§6). */
export interface Ending {
  readonly status: 'over' | 'declined' | 'missed' | 'cancelled';
  readonly reason: string;
  readonly reasonCode?: DeclineCode;
}

export interface Transition {
  readonly state: CallState;
  /** What each side is told; a side without an event learns nothing. */
  readonly initiator?: CallEvent;
  readonly receiver?: CallEvent;
  /** Of the transition to `over`. */
  readonly ending?: Ending;
}

/** The first transition: the router has accepted the call. */
export const initialTransition: Transition = {
  state: { phase: 'placed', ready: [] },
  initiator: CallEvent.CallIsPlaced,
};

/**
 * The machine of a call (calling.md §5), stated once: router and model test go by it. Undefined: the
 * trigger has no place in this state any more, the first transition won.
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

/** Told twice, it changes nothing. */
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

/** What a decline means by its code. */
const meanings: Readonly<Record<DeclineCode, readonly [event: CallEvent, reason: string]>> = {
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
  const [event, reason] = meanings[reasonCode];
  const told = both(event, { status: 'declined', reason, reasonCode });
  if (reason !== 'busy' && reason !== 'loggedOut') return told;
  // Such a receiver learns nothing.
  const { receiver: _, ...silent } = told;
  return silent;
}

const both = (event: CallEvent, ending: Ending): Transition => ({
  state: { phase: 'over', ready: [] },
  initiator: event,
  receiver: event,
  ending,
});
