import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { makeWorld } from '../../support/test-environment.js';

// `call lint`: every finding with its pointer, rule, severity and the number of the platform; exit code 3.

const good = {
  accountId: 'ACC-CALLS',
  apiKey: 'key-of-the-app',
  cuid: 'ann_1',
  allowPersistSocketConnection: true,
  production: false,
};

async function lint(properties: unknown, flags: readonly string[] = []) {
  const world = makeWorld();
  const text = typeof properties === 'string' ? properties : JSON.stringify(properties);
  writeFileSync(world.path('init.json'), text);
  const outcome = await world.run(['call', 'lint', 'init.json', ...flags]);
  const lines = outcome.stdout.split('\n').filter((line) => line !== '');
  return { ...outcome, found: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

it('finds nothing in properties that both platforms accept', async () => {
  const { code, stdout, stderr } = await lint(good);
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toContain('0 errors, 0 warnings');
});

it('reports all findings, with the numbers of each platform', async () => {
  const { code, found, stderr } = await lint({
    ...good,
    cuid: '91_8899555',
    apiKey: '',
    prodution: true,
    overrideDefaultBranding: { bgColor: 'red' },
  });
  expect(code).toBe(3);
  expect(stderr).toContain('3 errors');
  const both = ['android', 'ios'];
  expect(found).toMatchObject([
    { pointer: '/apiKey', errorCode: { android: 2004, ios: 2005 }, platforms: both },
    {
      pointer: '/cuid',
      rule: 'number-separator-number',
      severity: 'error',
      errorName: 'CUID_INVALID',
      errorCode: { android: 2007, ios: 2008 },
    },
    { pointer: '/overrideDefaultBranding/bgColor', errorCode: { android: 2010, ios: 400 } },
    {
      pointer: '/prodution',
      severity: 'warning',
      errorCode: null,
      message: expect.stringContaining('did you mean production?'),
    },
  ]);
});

it('checks for each platform what it requires', async () => {
  const { production: _, ...android } = good;
  const { code, found } = await lint(android);
  expect(code).toBe(3);
  expect(found).toMatchObject([
    { pointer: '/production', platforms: ['ios'], errorCode: { ios: 2011 } },
  ]);
  expect((await lint(android, ['--platform', 'android'])).code).toBe(0);
});

it('prints everything in one object with --json', async () => {
  const { code, found } = await lint({ ...good, cuid: 'abc' }, ['--json', '--platform', 'ios']);
  expect(code).toBe(3);
  expect(found).toMatchObject([
    {
      command: 'call lint',
      file: 'init.json',
      platforms: ['ios'],
      errors: 1,
      findings: [{ pointer: '/cuid', rule: 'length' }],
      exitCode: 3,
    },
  ]);
});

it.each([
  ['{"accountId":"A",\n "apiKey":"secret-of-the-app",}', 2, 31],
  ['{"cuid":"ann_1",\n "cuid":"bob_1"}', 2, 2],
])('reports the position of invalid JSON in %j, without quoting it', async (text, line, column) => {
  const { code, stderr } = await lint(text, ['--json']);
  expect(code).toBe(8);
  expect(JSON.parse(stderr)).toMatchObject({ error: { id: 'E-FORMAT', line, column } });
  expect(stderr).not.toContain('secret-of-the-app');
});

it('exits 9 for a missing file', async () => {
  const { code, stderr } = await makeWorld().run(['call', 'lint', 'none.json']);
  expect(code).toBe(9);
  expect(stderr).toContain('none.json');
});
