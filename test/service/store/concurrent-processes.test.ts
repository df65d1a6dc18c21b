import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Database } from '../../../src/service/store/database.js';
import { eventRecord, makeFolder, profileRecord, run, Running } from '../running.js';
import { serviceDefaults } from '../../support/service-defaults.js';

const script = `
  import { startService } from ${JSON.stringify(new URL('../../../build/service/start.js', import.meta.url).href)};
  const service = await startService({ ...JSON.parse(process.argv[1]), random: () => 0.5, now: Date.now });
  console.log(service.url);
  process.on('SIGTERM', () => service.close());
`;

/** A service in a process of its own. The test command builds it before it runs this. */
async function runProcess(dataDir: string): Promise<Running> {
  const options = {
    ...serviceDefaults,
    dataDir,
    accountId: 'TEST-ACCOUNT',
    passcode: 'test-passcode',
  };
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', script, JSON.stringify(options)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const exited = once(child, 'exit');
  const close = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  onTestFinished(close);
  const [url] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  return new Running({ url: url.trim(), close });
}

/** Is making a store, and has not come to its log yet: SQLite itself does not wait for who is there. */
const maker = `
  import Sqlite from 'libsql';
  const database = new Sqlite(process.argv[1]);
  database.exec('BEGIN IMMEDIATE');
  console.log('busy');
  setTimeout(() => database.exec('COMMIT'), 300);
`;

it('waits for another process that creates the same store', async () => {
  const folder = makeFolder();
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', maker, path.join(folder, 'service.db')],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  new Database(folder).close();
  expect(await exited).toEqual([0, null]);
});

it('lets two processes create and use one store at once, and a third read everything', async () => {
  const dataDir = makeFolder();
  const [left, right] = await Promise.all([runProcess(dataDir), runProcess(dataDir)]);
  const rounds = Array.from({ length: 15 }, (_, n) => n);
  const work = (service: Running, own: string) =>
    rounds.map((n) =>
      service.upload(
        profileRecord('shared', { total: { $incr: 1 } }),
        ...Array.from({ length: 50 }, (_, i) => profileRecord(`${own}${n}-${i}`, { n })),
        eventRecord('shared', 'Buy', 1_700_000_000, { n, own }),
      ),
    );
  const answers = await Promise.all([...work(left, 'l'), ...work(right, 'r')]);
  expect(answers.filter(({ http, processed }) => http !== 200 || processed !== 52)).toEqual([]);

  const cursor = await left.open('events', 'Buy', 20231114, 20231114, '?batch_size=23');
  expect((await right.page('events', cursor)).records).toHaveLength(23);
  await Promise.all([left.close(), right.close()]);

  const third = await run({ dataDir });
  const shared = await third.profile('identity', 'shared');
  expect(shared).toMatchObject({ profileData: { total: 30 }, events: { Buy: { count: 30 } } });
  for (const own of ['l0-0', 'l14-49', 'r0-0', 'r14-49']) {
    expect(await third.profile('identity', own)).toBeDefined();
  }
  expect((await third.pages('events', cursor)).flatMap(({ records = [] }) => records)).toHaveLength(
    30,
  );
});
