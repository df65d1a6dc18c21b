import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { BinProcess, binPath } from '../../support/processes/bin-process.js';
import { makeWorld, type World } from '../../support/test-environment.js';
import { CallProcess, callingWorld } from '../../support/processes/call-process.js';
import { until } from '../../support/until.js';

// Phones and routers that are killed or stopped in the middle: processes of their own, all of them.

const whole = ['CallIsPlaced', 'Answered', 'CallInProgress', 'Ended'];
it('ends for both when the receiver is killed, for the receiver when it restarts', async () => {
  const { listen, place } = await callingWorld({ gone: 300 });
  const listener = await listen('ann_1');
  const placed = await place('bob_1', 'ann_1').says('CallInProgress');
  await listener.says('CallInProgress');
  listener.signal('SIGKILL');
  expect(await placed.ended(), placed.stderr).toBe(0);
  expect(placed.events).toEqual(whole);
  const again = await (await listen('ann_1')).says('Ended');
  expect(again.lines.at(-1)).toMatchObject({ callId: placed.lines[0]?.callId });
});

it('reports Cancelled when the initiator is killed while it rings', async () => {
  const { listen, place } = await callingWorld({ gone: 300 });
  const listener = await listen('ann_1', '--answer', 'ignore', '--once');
  const placed = await place('bob_1', 'ann_1').says('CallIsPlaced');
  placed.signal('SIGKILL');
  expect(await listener.ended(), listener.stderr).toBe(0);
  expect(listener.events).toEqual(['Cancelled']);
});

it('reports Ended to both when the receiver is stopped for longer than the router waits', async () => {
  const { listen, place } = await callingWorld({ ping: 200, gone: 300 });
  const listener = await listen('ann_1', '--once');
  const placed = await place('bob_1', 'ann_1').says('CallInProgress');
  await listener.says('CallInProgress');
  listener.signal('SIGSTOP');
  expect(await placed.ended(), placed.stderr).toBe(0);
  expect(placed.events).toEqual(whole);
  listener.signal('SIGCONT');
  expect(await listener.ended(), listener.stderr).toBe(0);
  expect(listener.events).toEqual(whole.slice(1));
});

it('continues after the receiver was stopped for a shorter time', async () => {
  const { listen, place } = await callingWorld({});
  const listener = await listen('ann_1', '--once');
  const placed = await place('bob_1', 'ann_1').says('CallInProgress');
  await listener.says('CallInProgress');
  listener.signal('SIGSTOP');
  await listen('ann_2', '--once');
  const other = place('bob_2', 'ann_2', '--hangup-after', '50ms');
  expect(await other.ended(), other.stderr).toBe(0);
  listener.signal('SIGCONT');
  placed.signal('SIGINT');
  expect([await placed.ended(), await listener.ended()]).toEqual([0, 0]);
  expect([placed.events, listener.events]).toEqual([whole, whole.slice(1)]);
});

it('gives a ringing call to the next process of a killed receiver', async () => {
  const { listen, place } = await callingWorld({});
  const listener = await listen('ann_1', '--answer', 'ignore');
  const placed = await place('bob_1', 'ann_1', '--hangup-after', '50ms').says('CallIsPlaced');
  await listener.says('incoming call from bob_1');
  listener.signal('SIGKILL');
  await listener.ended();
  const next = await listen('ann_1', '--once');
  expect([await placed.ended(), await next.ended()], next.stderr).toEqual([0, 0]);
  expect([placed.events, next.events]).toEqual([whole, whole.slice(1)]);
});

/** `serve` in a process of its own, with its data in the state folder. */
async function serve(
  world: World,
  env: Readonly<Record<string, string>>,
  ...flags: string[]
): Promise<{ child: BinProcess; url: string }> {
  const child = new BinProcess(world, ['serve', ...flags], env);
  return { child, url: await child.firstLine() };
}

const phone = (world: World, ...argv: string[]) =>
  new CallProcess(world, {}, [...argv, '--region', 'local']);
const listening = (world: World, cuid: string, ...flags: string[]) =>
  phone(world, 'listen', '--cuid', cuid, ...flags).says('is waiting for calls');
const placing = (world: World, cuid: string, to: string, ...flags: string[]) =>
  phone(world, 'place', '--cuid', cuid, '--to', to, '--context', 'Order 25', ...flags);

