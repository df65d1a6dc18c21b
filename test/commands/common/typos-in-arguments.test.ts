import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { serve } from '../../support/serve.js';
import { makeWorld } from '../../support/test-environment.js';

// What is wrong by a slip of the pen is said, and never done in silence.

const range = ['--from', '2026-01-01', '--to', '2026-01-01'];

it.each(['events.parquet', 'events.xlsx', 'events.avro.gz'])(
  'refuses to export to %s, because the format is unknown',
  async (file) => {
    const { world } = await serve();
    const args = ['export-events', '--event', 'Charged', ...range, '-o', file];
    const { code, stderr } = await world.run(args);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('is not a supported output format'),
    ]);
    expect(existsSync(world.path(file))).toBe(false);
  },
);

it.each([
  ['bad.xlsx', 2],
  ['bad.ndjson.gz', 2],
  ['bad.txt', 3],
])('exits for rejects into %s with %d', async (file, exitCode) => {
  const { world } = await serve();
  writeFileSync(world.path('users.csv'), 'identity,Age\n,1\n');
  const { code, stderr } = await world.run(['upload', 'users.csv', '--check', '--rejects', file]);
  expect(code, stderr).toBe(exitCode);
  expect(stderr.includes(`${file}: rejects cannot be written as .`)).toBe(exitCode === 2);
  expect(existsSync(world.path(file))).toBe(exitCode === 3);
});

it('reports an event that the account does not have as a wrong argument', async () => {
  const { service, world } = await serve();
  const { code, stderr } = await world.run(['export-events', '--event', 'Chraged', ...range]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('names are case-sensitive')]);
  expect(stderr).not.toMatch(/exported|waiting|attempts/);
  expect(service.requests()).toHaveLength(1);
});

it.each([
  ['Age:int', '"integer"'],
  ['Age:integer,Member:bool', '"boolean"'],
])('suggests the nearest type: %s', async (types, meant) => {
  const { world } = await serve();
  writeFileSync(world.path('users.csv'), 'identity,Age,Member\nu1,1,yes\n');
  const { code, stderr } = await world.run(['upload', 'users.csv', '--check', '--types', types]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`did you mean ${meant}?`)]);
});

it.each([
  ['{\n  "identity": "Id",\n}', 'map.json:3:1: JSON has "}", not a key in double quotes'],
  ['{"types":{"Age":"integer"},\n "types":{}}', 'map.json:2:2: JSON repeats the key "types"'],
  ['', 'map.json:1:1: JSON ends where a value should be'],
])('reports the position of invalid JSON in a mapping file: %j', async (text, told) => {
  const { world } = await serve();
  writeFileSync(world.path('users.csv'), 'Id,Age\nu1,1\n');
  writeFileSync(world.path('map.json'), text);
  const { code, stderr } = await world.run(['upload', 'users.csv', '--mapping', 'map.json']);
  expect([code, stderr]).toEqual([2, expect.stringContaining(told)]);
});

describe('columns', () => {
  it('that are probably sent as properties by mistake are reported in every run', async () => {
    const { world } = await serve();
    writeFileSync(world.path('users.csv'), 'identity,email,Name\nu1,a@example.com,A\n');
    for (const more of [[], ['--check']]) {
      const { code, stderr } = await world.run(['upload', 'users.csv', ...more]);
      expect([code, stderr]).toEqual([0, expect.stringContaining('--map email=Email')]);
    }
    const { stderr: object } = await world.run(['upload', 'users.csv', '--log-format', 'json']);
    expect(object).toMatch(/^\{"type":"warning",.*"file":"users.csv","line":1\}$/m);
    const mapped = await world.run(['upload', 'users.csv', '--map', 'email=Email']);
    expect(mapped.stderr).not.toContain('property of its own');
  });

  it('that a CSV lacks are refused, with the nearest name', async () => {
    const { world } = await serve();
    writeFileSync(world.path('users.csv'), 'CustomerId,City\nu1,Oslo\n');
    const { code, stderr } = await world.run(['upload', 'users.csv', '--identity', 'CustomrId']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('did you mean "CustomerId"?')]);
    const begun = await world.run(['upload', 'users.csv', '--identity', 'Customer']);
    expect(begun.stderr).toContain('did you mean "CustomerId"?');
    const two = ['--identity', 'CustomrId', '--drop', 'Citty'];
    const both = (await world.run(['upload', 'users.csv', ...two])).stderr;
    expect(both).toContain('did you mean "City", "CustomerId"?');
  });

  it('that no JSON record has are refused', async () => {
    const { world } = await serve();
    writeFileSync(world.path('users.ndjson'), '{"identity":"u1","City":"Oslo"}\n');
    const { code, stderr } = await world.run(['upload', 'users.ndjson', '--types', 'Age:integer']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('"Age"')]);
  });

  it('of a CSV export that do not occur are reported at the end, with the nearest name', async () => {
    const event = { identity: 'a', type: 'event', evtName: 'A', ts: Date.parse(range[1]!) / 1000 };
    const { world } = await serve({ seed: [event] });
    const columns = ['--columns', 'profile.identity,profile.identiy,Identity,profile.Nope'];
    const args = ['export-events', '--event', 'A', ...range, '-o', 'a.csv', ...columns];
    const { code, stderr } = await world.run(args);
    expect(code).toBe(0);
    expect(stderr).toContain(
      'column "profile.identiy" does not occur; did you mean "profile.identity"?',
    );
    expect(stderr).toContain('column "Identity" does not occur; did you mean "profile.identity"?');
    expect(stderr).toContain('column "profile.Nope" does not occur\n');
    expect(stderr).not.toContain('"profile.identity" does not occur');
  });
});

