import { expect, it } from 'vitest';
import type { CallEvent } from '../../src/calling/protocol.js';
import type { Clock } from '../../src/calling/environment.js';
import { systemClock } from '../../src/calling/environment.js';
import { reconnectDelay } from '../../src/calling/connection.js';
import { runRouter } from '../service/calls/raw-client.js';
import { annProperties, testClient, type TestClient } from '../support/calling-client.js';
import { cutProxy } from '../support/servers/cut-proxy.js';
import { scriptedRouter, type ScriptedRouter } from '../support/servers/scripted-router.js';
import { until } from '../support/until.js';

// A socket that is lost: nothing is lost with it, and nothing doubled (§8.3 of the calling contract).

const bobProperties = { ...annProperties, cuid: 'bob_1' };

/** Two clients behind a proxy. */
async function behindProxy() {
  const router = await runRouter();
  const proxy = await cutProxy(router.url);
  const ann = await testClient({ url: proxy.url });
  const bob = await testClient({ url: proxy.url });
  await ann.client.initialize(annProperties);
  await bob.client.initialize(bobProperties);
  return { proxy, ann, bob };
}

const whole = ['Answered', 'CallInProgress', 'Ended'];

it('delivers the hang-up after both sockets were cut during a call', async () => {
  const { proxy, ann, bob } = await behindProxy();
  await ann.client.call('bob_1', 'lunch');
  await until(() => bob.rang.length === 1);
  await bob.client.answer(bob.rang[0]!);
  await until(() => [ann, bob].every(({ events }) => events.join().includes('InProgress')));
  proxy.cut();
  bob.client.hangup();
  await until(() => [ann, bob].every(({ client }) => client.getCallState() === 'NoCall'));
  expect(ann.events).toEqual(['CallIsPlaced', ...whole].map((event) => `Outgoing ${event}`));
  expect(bob.events).toEqual(whole.map((event) => `Incoming ${event}`));
});

/** Until the call is placed: an attempt fails while the socket is down, or the call of the one before is hung up. */
async function placed({ client }: TestClient, context: string): Promise<void> {
  const isPlaced = async () => {
    const { error } = await client.call('bob_1', context);
    if (error !== null) expect(['NO_NETWORK', 'CALL_IN_PROGRESS']).toContain(error.errorName);
    return error === null;
  };
  await until(isPlaced, { message: `the call "${context}" is placed` });
}

it('delivers each event once to each side after a cut at any byte, and both sides agree on the end', async () => {
  const { proxy, ann, bob } = await behindProxy();
  bob.client.onIncomingCall(({ callId }) => bob.client.answer(callId));
  for (let round = 0; round < 25; round += 1) {
    proxy.cutAfter(round + 1);
    await placed(ann, `round ${round}`);
    await until(() => ann.client.getCallState() === 'OngoingCall');
    await until(() => ann.events.at(-1) === 'Outgoing CallInProgress');
    ann.client.hangup();
    await until(() => [ann, bob].every(({ client }) => client.getCallState() === 'NoCall'));
    const { callId } = ann.results.at(-1)!.callDetails;
    // Of an attempt that failed the caller hears nothing, though the callee may.
    expect(eventsByCall(ann).get(callId)).toEqual(['CallIsPlaced', ...whole]);
    expect(eventsByCall(bob).get(callId)).toEqual(whole);
    expect(eventsByCall(ann).size).toBe(round + 1);
  }
  for (const events of eventsByCall(bob).values()) {
    expect(new Set(events).size).toBe(events.length);
    expect(events.filter((event) => event === 'Ended' || event === 'Cancelled')).toHaveLength(1);
  }
});

function eventsByCall({ results }: TestClient): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { callDetails, callEvent } of results)
    found.set(callDetails.callId, [...(found.get(callDetails.callId) ?? []), callEvent]);
  return found;
}

