import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isTerminal, type CallEvent } from '../../src/calling/protocol.js';
import { initialTransition, transition, type Trigger } from '../../src/service/calls/call-state.js';

const answered: Trigger[] = [{ type: 'answer' }];
const inProgress: Trigger[] = [
  ...answered,
  { type: 'ready', by: 'receiver' },
  { type: 'ready', by: 'initiator' },
];

/** Both sides' events of a call with these triggers. Refused triggers are marked by `refused`. */
function eventsOf(triggers: readonly Trigger[]) {
  let { state } = initialTransition;
  const events = {
    initiator: [initialTransition.initiator],
    receiver: [] as unknown[],
    refused: 0,
  };
  let ending: unknown;
  for (const trigger of triggers) {
    const next = transition(state, trigger);
    if (!next) events.refused++;
    else {
      ({ state } = next);
      if (next.initiator) events.initiator.push(next.initiator);
      if (next.receiver) events.receiver.push(next.receiver);
      ending = next.ending ?? ending;
    }
  }
  return { ...events, ending, phase: state.phase };
}

it.each<[what: string, Trigger[], initiator: string[], receiver: string[], status: string]>([
  ['busy', [{ type: 'busy' }], ['ReceiverBusyOnAnotherCall'], [], 'declined'],
  [
    'busy on PSTN',
    [{ type: 'decline', reasonCode: 1005 }],
    ['ReceiverBusyOnAnotherCall'],
    [],
    'declined',
  ],
  ['logged out', [{ type: 'loggedOut' }], ['DeclinedDueToLoggedOutCuid'], [], 'declined'],
  [
    'notifications off',
    [{ type: 'notificationsOff' }],
    ['DeclinedDueToNotificationsDisabled'],
    ['DeclinedDueToNotificationsDisabled'],
    'declined',
  ],
  [
    'microphone refused',
    [{ type: 'decline', reasonCode: 1002 }],
    ['DeclinedDueToMicrophonePermissionsNotGranted'],
    ['DeclinedDueToMicrophonePermissionsNotGranted'],
    'declined',
  ],
  ['declined', [{ type: 'decline' }], ['Declined'], ['Declined'], 'declined'],
  [
    'receiver hangs up while it rings',
    [{ type: 'hangup', by: 'receiver' }],
    ['Declined'],
    ['Declined'],
    'declined',
  ],
  [
    'initiator hangs up',
    [{ type: 'hangup', by: 'initiator' }],
    ['Cancelled'],
    ['Cancelled'],
    'cancelled',
  ],
  ['nobody answers', [{ type: 'unanswered' }], ['Missed'], ['Missed'], 'missed'],
  [
    'initiator gone while it rings',
    [{ type: 'gone', by: 'initiator' }],
    ['Cancelled'],
    ['Cancelled'],
    'cancelled',
  ],
  [
    'hung up once answered',
    [...answered, { type: 'hangup', by: 'receiver' }],
    ['Answered', 'Ended'],
    ['Answered', 'Ended'],
    'over',
  ],
  [
    'not connected in time',
    [...answered, { type: 'ready', by: 'receiver' }, { type: 'unconnected' }],
    ['Answered', 'Ended'],
    ['Answered', 'Ended'],
    'over',
  ],
  [
    'a whole call',
    [...inProgress, { type: 'hangup', by: 'initiator' }],
    ['Answered', 'CallInProgress', 'Ended'],
    ['Answered', 'CallInProgress', 'Ended'],
    'over',
  ],
  [
    'logout in a call',
    [...inProgress, { type: 'logout', by: 'receiver' }],
    ['Answered', 'CallInProgress', 'Ended'],
    ['Answered', 'CallInProgress', 'Ended'],
    'over',
  ],
  [
    'one side gone',
    [...inProgress, { type: 'gone', by: 'receiver' }],
    ['Answered', 'CallInProgress', 'Ended'],
    ['Answered', 'CallInProgress', 'Ended'],
    'over',
  ],
])('delivers its events of a call to each side: %s', (_, triggers, initiator, receiver, status) => {
  const { ending, ...events } = eventsOf(triggers);
  expect(events).toEqual({
    initiator: ['CallIsPlaced', ...initiator],
    receiver,
    refused: 0,
    phase: 'over',
  });
  expect(ending).toMatchObject({ status });
});

it.each<[string, Trigger[]]>([
  ['a receiver that is away while it rings may still come', [{ type: 'gone', by: 'receiver' }]],
  ['no media before the answer', [{ type: 'ready', by: 'receiver' }]],
  ['answered twice', [...answered, { type: 'answer' }]],
  ['declined after the answer', [...answered, { type: 'decline' }]],
  ['the time to ring is up after the answer', [...answered, { type: 'unanswered' }]],
  ['the time to connect is up in progress', [...inProgress, { type: 'unconnected' }]],
  ['cancelled, then answered', [{ type: 'hangup', by: 'initiator' }, ...answered]],
])('leaves the state unchanged: %s', (_, triggers) => {
  expect(eventsOf(triggers).refused).toBe(1);
});

const side = fc.constantFrom('initiator' as const, 'receiver' as const);
const trigger: fc.Arbitrary<Trigger> = fc.oneof(
  fc.constantFrom<Trigger[]>(
    { type: 'busy' },
    { type: 'loggedOut' },
    { type: 'notificationsOff' },
    { type: 'answer' },
    { type: 'unanswered' },
    { type: 'unconnected' },
    { type: 'restart' },
    { type: 'decline' },
    { type: 'decline', reasonCode: 1004 },
    { type: 'decline', reasonCode: 1002 },
  ),
  fc.record({ type: fc.constantFrom('hangup', 'logout', 'ready', 'gone'), by: side }),
);

it('delivers one last event to each side in every case: the same one, or none to the receiver', () => {
  fc.assert(
    fc.property(fc.array(trigger, { maxLength: 12 }), (triggers) => {
      const { initiator, receiver, phase } = eventsOf(triggers);
      const isLast = (event: unknown) => isTerminal(event as CallEvent);
      expect(initiator.filter(isLast)).toHaveLength(phase === 'over' ? 1 : 0);
      expect(initiator.slice(0, -1).some(isLast)).toBe(false);
      expect(receiver.slice(0, -1).some(isLast)).toBe(false);
      if (phase !== 'over') return;
      const ends = [initiator.at(-1), receiver.at(-1)];
      const isSilent = ['ReceiverBusyOnAnotherCall', 'DeclinedDueToLoggedOutCuid'].includes(
        String(ends[0]),
      );
      expect(ends[1]).toBe(isSilent ? undefined : ends[0]);
    }),
    { numRuns: 2000 },
  );
});