it('starts a receiver by the push hook, and uploads the call as an event', async () => {
  const world = makeWorld();
  const hook = `"${process.execPath}" "${binPath}" call listen --cuid "$ENGAGECTL_PUSH_CUID" --once --region local > hook.ndjson`;
  const { child } = await serve(world, {}, '--port', '0', '--quiet', '--push-hook', hook);
  const registered = await listening(world, 'ann_1');
  registered.signal('SIGKILL');
  await registered.ended();
  const placed = placing(world, 'bob_1', 'ann_1', '--hangup-after', '50ms');
  expect(await placed.ended(), placed.stderr).toBe(0);
  expect(placed.events).toEqual(whole);
  const told = () => readFileSync(world.path('hook.ndjson'), 'utf8').trim().split('\n');
  await until(() => told().length >= 3);
  expect(told().map((line) => JSON.parse(line) as object)).toMatchObject([
    { event: 'Answered', channel: 'Push' },
    { event: 'CallInProgress' },
    { event: 'Ended' },
  ]);

  const events = ['export-events', '--event', 'SCEnd', '--from', 'yesterday', '--to', 'today'];
  const { stdout } = await world.run([...events, '-o', '-', '--region', 'local']);
  expect(JSON.parse(stdout)).toMatchObject({
    profile: { identity: 'bob_1' },
    event_props: {
      call_id: placed.lines[0]?.callId,
      cuid: 'ann_1',
      call_status: 'over',
      reason: 'hangup',
    },
  });
  child.signal('SIGTERM');
  await child.ended();
});

it('reports Ended to both when the router is killed, and one of the phones takes over', async () => {
  const world = makeWorld();
  const { child } = await serve(world, {}, '--port', '0', '--quiet');
  const listener = await listening(world, 'ann_1', '--once');
  const placed = await placing(world, 'bob_1', 'ann_1').says('CallInProgress');
  await listener.says('CallInProgress');
  child.signal('SIGKILL');
  expect([await placed.ended(), await listener.ended()], placed.stderr).toEqual([0, 0]);
  expect([placed.events, listener.events]).toEqual([whole, whole.slice(1)]);
});

it('reports who holds the port of a killed router', async () => {
  const world = makeWorld();
  const { child, url } = await serve(world, {}, '--port', '0', '--quiet');
  const phone = await listening(world, 'ann_1');
  child.signal('SIGKILL');
  await phone.says('this command now routes them');
  const { code, stderr } = await world.run(['serve', '--port', new URL(url).port]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/another engagectl .* listens on it: a serve, or a phone .* was killed/);
  expect(stderr).toContain('fix: end that command, then start this one');
});

it('reports Ended to both when the router is killed and restarted', async () => {
  const world = makeWorld();
  const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'CALLS', ENGAGECTL_CALL_API_KEY: 'key' };
  const first = await serve(world, env, '--port', '0', '--quiet');
  const account = { ...env, ENGAGECTL_BASE_URL: first.url };
  const listener = new CallProcess(world, account, ['listen', '--cuid', 'ann_1', '--once']);
  await listener.says('is waiting for calls');
  const place = ['place', '--cuid', 'bob_1', '--to', 'ann_1', '--context', 'x'];
  const placed = await new CallProcess(world, account, place).says('CallInProgress');
  await listener.says('CallInProgress');
  first.child.signal('SIGKILL');
  await first.child.ended();
  await serve(world, env, '--port', new URL(first.url).port, '--quiet');
  expect([await placed.ended(), await listener.ended()], placed.stderr).toEqual([0, 0]);
  expect([placed.events, listener.events]).toEqual([whole, whole.slice(1)]);
});

it('continues with a new router when the command that routes calls is killed', async () => {
  const world = makeWorld();
  const router = await listening(world, 'ann_1');
  expect(router.stderr).toContain('this command routes calls');
  const bob = await listening(world, 'bob_1', '--once');
  expect(bob.stderr).not.toContain('routed');
  router.signal('SIGKILL');
  await bob.says('this command now routes them');
  const placed = placing(world, 'carl_1', 'bob_1', '--hangup-after', '50ms');
  expect([await placed.ended(), await bob.ended()], placed.stderr).toEqual([0, 0]);
  expect([placed.events, bob.events]).toEqual([whole, whole.slice(1)]);
});