it('suggests the nearest names of profiles and regions', async () => {
  const world = makeWorld();
  const set = ['config', 'set', '--region', 'eu1', '--base-url', 'https://eu1.example.test'];
  const account = [
    '--account-id',
    'A',
    '--passcode-stdin',
    '--profile',
    'production',
    '--no-check',
  ];
  await world.run([...set, ...account], { stdin: 'pass' });
  const get = ['get-profile', 'u1', '--profile'];
  expect((await world.run([...get, 'prodution'])).stderr).toContain('did you mean "production"?');
  const region = await world.run([...get, 'production', '--region', 'eu2']);
  expect(region.stderr).toContain('did you mean "eu1"?');
});

it('refuses an unknown placeholder in the name of an output', async () => {
  const world = makeWorld();
  const range = ['--event', 'A', '--from', '2026-01-01', '--to', '2026-01-01', '--region', 'local'];
  for (const [command, name, places] of [
    ['export-events', 'x-{hour}.csv', 'unknown placeholder {hour}. Use {date}, {day}, {event}'],
    ['export-profiles', 'x-{day}.csv', 'unknown placeholder {day}. Use {date}'],
  ] as const) {
    const { code, stderr } = await world.run([command, ...range, '-o', name]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(places)]);
  }
  expect(readdirSync(world.cwd)).toEqual([]);
});

it('reports all errors of a command line or environment at once', async () => {
  const world = makeWorld();
  const args = [
    'upload',
    'users.csv',
    '--timeout',
    'soon',
    '--max-attempts',
    '0',
    '--concurency',
    '3',
  ];
  const { code, stderr } = await world.run(args);
  expect(code).toBe(2);
  for (const flag of ['--timeout', '--max-attempts', '--concurency', '--concurrency']) {
    expect(stderr).toContain(flag);
  }
  expect(stderr).not.toContain('.;');
  const env = { ENGAGECTL_TIMEOUT: 'soon', ENGAGECTL_MAX_ATTEMPTS: 'many' };
  for (const flag of ['--concurency', '--concurrency=99']) {
    const together = await world.run(['upload', 'users.csv', flag], { env });
    for (const name of [flag.split('=')[0], ...Object.keys(env)])
      expect(together.stderr).toContain(name);
  }
  const files = await world.run(['upload', 'no.csv', 'nor.csv', '--check']);
  expect([files.code, files.stderr]).toEqual([
    9,
    expect.stringMatching(/no\.csv cannot be read: there is no such file; nor\.csv cannot/),
  ]);
  const help = await world.run(['help', 'e-rejected']);
  expect(help.stderr).toContain('did you mean: engagectl help errors E-REJECTED');
  const wrong = await world.run(['get-profile', 'u1'], { env });
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toMatch(/ENGAGECTL_TIMEOUT.*ENGAGECTL_MAX_ATTEMPTS/);
  const account = {
    ENGAGECTL_BASE_URL: 'ftp://x',
    ENGAGECTL_ACCOUNT_ID: 'A',
    ENGAGECTL_HEADER_PREFIX: 'X Y',
  };
  for (const more of [{}, env]) {
    const half = await world.run(['get-profile', 'u1'], { env: { ...account, ...more } });
    expect(half.code).toBe(2);
    for (const name of Object.keys({ ...account, ...more })) expect(half.stderr).toContain(name);
  }
  // what a flag sets aside is not looked at
  const aside = await world.run(['get-profile', 'u1', '--profile', 'x'], { env: account });
  expect(aside.stderr).not.toContain('ENGAGECTL_BASE_URL');
  const both = { ...account, ENGAGECTL_PASSCODE: 'a\nb', ENGAGECTL_ACCOUNT_ID: ' A' };
  const unfit = await world.run(['get-profile', 'u1'], { env: both });
  expect(unfit.stderr).toMatch(
    /the account id .* cannot be sent.*; the passcode .* cannot be sent/,
  );
});

it('suggests the nearest word for a day', async () => {
  const { world } = await serve();
  const args = ['export-events', '--event', 'A', '--from', 'yesteday', '--to', 'today'];
  const { code, stderr } = await world.run(args);
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('is not a date; did you mean "yesterday"?'),
  ]);
});

it('reports an unknown run, and lists finished ones too', async () => {
  const world = makeWorld();
  const show = await world.run(['runs', 'show', 'x']);
  expect([show.code, show.stderr]).toEqual([2, expect.stringContaining('there is no run x\n')]);
  expect(show.stderr).toContain('fix: engagectl runs list --finished');
  const resume = await world.run(['runs', 'resume', 'x']);
  expect(resume.stderr).toContain('there is no unfinished run x\n');
});

it('compares missing columns with a long header in bounded time, and still suggests one', async () => {
  const world = makeWorld();
  const names = Array.from({ length: 1000 }, (_, n) => `c${n}`.padEnd(900, 'x'));
  writeFileSync(world.path('u.csv'), `identity,${names.join(',')},City\n`);
  const missing = ['Citty', ...Array.from({ length: 50 }, (_, n) => `Some Column Name ${n}`)];
  const types = Object.fromEntries(missing.map((name) => [name, 'string']));
  writeFileSync(world.path('m.json'), JSON.stringify({ types }));
  const { user } = process.cpuUsage();
  const { code, stderr } = await world.run(['upload', 'u.csv', '--check', '--mapping', 'm.json']);
  expect([code, stderr]).toEqual([8, expect.stringContaining('E-COLUMN-MISSING')]);
  expect(stderr).toContain('did you mean "City"?');
  expect(process.cpuUsage().user - user).toBeLessThan(4_000_000); // it took 12 s
});
