import { writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { main } from '../../../src/main.js';
import { serve } from '../../support/serve.js';
import { until } from '../../support/until.js';

// A service that takes the connection and then says nothing: what is waited for is told long before time is up.

const range = ['--event', 'Charged', '--from', '2026-10-01', '--to', '2026-10-03'];

it.each([
  [['upload', 'users.csv'], {}],
  [['upload', 'users.csv'], { stderr: true }],
  [['subscribe', 'users.csv', '--type', 'email', '--status', 'Unsubscribe'], {}],
  [['export-events', ...range, '-o', 'e.ndjson'], {}],
  [['export-profiles', ...range, '-o', 'p.ndjson'], { stderr: true }],
  [['get-profile', 'u1'], {}],
  [['get-profile', 'u1'], { stderr: true }],
  [['get-profile', '--input', 'users.csv', '-o', 'u.ndjson'], {}],
  [['verify', 'users.csv'], {}],
])('%j reports what it waits for, terminal: %j', async (argv, tty) => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  onTestFinished(release);
  const { service, world } = await serve({ onRequest: () => released }, { tty, columns: 200 });
  await service.fault({ answer: { status: 401 } });
  writeFileSync(world.path('users.csv'), 'identity,value\nu1,u1@example.test\n');
  const runtime = world.runtime();
  const monotonic = () => (service.requests().length === 0 ? 0 : 7000);
  const ended = main(argv, { ...runtime, monotonic });
  const told = `waiting for ${new URL(service.url).host}: no response for 7 s, timeout after 60 s`;
  await until(() => runtime.output().stderr.includes(told), {
    message: () => `${told}, but only: ${runtime.output().stderr}`,
  });
  release();
  expect(await ended).toBe(4);
});
