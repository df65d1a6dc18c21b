import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { accept, after, startFaultServer, type Received } from '../support/fault-server.js';
import { recordsOf } from '../support/judge.js';
import { stores } from '../support/queue-stores.js';
import { isOver, makeFleet, passcode } from './fleet.js';

/** So many records of so many users, in turn; each says which one it is. */
const records = (count: number, users: number): string =>
  ['identity,n', ...Array.from({ length: count }, (_, n) => `user-${n % users},${n}`), ''].join(
    '\n',
  );

const sent = (executed: readonly Received[]) =>
  executed
    .flatMap(({ body }) => recordsOf(body))
    .map(({ identity, profileData }) => ({
      identity: String(identity),
      n: Number((profileData as { readonly n: string }).n),
    }));

describe.each(stores)('a fleet on $name', ({ start }) => {
  it('sends every record once more or less, each user in order, within the budget, though workers are killed', async () => {
    await using store = await start();
    await using server = await startFaultServer([after(20, accept())]);
    const fleet = await makeFleet(store, server.url);
    writeFileSync(fleet.world.path('users.csv'), records(3000, 900));
    const run = await fleet.submit(
      'upload',
      'users.csv',
      '--chunk-size',
      '20',
      '--shards',
      '6',
      '--budget',
      '3',
    );
    const workers = [fleet.worker(), fleet.worker(), fleet.worker()];
    await fleet.until(run, () => server.executed.length > 20);
    workers[0]!.signal('SIGKILL');
    await fleet.until(run, () => server.executed.length > 60);
    await fleet.run('budget', '2');
    const status = await fleet.until(run, isOver);
    expect(status).toMatchObject({ state: 'done', exitCode: 0 });
    expect(status.figures).toMatchObject({ read: 3000, accepted: 3000 });
    expect(server.mostInFlight).toBeLessThanOrEqual(3);
    const all = sent(server.executed);
    const last = new Map(all.map(({ identity, n }) => [identity, n]));
    for (const [identity, n] of last)
      expect(n, identity).toBe(2100 + ((Number(identity.slice(5)) + 600) % 900));
    expect(new Set(all.map(({ n }) => n)).size).toBe(3000);
    expect(all.length).toBeLessThanOrEqual(3000 + 3 * 20);
    expect(readFileSync(fleet.world.path('users.csv')).includes(passcode)).toBe(false);
  }, 60_000);
});
