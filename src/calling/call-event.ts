/** What a call's listener is told (specification, States and transitions). */
export const CallEvent = {
  CallIsPlaced: 'CallIsPlaced',
  Cancelled: 'Cancelled',
  Declined: 'Declined',
  Missed: 'Missed',
  Answered: 'Answered',
  CallInProgress: 'CallInProgress',
  Ended: 'Ended',
  ReceiverBusyOnAnotherCall: 'ReceiverBusyOnAnotherCall',
  DeclinedDueToLoggedOutCuid: 'DeclinedDueToLoggedOutCuid',
  DeclinedDueToNotificationsDisabled: 'DeclinedDueToNotificationsDisabled',
  DeclinedDueToMicrophonePermissionsNotGranted: 'DeclinedDueToMicrophonePermissionsNotGranted',
} as const;
export type CallEvent = (typeof CallEvent)[keyof typeof CallEvent];

export const CallDirection = { Incoming: 'Incoming', Outgoing: 'Outgoing' } as const;
export type CallDirection = (typeof CallDirection)[keyof typeof CallDirection];

const goingOn: ReadonlySet<CallEvent> = new Set([
  CallEvent.CallIsPlaced,
  CallEvent.Answered,
  CallEvent.CallInProgress,
]);

/** Whether the call is over with it: each side gets at most one such event of a call, as its last. */
export const isTerminal = (event: CallEvent): boolean => !goingOn.has(event);
