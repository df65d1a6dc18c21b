import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { serve, written } from '../../support/serve.js';
import { makeWorld } from '../../support/test-environment.js';

// Names of members of JSON records that the service does not know, told in every run as those of a CSV's columns are.

async function upload(lines: readonly object[], ...flags: string[]) {
  const { world } = await serve();
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  writeFileSync(world.path('r.ndjson'), text);
  return world.run(['upload', 'r.ndjson', ...flags]);
}

const field = (name: string, meant: string) =>
  `warning: r.ndjson: "${name}" is sent as a custom property "${name}"; the service's field is "${meant}": `;

it.each([[], ['--check']])(
  'reports members that are probably sent by mistake: %j',
  async (...flags) => {
    const { code, stderr } = await upload(
      [
        { type: 'profile', identity: 'u1', profileData: { email: 'a@x.de', Name: 'A' } },
        { type: 'event', identity: 'u1', evtName: 'Bought', ts: 1700000000, evtdata: { a: 1 } },
        { identity: 'u2', phone: '+4915112345678' },
        { identity: 'u3', evtName: 'Bought', amount: 5 },
        { identity: 'u4', profileData: { birthday: '$D_1' } },
      ],
      ...flags,
    );
    expect(code, stderr).toBe(0);
    for (const said of [
      field('email', 'Email'),
      field('phone', 'Phone'),
      field('birthday', 'DOB'),
      'warning: r.ndjson: "evtdata" is outside the data of the record, where the service ignores it: write it "evtData"\n',
      'warning: r.ndjson: "evtName" is the name of an event, but profiles are sent: --type event\n',
    ]) {
      expect(stderr.split(said)).toHaveLength(2);
    }
    expect(stderr).not.toContain('"Name"');
  },
);

it('reports a name once, and no valid names', async () => {
  const once = Array.from({ length: 3000 }, (_, n) => ({ identity: `u${n}`, mail: `${n}@x.de` }));
  expect((await upload(once)).stderr.split(field('mail', 'Email'))).toHaveLength(2);
  const right = { identity: 'u', profileData: { Email: 'a@x.de', email: 'b@x.de', plan: 'x' } };
  expect((await upload([right])).stderr).not.toContain('warning');
});

it.each<[object, string]>([
  [
    { type: 'profile', identity: 'u', profiledata: {} },
    'profileData is missing; the record has "profiledata": write it "profileData"',
  ],
  [
    { type: 'profile', Identity: 'u', profileData: {} },
    'identity is missing; the record has "Identity": write it "identity"',
  ],
  [
    { type: 'event', identity: 'u', evtname: 'A' },
    'evtName is missing; the record has "evtname": write it "evtName"',
  ],
  [
    { Identity: 'u', Name: 'A' },
    'column "identity": the value is empty or missing; the row has "Identity": --identity Identity',
  ],
])(
  'rejects a record that lacks a member, naming what it has instead: %j',
  async (record, error) => {
    const { code, stderr } = await upload([record]);
    expect([code, stderr]).toEqual([3, expect.stringContaining(`:1: validate: ${error}\n`)]);
  },
);

it('warns if CSV rows that look like events are sent as users, but not with --type event', async () => {
  const world = makeWorld();
  writeFileSync(world.path('e.csv'), 'identity,ts,evtName\nu1,1700000000,Visit\n');
  const said = 'warning: e.csv: column "evtName" is the name of an event, but profiles are sent';
  const told = await world.run(['upload', 'e.csv', '--check']);
  expect([told.code, told.stderr]).toEqual([
    0,
    expect.stringContaining(`${said}: add --type event\n`),
  ]);
  const asEvents = await world.run(['upload', 'e.csv', '--check', '--type', 'event']);
  expect(asEvents.stderr).not.toContain('warning');
  writeFileSync(world.path('p.csv'), 'identity,ts\nu1,1700000000\n');
  const named = await world.run(['upload', 'p.csv', '--check', '--event-name', 'Paid']);
  expect([named.code, named.stderr]).toEqual([
    2,
    expect.stringContaining(
      'E-USAGE: --event-name is for events, but p.csv would be sent as profiles',
    ),
  ]);
});

it.each([
  ['body.json', 8, 'to read an array inside an object, add --records d'],
  ['body.ndjson', 3, 'column "identity": the value is empty or missing'],
])(
  'refuses a request body as records, and sends neither `d` nor the members beside it: %s',
  async (name, exitCode, says) => {
    const { service, world } = await serve();
    const records = [{ identity: 'u1', type: 'profile', profileData: { plan: 'x' } }];
    writeFileSync(world.path(name), `${JSON.stringify({ d: records, source: 'app' })}\n`);
    const { code, stderr } = await world.run(['upload', name]);
    expect([code, stderr]).toEqual([exitCode, expect.stringContaining(says)]);
    expect(service.requests()).toEqual([]);
  },
);

it('says how to name the column of the events of a CSV', async () => {
  const world = makeWorld();
  writeFileSync(world.path('e.csv'), 'identity,ts,EvtName\nann,1790000000,Charged\n');
  const { code, stderr } = await world.run(['upload', 'e.csv', '--type', 'event', '--region', 'local']); // prettier-ignore
  expect([code, stderr]).toEqual([8, expect.stringContaining('--map <column>=evtName')]);
});