const details = {
  callId: 'call-1',
  callerCuid: 'ann_1',
  calleeCuid: 'bob_1',
  callContext: 'lunch',
  channel: 'Socket' as const,
};

const tell = (router: ScriptedRouter, event: CallEvent, callId = 'call-1') =>
  router.send('event', { callId, direction: 'Outgoing', event, details: { ...details, callId } });

async function withScript(times = {}) {
  const router = await scriptedRouter();
  let pace = 1;
  const refusals: string[] = [];
  /** What the client waits for. */
  const waits = new Set<() => void>();
  const clock: Clock = {
    now: () => systemClock.now(),
    after: (milliseconds, run) => {
      const stop = systemClock.after(milliseconds * pace, () => {
        waits.delete(end);
        run();
      });
      const end = () => {
        waits.delete(end);
        stop();
      };
      waits.add(end);
      return end;
    },
  };
  const ann = await testClient({
    url: router.url,
    clock,
    times: { reconnectScale: 0.01, ...times },
    onRefused: (errorName) => void refusals.push(errorName),
  });
  await ann.client.initialize(annProperties);
  /** From now on waits take a hundredth. */
  const hurry = () => {
    pace = 0.01;
  };
  return { router, ann, hurry, refusals, waits };
}

it('reports how far it has received, and receives nothing twice', async () => {
  const { router, ann } = await withScript();
  expect(router.heard[0]).not.toHaveProperty('lastSeq');
  tell(router, 'Missed', 'earlier');
  await until(() => router.seen.includes(1));
  router.answer('auth', () => ({ data: { session: 's', replay: 2, lastSeq: 1 } }));
  router.drop();
  await until(() => router.heard.length === 2);
  expect(router.heard[1]).toMatchObject({ t: 'auth', lastSeq: 1 });
  router.resend('event', { callId: 'earlier', direction: 'Outgoing', event: 'Missed', details });
  tell(router, 'Declined', 'later');
  await until(() => router.seen.includes(2));
  expect(ann.events).toEqual(['Outgoing Missed', 'Outgoing Declined']);
});

it('holds frames back until it has received the backlog of the router', async () => {
  const { router, ann } = await withScript();
  await ann.client.call('bob_1', 'lunch');
  router.answer('auth', () => ({ data: { session: 's', replay: 1, lastSeq: 0 } }));
  router.drop();
  await until(() => ann.lines.join().includes('cannot reach the router'));
  await until(() => router.heard.filter(({ t }) => t === 'auth').length === 2);
  ann.client.hangup();
  await router.settled();
  expect(router.heard.map(({ t }) => t)).not.toContain('hangup');
  tell(router, 'Missed');
  await ann.client.whenIdle();
  expect(router.heard.at(-1)).toMatchObject({ t: 'hangup', callId: 'call-1' });
  expect(ann.events).toEqual(['Outgoing Missed']);
});

it('ends a call with Ended when the router has lost its state', async () => {
  const { router, ann } = await withScript();
  tell(router, 'Missed', 'earlier');
  await until(() => router.seen.includes(1));
  await ann.client.call('bob_1', 'lunch');
  router.answer('auth', () => ({ data: { session: 's', replay: 0, lastSeq: 0 } }));
  router.drop();
  await until(() => ann.client.getCallState() === 'NoCall');
  expect(ann.events).toEqual(['Outgoing Missed', 'Outgoing Ended']);
});

it.each([
  [4401, 'AUTH_FAILURE'],
  [4403, 'CUID_ELSEWHERE'],
  [4409, 'CUID_ELSEWHERE'],
])('does not reconnect after close code %i, and reports it', async (code, name) => {
  const { router, ann, refusals, waits } = await withScript();
  await ann.client.call('bob_1', 'lunch');
  router.drop(code);
  await until(() => ann.client.getCallState() === 'NoCall');
  expect(refusals).toEqual([name]);
  expect(ann.events).toEqual(['Outgoing Ended']);
  await until(() => waits.size === 0, { message: 'no attempt to come back is planned' });
  expect(router.heard.filter(({ t }) => t === 'auth')).toHaveLength(1);
  expect((await ann.client.call('bob_1', 'lunch')).error?.errorName).toBe(name);
  expect(await ann.client.initialize(annProperties)).toMatchObject({ isSuccessful: true });
  expect(await ann.client.call('bob_1', 'lunch')).toMatchObject({ isSuccessful: true });
});

