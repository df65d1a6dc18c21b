import { expect, it } from 'vitest';
import type { CallTimers } from '../../src/calling/protocol.js';
import { askRest, runRouter } from '../service/calls/raw-client.js';
import { Phone } from '../support/processes/phone.js';
import { until } from '../support/until.js';

// §5 and §8.1 of the calling contract: every row of the table of states, between two processes, and all that both ever hear.

type Act = (ann: Phone, bob: Phone) => Promise<void> | void;

interface Row {
  /** What is done once it rings; `ann` calls `bob`. */
  readonly acts: readonly Act[];
  readonly ann: readonly string[];
  readonly bob: readonly string[];
  readonly timers?: Partial<CallTimers>;
  readonly annIs?: readonly string[];
  readonly bobIs?: readonly string[];
}

const answered: Act = async (ann, bob) => {
  bob.does('answer');
  await Promise.all([ann.hears('Answered'), bob.hears('Answered')]);
};
const inProgress: Act = async (ann, bob) => {
  bob.does('answer');
  await Promise.all([ann.hears('CallInProgress'), bob.hears('CallInProgress')]);
};
const annDoes =
  (line: string): Act =>
  (ann) =>
    ann.does(line);
const bobDoes =
  (line: string): Act =>
  (_, bob) =>
    bob.does(line);
const talked = ['Answered', 'CallInProgress', 'Ended'];
const neverConnects = ['allowAll', 'never-connects'];

const rows: Readonly<Record<string, Row>> = {
  'receiver declines': {
    acts: [bobDoes('decline')],
    ann: ['Declined'],
    bob: ['Declined'],
  },
  'receiver hangs up while it rings': {
    acts: [bobDoes('hangup')],
    ann: ['Declined'],
    bob: ['Declined'],
  },
  'microphone refused on answer': {
    acts: [bobDoes('answer')],
    bobIs: ['micDenied'],
    ann: ['DeclinedDueToMicrophonePermissionsNotGranted'],
    bob: ['MIC_DENIED', 'DeclinedDueToMicrophonePermissionsNotGranted'],
  },
  'initiator hangs up while it rings': {
    acts: [annDoes('hangup')],
    ann: ['Cancelled'],
    bob: ['Cancelled'],
  },
  'initiator logs out while it rings': {
    acts: [annDoes('logout')],
    ann: ['Cancelled'],
    bob: ['Cancelled'],
  },
  'nobody answers': {
    acts: [],
    timers: { ringing: 300 },
    ann: ['Missed'],
    bob: ['Missed'],
  },
  'answered, and never connected': {
    acts: [answered],
    timers: { connecting: 100 },
    bobIs: neverConnects,
    ann: ['Answered', 'Ended'],
    bob: ['Answered', 'Ended'],
  },
  'answered, and the initiator hangs up before it is in progress': {
    acts: [answered, annDoes('hangup')],
    bobIs: neverConnects,
    ann: ['Answered', 'Ended'],
    bob: ['Answered', 'Ended'],
  },
  'initiator hangs up in the call': {
    acts: [inProgress, annDoes('hangup')],
    ann: talked,
    bob: talked,
  },
  'receiver hangs up in the call': {
    acts: [inProgress, bobDoes('hangup')],
    ann: talked,
    bob: talked,
  },
  'initiator logs out in the call': {
    acts: [inProgress, annDoes('logout')],
    ann: talked,
    bob: talked,
  },
  'receiver logs out in the call': {
    acts: [inProgress, bobDoes('logout')],
    ann: talked,
    bob: talked,
  },
  'initiator killed while it rings: told on its return': {
    acts: [
      (ann) => ann.kill(),
      async (ann, bob) => {
        await bob.hears('Cancelled');
        await ann.start();
      },
    ],
    timers: { gone: 150 },
    ann: ['Cancelled'],
    bob: ['Cancelled'],
  },
  'receiver killed in the call: told on its return': {
    acts: [
      inProgress,
      (_, bob) => bob.kill(),
      async (ann, bob) => {
        await ann.hears('Ended');
        await bob.start();
      },
    ],
    timers: { gone: 150 },
    ann: talked,
    bob: talked,
  },
  'initiator stopped for too long in the call: told on its return': {
    acts: [
      inProgress,
      (ann) => ann.signal('SIGSTOP'),
      async (ann, bob) => {
        await bob.hears('Ended');
        ann.signal('SIGCONT');
      },
    ],
    timers: { gone: 150, ping: 60 },
    ann: talked,
    bob: talked,
  },
};

