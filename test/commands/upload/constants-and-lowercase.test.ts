import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { serve, written } from '../../support/serve.js';

const profile = (identity: string, profileData: object) => ({
  identity,
  type: 'profile',
  profileData,
});

it.each([
  ['u.csv', 'identity,City\nann,Oslo\nbob,\n'],
  ['u.ndjson', '{"identity":"ann","City":"Oslo"}\n{"identity":"bob"}\n'],
])('sends the members of --set with every row of %s', async (name, text) => {
  const { world, service } = await serve();
  writeFileSync(world.path(name), text);
  const argv = ['upload', name, '--set', 'Source=a=b', '--set', 'Score=5', '--set', 'MSG-email=no'];
  expect((await world.run([...argv, '--types', 'Score:integer'])).code).toBe(0);
  const set = { Source: 'a=b', Score: 5, 'MSG-email': false };
  expect(written(service).flat()).toEqual([
    profile('ann', { ...set, City: 'Oslo' }),
    profile('bob', set),
  ]);
});

it.each([
  ['u.csv', 'identity,City\nann,Oslo\nbob,\n'],
  ['u.ndjson', '{"identity":"ann","City":"Oslo"}\n{"identity":"bob"}\n'],
])('sends an operator of --set once with every row of %s', async (name, text) => {
  const { world, service } = await serve();
  writeFileSync(world.path(name), text);
  const set = ['--set', 'Visits={"$incr":1}', '--types', 'Visits:json'];
  const argv = ['upload', name, ...set, '--retry-base', '1ms'];
  await service.fault({ endpoint: 'upload', times: 1, action: 'reset-after' });
  expect(await world.run(argv)).toMatchObject({ code: 6 });
  expect(service.requests()).toHaveLength(1);
  const again = await world.run(argv);
  expect([again.code, again.stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
  const changed = await world.run([...argv, '--changed', '--again']);
  expect([changed.code, service.requests().length]).toEqual([0, 2]);
});

it('sends constants of a mapping file as they are, also with events', async () => {
  const { world, service } = await serve();
  writeFileSync(world.path('e.csv'), 'identity,ts,Item\nann,1700000000,hat\n');
  writeFileSync(world.path('m.json'), '{"set":{"Source":"crm","Test":false,"Price":1.5}}');
  const argv = ['upload', 'e.csv', '--type', 'event', '--event-name', 'Buy', '--mapping', 'm.json'];
  expect((await world.run(argv)).code).toBe(0);
  expect(written(service).flat()).toEqual([
    {
      identity: 'ann',
      type: 'event',
      evtName: 'Buy',
      ts: 1_700_000_000,
      evtData: { Source: 'crm', Test: false, Price: 1.5, Item: 'hat' },
    },
  ]);
});

it.each([
  [['--set', 'City=x'], 8, 'column "City" is sent as "City", which --set also sets'],
  [['--set', 'identity=x'], 2, '--set cannot set identity'],
  [['--set', 'Age=x', '--types', 'Age:integer'], 2, '--set Age=x: "x" is not an integer'],
  [['--lowercase', 'Mail'], 8, 'column "Mail" missing'],
])('refuses %j before anything is sent', async (flags, code, message) => {
  const { world, service } = await serve();
  writeFileSync(world.path('u.csv'), 'identity,City\nann,Oslo\n');
  const run = await world.run(['upload', 'u.csv', ...flags]);
  expect(run.code).toBe(code);
  expect(run.stderr).toContain(message);
  expect(written(service).flat()).toEqual([]);
});

it.each([
  ['u.csv', 'identity,City\nann,Oslo\n'],
  ['u.ndjson', '{"identity":"ann","City":"Oslo"}\n'],
])(
  'sends no column of %s that a mapping file with an empty list of them leaves out',
  async (name, text) => {
    const { world, service } = await serve();
    writeFileSync(world.path(name), text);
    writeFileSync(world.path('m.json'), '{"only":[],"set":{"Source":"crm"}}');
    expect((await world.run(['upload', name, '--mapping', 'm.json'])).code).toBe(0);
    expect(written(service).flat()).toEqual([profile('ann', { Source: 'crm' })]);
  },
);

it('refuses a constant of a mapping file that JSON rounds, and sends it digit for digit as text', async () => {
  const { world, service } = await serve();
  writeFileSync(world.path('u.csv'), 'identity,City\nann,Oslo\n');
  const constant = (set: string) =>
    writeFileSync(world.path('m.json'), `{"set":{"No":${set}},"types":{"No":"integer"}}`);
  constant('12345678901234567890');
  const refused = await world.run(['upload', 'u.csv', '--mapping', 'm.json']);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('would be rounded')]);
  expect(service.requests()).toEqual([]);
  constant('"12345678901234567890"');
  expect((await world.run(['upload', 'u.csv', '--mapping', 'm.json'])).code).toBe(0);
  expect((await world.run(['get-profile', 'ann'])).stdout).toContain('12345678901234567890');
});

