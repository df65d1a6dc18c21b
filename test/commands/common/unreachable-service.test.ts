import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { accountAt } from '../../support/account-environment.js';
import { startFaultServer, throttle } from '../../support/servers/fault-server.js';
import { makeWorld } from '../../support/test-environment.js';

// What a run says of a service that cannot be reached, or sends it away.

function worldAt(url: string) {
  const world = makeWorld({ env: accountAt(url, 'passcode-1') });
  writeFileSync(world.path('users.csv'), 'identity,City\nu1,Oslo\nu2,Bergen\n');
  return world;
}

it('counts nothing as sent to a port where nobody listens', async () => {
  const world = worldAt('http://127.0.0.1:9');
  const { code, stdout } = await world.run([
    'upload',
    'users.csv',
    '--max-attempts',
    '1',
    '--json',
  ]);
  expect([code, JSON.parse(stdout)]).toEqual([5, expect.objectContaining({ bytesSent: 0 })]);
});

it('does not count 429s as attempts', async () => {
  await using server = await startFaultServer([throttle('2')]);
  const world = worldAt(server.url);
  const storm = ['upload', 'users.csv', '--retry-for', '3s', '--progress', 'always'];
  const { code, stderr } = await world.run(storm);
  expect([code, stderr]).toEqual([
    5,
    expect.stringMatching(/: too many requests \(HTTP 429\), next in 2 s\n/),
  ]);
});