it('drops a router that does not answer, and resends the frame', async () => {
  const { router, ann, hurry } = await withScript();
  await ann.client.call('bob_1', 'lunch');
  router.answer('hangup', () => undefined);
  hurry();
  ann.client.hangup();
  await until(() => router.heard.filter(({ t }) => t === 'auth').length === 2);
  router.answer('hangup', () => ({ data: {} }));
  await ann.client.whenIdle();
  expect(router.heard.filter(({ t }) => t === 'hangup').length).toBeGreaterThan(1);
});

it('blocks nothing when a socket is lost right after it opened', async () => {
  const { router, ann } = await withScript();
  await ann.client.call('bob_1', 'lunch');
  router.answer('auth', () => {
    queueMicrotask(() => router.drop());
    return { data: { session: 's', replay: 0, lastSeq: 0 } };
  });
  router.drop();
  await until(() => ann.lines.join().includes('cannot reach the router'));
  ann.client.hangup();
  await until(() => router.heard.filter(({ t }) => t === 'auth').length > 3);
  router.answer('auth', () => ({ data: { session: 's', replay: 0, lastSeq: 0 } }));
  await ann.client.whenIdle();
  expect(router.heard.at(-1)).toMatchObject({ t: 'hangup' });
});

it('detects by its probes that the router is gone', async () => {
  const { router, hurry } = await withScript({ ping: 100 });
  router.answer('probe', () => undefined);
  hurry();
  await until(() => router.heard.filter(({ t }) => t === 'auth').length === 2);
});

it('hangs up a call whose placement timed out, and reports it to nobody', async () => {
  const { router, ann } = await withScript({ placement: 30 });
  router.answer('call', () => undefined);
  const { error } = await ann.client.call('bob_1', 'lunch');
  expect(error?.errorName).toBe('RECEIVER_NETWORK_LOST');
  tell(router, 'CallIsPlaced', 'late');
  tell(router, 'Answered', 'late');
  await until(() => router.heard.some(({ t, callId }) => t === 'hangup' && callId === 'late'));
  tell(router, 'Ended', 'late');
  await until(() => router.seen.includes(3));
  expect(ann.events).toEqual([]);
  expect(ann.client.getCallState()).toBe('NoCall');
});

it.each([undefined, null, 7, {}, { callId: 7 }])(
  'hangs up a call whose answer has no callId (%j)',
  async (data) => {
    const { router, ann } = await withScript();
    router.answer('call', () => undefined);
    const calling = ann.client.call('bob_1', 'lunch');
    await until(() => router.heard.some(({ t }) => t === 'call'));
    const { id } = router.heard.find(({ t }) => t === 'call')!;
    router.sendRaw({ t: 'ack', re: id, ok: true, data });
    expect((await calling).error).toMatchObject({
      errorName: 'NO_NETWORK',
      errorDescription: 'The router answered call without a callId',
    });
    tell(router, 'CallIsPlaced', 'lost');
    await until(() => router.heard.some(({ t, callId }) => t === 'hangup' && callId === 'lost'));
    expect(ann.client.getCallState()).toBe('NoCall');
  },
);

