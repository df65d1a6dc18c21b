import { expect, it } from 'vitest';
import { runRouter } from '../service/calls/raw-client.js';
import { annProperties, testClient, type TestClient } from '../support/calling-client.js';
import { until } from '../support/until.js';

const pairs = 200;
const rounds = 2;

it('400 clients with 200 concurrent calls get exact event sequences on both sides', async () => {
  const { url } = await runRouter({ limits: { callsPerMinute: 1000 } });
  const join = async (cuid: string) => {
    // Slow answers of a busy machine are not what this test is about.
    const times = { answer: 60_000, placement: 60_000, latency: 60_000 };
    const client = await testClient({ url, times });
    const { error } = await client.client.initialize({ ...annProperties, cuid });
    expect(error).toBeNull();
    return client;
  };
  const names = Array.from({ length: pairs }, (_, n) => n);
  const callers = await Promise.all(names.map((n) => join(`ann_${n}`)));
  const receivers = await Promise.all(names.map((n) => join(`bob_${n}`)));
  for (const { client } of receivers)
    client.onIncomingCall(({ callId }) => void client.answer(callId));
  const all = [...callers, ...receivers];
  const everyone = (message: string, is: (one: TestClient) => boolean) =>
    until(() => all.every(is), { message, deadline: 60_000 });
  for (let round = 1; round <= rounds; round++) {
    const placed = await Promise.all(
      callers.map(({ client }, n) => client.call(`bob_${n}`, `round ${round}`)),
    );
    expect(placed.filter(({ isSuccessful }) => !isSuccessful)).toEqual([]);
    await everyone(
      'all calls are in progress at once',
      ({ events }) => events.at(-1)?.endsWith('CallInProgress') === true,
    );
    // Half of the calls are ended by the receiver.
    for (const n of names) (n % 2 ? callers : receivers)[n]!.client.hangup();
    await everyone(
      'all calls have ended',
      ({ events }) => events.at(-1)?.endsWith('Ended') === true,
    );
  }
  const course = ['Answered', 'CallInProgress', 'Ended'];
  const times = <Value>(values: readonly Value[]) =>
    Array.from({ length: rounds }, () => values).flat();
  const outgoing = times(['CallIsPlaced', ...course].map((event) => `Outgoing ${event}`));
  const incoming = times(course.map((event) => `Incoming ${event}`));
  for (const { events } of callers) expect(events).toEqual(outgoing);
  for (const { events } of receivers) expect(events).toEqual(incoming);
}, 180_000);
