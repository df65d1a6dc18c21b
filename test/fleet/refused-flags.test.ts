import { verifiedUrl } from '../../src/fleet/queue-store.js';
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { accountAt } from '../support/account-environment.js';
import { BinProcess } from '../support/processes/bin-process.js';
import { makeWorld } from '../support/test-environment.js';

// Flags that a fleet would ignore are refused before a file is read or a queue is opened.

const upload = 'upload users.csv --shards 2';
const exports = 'export-events --event A --from 2024-01-01 --to 2024-01-02 -o a.ndjson';

async function submit(command: string) {
  const world = makeWorld({ env: accountAt('http://127.0.0.1:1', 'secret-of-the-fleet') });
  writeFileSync(world.path('users.csv'), 'identity\nA\n');
  const queue = ['--queue', 'redis://127.0.0.1:1', '--work-dir', 'work'];
  return world.run(['fleet', 'submit', ...command.split(' '), ...queue]);
}

it.each<[command: string, flag: string, fix: string]>([
  [`${upload} --shard 1/2`, '--shard', 'leave it out'],
  [`${upload} --concurrency 4`, '--concurrency', '--budget <n>'],
  [`${upload} --resume`, '--resume', 'submitting the same command again continues its run'],
  [`${upload} --fresh`, '--fresh', 'submit to another --work-dir'],
  [`${upload} --run 20261121-044512-7kq2`, '--run', 'engagectl fleet retry'],
  [`${upload} --run-name crm`, '--run-name', 'leave it out'],
  [`${upload} --final`, '--final', 'leave it out'],
  [`${upload} --no-journal`, '--no-journal', 'leave it out'],
  [`${upload} --report r.html`, '--report', 'engagectl fleet collect <run> --report'],
  [`${upload} --check`, '--check', 'without a fleet'],
  [`${upload} --dry-run`, '--dry-run', 'without a fleet'],
  [`${upload} --preview`, '--preview', 'without a fleet'],
  [`${upload} --write-mapping m.json`, '--write-mapping', 'without a fleet'],
  [`${upload} --fail-on-warnings`, '--fail-on-warnings', '--check --fail-on-warnings'],
  [`${upload} --overwrite`, '--overwrite', 'without a fleet'],
  [`${upload} --changed`, '--changed', 'without a fleet'],
  [`${upload} --stream crm`, '--stream', 'without a fleet'],
  [`${upload} --full`, '--full', 'without a fleet'],
  [`${upload} --gone gone.txt`, '--gone', 'without a fleet'],
  [`${upload} --timeout 5s`, '--timeout', 'engagectl fleet work --timeout'],
  [`${upload} --max-attempts 2`, '--max-attempts', 'engagectl fleet work'],
  [`${upload} --retry-for 1m`, '--retry-for', 'engagectl fleet work'],
  [`${upload} --retry-base 1s`, '--retry-base', 'engagectl fleet work'],
  [`${upload} --header-prefix X-A`, '--header-prefix', 'engagectl fleet work'],
  ['demerge users.csv --shards 2 --report r.html', '--report', 'fleet collect'],
  [`${exports} --concurrency 2`, '--concurrency', '--budget <n>'],
  [`${exports} --missing`, '--missing', 'without a fleet'],
  [`${exports} --refresh 2d`, '--refresh', 'without a fleet'],
  [`${exports} --min-records 1`, '--min-records', 'without a fleet'],
  [`${exports} --limit 5`, '--limit', 'leave it out'],
  [`${exports} --resume`, '--resume', 'submitting the same command again'],
  [`${exports} --shards 2`, '--shards', 'leave it out'],
  [`${exports} --pin copy`, '--pin', 'leave it out'],
])('fleet submit refuses a flag without effect: %s', async (command, flag, fix) => {
  const { code, stdout, stderr } = await submit(command);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(`error E-USAGE: ${flag} has no effect in a fleet`);
  expect(stderr).toContain(fix);
});

it.each([
  ['upload - --shards 2', 'a fleet reads files'],
  ['upload --shards 2', 'a fleet reads files'],
  ['upload users.csv', 'the number of shards is missing'],
  ['export-events --event A --from 2024-01-01 --to 2024-01-02', 'a fleet exports to files'],
  ['get-profile A --shards 2', 'a fleet cannot run "get-profile"'],
])('fleet submit reports what is missing or unsupported: %s', async (command, message) => {
  const { code, stderr } = await submit(command);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`error E-USAGE: ${message}`)]);
});

it('fleet submit accepts flags that have an effect, and then looks for the queue', async () => {
  const flags = '--chunk-size 10 --max-rejects 1% --rejects bad.csv --limit 5 --order none --yes';
  const { code, stderr } = await submit(`${upload} --budget 3 --pin copy ${flags}`);
  expect([code, stderr]).toEqual([5, expect.stringContaining('E-UNAVAILABLE')]);
});

it.each(['/staging', '/1/2', '/%31', '?db=staging', '?db='])(
  'refuses a Redis whose database is not a number: %s',
  async (database) => {
    const env = { ENGAGECTL_QUEUE: `redis://127.0.0.1:1${database}` };
    const { code, stderr } = await makeWorld({ env }).run(['fleet', 'init']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/E-USAGE: .* database .* number/)]);
  },
);

it.each(['70000', 'abc', '1e3', '-1'])('refuses a PostgreSQL at the port %s', async (port) => {
  const env = { ENGAGECTL_QUEUE: `postgres://127.0.0.1/fleet?port=${port}` };
  const { code, stderr } = await makeWorld({ env }).run(['fleet', 'init']);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/E-USAGE: the port .* not a port/)]);
});

it('fails if the driver of the queue waits for what never comes', async () => {
  const env = { ENGAGECTL_QUEUE: 'postgres://u@127.0.0.1/fleet', PGPORT: 'abc' };
  const { code, stdout, stderr } = await new BinProcess(
    makeWorld(),
    ['fleet', 'init'],
    env,
  ).outcome();
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('error E-DEFECT: the command ended before its work did');
});

it.each(['rediss://127.0.0.1:1', 'postgres://127.0.0.1:1/fleet'])(
  'refuses %s if NODE_TLS_REJECT_UNAUTHORIZED=0 turns off the check of certificates',
  async (url) => {
    const env = { ENGAGECTL_QUEUE: url, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const { code, stderr } = await makeWorld({ env }).run(['fleet', 'status']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('REJECT_UNAUTHORIZED=0 is set')]);
  },
);

it.each([
  ['postgres://127.0.0.1:1/fleet?sslmode=no-verify', ''],
  ['postgresql://127.0.0.1:1/fleet?ssl=no-verify', ''],
  ['postgres://127.0.0.1:1/fleet', 'no-verify'],
])('refuses %s with PGSSLMODE=%s, which accepts any certificate', async (url, mode) => {
  const env = { ENGAGECTL_QUEUE: url, PGSSLMODE: mode };
  const { code, stderr } = await makeWorld({ env }).run(['fleet', 'init']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('accept any certificate')]);
});

it.each([
  ['sslmode=require&uselibpqcompat=true&a=b', 'sslmode=verify-full&a=b'],
  ['uselibpqcompat=1&sslmode=prefer', 'sslmode=verify-full'],
  ['sslmode=verify-full', 'sslmode=verify-full'],
  ['sslmode=disable', 'sslmode=disable'],
  ['application_name=sslmode', 'application_name=sslmode'],
])('checks certificates in full with %s', (query, used) => {
  expect(verifiedUrl(`postgres://a@b/c?${query}`)).toBe(`postgres://a@b/c?${used}`);
});
