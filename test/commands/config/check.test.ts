import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { startService } from '../../../src/testing.js';
import { makeWorld, type World } from '../../support/test-environment.js';

// `config check` where the chosen region refuses: the profile's other regions are asked as well.

let world: World;
beforeEach(() => {
  world = makeWorld({ sleep: 'real' });
});

/** A region that takes this pair of account and passcode, and refuses all others. */
async function region(pair = 'nobody:knows') {
  const [accountId = '', passcode = ''] = pair.split(':');
  const service = await startService({ accountId, passcode });
  onTestFinished(() => service.close());
  return service;
}

async function save(name: string, url: string, pair: string, more: string[] = []) {
  const [accountId = '', passcode = ''] = pair.split(':');
  const where = ['--region', name, '--base-url', url, '--account-id', accountId];
  const saved = await world.run(
    ['config', 'set', ...where, '--passcode-stdin', '--no-check', ...more],
    {
      stdin: passcode,
    },
  );
  expect(saved.code).toBe(0);
}

const check = (...more: string[]) => world.run(['config', 'check', '--region', 'eu1', ...more]);

test('names the region of the account if it is saved with another account', async () => {
  const [eu1, us1, in1] = [await region(), await region('A:pass-a'), await region('C:pass-c')];
  await save('eu1', eu1.url, 'A:pass-a');
  await save('us1', us1.url, 'B:pass-b');
  await save('in1', in1.url, 'C:pass-c');
  const { code, stdout, stderr } = await check();
  expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
  expect(stderr.split('\n').slice(0, 3)).toEqual([
    `eu1 (${eu1.url}): account A: refused`,
    `us1 (${us1.url}): its own account B: refused; account A of eu1: accepted`,
    `in1 (${in1.url}): its own account C: accepted; account A of eu1: refused`,
  ]);
  const fix = `config set --profile default --region eu1 --base-url ${us1.url}`;
  expect(stderr).toContain(`fix: engagectl ${fix}`);
  expect(stderr).not.toMatch(/pass-/);

  expect(await world.run(fix.split(' '))).toMatchObject({ code: 0 });
  expect(await check()).toMatchObject({ code: 0 });
});

test.each([
  ['the same passcode', 'A:pass-a'],
  ['a passcode of its own', 'A:pass-new'],
])('suggests a region saved for the same account with %s', async (_what, pair) => {
  const [eu1, us1] = [await region(), await region(pair)];
  await save('eu1', eu1.url, 'A:pass-a');
  await save('us1', us1.url, pair);
  const { code, stderr } = await check();
  expect(code).toBe(4);
  expect(stderr).toContain('fix: --region us1; or for good: engagectl config use default');
});

test('suggests to retype the passcode if no region accepts it', async () => {
  const [eu1, us1] = [await region(), await region()];
  await save('eu1', eu1.url, 'A:pass-a');
  await save('us1', us1.url, 'B:pass-b');
  const { code, stderr } = await check();
  expect(code).toBe(4);
  expect(stderr).toContain(
    'fix: engagectl config set --profile default --region eu1 --account-id A asks for the passcode again',
  );
});

test('prints a line for each region in one object with --json', async () => {
  const [eu1, us1] = [await region(), await region('A:pass-a')];
  await save('eu1', eu1.url, 'A:pass-a');
  await save('us1', us1.url, 'B:pass-b');
  await save('gone', 'http://127.0.0.1:9', 'B:pass-b');
  const { code, stdout, stderr } = await check('--json');
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toEqual({
    schemaVersion: 1,
    ok: false,
    profile: 'default',
    region: 'eu1',
    accountId: 'A',
    baseUrl: eu1.url,
    tried: [
      { region: 'us1', baseUrl: us1.url, accountId: 'B', ownAnswer: 'refused', answer: 'accepted' },
      {
        region: 'gone',
        baseUrl: 'http://127.0.0.1:9',
        accountId: 'B',
        ownAnswer: 'no answer',
        answer: 'no answer',
      },
    ],
  });
  expect(JSON.parse(stderr)).toMatchObject({ error: { id: 'E-CREDENTIALS', exitCode: 4 } });
});

test('asks no other region if the first accepts, and none of other profiles', async () => {
  const [eu1, other] = [await region('A:pass-a'), await region()];
  await save('eu1', eu1.url, 'A:pass-a');
  await save('us1', other.url, 'B:pass-b');
  expect(await check()).toMatchObject({ code: 0 });
  await save('eu1', other.url, 'A:pass-a', ['--profile', 'second']);
  expect(await check('--profile', 'second')).toMatchObject({ code: 4 });
  expect(other.requests()).toHaveLength(1);
  expect(eu1.requests()).toHaveLength(1);
});