// A form that adds the identity to whatever a visitor posted must not let them choose another one.
it.each<[object, ...string[]]>([
  [{ userId: 'own', type: 'profile', identity: 'other', profileData: {} }, '--identity', 'userId'],
  [{ userId: 'own', identity: 'other', profileData: {} }, '--identity', 'userId'],
  [{ user: { id: 'own' }, identity: 'other', profileData: {} }, '--identity', 'user.id'],
  [{ device: 'own', platformInfo: [{ objectId: 'other' }] }, '--object-id', 'device'],
  [
    { identity: 'own', profile: { identity: 'other' }, event_name: 'A', ts: 20260101000000, event_props: {} }, // prettier-ignore
    '--type',
    'event',
  ],
  [
    { userId: 'own', type: 'profile', objectId: 'own', identity: 'other', profileData: {} },
    '--identity',
    'userId',
  ],
  [
    { userId: 'own', type: 'profile', identity: 'own', objectId: 'other', profileData: {} },
    '--identity',
    'userId',
  ],
  [{ userId: 'own', objectId: 'own', identity: 'other', profileData: {} }, '--identity', 'userId'],
  [{ 'user.id': 'own', identity: 'other', profileData: {} }, '--identity', 'user.id'],
  [
    { 'user.id': 'own', profile: { identity: 'other' }, event_props: {}, event_name: 'A', ts: 20260101000000 }, // prettier-ignore
    '--identity',
    'user.id',
  ],
  [{ 'd.id': 'own', type: 'profile', identity: 'other', profileData: {} }, '--object-id', 'd.id'],
  [{ Schlüssel: 'own', identity: 'other', profileData: {} }, '--identity', 'Schlüssel'],
  [
    { device: 'own', objectId: 'own', platformInfo: [{ objectId: 'other' }] },
    '--object-id',
    'device',
  ],
  [
    { device: 'own', type: 'profile', objectId: 'own', identity: 'other', profileData: {} },
    '--object-id',
    'device',
  ],
  [
    { identity: 'own', profile: { identity: 'other', objectId: 'own' }, event_name: 'A', ts: 20260101000000, event_props: {} }, // prettier-ignore
  ],
  [
    { objectId: 'own', profile: { identity: 'other' }, event_name: 'A', ts: 20260101000000, event_props: {} }, // prettier-ignore
  ],
  // the same text as a key of another kind
  [{ userId: 'one', type: 'profile', objectId: 'one', profileData: {} }, '--identity', 'userId'],
  [{ userId: 'one', type: 'profile', FBID: 'one', identity: 'one', profileData: {} }, '--identity', 'userId'], // prettier-ignore
  [{ device: 'one', type: 'profile', identity: 'one', profileData: {} }, '--object-id', 'device'],
  [
    { user: 'one', device: 'two', type: 'profile', identity: 'two', objectId: 'one', profileData: {} }, // prettier-ignore
    '--identity',
    'user',
    '--object-id',
    'device',
  ],
  [
    { userId: 'one', profile: { objectId: 'one' }, event_name: 'A', ts: 20260101000000, event_props: {} }, // prettier-ignore
    '--identity',
    'userId',
  ],
])('rejects a record that names another user than its column does: %j', async (line, ...flags) => {
  const { code, stderr } = await upload([line], ...flags);
  expect(stderr).toContain(': this record, which is sent unchanged, names another user\n');
  expect(code).toBe(3);
});

// The program had no user for the visitor.
it('rejects an exported event beside an empty identity', async () => {
  const profile = { identity: 'other' };
  const posted = { identity: null, event_props: {}, event_name: 'x', ts: 20_260_101_000_000 };
  const { code, stderr } = await upload([{ ...posted, profile }]);
  expect([code, stderr]).toEqual([3, expect.stringContaining('column "identity": it is empty')]);
});

it.each([{ userId: null }, { userId: '' }, {}])(
  'rejects a record that names a user of its own beside an empty column: %j',
  async (own) => {
    const posted = { ...own, type: 'profile', identity: 'other', profileData: {} };
    const { code, stderr } = await upload([posted], '--identity', 'userId');
    expect(stderr).toContain(': column "userId": it is empty or missing, and this record');
    expect(code).toBe(3);
  },
);

it('sends a record unchanged whose column names the same user', async () => {
  const { code, stderr } = await upload(
    [
      { userId: 7, type: 'profile', identity: '7', profileData: {} },
      { userId: 'u1', identity: 'u1', all_identities: ['u1'], profileData: {} },
    ],
    '--identity',
    'userId',
  );
  expect(code, stderr).toBe(0);
  const both = { type: 'profile', identity: 'u4', objectId: 'device-4', profileData: {} };
  expect(await upload([both])).toMatchObject({ code: 0 });
});

