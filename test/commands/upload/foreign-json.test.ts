import { readFileSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { serve, written } from '../../support/serve.js';

interface Preview {
  readonly first: readonly { record: unknown }[];
}

async function run(argv: readonly string[], files: Readonly<Record<string, string>>, stdin = '') {
  const { world } = await serve();
  for (const [name, text] of Object.entries(files)) writeFileSync(world.path(name), text);
  return world.run(['upload', ...argv], { stdin });
}

const linesOf = (...records: readonly object[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** The records that would be sent. */
async function recordsOf(records: readonly object[], ...argv: string[]) {
  const files = { 'r.ndjson': linesOf(...records) };
  const { code, stdout, stderr } = await run(['r.ndjson', ...argv, '--preview', '--json'], files);
  expect([code, stderr]).toEqual([0, '']);
  return (JSON.parse(stdout) as Preview).first.map(({ record }) => record);
}

const event = (identity: string, evtName: string, ts: number, evtData: object) => ({
  identity,
  type: 'event',
  evtName,
  ts,
  evtData,
});
const profile = (identity: string, profileData: object) => ({
  identity,
  type: 'profile',
  profileData,
});

it.each([
  ['u.csv', 'id,City\nann,Oslo\n'],
  ['u.ndjson', '{"id":"ann","City":"Oslo"}\n'],
])('refuses to rename the identity in %s, because it is not sent twice', async (name, text) => {
  const { code, stderr } = await run([name, '--identity', 'id', '--map', 'id=CustomerId'], {
    [name]: text,
  });
  expect([code, stderr]).toEqual([2, expect.stringContaining('cannot be sent as "CustomerId"')]);
});

describe('common shapes of analytics exports', () => {
  it('reads event lines with properties.distinct_id', async () => {
    const line = {
      event: 'Bought',
      properties: {
        distinct_id: 'u1',
        time: 1_700_000_000,
        amount: 5.5,
        $os: 'x',
        cart: { items: 2 },
      },
    };
    const flags =
      '--type event --identity properties.distinct_id --map event=evtName --map properties.time=ts';
    expect(await recordsOf([line], ...flags.split(' '), '--only', 'properties')).toEqual([
      event('u1', 'Bought', 1_700_000_000, { amount: 5.5, $os: 'x', 'cart.items': 2 }),
    ]);
    expect(await recordsOf([line], ...flags.split(' '), '--drop', 'properties.cart')).toEqual([
      event('u1', 'Bought', 1_700_000_000, { 'properties.amount': 5.5, 'properties.$os': 'x' }),
    ]);
  });

  it('reads event_properties beside user_properties', async () => {
    const line = {
      user_id: 7,
      event_type: 'Bought',
      time: 1_700_000_000_123,
      event_properties: { amount: 5 },
      user_properties: { plan: 'pro', email: 'a@example.com' },
    };
    const events =
      '--type event --identity user_id --map event_type=evtName --map time=ts --only event_properties --types user_id:string,time:date(epochMillis)';
    expect(await recordsOf([line], ...events.split(' '))).toEqual([
      event('7', 'Bought', 1_700_000_000, { amount: 5 }),
    ]);
    const users =
      '--identity user_id --types user_id:string --only user_properties --map user_properties.email=Email';
    expect(await recordsOf([line], ...users.split(' '))).toEqual([
      profile('7', { plan: 'pro', Email: 'a@example.com' }),
    ]);
  });

  it('reads lines with traits, a nested context and a type of their own', async () => {
    const line = {
      type: 'identify',
      userId: 'u1',
      traits: { email: 'a@example.com', 'plan.name': 'pro', address: { city: 'Berlin' } },
      context: { ip: '192.0.2.1', library: { name: 'web' } },
    };
    const flags =
      '--identity userId --map traits.email=Email --map context.ip=IP --only traits,context.ip';
    expect(await recordsOf([line], ...flags.split(' '))).toEqual([
      profile('u1', {
        Email: 'a@example.com',
        'plan.name': 'pro',
        'address.city': 'Berlin',
        IP: '192.0.2.1',
      }),
    ]);
    const named = ['--identity', 'userId', '--only', String.raw`type,traits.plan\.name`];
    expect(await recordsOf([line], ...named)).toEqual([
      profile('u1', { type: 'identify', 'traits.plan.name': 'pro' }),
    ]);
  });
});

it('sends numbers, operators and objects of type json as written', async () => {
  const text =
    '{"id":12345678901234567890,"a":{"n":1.50,"o":{"$incr":1},"j":{"x":[1.0]},"e":{}}}\n';
  const flags = [
    '--identity',
    'id',
    '--types',
    'id:string,a.j:json',
    '--map',
    'a.n=N',
    '--preview',
  ];
  const { stdout } = await run(['r.ndjson', ...flags], { 'r.ndjson': text });
  expect(stdout).toContain(
    '{"identity":"12345678901234567890","type":"profile","profileData":{"N":1.50,"a.o":{"$incr":1},"a.j":{"x":[1.0]},"a.e":{}}}',
  );
});

it('sends an operator whose name is escaped as written, beside paths', async () => {
  const text = String.raw`{"id":{"x":"u1"},"N":{"\u0024incr":1}}` + '\n';
  const { stdout } = await run(['r.ndjson', '--identity', 'id.x', '--preview'], {
    'r.ndjson': text,
  });
  expect(stdout).toContain(String.raw`"profileData":{"N":{"\u0024incr":1}}`);
});

it('names a member with a dot as it is, or with a backslash', async () => {
  const line = { id: 'u1', 'a.b': 1 };
  for (const name of ['a.b', String.raw`a\.b`])
    expect(await recordsOf([line], '--identity', 'id', '--map', `${name}=X`)).toEqual([
      profile('u1', { X: 1 }),
    ]);
});

it.each([
  [['--only', 'a,c'], { a: { x: 1 }, c: { x: 2 } }, 'x'],
  [['--identity', 'user.id'], { user: { id: 'v' }, a: { b: 1 }, 'a.b': 2 }, 'a.b'],
])('rejects a record whose paths lead to one key twice: %j', async (flags, members, key) => {
  const record = { ...(flags[0] === '--only' && { identity: 'u' }), ...members };
  const files = { 'r.ndjson': linesOf(record) };
  const { code, stderr } = await run(['r.ndjson', ...flags, '--check'], files);
  expect([code, stderr]).toEqual([
    3,
    expect.stringContaining(`another column is also sent as "${key}"`),
  ]);
});

it('names the members of an object with 300,000 backslashes in its name in linear time', async () => {
  const record = { identity: 'u1', [`${'\\'.repeat(300_000)}x`]: { a: 1 }, b: { c: 2 } };
  const { code } = await run(['r.ndjson', '--check', '--map', 'b.c=C'], {
    'r.ndjson': linesOf(record),
  }); // it took more than a minute
  expect(code).toBe(0);
});

it('rejects an event whose name is replaced by one in an object that is opened', async () => {
  const line = {
    identity: 'u',
    evtName: 'DK',
    ts: 1_790_000_000,
    meta: { ts: 1, evtName: 'Other' },
  };
  const flags = ['--type', 'event', '--only', 'meta', '--check'];
  const { code } = await run(['r.ndjson', ...flags], { 'r.ndjson': linesOf(line) });
  expect(code).toBe(3);
});

it('sends a record of the service unchanged beside foreign ones', async () => {
  const own = { type: 'event', identity: 'u1', evtName: 'A', ts: 1_700_000_000, evtData: { a: 1 } };
  const foreign = { type: 'track', identity: 'u1', evtName: 'A', ts: 1_700_000_000 };
  expect(await recordsOf([own, foreign], '--type', 'event')).toEqual([
    own,
    event('u1', 'A', 1_700_000_000, { type: 'track' }),
  ]);
  const { code, stderr } = await run(['r.ndjson'], { 'r.ndjson': linesOf(foreign) });
  expect([code, stderr]).toEqual([3, expect.stringContaining('with --identity or --map')]);
});

it.each([[], ['--check'], ['--preview']])(
  'refuses a path that no record has: %j',
  async (...flags) => {
    const text = linesOf(
      ...Array.from({ length: 2000 }, (_, n) => ({ id: `u${n}`, t: { mail: 'x' } })),
    );
    const argv = ['r.ndjson', '--identity', 'id', '--map', 't.email=Email', ...flags];
    const { code, stderr } = await run(argv, { 'r.ndjson': text });
    expect(code).toBe(8);
    expect(stderr).toContain('E-COLUMN-MISSING: r.ndjson: no record has the column "t.email"');
    const later = `${text}${linesOf({ id: 'v', t: { email: 'a@example.com' } })}`;
    expect((await run(argv, { 'r.ndjson': later })).code).toBe(0);
  },
);

it('reads a member with a dot in its name and a path of the same letters as two columns', async () => {
  const record = { identity: 'u1', 'a.b': 1, a: { b: 2 } };
  expect(await recordsOf([record], '--map', String.raw`a\.b=X`, '--map', 'a.b=Y')).toEqual([
    profile('u1', { X: 1, Y: 2 }),
  ]);
});

it('accepts a rejects file whose few records lack a column of the input', async () => {
  const { world } = await serve();
  const records = [
    { id: 'u1', n: 'x' },
    { id: 'u2', t: { email: 'a@example.com' } },
  ];
  writeFileSync(world.path('r.ndjson'), linesOf(...records));
  const flags = ['--identity', 'id', '--map', 't.email=Email', '--types', 'n:integer'];
  expect((await world.run(['upload', 'r.ndjson', ...flags])).code).toBe(3);
  const rejects = 'r.ndjson.rejects.ndjson';
  const line = readFileSync(world.path(rejects), 'utf8');
  writeFileSync(world.path(rejects), line.replace('"n":"x"', '"n":"5"'));
  expect((await world.run(['upload', rejects, ...flags])).code).toBe(0);
});

it('refuses a path that no record has in verify', async () => {
  const { world } = await serve();
  writeFileSync(world.path('r.ndjson'), linesOf({ user: { id: 'u1' } }));
  const { code, stderr } = await world.run(['verify', 'r.ndjson', '--identity', 'user.idd']);
  expect([code, stderr]).toEqual([8, expect.stringContaining('no record has the column "user.idd"')]); // prettier-ignore
});

it('corrects and resends a rejected record with the same flags', async () => {
  const { world } = await serve();
  writeFileSync(world.path('r.ndjson'), linesOf({ id: 'u1', t: { n: 'x' } }));
  const flags = ['--identity', 'id', '--types', 't.n:integer', '--map', 't.n=N'];
  expect((await world.run(['upload', 'r.ndjson', ...flags])).code).toBe(3);
  const rejects = 'r.ndjson.rejects.ndjson';
  const line = readFileSync(world.path(rejects), 'utf8');
  expect(line).toContain('"record":{"id":"u1","t":{"n":"x"}}');
  writeFileSync(world.path(rejects), line.replace('"n":"x"', '"n":"5"'));
  expect((await world.run(['upload', rejects, ...flags])).code).toBe(0);
  expect((await world.run(['get-profile', 'u1'])).stdout).toContain('"N":5');
});

describe('--records', () => {
  const users =
    '{"meta":{"users":[1],"text":"\\"users\\":["},\n"data":{"list":[],"users":[\n{"identity":"u1","a":1},\n{"identity":"u2","a":2}],"next":null}}';

  it.each(['r.json', 'r.ndjson', '-'])('reads the array at a path: %s', async (name) => {
    const files = name === '-' ? {} : { [name]: users };
    const argv = [name, '--records', 'data.users', '--preview', '--json'];
    const { code, stdout } = await run(argv, files, users);
    expect(code).toBe(0);
    const { first } = JSON.parse(stdout) as { first: readonly { line: number; record: unknown }[] };
    expect(first.map(({ line, record }) => [line, record])).toEqual([
      [3, profile('u1', { a: 1 })],
      [4, profile('u2', { a: 2 })],
    ]);
  });

  it.each([String.raw`a\q`, `${'k'.repeat(64 * 1024 - 1)}\\nx`, String.raw`\ud800`])(
    'reads it behind a name that is no JSON, or a long one: %.5s',
    async (name) => {
      const text = `{"${name}":1,"data":{"users":[{"identity":"u1"}]}}`;
      const argv = ['r.json', '--records', 'data.users', '--preview', '--json'];
      const { code, stdout, stderr } = await run(argv, { 'r.json': text });
      expect(code, stderr).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ first: [{ record: { identity: 'u1' } }] });
    },
  );

  it('refuses a path without an array, naming the members', async () => {
    const { code, stderr } = await run(['r.json', '--records', 'users'], { 'r.json': users });
    expect(code).toBe(8);
    expect(stderr).toContain('E-FORMAT: r.json has no array at "users"');
    expect(stderr).toContain('why: the object has "meta", "data"');
    const list = await run(['r.json', '--records', 'users'], { 'r.json': '[{"identity":"u"}]' });
    expect([list.code, list.stderr]).toEqual([8, expect.stringContaining('not a JSON object')]);
  });

  it.each([
    ['the text ends', '', 9, 'the object is not closed'],
    ['a value is cut', ',"next":tru', 9, 'the object is not closed'],
    ['a value is unquoted', ',"next":yes}}', 3, 'broken text after the records'],
    ['a second object follows', '}}\n{"data":{"users":[]}}', 3, 'text after the end of the object'],
    ['a bracket is missing', '}', 9, 'the object is not closed'],
    ['there are other records', ',"users":[{"identity":"b"}]}}', 3, 'occurs a second time'],
    ['an outer member is repeated', '},"data":7}', 3, 'occurs a second time'],
    ['there is nothing else', ',"next":{"page":[2,{"a":"]}"}]},"n":1},"total":1}\n', 0, ''],
  ])('reads the object to its end: %s', async (_, rest, code, message) => {
    const text = `{"data":{"users":[{"identity":"a","City":"Oslo"}]${rest}`;
    const argv = ['r.json', '--records', 'data.users', '--check', '--json'];
    const checked = await run(argv, { 'r.json': text });
    expect([checked.code, checked.stderr]).toEqual([code, expect.stringContaining(message)]);
    const final = await run([...argv, '--final'], { 'r.json': text });
    expect(final.code).toBe(code === 0 ? 0 : 3);
  });

  it('demerges no name or text behind the array, however much follows it', async () => {
    const { world, service } = await serve();
    const text = `{"users":["ann"],"admin":["${'x'.repeat(5000)}","bob"]}`;
    writeFileSync(world.path('leavers.json'), text);
    const argv = ['demerge', 'leavers.json', '--records', 'users', '--yes'];
    const { code, stderr } = await world.run([...argv, '--max-record-bytes', '1024']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('text after the array')]);
    expect(written(service).flat()).toEqual(['ann']);
  });

  it('reads a large array after a large member, and rejects what is broken in it', async () => {
    const rows = Array.from({ length: 50_000 }, (_, n) => `{"identity":"u${n}","a":${n}}`);
    const text = `{"note":${JSON.stringify('x'.repeat(500_000))},"list":[${rows.join(',')},]}`;
    const { code, stdout } = await run(['r.json', '--records', 'list', '--check', '--json'], {
      'r.json': text,
    });
    expect([code, JSON.parse(stdout)]).toEqual([
      3,
      expect.objectContaining({ read: 50_001, rejected: 1 }),
    ]);
  });
});

