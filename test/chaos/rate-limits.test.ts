import { writeFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AimdLimiter } from '../../src/bulk/adaptive-concurrency.js';
import {
  accept,
  after,
  answer,
  startFaultServer,
  type Script,
  type Step,
} from '../support/servers/fault-server.js';
import { recordsOf } from '../support/servers/record-outcomes.js';
import { makeWorld } from '../support/test-environment.js';
import { passcode, type Summary } from './invariants.js';
import { accountAt } from '../support/account-environment.js';
import { until } from '../support/until.js';

async function upload(
  script: Script,
  { rows, argv = [] }: { rows: readonly string[]; argv?: readonly string[] },
) {
  await using server = await startFaultServer(script);
  const world = makeWorld({
    sleep: 'real',
    env: accountAt(server.url, passcode),
  });
  writeFileSync(world.path('users.csv'), `identity,Seq\n${rows.join('')}`);
  const { code, stdout, stderr } = await world.run(['upload', 'users.csv', '--json', ...argv]);
  return { code, summary: JSON.parse(stdout) as Summary, stderr, server };
}

const rowsOf = (count: number, identity: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => `${identity(n)},${n}\n`);

describe('concurrency', () => {
  it('is cut once per burst of 429s, and rises slowly', async () => {
    const gate = new AimdLimiter(10);
    const tickets = await Promise.all(Array.from({ length: 10 }, async () => gate.acquire()));
    for (const ticket of tickets) gate.throttled(ticket);
    expect(gate.limit).toBe(7);
    for (const _ of tickets) gate.release();
    gate.throttled(await gate.acquire());
    expect(gate.limit).toBe(4);
    for (let successes = 0; successes < 10; successes += 1) gate.succeeded();
    expect(gate.limit).toBe(5);
    for (let successes = 0; successes < 1000; successes += 1) gate.succeeded();
    expect(gate.limit).toBe(10);
  });

  it('never exceeds the limit, however many callers wait', async () => {
    const gate = new AimdLimiter(3);
    let most = 0;
    const work = async () => {
      const ticket = await gate.acquire();
      most = Math.max(most, gate.inFlight);
      await turn();
      if (most === 3) gate.throttled(ticket);
      else gate.succeeded();
      gate.release();
    };
    await Promise.all(Array.from({ length: 50 }, work));
    expect([most, gate.inFlight]).toEqual([3, 0]);
  });
});

describe('--concurrency', () => {
  const rows = rowsOf(6000, (n) => `user-${n}`);
  const small = ['--chunk-size', '100'];

  it('starts at eight and rises to fifteen without 429s', async () => {
    let open = 0;
    let arrived = 0;
    let wasFull = false;
    const script: Script = (_, index) => async (exchange) => {
      open += 1;
      arrived += 1;
      // The first eight wait for each other; then all wait until fifteen are in flight.
      if (index < 8) await until(() => arrived >= 8, { message: 'eight in flight' });
      else if (index >= 24) {
        await until(() => (wasFull ||= open === 15), { message: 'fifteen in flight' });
      }
      open -= 1;
      await accept()(exchange);
    };
    const { code, summary, server } = await upload(script, { rows, argv: small });
    expect([code, summary.accepted, server.mostInFlight]).toEqual([0, 6000, 15]);
  });

  it('auto stays below the limit of the service after 429s, and loses nothing', async () => {
    await using server = await startFaultServer([accept()], { inFlight: 4 });
    const world = makeWorld({ env: accountAt(server.url, passcode) });
    writeFileSync(world.path('users.csv'), `identity,Seq\n${rows.join('')}`);
    const { code, stdout } = await world.run(['upload', 'users.csv', '--json', ...small]);
    expect([code, (JSON.parse(stdout) as Summary).accepted]).toEqual([0, 6000]);
    expect(server.executed).toHaveLength(60);
  });

  it.each([1, 5])('%i is never exceeded', async (limit) => {
    const argv = [...small, `--concurrency=${limit}`];
    const { code, server } = await upload([accept()], { rows, argv });
    expect(code).toBe(0);
    expect(server.mostInFlight).toBeLessThanOrEqual(limit);
  });

  it.each(['0', '16', 'automatic'])('refuses %s', async (value) => {
    const argv = [...small, `--concurrency=${value}`];
    const { code, stderr } = await makeWorld().run(['upload', 'users.csv', ...argv]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--concurrency')]);
  });
});

it('sends nothing after a 401', async () => {
  let arrived = 0;
  let refused = false;
  let afterwards = 0;
  const refuse: Step = async (exchange) => {
    if (refused) afterwards += 1;
    arrived += 1;
    await until(() => arrived >= 8, { message: 'all eight are in flight' });
    refused = true;
    await answer(401, { status: 'fail', error: 'Passcode Invalid', code: 401 })(exchange);
  };
  const rows = rowsOf(3000, (n) => `user-${n}`);
  const { code, summary, server } = await upload([refuse], { rows, argv: ['--chunk-size', '100'] });
  expect([code, summary.notSent, afterwards]).toEqual([4, 3000, 0]);
  expect(server.received).toHaveLength(8);
});

it('sends full requests although half of the records belong to 40 identities', async () => {
  const rows = rowsOf(8000, (n) => (n % 2 === 0 ? `hot-${(n / 2) % 40}` : `user-${n}`));
  const argv = ['--chunk-size', '100', '--concurrency', '8'];
  const { code, server } = await upload([after(5, accept())], { rows, argv });
  expect(code).toBe(0);
  const sizes = server.received.map(({ body }) => recordsOf(body).length);
  // 4000 different ones make 40 full requests at the least; of 4000 hot ones, 40 fit into each.
  const full = sizes.filter((size) => size === 100).length;
  expect(full).toBeGreaterThanOrEqual(40);
  expect(sizes.length).toBeLessThanOrEqual(40 + 4000 / 40 + 16);
  for (const { body } of server.received) {
    const identities = recordsOf(body).map(({ identity }) => identity);
    expect(new Set(identities).size).toBe(identities.length);
  }
});

it('completes many rows of one identity, and explains why it is slow', async () => {
  const rows = rowsOf(1100, (n) => (n === 7 ? 'another' : 'only-one'));
  const { code, summary, server, stderr } = await upload([accept()], { rows });
  expect([code, summary.accepted]).toEqual([0, 1100]);
  expect(server.mostInFlight).toBe(1);
  expect(stderr).toContain('slow input');
  expect(stderr).toContain('--order none');
});