it('keeps the end of an earlier call apart from a new call with the same arguments', async () => {
  const { router, ann } = await withScript({ placement: 30 });
  router.answer('call', () => undefined);
  expect((await ann.client.call('bob_1', 'lunch')).error?.errorName).toBe('RECEIVER_NETWORK_LOST');
  router.answer('probe', () => {
    router.answer('probe', () => ({ data: {} }));
    tell(router, 'CallIsPlaced', 'late');
    return { data: {} };
  });
  router.answer('call', () => {
    tell(router, 'Cancelled', 'late');
    return { data: { callId: 'call-1' } };
  });
  expect(await ann.client.call('bob_1', 'lunch')).toMatchObject({ isSuccessful: true });
  expect(router.heard).toContainEqual(
    expect.objectContaining({ t: 'hangup', callId: 'late' }) as object,
  );
  tell(router, 'CallIsPlaced', 'call-1');
  tell(router, 'Answered', 'call-1');
  await until(() => ann.client.getCallState() === 'OngoingCall');
  expect(ann.events).toEqual(['Outgoing CallIsPlaced', 'Outgoing Answered']);
});

it('glare: keeps the call that the router lets ring, and refuses its own attempt', async () => {
  const { router, ann } = await withScript();
  router.answer('call', () => {
    router.send('incoming', {
      callId: 'theirs',
      details: { ...details, callId: 'theirs' },
      channel: 'Socket',
      expiresAt: 0,
    });
    return { refuse: 'CALL_IN_PROGRESS' };
  });
  const { error } = await ann.client.call('bob_1', 'lunch');
  expect(error?.errorName).toBe('CALL_IN_PROGRESS');
  await until(() => ann.rang.includes('theirs'));
  expect(ann.client.getCallState()).toBe('IncomingCall');
});

it('adopts a call whose placement was cut off when the client reconnects in time', async () => {
  const { router, ann } = await withScript();
  router.answer('call', () => {
    router.answer('auth', () => ({ data: { session: 's', replay: 1, lastSeq: 0 } }));
    router.drop();
    return undefined;
  });
  const placed = ann.client.call('bob_1', 'lunch');
  await until(() => router.heard.filter(({ t }) => t === 'auth').length === 2);
  tell(router, 'CallIsPlaced');
  expect(await placed).toMatchObject({ isSuccessful: true });
  tell(router, 'Answered');
  await until(() => ann.client.getCallState() === 'OngoingCall');
  expect(router.heard.filter(({ t }) => t === 'call')).toHaveLength(1);
  expect(ann.events).toEqual(['Outgoing CallIsPlaced', 'Outgoing Answered']);
});

it('resends a request that was cut off before the router received it', async () => {
  const { router, ann } = await withScript();
  router.answer('call', () => {
    router.answer('call', () => ({ data: { callId: 'call-1' } }));
    router.drop();
    return undefined;
  });
  expect(await ann.client.call('bob_1', 'lunch')).toMatchObject({ isSuccessful: true });
  expect(router.heard.map(({ t }) => t)).toEqual(['auth', 'call', 'auth', 'call']);
});

it('reports NO_NETWORK for a call that stays cut off longer than a placement may take, and hangs up later', async () => {
  const { router, ann } = await withScript({ placement: 50, reconnectScale: 1 });
  router.answer('call', () => {
    router.drop();
    return undefined;
  });
  expect((await ann.client.call('bob_1', 'lunch')).error?.errorName).toBe('NO_NETWORK');
  await until(() => router.heard.filter(({ t }) => t === 'auth').length === 2);
  tell(router, 'CallIsPlaced');
  await until(() => router.heard.some(({ t }) => t === 'hangup'));
  expect(router.heard.at(-1)).toMatchObject({ t: 'hangup', callId: 'call-1' });
  expect(ann.events).toEqual([]);
});

it('hangup right after call: places and cancels a request that was sent', async () => {
  const { router, ann } = await withScript();
  router.answer('call', () => {
    ann.client.hangup();
    return { data: { callId: 'call-1' } };
  });
  expect(await ann.client.call('bob_1', 'lunch')).toMatchObject({ isSuccessful: true });
  await ann.client.whenIdle();
  expect(router.heard.at(-1)).toMatchObject({ t: 'hangup', callId: 'call-1' });
});