it('rejects records of the service, and rows that have the member, with --set', async () => {
  const { world, service } = await serve();
  const rows = [
    profile('ann', { City: 'Oslo' }),
    { identity: 'bob', Source: 'web' },
    { identity: 'cat' },
  ];
  writeFileSync(world.path('u.ndjson'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const { code, stderr } = await world.run(['upload', 'u.ndjson', '--set', 'Source=crm']);
  expect(code).toBe(3);
  expect(written(service).flat()).toEqual([profile('cat', { Source: 'crm' })]);
  expect(stderr).toContain('--set adds to flat rows');
  expect(stderr).toContain('--set also sets "Source"');
});

it.each([
  ['--drop', 'Ssn'],
  ['--only', 'City'],
  ['--map', 'Ssn=Id'],
  ['--lowercase', 'identity'],
])(
  'rejects records of the service and of exports, which would be sent unchanged, with %s',
  async (...flag) => {
    const { world, service } = await serve();
    const data = { City: 'Oslo', Ssn: '1' };
    const exported = { identity: 'bob', profileData: data, platformInfo: [] };
    const rows = [profile('ann', data), exported, { identity: 'cat', ...data }];
    writeFileSync(world.path('u.ndjson'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const { code, stderr } = await world.run(['upload', 'u.ndjson', ...flag]);
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining(`${flag[0]} changes only flat rows`),
    ]);
    expect(written(service).flat()).toEqual([expect.objectContaining({ identity: 'cat' })]);
  },
);

it.each([
  ['u.csv', 'identity,Email,City\nANN@X.com,Ann@X.com,Oslo\n"É""Q",,Bern\n'],
  ['u.ndjson', '{"identity":"ANN@X.com","Email":"Ann@X.com","City":"Oslo"}\n{"identity":"\\u00c9\\"Q","City":"Bern"}\n'], // prettier-ignore
])('sends the columns of --lowercase in %s in lower case, the identity too', async (name, text) => {
  const { world, service } = await serve();
  writeFileSync(world.path(name), text);
  const { code } = await world.run(['upload', name, '--lowercase', 'identity,Email']);
  expect(code).toBe(0);
  expect(written(service).flat()).toEqual([
    profile('ann@x.com', { Email: 'ann@x.com', City: 'Oslo' }),
    profile('é"q', { City: 'Bern' }),
  ]);
});

it.each([
  ['u.csv', 'identity,City\n\u212AATE\u03F4\u2126\u212B,Oslo\n'],
  ['u.ndjson', '{"identity":"\\u212aATE\u03F4\u2126\u212B","City":"Oslo"}\n'],
])(
  'makes no letter of a sign such as that of Kelvin: the user in %s is another one',
  async (name, text) => {
    const { world, service } = await serve();
    writeFileSync(world.path(name), text);
    expect((await world.run(['upload', name, '--lowercase', 'identity'])).code).toBe(0);
    expect(written(service).flat()).toEqual([
      profile('\u212Aate\u03F4\u2126\u212B', { City: 'Oslo' }),
    ]);
  },
);

it('keeps users in order and in one shard whose identities differ in case only', async () => {
  const { world, service } = await serve();
  const rows = ['Ann', 'ANN', 'ann', 'Bob', 'BOB', 'cat', 'Dan', 'eve'];
  writeFileSync(world.path('u.csv'), `identity,N\n${rows.map((id, n) => `${id},${n}\n`).join('')}`);
  const shards = ['1/2', '2/2'];
  const sent: string[][] = [];
  for (const shard of shards) {
    const argv = ['upload', 'u.csv', '--lowercase', 'identity', '--shard', shard];
    const before = written(service).length;
    expect((await world.run(argv)).code).toBe(0);
    const records = written(service).slice(before).flat() as { identity: string }[];
    sent.push(records.map(({ identity }) => identity));
  }
  expect(sent.flat().toSorted()).toEqual(rows.map((id) => id.toLowerCase()).toSorted());
  expect(sent[0]!.filter((id) => sent[1]!.includes(id))).toEqual([]);
});

it('writes records as they were read to the rejects file with --lowercase', async () => {
  const { world } = await serve();
  writeFileSync(world.path('u.csv'), 'identity,Email\nAnn, X@y.com\n');
  expect((await world.run(['upload', 'u.csv', '--lowercase', 'Email'])).code).toBe(3);
  const reject = JSON.parse(readFileSync(world.path('u.csv.rejects.ndjson'), 'utf8')) as object;
  expect(reject).toMatchObject({ record: { identity: 'Ann', Email: ' X@y.com' } });
});

// A phone number is an identity in many accounts, and has as many spellings as there are programs that write it.
describe('an identity with the type of phone numbers', () => {
  const key = ['--identity', 'Phone', '--types', 'Phone:phone(DE)'];

  it.each([
    ['u.csv', 'Phone,City\n030 123456,Oslo\n+49 (30) 123456,Bern\nnone,Rom\n'],
    [
      'u.ndjson',
      '{"Phone":"030 123456","City":"Oslo"}\n{"Phone":"+49 (30) 123456","City":"Bern"}\n{"Phone":"none"}\n',
    ],
  ])('is sent in one spelling from %s, and verified under it', async (name, text) => {
    const { world, service } = await serve();
    writeFileSync(world.path(name), text);
    const sent = await world.run(['upload', name, ...key]);
    expect([sent.code, sent.stderr]).toEqual([3, expect.stringContaining('phone number of DE')]);
    expect(written(service)).toEqual([
      [profile('+4930123456', { City: 'Oslo' })],
      [profile('+4930123456', { City: 'Bern' })],
    ]);
    writeFileSync(world.path(name), text.replace('Oslo', 'Bern'));
    expect((await world.run(['verify', name, ...key])).stderr).toMatch(/^0 of 1 user differ/m);
    const event = ['--type', 'event', '--event-name', 'A', '--ts', 'now'];
    await world.run(['upload', name, ...key, ...event]);
    const events = written(service).slice(2).flat();
    expect(events).toMatchObject([{ identity: '+4930123456' }, { identity: '+4930123456' }]);
  });

  it('is not given to records that are sent unchanged', async () => {
    const { world, service } = await serve();
    writeFileSync(world.path('u.ndjson'), `${JSON.stringify(profile('030 123456', {}))}\n`);
    const types = ['--types', 'identity:phone(DE)'];
    const { code, stderr } = await world.run(['upload', 'u.ndjson', ...types]);
    expect([code, stderr]).toEqual([3, expect.stringContaining('changes the identity only of')]);
    expect(written(service)).toEqual([]);
  });

  it('is no other for a key that only lacks an identity beside it', async () => {
    const { world, service } = await serve();
    writeFileSync(
      world.path('u.ndjson'),
      '{"objectId":"12345"}\n{"identity":"u","objectId":"6"}\n',
    );
    const { code } = await world.run(['upload', 'u.ndjson', '--types', 'objectId:integer']);
    expect(code).toBe(0);
    expect(written(service).flat()).toEqual([
      { objectId: '12345', type: 'profile', profileData: {} },
      profile('u', { objectId: 6 }),
    ]);
  });

  it.each([
    ['identity:integer', []],
    ['Device:boolean', ['--object-id', 'Device']],
    ['evtName:number', ['--type', 'event', '--ts', 'now']],
    ['What:date', ['--type', 'event', '--ts', 'now', '--map', 'What=evtName']],
  ])('is the only one besides string: %s', async (type, flags) => {
    const { world } = await serve();
    writeFileSync(world.path('u.csv'), 'identity,Device,evtName,What\n1,true,2,3\n');
    const { code, stderr } = await world.run(['upload', 'u.csv', ...flags, '--types', type]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('cannot have the type')]);
  });
});

it.each([
  [['--locale', 'de-DE', '--types', 'Lat:number,Tall:integer']],
  [['--types', 'Lat:number(1.234,56),Tall:integer(1.234)']],
])('sends a JSON number as it is, and reads only text in the notation of %j', async (flags) => {
  const { world, service } = await serve();
  const rows = [
    '{"identity":"a","Lat":52.517,"Tall":2}',
    '{"identity":"b","Lat":"52.517","Tall":"1.234"}',
  ];
  writeFileSync(world.path('u.ndjson'), `${rows.join('\n')}\n{"identity":"c","Tall":1.234}\n`);
  const { code, stderr } = await world.run(['upload', 'u.ndjson', ...flags]);
  expect([code, stderr]).toEqual([3, expect.stringContaining('"Tall": "1.234" is not an integer')]);
  expect(written(service).flat()).toEqual([
    profile('a', { Lat: 52.517, Tall: 2 }),
    profile('b', { Lat: 52_517, Tall: 1234 }),
  ]);
});

it('refuses to make profiles of rows although an event is named', async () => {
  const { world, service } = await serve();
  const rows = [
    '{"identity":"a","ts":1700000000,"Amount":15}',
    '{"profile":{"identity":"b"},"ts":20240101000000,"event_props":{}}',
  ];
  writeFileSync(world.path('u.ndjson'), `${rows.join('\n')}\n`);
  const { code, stderr } = await world.run(['upload', 'u.ndjson', '--event-name', 'Charged']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('add --type event')]);
  expect(written(service).flat()).toMatchObject([{ identity: 'b', evtName: 'Charged' }]);
});

it.each([
  ['u.csv', 'identity,mail\na,"a@x.test "\n'],
  ['u.ndjson', '{"identity":"a","mail":"a@x.test "}\n'],
])('checks an address in %s also if its type is string', async (name, text) => {
  const { world, service } = await serve();
  writeFileSync(world.path(name), text);
  const flags = ['--map', 'mail=Email', '--types', 'mail:string'];
  const { code, stderr } = await world.run(['upload', name, ...flags]);
  expect([code, stderr]).toEqual([3, expect.stringContaining('has whitespace around it')]);
  expect(written(service)).toEqual([]);
});
