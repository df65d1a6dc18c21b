import { expect, onTestFinished, test } from 'vitest';
import { answer, hang, startFaultServer, type Step } from '../support/fault-server.js';
import { makeWorld } from '../support/world.js';

// `config set` tries what it saved, and saves it whatever comes of that.

const secret = 'set-pass-5qZ';
const found = answer(200, { status: 'success', record: {} });

async function set(steps: [Step, ...Step[]], ...more: string[]) {
  const server = await startFaultServer(steps);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const world = makeWorld({ sleep: 'real' });
  const account = ['--region', 'eu1', '--base-url', server.url, '--account-id', 'ACC-1'];
  const argv = ['config', 'set', ...account, '--passcode-stdin', ...more];
  const outcome = await world.run(argv, { stdin: secret });
  expect(outcome.stderr).not.toContain(secret);
  const list = await world.run(['config', 'list']);
  expect(list.stdout).toContain('ACC-1'); // saved, whatever came of it
  return { ...outcome, world, server };
}

test('says that account, passcode and region fit together', async () => {
  const { code, stderr, server } = await set([found]);
  expect([code, stderr.split('\n').slice(1)]).toEqual([
    0,
    [`account ACC-1 and its passcode fit region eu1 (${server.url})`, ''],
  ]);
  expect(server.received).toHaveLength(1);
  expect(server.received[0]?.headers).toMatchObject({ 'x-service-passcode': secret });
});

test.each<[string, Step, string[], string]>([
  [
    'refuses them',
    answer(401, { status: 'fail', error: 'Unauthorized', code: 401 }),
    [],
    'saved, but it does not fit: ',
  ],
  ['fails', answer(503, { status: 'fail' }), [], 'saved, but it could not be tried: '],
  ['does not answer in time', hang(), ['--timeout', '100ms'], 'saved, but it could not be tried: '],
])(
  'is a warning, and no failure, where the service %s; it is asked once',
  async (_, step, flags, message) => {
    const { code, stderr, server } = await set([step], ...flags);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`warning: ${message}`)]);
    expect(stderr).toContain('engagectl config check --profile default --region eu1 says more');
    expect(server.received).toHaveLength(1);
  },
);

test('is a warning where nobody listens, or the passcode cannot be had', async () => {
  const world = makeWorld({ sleep: 'real' });
  const account = ['--region', 'eu1', '--base-url', 'http://127.0.0.1:1', '--account-id', 'A'];
  const argv = ['config', 'set', ...account];
  const nowhere = await world.run([...argv, '--passcode-stdin'], { stdin: secret });
  expect([nowhere.code, nowhere.stderr]).toEqual([0, expect.stringContaining('ECONNREFUSED')]);
  const empty = await world.run([...argv, '--passcode-command', 'exit 3']);
  expect([empty.code, empty.stderr]).toEqual([0, expect.stringContaining('exit 3')]);
});

test('asks nobody with --no-check, nor for what the service has nothing to say about', async () => {
  const { stderr, server, world } = await set([found], '--no-check');
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  const zone = ['config', 'set', '--region', 'eu1', '--timezone', 'Asia/Tokyo'];
  expect((await world.run(zone)).stderr).not.toContain('fit');
  expect(server.received).toEqual([]);
});

test.each<[string, Step, string[], object]>([
  ['accepted', found, [], { status: 'accepted' }],
  ['refused', answer(403, { status: 'fail', code: 403 }), [], { status: 'refused' }],
  ['not tried', found, ['--no-check'], { status: 'not tried' }],
])('--json says what came of it: %s', async (_, step, flags, check) => {
  const { code, stdout } = await set([step], '--json', ...flags);
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { saved: { region: 'eu1' }, check }]);
});
