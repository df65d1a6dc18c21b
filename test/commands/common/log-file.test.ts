import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { main } from '../../../src/main.js';
import { startService, type FaultRuleInput } from '../../../src/testing.js';
import { makeWorld, type World } from '../../support/test-environment.js';

// `--log-file`, and what -v and -vv tell of requests.

const passcode = 'seeded-pass-7Q';

async function start(rule?: FaultRuleInput): Promise<World> {
  const service = await startService({ accountId: 'ACC-1', passcode });
  onTestFinished(() => service.close());
  if (rule) await service.fault(rule);
  const world = makeWorld({ env: service.env });
  writeFileSync(world.path('users.csv'), 'identity,Age\nu1,41\nu2,x\nu3,42\n');
  return world;
}

const upload = ['upload', 'users.csv', '--types', 'Age:integer'];
const read = (world: World, file = 'run.log') => readFileSync(world.path(file), 'utf8');

it('contains everything that -v prints, with time and kind, although nothing is shown', async () => {
  const world = await start({ times: 1, answer: { status: 503 } });
  const { code, stderr } = await world.run([...upload, '--quiet', '--log-file', 'run.log']);
  expect(code).toBe(3);
  expect(stderr).toMatch(/^error E-REJECTED/);
  expect(statSync(world.path('run.log')).mode & 0o777).toBe(0o600);
  const lines = read(world).trimEnd().split('\n');
  const line = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (\w+) +(.+)$/;
  const told = lines.map((text) => line.exec(text)?.slice(1).join(' '));
  expect(told[0]).toMatch(/^begin engagectl \S+, Node .+: engagectl upload users\.csv --types/);
  expect(told).toContainEqual(expect.stringMatching(/^verbose upload .*--chunk-size 1000/));
  const settings =
    /^verbose account ACC-1 .*at most 15 in flight, timeout 60 s, 8 attempts in 600 s/;
  expect(told).toContainEqual(expect.stringMatching(settings));
  const host = '127\\.0\\.0\\.1:\\d+';
  const request = `^verbose POST ${host}/1/upload, users\\.csv:2-4 \\(2 records\\): 200, \\d+ bytes, \\d+ ms$`;
  expect(told).toContainEqual(expect.stringMatching(new RegExp(request)));
  const again = `^verbose POST /1/upload \\(${host}\\): HTTP 503.*; retrying in \\d+ ms$`;
  expect(told).toContainEqual(expect.stringMatching(new RegExp(again)));
  expect(told).toContain('warning users.csv:3: validate: column "Age": "x" is not an integer');
  expect(told).toContain('summary uploaded 2 of 3 users; 1 rejected');
  expect(told).toContain('error E-REJECTED: 1 of 3 records was rejected');
  expect(told.at(-1)).toBe('end exit code 3');
});

it('is appended to, and contains usage errors', async () => {
  const world = await start();
  await world.run([...upload, '--check', '--log-file=run.log']);
  const first = read(world);
  const { code } = await world.run(['upload', 'users.csv', '--nonsense', '--log-file', 'run.log']);
  expect(code).toBe(2);
  expect(read(world).startsWith(first)).toBe(true);
  expect(read(world).slice(first.length)).toMatch(/ error +E-USAGE: unknown option '--nonsense'/);
});

it('has objects with --log-format json, one a line, and no passcode', async () => {
  const world = await start({ answer: { status: 401, body: `who is ${passcode}?` } });
  const json = ['--log-format', 'json', '--log-file', 'run.ndjson', '-vv'];
  const { code, stderr } = await world.run([...upload, ...json]);
  expect(code).toBe(4);
  expect(`${stderr}${read(world, 'run.ndjson')}`).not.toContain(passcode);
  const lines = read(world, 'run.ndjson').trimEnd().split('\n');
  const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const { time, type } of told) {
    expect([new Date(String(time)).toISOString(), type]).toEqual([time, expect.any(String)]);
  }
  expect(told.find(({ type, status }) => type === 'verbose' && status === 401)).toMatchObject({
    method: 'POST',
    url: expect.stringMatching(/^127\.0\.0\.1:\d+\/1\/upload$/),
    of: 'users.csv:2-4 (2 records)',
    sentBytes: expect.any(Number),
    receivedBytes: expect.any(Number),
  });
  expect(told.find(({ type }) => type === 'error')).toMatchObject({
    error: { id: 'E-CREDENTIALS' },
  });
  expect(told.at(-1)).toMatchObject({ type: 'end', exitCode: 4 });
  // A second run goes on in the same file, whose name says records.
  expect((await world.run([...upload, '--check', ...json])).code).toBe(3);
});

it('contains headers and sizes with -vv, without secrets; not with -v', async () => {
  const world = await start({
    times: 1,
    answer: { body: { status: 'success', processed: 2, unprocessed: [] } },
  });
  const { stderr } = await world.run([...upload, '-vv']);
  expect(stderr).toMatch(
    /> POST 127\.0\.0\.1:\d+\/1\/upload, \d+ bytes\n> Content-Type: application/,
  );
  expect(stderr).toContain(
    '\n> X-Service-Account-Id: ACC-1\n> X-Service-Passcode: [redacted]\n< 200, ',
  );
  expect(stderr).not.toContain(passcode);
  const once = await world.run([...upload, '-v']);
  expect(once.stderr).toMatch(/^\d{4}-\S+Z POST 127/m);
  expect(once.stderr).not.toContain('X-Service');
});

