import { readdirSync, statSync, writeFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { main } from '../../src/main.js';
import { startService, type TestServiceOptions } from '../../src/testing.js';
import { serve, written } from '../support/serve.js';
import type { Outcome } from '../support/test-environment.js';

// Promises of the README's section on recovery that no other test holds.

const users = `identity,City\n${Array.from({ length: 40 }, (_, n) => `user-${n},Oslo\n`).join('')}`;
const upload = ['upload', 'users.csv', '--chunk-size', '10', '--concurrency', '1'];

async function start(options?: TestServiceOptions) {
  const served = await serve(options);
  writeFileSync(served.world.path('users.csv'), users);
  return served;
}

/** The second request is refused. */
async function startRefusing() {
  const served = await start({ accountId: 'ACCOUNT-1' });
  await served.service.fault({ after: 1, times: 1, answer: { status: 401 } });
  return served;
}

it('keeps the files of an unfinished run readable by their owner only', async () => {
  const { world } = await startRefusing();
  expect((await world.run(upload)).code).toBe(4);
  const kept = readdirSync(world.stateDir, { recursive: true, encoding: 'utf8' }).toSorted();
  const [run = ''] = readdirSync(path.join(world.stateDir, 'runs'));
  const modes = kept.map((name) => [
    name,
    (statSync(path.join(world.stateDir, name)).mode & 0o777).toString(8),
  ]);
  const ofRuns = modes.filter(([name]) => !name!.startsWith('events'));
  expect(modes.map(([, mode]) => mode)).not.toContain('644');
  expect(ofRuns).toEqual([
    ['runs', '700'],
    [`runs/${run}`, '700'],
    [`runs/${run}/journal.ndjson`, '600'],
    [`runs/${run}/run.json`, '600'],
  ]);
});

it('exits 8 for a second process on the same run', async () => {
  let second: Promise<Outcome> | undefined;
  const { service, world }: Awaited<ReturnType<typeof start>> = await start({
    onRequest: async () => {
      second ??= world.run([...upload, '--resume']);
      await second;
    },
  });
  expect((await world.run(upload)).code).toBe(0);
  const { code, stderr } = (await second) ?? { code: undefined, stderr: '' };
  expect([code, stderr]).toEqual([8, expect.stringContaining('E-RUN-LOCKED')]);
  expect(written(service)).toHaveLength(4);
});

it('restarts input from a pipe with --resume, and says so', async () => {
  const { world } = await start();
  const { code, stderr } = await world.run(['upload', '--resume'], { stdin: users });
  expect([code, stderr]).toEqual([0, expect.stringContaining('resumed only with --run-name')]);
});

it('exits 9 without a state directory, names --no-journal and sends nothing', async () => {
  const { service, world } = await start();
  writeFileSync(world.stateDir, 'in the way');
  const { code, stderr } = await world.run(upload);
  expect([code, stderr]).toEqual([9, expect.stringContaining('--no-journal')]);
  expect(service.requests()).toEqual([]);
  expect((await world.run([...upload, '--no-journal'])).code).toBe(0);
});

it('prune deletes a run and keeps its rejects file', async () => {
  const { world } = await startRefusing();
  writeFileSync(
    world.path('users.csv'),
    `identity,City\na,b,c\n${users.slice(users.indexOf('\n') + 1)}`,
  );
  await world.run(upload);
  expect((await world.run(['runs', 'prune', '--yes'])).code).toBe(0);
  expect(readdirSync(world.cwd).toSorted()).toEqual(['users.csv', 'users.csv.rejects.ndjson']);
});

it('runs resume works from another directory', async () => {
  const { service, world } = await startRefusing();
  await world.run(upload);
  const [run = ''] = readdirSync(path.join(world.stateDir, 'runs'));
  const elsewhere = { ...world.runtime(), cwd: tmpdir() };
  expect(await main(['runs', 'resume', run], elsewhere)).toBe(0);
  expect(written(service)).toHaveLength(4);
});

it('exits 8 for --resume with another account while a run of these files is unfinished', async () => {
  const { service, world } = await startRefusing();
  await using other = await startService({ accountId: 'ACCOUNT-2' });
  expect((await world.run(upload)).code).toBe(4);
  const sent = service.requests().length;
  const { env } = other;
  const { code, stderr } = await world.run([...upload, '--resume'], { env });
  expect([code, service.requests().length, other.requests()]).toEqual([8, sent, []]);
  for (const said of ['ACCOUNT-1', 'ACCOUNT-2', '--fresh']) expect(stderr).toContain(said);
  expect((await world.run([...upload, '--fresh'], { env })).code).toBe(0);
  const runs = readdirSync(path.join(world.stateDir, 'runs'));
  expect(runs, "the other account's run").toHaveLength(1);
});

it('refuses a rejects file that is a link to the input', async () => {
  const { service, world } = await start();
  symlinkSync('users.csv', world.path('users.csv.rejects.ndjson'));
  const { code, stderr } = await world.run(upload);
  expect([code, service.requests()]).toEqual([2, []]);
  expect(stderr).toContain('is an input of this run');
});