it('hangup right after call: drops a request that was not sent', async () => {
  const { router, ann } = await withScript();
  const placed = ann.client.call('bob_1', 'lunch');
  ann.client.hangup();
  expect((await placed).error).toMatchObject({
    errorName: 'CALL_FAILED',
    errorDescription: 'It was hung up before it was placed',
  });
  await router.settled();
  expect(router.heard.map(({ t }) => t)).toEqual(['auth']);
});

it('redelivers an event that a killed app did not acknowledge, with the same id', async () => {
  const { router, ann } = await withScript();
  tell(router, 'Missed');
  await until(() => ann.events.length === 1);
  const restarted = await testClient({ url: router.url });
  router.answer('auth', () => ({ data: { session: 's', replay: 1, lastSeq: 0 } }));
  await restarted.client.initialize(annProperties);
  router.resend('event', { callId: 'call-1', direction: 'Outgoing', event: 'Missed', details });
  await until(() => restarted.events.length === 1);
  expect(restarted.results[0]?.eventId).toBe(ann.results[0]?.eventId);
});

it('places a call only after the replayed end of an earlier one with the same arguments', async () => {
  const { router } = await withScript();
  const restarted = await testClient({ url: router.url });
  router.answer('auth', () => ({ data: { session: 's', replay: 1, lastSeq: 0 } }));
  await restarted.client.initialize(annProperties);
  const placed = restarted.client.call('bob_1', 'lunch');
  await router.settled();
  expect(router.heard.map(({ t }) => t)).toEqual(['auth', 'auth']);
  tell(router, 'Ended', 'of the killed app');
  expect(await placed).toMatchObject({ isSuccessful: true });
  tell(router, 'Answered');
  await until(() => router.heard.at(-1)?.t === 'ready');
  expect(restarted.events).toEqual(['Outgoing Ended', 'Outgoing Answered']);
});

it('backs off longer each time, up to 5 s, with a jitter of one half', () => {
  const delays = (random: number) =>
    [0, 1, 2, 9].map((failed) => reconnectDelay(failed, () => random));
  expect(delays(0.5)).toEqual([1500, 3000, 5000, 5000]);
  expect(delays(0)).toEqual([750, 1500, 2500, 2500]);
  expect(delays(1)).toEqual([2250, 4500, 7500, 7500]);
});

it('the connection listener reports each state, with the time of the next attempt; `online` tries at once', async () => {
  const router = await runRouter();
  const proxy = await cutProxy(router.url);
  let reconnect: (() => void) | undefined;
  const onOnline = (run: () => void) => {
    reconnect = run;
    return () => (reconnect = undefined);
  };
  // Without `online` the next attempt would be long after the end of the test.
  const ann = await testClient({ url: proxy.url, onOnline, times: { reconnectScale: 1e6 } });
  const states: string[] = [];
  let nextAttemptAt: number | undefined;
  ann.client.addListener('SignedCallOnConnectionChanged', (result) => {
    states.push(result.state);
    ({ nextAttemptAt = nextAttemptAt } = result);
  });
  expect(await ann.client.initialize(annProperties)).toMatchObject({ isSuccessful: true });
  expect(states).toEqual(['connecting', 'connected']);
  const before = Date.now();
  proxy.cut();
  await until(() => states.at(-1) === 'reconnecting');
  expect(nextAttemptAt! - before).toBeGreaterThan(750_000_000);
  reconnect?.();
  await until(() => states.at(-1) === 'reconnected');
  reconnect?.(); // a working connection stays
  expect(await ann.client.call('bob_1', 'lunch')).toMatchObject({
    error: { errorName: 'NOT_REACHABLE' },
  });
  ann.client.close();
  expect(states).toEqual(['connecting', 'connected', 'reconnecting', 'reconnected', 'closed']);
  expect(reconnect).toBeUndefined();
});