it('contains the same headers once with -vv, and all headers of a failed request', async () => {
  const answer = { status: 503, headers: { 'x-load': 'high' } };
  const world = await start({ after: 20, times: 1, answer });
  writeFileSync(
    world.path('many.csv'),
    `identity\n${Array.from({ length: 30 }, (_, n) => `u${n}\n`).join('')}`,
  );
  const slow = ['--chunk-size', '1', '--concurrency', '1'];
  const flags = [...slow, '-vv', '--log-file', 'run.log'];
  const { code, stderr } = await world.run(['upload', 'many.csv', ...flags]);
  expect(code, stderr).toBe(0);
  for (const text of [stderr, read(world)]) {
    const count = (part: string) => text.split(part).length - 1;
    expect(count(' POST 127.0.0.1')).toBe(31 + 2);
    expect(count('> X-Service-Account-Id: ACC-1')).toBe(2);
    expect(count('< x-load: high')).toBe(1);
  }
  expect(stderr.length).toBeLessThan(31 * 200);
});

it('is refused before anything is sent if it cannot be written or contains records', async () => {
  const world = await start();
  mkdirSync(world.path('folder'));
  writeFileSync(world.path('kept.log'), '');
  for (const file of ['missing/run.log', 'folder']) {
    const { code, stderr } = await world.run([...upload, '--log-file', file]);
    expect([code, stderr]).toEqual([
      9,
      expect.stringContaining(`the log file ${file} could not be`),
    ]);
  }
  const before = read(world, 'users.csv');
  const { code, stderr } = await world.run(['upload', '--log-file', 'users.csv']);
  expect([code, stderr]).toEqual([8, expect.stringContaining('users.csv exists and is not a log')]);
  expect(read(world, 'users.csv')).toBe(before);
  expect((await world.run(['upload', 'users.csv', '--log-file='])).code).toBe(2);
  chmodSync(world.path('kept.log'), 0o640);
  await world.run([...upload, '--check', '--log-file', 'kept.log']);
  expect(statSync(world.path('kept.log')).mode & 0o777).toBe(0o640);
  expect(existsSync(world.path('missing'))).toBe(false);
});

it.each(['ids.txt', './ids.txt', 'link.txt', 'hard.txt'])(
  'adds no line to an input: %s',
  async (name) => {
    const world = makeWorld();
    writeFileSync(world.path('ids.txt'), 'a\nb\n');
    symlinkSync('ids.txt', world.path('link.txt'));
    linkSync(world.path('ids.txt'), world.path('hard.txt'));
    const argv = ['demerge', 'ids.txt', '--yes', '--log-file', name];
    const { code, stderr } = await world.run(argv);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${name} is an input`)]);
    expect(read(world, 'ids.txt')).toBe('a\nb\n');
  },
);

it.each([['--passcode=hunter2'], ['--passcode', 'hunter2']])(
  'redacts a typed passcode: %s',
  async (...flag) => {
    const world = makeWorld();
    const { code } = await world.run(['upload', 'u.csv', ...flag, '--log-file', 'run.log']);
    expect(code).toBe(2);
    expect(read(world)).toContain('[redacted]');
    expect(read(world)).not.toContain('hunter2');
  },
);

it('redacts the password in the address of a queue', async () => {
  const world = makeWorld();
  await world.run([
    'fleet',
    'status',
    '--queue',
    'nosuch://u:secret-pw@host',
    '--log-file',
    'run.log',
  ]);
  expect(read(world)).toContain('nosuch://[redacted]@host');
  expect(read(world)).not.toContain('secret-pw');
});

describe('runs resume', () => {
  /** A run that an unreachable service stopped, and the service reachable again. */
  async function stopped(...flags: string[]) {
    const world = await start({ after: 1, times: 1, answer: { status: 503 } });
    const slow = ['--chunk-size=1', '--concurrency=1'];
    const line = ['upload', 'users.csv', ...flags, ...slow, '--max-attempts=1'];
    const { code, stderr } = await world.run(line);
    expect(code, stderr).toBe(5);
    const list = await world.run(['runs', 'list', '--json']);
    const { runs } = JSON.parse(list.stdout) as { runs: [{ run: string }] };
    return { world, run: runs[0].run };
  }

  it('continues in the log file of the run, from any directory', async () => {
    const { world, run } = await stopped('--log-file', 'run.log', '--json');
    const before = read(world);
    mkdirSync(world.path('elsewhere'));
    const runtime = world.runtime();
    const code = await main(['runs', 'resume', run], {
      ...runtime,
      cwd: world.path('elsewhere'),
    });
    expect(code, runtime.output().stderr).toBe(3);
    const { stdout } = runtime.output();
    expect(JSON.parse(stdout)).toMatchObject({ run, resumed: 1, accepted: 1, rejected: 1 });
    const added = read(world).slice(before.length);
    expect(added).toMatch(/^\S+ begin .*: engagectl upload users\.csv .*--resume --run /);
    expect(added).toMatch(/ end +exit code 3\n$/);
  });

  it('prefers flags that are typed now, for every command', async () => {
    const { world, run } = await stopped('--log-file=run.log', '-v');
    const before = read(world);
    writeFileSync(world.path('users.csv'), 'identity,Age\nu1,4\nu2,x\nu3,42\n');
    const flags = ['--json', '--log-file', 'other.log', '-vv', '--max-attempts', '2'];
    const { code, stdout, stderr } = await world.run(['runs', 'resume', run, ...flags]);
    expect([code, stdout]).toEqual([8, '']);
    // Errors are objects, too: what was typed now says how they are shown.
    for (const line of stderr.trimEnd().split('\n')) JSON.parse(line);
    expect(read(world)).toBe(before);
    const log = read(world, 'other.log');
    expect(log).toContain('E-INPUT-CHANGED');
    expect(log).toMatch(/ end +exit code 8\n$/);
  });
});
