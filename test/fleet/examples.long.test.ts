import { writeFileSync } from 'node:fs';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { examplesIn, helpPages, helpText } from '../help/pages.js';
import { main } from '../../src/main.js';
import { startService, type TestService } from '../../src/testing.js';
import { stores, type TestStore } from '../support/processes/queue-stores.js';
import { until } from '../support/until.js';
import { makeFleet, passcode } from './fleet.js';

// The examples of `fleet`, on a queue of their own; the others are run by test/help/examples.test.ts.

const pages = await Promise.all((await helpPages()).map((names) => helpText(names, 80)));
const examples = [...new Set(pages.flatMap(examplesIn))].filter((line) =>
  line.startsWith('engagectl fleet '),
);
const redis = stores.find(({ name }) => name === 'Redis');
const postgres = stores.find(({ name }) => name === 'PostgreSQL');

let store: TestStore;
let service: TestService;

beforeAll(async () => {
  if (!redis) return undefined;
  store = await redis.start();
  service = await startService({ accountId: 'ACCOUNT-1', passcode });
  return async () => {
    await store[Symbol.asyncDispose]();
    await service.close();
  };
});

it.skipIf(!redis).each(examples)('runs the example: %s', async (example) => {
  const isPostgres = example.includes('postgres://');
  if (isPostgres && !postgres) return;
  const fleet = await makeFleet(store, service.url);
  const { world, workDir } = fleet;
  writeFileSync(world.path('users.csv'), 'identity\nA\nB\n');
  const isOfRun = example.includes('0123456789ab');
  const run = isOfRun ? await fleet.submit('upload', 'users.csv', '--shards', '1') : '';
  if (/ (status|collect) /.test(example)) await world.run(['fleet', 'work', '--drain']);
  const line = example
    .replace('0123456789ab', run)
    .replace('/shared/fleet', workDir)
    .replace('-o /tmp/', `-o ${world.cwd}/`)
    .replace('redis://localhost:6379', store.url)
    .replace('postgres://fleet@localhost/fleet', await postgresUrl(isPostgres));
  const stop = new AbortController();
  const helper = new AbortController();
  const helping = example.includes('--wait')
    ? world.run(['fleet', 'work'], { signal: helper.signal })
    : undefined;
  const words = ['--json', ...line.split(' ').slice(1)];
  const runtime = world.runtime({ signal: stop.signal });
  const ended = main(words, runtime);
  if (example.startsWith('engagectl fleet work') && !example.includes('--drain')) {
    await until(() => runtime.output().stderr.includes('takes up to 4 shards'));
    stop.abort();
  }
  const code = await ended;
  const { stdout, stderr } = runtime.output();
  helper.abort();
  await helping;
  expect(code, stderr).toBe(0);
  // A worker only works.
  if (!example.startsWith('engagectl fleet work')) expect(stdout).toMatch(/^\{"schemaVersion":1,/);
});

async function postgresUrl(isWanted: boolean): Promise<string> {
  if (!isWanted || !postgres) return '';
  const started = await postgres.start();
  onTestFinished(() => started[Symbol.asyncDispose]());
  return started.url;
}

// Node's own way to make a folder never returns under /proc.
it.skipIf(!redis).each(['/proc/nowhere', '/dev/null/work'])(
  'exits 9 and explains the fix if a work directory cannot be created: %s',
  async (workDir) => {
    const fleet = await makeFleet(store, service.url);
    writeFileSync(fleet.world.path('users.csv'), 'identity\nA\n');
    const submit = ['submit', 'upload', 'users.csv', '--shards', '2', '--work-dir', workDir];
    const { code, stderr } = await fleet.run(...submit);
    expect(code).toBe(9);
    expect(stderr).toContain(`E-FILE-WRITE: cannot write to the work directory ${workDir}`);
    expect(stderr).toContain('fix: make it writable, or name another');
  },
);