// Whoever writes members beside the object of the program, or within it, must not choose another user with them.
it.each<[string, ...string[]]>([
  ['{"user":null,"user.id":"other"}', '--identity', 'user.id'],
  ['{"user":{},"user.id":"other"}', '--identity', 'user.id'],
  ['{"user":[],"user.id":"other"}', '--identity', 'user.id'],
  ['{"a":{"b":{}},"a.b":{"id":"other"},"a.b.id":"other"}', '--identity', 'a.b.id'],
  [String.raw`{"e\\":{"mail":"other"}}`, '--identity', String.raw`e\.mail`],
  ['{"user":"","user.id":"other"}', '--identity', 'user.id'],
  ['{"user":0,"user\\u002eid":"other"}', '--identity', 'user.id'],
  ['{"user":null,"objectId":"other"}', '--identity', 'user.id'],
  ['{"objectId":"other"}', '--identity', 'user'],
  [String.raw`{"e.mail":null,"e\\.mail.id":"other"}`, '--identity', String.raw`e\.mail.id`],
  ['{"user":null,"user.id":"other","type":"profile","identity":"other","profileData":{}}', '--identity', 'user.id'], // prettier-ignore
  ['{"user":{},"user.id":"other","identity":"other","profileData":{}}', '--identity', 'user.id'],
  ['{"user":{"id":null},"user.id":"other","type":"event","identity":"other","evtName":"P"}', '--identity', 'user.id'], // prettier-ignore
  ['{"user.id":"own","user":{"id":"other"}}', '--identity', 'user.id'],
  ['{"user.id":null,"user":{"id":"other"},"type":"profile","identity":"other","profileData":{}}', '--identity', 'user.id'], // prettier-ignore
  ['{"device":"own","identity":"other"}', '--object-id', 'device'],
  ['{"device":"","identity":"other"}', '--object-id', 'device'],
  ['{"d":{"id":"own"},"identity":"other"}', '--object-id', 'd.id'],
])('sends no other user of %s with %s %s', async (posted, ...flags) => {
  const { service, world } = await serve();
  const named = flags[1]!
    .split('.')
    .reduceRight<unknown>((value, name) => ({ [name]: value }), 'fine');
  const fine = flags[1]!.includes('\\') ? { 'e.mail': flags[1]!.endsWith('id') ? { id: 'fine' } : 'fine' } : named; // prettier-ignore
  writeFileSync(world.path('f.ndjson'), `${JSON.stringify(fine)}\n${posted}\n`);
  await world.run(['upload', 'f.ndjson', ...flags]);
  const keys = written<{ identity?: string; objectId?: string }>(service).flat();
  expect(keys.flatMap(({ identity, objectId }) => [identity, objectId])).not.toContain('other');
  expect(keys).not.toEqual([]);
});

it.each([
  ['upload', '--identity', 'traits.email'],
  ['demerge', '--identity', 'traits.email', '--yes'],
])(
  'reads the named value of an object whose first member is like an operator: %s',
  async (...command) => {
    const { service, world } = await serve();
    writeFileSync(
      world.path('f.ndjson'),
      '{"traits":{"$x":1,"email":"own"},"traits\\u002ename":"other"}\n',
    );
    expect((await world.run([...command, 'f.ndjson'])).code).toBe(0);
    const [sent] = written<string | { identity: string }>(service).flat();
    expect(typeof sent === 'string' ? sent : sent?.identity).toBe('own');
  },
);

it('compares long numbers of such a column digit by digit', async () => {
  const { world } = await serve();
  const record = '"identity":"12345678901234567890","type":"profile","profileData":{}';
  writeFileSync(
    world.path('r.ndjson'),
    `{"id":12345678901234567890,${record}}\n{"id":12345678901234567891,${record}}\n`,
  );
  const { code, stderr } = await world.run(['upload', 'r.ndjson', '--identity', 'id']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('r.ndjson:2: validate: column "id"')]);
  expect(stderr).toContain('uploaded 1 of 2 ');
});

it.each(['constructor', '__proto__', 'toString'])(
  'sends a record with a member %s, which JavaScript objects have, too',
  async (name) => {
    const { world } = await serve();
    const record = `{"identity":"u1","type":"profile","profileData":{"${name}":"x"},"${name}":"x"}`;
    writeFileSync(world.path('r.ndjson'), `${record}\n`);
    expect(await world.run(['upload', 'r.ndjson'])).toMatchObject({ code: 0 });
    expect(await world.run(['verify', 'r.ndjson', '--all'])).toMatchObject({ code: 0 });
  },
);

it.each([
  ['objects', { identity: 'eve', Tags: ['x', 'victim'] }],
  ['an array', [{ identity: 'eve', Tags: ['victim'] }]],
  ['objects behind others', { identity: 'eve', Tags: ['victim'] }, '{"identity":"ann"}\n'],
])('makes no record of the inside of pretty-printed JSON: %s', async (_, value, before = '') => {
  const { world, service } = await serve();
  writeFileSync(world.path('x.ndjson'), `${before}${JSON.stringify(value, null, 2)}\n`);
  for (const argv of [['demerge', '--yes'], ['upload']]) {
    const { code, stderr } = await world.run([...argv, 'x.ndjson']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-FORMAT')]);
  }
  expect(JSON.stringify(written(service))).not.toMatch(/victim|eve/);
});