it.each(Object.entries(rows))(
  'agrees with the table of states for a call that is %s',
  async (_, row) => {
    const { url } = await runRouter({ timers: row.timers ?? {} });
    const [ann, bob] = await Promise.all([
      Phone.of(url, 'ann_1', ...(row.annIs ?? [])),
      Phone.of(url, 'bob_1', ...(row.bobIs ?? [])),
    ]);
    ann.does('call bob_1');
    await Promise.all([ann.hears('CallIsPlaced'), bob.hears('incoming')]);
    for (const act of row.acts) await act(ann, bob);
    await Promise.all([heardAll(ann, row.ann), heardAll(bob, row.bob)]);
    expect(await ann.leave()).toEqual(['CallIsPlaced', ...row.ann]);
    expect(await bob.leave()).toEqual(['incoming', ...row.bob]);
  },
);

it('leaves a receiver in another call undisturbed', async () => {
  const { url } = await runRouter();
  const names = ['ann_1', 'bob_1', 'carl_1'];
  const [ann, bob, carl] = await Promise.all(names.map((cuid) => Phone.of(url, cuid)));
  ann!.does('call bob_1');
  await bob!.hears('incoming');
  await inProgress(ann!, bob!);
  carl!.does('call bob_1');
  await carl!.hears('ReceiverBusyOnAnotherCall');
  bob!.does('hangup');
  await Promise.all([ann!.hears('Ended'), bob!.hears('Ended')]);
  expect(await carl!.leave()).toEqual(['CallIsPlaced', 'ReceiverBusyOnAnotherCall']);
  expect(await bob!.leave()).toEqual(['incoming', ...talked]);
  expect(await ann!.leave()).toEqual(['CallIsPlaced', ...talked]);
});

it.each([
  ['on the telephone', 'pstnBusy', 'ReceiverBusyOnAnotherCall', []],
  [
    'whose notifications are off',
    'notificationsOff',
    'DeclinedDueToNotificationsDisabled',
    ['DeclinedDueToNotificationsDisabled'],
  ],
])('never rings at a receiver %s', async (_, device, event, heard) => {
  const { url } = await runRouter();
  const [ann, bob] = await Promise.all([Phone.of(url, 'ann_1'), Phone.of(url, 'bob_1', device)]);
  ann.does('call bob_1');
  await ann.hears(event);
  expect(await ann.leave()).toEqual(['CallIsPlaced', event]);
  expect(await bob.leave()).toEqual(heard);
});

it('sends nothing to a receiver that logged out, even after the next sign-in', async () => {
  const { url } = await runRouter();
  const [ann, bob] = await Promise.all([Phone.of(url, 'ann_1'), Phone.of(url, 'bob_1')]);
  bob.does('logout');
  await bob.hears('logged out');
  ann.does('call bob_1');
  await ann.hears('DeclinedDueToLoggedOutCuid');
  await bob.leave();
  await bob.start();
  expect(await ann.leave()).toEqual(['CallIsPlaced', 'DeclinedDueToLoggedOutCuid']);
  expect(await bob.leave()).toEqual([]);
});

it('ignores a side that is disconnected for a moment', async () => {
  const service = await runRouter({ timers: { gone: 120_000, ping: 50 } });
  const { url } = service;
  const [ann, bob] = await Promise.all([Phone.of(url, 'ann_1'), Phone.of(url, 'bob_1')]);
  ann.does('call bob_1');
  await bob.hears('incoming');
  await inProgress(ann, bob);
  bob.signal('SIGSTOP');
  const isDropped = async () => {
    const { devices } = await askRest(service, 'GET', '/call/v1/devices');
    return (devices as { cuid: string; state: string }[]).some(
      ({ cuid, state }) => cuid === 'bob_1' && state !== 'connected',
    );
  };
  await until(isDropped, { message: 'the router drops the socket of a device that is silent' });
  bob.signal('SIGCONT');
  ann.does('hangup');
  await Promise.all([ann.hears('Ended'), bob.hears('Ended')]);
  expect(await ann.leave()).toEqual(['CallIsPlaced', ...talked]);
  expect(await bob.leave()).toEqual(['incoming', ...talked]);
});

/** Until the last of them, where it was not heard before. */
async function heardAll(phone: Phone, events: readonly string[]): Promise<void> {
  const last = events.at(-1);
  if (last !== undefined && !phone.events.includes(last)) await phone.hears(last);
}