describe('a path in records of a pipe', () => {
  /** Uploads records from a pipe, and returns how many were sent. */
  async function pipe(argv: readonly string[], text: string) {
    const { world, service } = await serve();
    const stdin = Readable.from([Buffer.from(text)]);
    const { code, stderr } = await world.run(['upload', '-', ...argv], { stdin });
    return { code, stderr, sent: written(service).flat().length };
  }
  const users = (count: number) =>
    linesOf(...Array.from({ length: count }, (_, n) => ({ identity: `u${n}`, t: { n } })));
  const last = linesOf({ identity: 'last', t: { email: 'a@example.com' } });
  const map = ['--map', 't.email=Email'];

  it.each([
    [['--map', 't.email=Email']],
    [['--only', 't.email']],
    [['--drop', 't.email']],
    [['--types', 't.email:string']],
    [['--identity', 't.email']],
    [['--map', 't.email=Email', '--check']],
    [['--map', 't.email=Email', '--run-name', 'crm', '--resume']],
    [['--map', 't.email=Email', '--shard', '1/2']],
  ])('is refused before anything is sent if no record has it: %j', async (flags) => {
    const { code, stderr, sent } = await pipe(flags, users(3));
    expect([code, sent]).toEqual([8, 0]);
    expect(stderr).toContain('E-COLUMN-MISSING: stdin: no record has the column "t.email"');
  });

  it('is refused if none of the first 1,000 records has it, and found in a file', async () => {
    const { code, stderr, sent } = await pipe(map, `${users(10_000)}${last}`);
    expect([code, sent]).toEqual([8, 0]);
    expect(stderr).toContain('none of the first 1,000 records has the column "t.email"');
    expect(stderr).toContain('save the pipe to a file');
    expect((await run(['r.ndjson', ...map], { 'r.ndjson': `${users(2000)}${last}` })).code).toBe(0);
  });

  it('is found in a record among the first 1,000, or in one of another shard', async () => {
    const text = `${users(900)}${last}${users(2000)}`;
    expect(await pipe(map, text)).toEqual({ code: 0, stderr: expect.any(String), sent: 2901 }); // prettier-ignore
    for (const shard of ['1/2', '2/2']) {
      const { code, stderr } = await pipe([...map, '--shard', shard], text);
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('t.email')]);
    }
    const events = linesOf({ id: 'u1', ts: 1_700_000_000, evtName: 'A', t: { n: 1 } });
    const argv = ['--type', 'event', '--identity', 'id', '--only', 't.n'];
    expect((await pipe(argv, events)).code).toBe(0);
    expect((await pipe([...argv, '--drop', 't.m'], events)).code).toBe(8);
  });
});
