import { expect, onTestFinished, test } from 'vitest';
import { startService, type FaultRuleInput } from '../../../src/testing.js';
import { makeWorld } from '../../support/test-environment.js';

// `config set` tries what it saved, and saves it whatever comes of that.

const secret = 'set-pass-5qZ';

/** `rule`: what the service does instead of taking them. */
async function set(rule: FaultRuleInput | undefined, ...more: string[]) {
  const service = await startService({ accountId: 'ACC-1', passcode: secret });
  onTestFinished(() => service.close());
  if (rule) await service.fault(rule);
  const world = makeWorld({ sleep: 'real' });
  const account = ['--region', 'eu1', '--base-url', service.url, '--account-id', 'ACC-1'];
  const argv = ['config', 'set', ...account, '--passcode-stdin', ...more];
  const outcome = await world.run(argv, { stdin: secret });
  expect(outcome.stderr).not.toContain(secret);
  const list = await world.run(['config', 'list']);
  expect(list.stdout).toContain('ACC-1'); // saved, whatever came of it
  return { ...outcome, world, service };
}

test('confirms account, passcode and region', async () => {
  const { code, stderr, service } = await set(undefined);
  expect([code, stderr.split('\n').slice(1)]).toEqual([
    0,
    [`account ACC-1 and its passcode fit region eu1 (${service.url})`, ''],
  ]);
  expect(service.requests()).toMatchObject([{ status: 200 }]);
});

test.each<[string, FaultRuleInput, string[], string]>([
  ['refuses them', { answer: { status: 401 } }, [], 'account ACC-1 does not fit: '],
  ['fails', { answer: { status: 503 } }, [], 'account ACC-1 could not be tried: '],
  [
    'does not answer in time',
    { action: 'hang' },
    ['--timeout', '100ms'],
    'account ACC-1 could not be tried: ',
  ],
])(
  'warns instead of failing if the service %s, which is asked once',
  async (_, rule, flags, message) => {
    const { code, stderr, service } = await set(rule, ...flags);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`warning: ${message}`)]);
    expect(stderr.split('saved')).toHaveLength(2); // it is said once
    expect(stderr).toContain('engagectl config check --profile default --region eu1 says more');
    expect(service.requests()).toHaveLength(1);
  },
);

test('warns if the service or the passcode is unavailable', async () => {
  const world = makeWorld({ sleep: 'real' });
  const account = ['--region', 'eu1', '--base-url', 'http://127.0.0.1:1', '--account-id', 'A'];
  const argv = ['config', 'set', ...account];
  const nowhere = await world.run([...argv, '--passcode-stdin'], { stdin: secret });
  expect([nowhere.code, nowhere.stderr]).toEqual([0, expect.stringContaining('ECONNREFUSED')]);
  const empty = await world.run([...argv, '--passcode-command', 'exit 3']);
  expect([empty.code, empty.stderr]).toEqual([0, expect.stringContaining('exit 3')]);
});

test('asks no service with --no-check, or if nothing can be checked', async () => {
  const { stderr, service, world } = await set(undefined, '--no-check');
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  const zone = ['config', 'set', '--region', 'eu1', '--timezone', 'Asia/Tokyo'];
  expect((await world.run(zone)).stderr).not.toContain('fit');
  expect(service.requests()).toEqual([]);
});

test.each<[string, FaultRuleInput | undefined, string[], object]>([
  ['accepted', undefined, [], { status: 'accepted' }],
  ['refused', { answer: { status: 403 } }, [], { status: 'refused' }],
  ['not tried', undefined, ['--no-check'], { status: 'not tried' }],
])('reports the result with --json: %s', async (_, rule, flags, check) => {
  const { code, stdout } = await set(rule, '--json', ...flags);
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { saved: { region: 'eu1' }, check }]);
});
