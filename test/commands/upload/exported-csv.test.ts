import { readFileSync, writeFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../support/property-runs.js';
import { serve, written } from '../../support/serve.js';
import type { World } from '../../support/test-environment.js';

interface Profile {
  readonly identity: string;
  readonly profileData: Record<string, unknown>;
}

const range = ['--event', 'Charged', '--from', '2026-10-01', '--to', '2026-10-02'];
const lines = (records: readonly object[]) =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** Uploads a file, and an event for each user so that exports include them. */
async function fill(world: World, file: string, users: readonly string[]): Promise<string> {
  const { code, stderr } = await world.run(['upload', file]);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  const events = users.map((identity) => {
    return { identity, type: 'event', evtName: 'Charged', ts: 1790848800, evtData: { Amount: 7 } };
  });
  writeFileSync(world.path('events.ndjson'), lines(events));
  expect((await world.run(['upload', 'events.ndjson'])).code).toBe(0);
  return stderr;
}

async function exported(world: World, file: string, ...flags: string[]): Promise<string> {
  const argv = ['export-profiles', ...range, '-o', file, '--overwrite', ...flags];
  expect((await world.run(argv)).code).toBe(0);
  return readFileSync(world.path(file), 'utf8');
}

const profilesOf = (ndjson: string) =>
  ndjson
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Profile & { name?: string; email?: string })
    .map(({ identity, name, email, profileData }) => ({ identity, name, email, profileData }));

/** Moves profiles from one account to another by CSV; returns the exports of both, and what the upload printed. */
async function move(profiles: readonly Profile[], ...flags: string[]) {
  const [from, to] = [await serve(), await serve()];
  const users = profiles.map(({ identity }) => identity);
  writeFileSync(
    from.world.path('p.ndjson'),
    lines(profiles.map((profile) => ({ type: 'profile', ...profile }))),
  );
  await fill(from.world, 'p.ndjson', users);
  const csv = await exported(from.world, 'e.csv', ...flags);
  writeFileSync(to.world.path('e.csv'), csv);
  const stderr = await fill(to.world, 'e.csv', users);
  const before = profilesOf(await exported(from.world, 'e.ndjson'));
  const after = profilesOf(await exported(to.world, 'e.ndjson'));
  return { before, after, csv, csvAfter: await exported(to.world, 'f.csv', ...flags), stderr };
}

const ann = {
  identity: '1001',
  profileData: {
    Name: '42',
    Email: 'ann@x.com',
    City: 'Oslo, "N"',
    Age: 41,
    Points: 1.5,
    Zip: '00123',
    Vip: true,
    'MSG-sms': false,
    Tags: ['a,b', 'c'],
    'a.b': 'dot',
    '😀 "q"': 'line\nbreak',
    Formula: '=1+1',
    Minus: '-5',
    Float: '1e5',
    Said: 'true',
    Brace: '{}',
    Bracket: '[]',
    Nothing: [],
    Empty: {},
    Within: { none: {}, text: '0' },
    Born: '$D_315532800',
  },
};

describe('a CSV that export-profiles wrote', () => {
  it.each([[[]], [['--bom', '--csv-formulas', 'escape']]])(
    'moves profiles with lists, numbers, booleans and flags to another account (%j)',
    async (flags) => {
      const bob = { identity: 'bob', profileData: { City: 'Rome', Score: -3 } };
      const { before, after, stderr } = await move([ann, bob], ...flags);
      expect(after).toEqual(before);
      const { Name: name, Email: email, ...profileData } = ann.profileData;
      expect(after[0]).toMatchObject({ name, email, profileData });
      expect(stderr).toContain('e.csv: recognized as a CSV export');
    },
  );

  it.each(['e.csv', 'e.ndjson'])(
    'warns of further identities, which are not sent: %s',
    async (file) => {
      const { world } = await serve();
      const lone = { identity: 'bob', profileData: {}, all_identities: ['bob'] };
      const merged = {
        identity: 'ann',
        profileData: { City: 'Oslo' },
        all_identities: ['ann', 'a,2'],
      };
      writeFileSync(world.path('e.ndjson'), lines([lone, merged]));
      writeFileSync(
        world.path('e.csv'),
        'identity,profileData.City,all_identities\nbob,,"[""bob""]"\nann,Oslo,"[""ann"",""a,2""]"\n',
      );
      const { code, stderr } = await world.run(['upload', file]);
      expect(code).toBe(0);
      expect(stderr).toContain(
        'some users have further identities in all_identities, which are not sent',
      );
      writeFileSync(world.path('one.ndjson'), lines([lone]));
      expect((await world.run(['upload', 'one.ndjson'])).stderr).not.toContain('further');
    },
  );

  it('is one although somebody added the name of an event', async () => {
    const { world, service } = await serve();
    writeFileSync(world.path('e.csv'), 'identity,evtName,profileData.City\nann,Charged,Rome\n');
    expect((await world.run(['upload', 'e.csv'])).code).toBe(0);
    expect(written(service).flat()).toEqual([
      { identity: 'ann', type: 'profile', profileData: { City: 'Rome' } },
    ]);
  });

  it('warns of members that exported profiles do not have, which are not sent', async () => {
    const { world } = await serve();
    const ann = { identity: 'ann', profileData: { Score: 1 }, platformInfo: [], City: 'Oslo' };
    writeFileSync(world.path('p.ndjson'), lines([ann]));
    const { code, stderr } = await world.run(['upload', 'p.ndjson']);
    expect(code).toBe(0);
    expect(stderr).toContain(
      'warning: some exported profiles have a member "City" beside profileData, which is not sent',
    );
  });

  it.each(['csv', 'ndjson'])(
    'warns of unsubscribed addresses, which an upload does not unsubscribe: .%s',
    async (extension) => {
      const [from, to] = [await serve(), await serve()];
      const ann = { identity: 'ann', profileData: { Email: 'ann@example.test' } };
      writeFileSync(from.world.path('p.ndjson'), lines([{ type: 'profile', ...ann }]));
      await fill(from.world, 'p.ndjson', ['ann']);
      const file = `e.${extension}`;
      for (const isBlocked of [false, true]) {
        writeFileSync(to.world.path(file), await exported(from.world, file));
        const { code, stderr } = await to.world.run(['upload', file]);
        expect(code).toBe(0);
        expect(stderr.includes('some users have blocked addresses')).toBe(isBlocked);
        const words = ['--type', 'email', '--status', 'Unsubscribe', '--input-format', 'list'];
        writeFileSync(from.world.path('list.txt'), 'ann@example.test\n');
        expect((await from.world.run(['subscribe', 'list.txt', ...words])).code).toBe(0);
      }
    },
  );

  it.each([
    ['u.csv', 'identity,Email,MSG-dndEmail\nann,ann@example.test,yes\n'],
    ['u.ndjson', '{"identity":"ann","MSG-dndPhone":true}\n'],
    ['t.ndjson', '{"identity":"ann","type":"profile","profileData":{"MSG-dndWhatsApp": true}}\n'],
  ])('warns of flags of addresses in %s, which an upload does not set', async (file, text) => {
    const { world } = await serve();
    for (const isBlocked of [false, true]) {
      writeFileSync(world.path(file), isBlocked ? text : text.replace(/true|yes/, 'false'));
      for (const options of [['--check'], []]) {
        const { code, stderr } = await world.run(['upload', file, ...options]);
        const isWarned = stderr.includes('some users have blocked addresses');
        expect([code, isWarned]).toEqual([0, isBlocked]);
      }
    }
  });

  it('is not sent to another user where a spreadsheet changed the identity', async () => {
    const csv = [
      'identity,profileData.City,all_identities',
      '7,Bonn,"[""007""]"', // was 007
      '1.23457E+15,Ulm,"[""1234567890123456""]"',
      'Ann,Oslo,"[""ann"",""ann@x.com""]"',
      'bob,Rome,',
      '',
    ].join('\n');
    const { world, service } = await serve();
    writeFileSync(world.path('e.csv'), csv);
    const first = await world.run(['upload', 'e.csv', '--rejects', 'r.csv']);
    expect(first.code).toBe(3);
    expect(readFileSync(world.path('r.csv'), 'utf8')).toContain('is not one of all_identities');
    expect(written(service).flat()).toHaveLength(2);

    const again = await world.run(['upload', 'r.csv', '--rejects', 'r.ndjson']);
    expect(again.code).toBe(3);
    const third = await world.run(['upload', 'r.ndjson', '--rejects', 'last.ndjson']);
    expect(third.code).toBe(3);
    expect(written(service).flat()).toHaveLength(2);
    const corrected = readFileSync(world.path('r.ndjson'), 'utf8').replace('"7"', '"007"');
    writeFileSync(world.path('r.ndjson'), corrected);
    expect((await world.run(['upload', 'r.ndjson'])).code).toBe(3);
    expect(written(service).flat()).toHaveLength(3);
  });

  it('gives the same export for any names and values', { timeout: 60_000 }, async () => {
    const names = fc.oneof(
      fc.constantFrom('__proto__', 'constructor', 'a.b', 'a\\', '"', '😀', 'x y', '=n'),
      fc.string({ minLength: 1, maxLength: 12 }),
    );
    const text = fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.constantFrom('=1', '+x', '@', ',', '"', '\n', 'true story', '007', 'ü'),
      fc.constantFrom('-5', '0', '1.5', '-1e-5', '1E+7', 'true', 'false', '{}', '[]'),
      fc.nat().map(String),
    );
    const values = fc.oneof(
      text.filter((value) => value !== '' && !value.startsWith("'")),
      fc.integer(),
      fc.boolean(),
      fc.array(text.filter(Boolean), { maxLength: 3 }),
      fc.constantFrom({}, { a: {} }, { a: '1', b: 1 }),
    );
    const profiles = fc.uniqueArray(
      fc.record({
        identity: fc.stringMatching(/^[a-z]{3,8}$/),
        profileData: fc.dictionary(names, values, {
          minKeys: 1,
          maxKeys: 6,
          noNullPrototype: true,
        }),
      }),
      { minLength: 1, maxLength: 4, selector: ({ identity }) => identity },
    );
    await fc.assert(
      fc.asyncProperty(profiles, async (all) => {
        const { csv, csvAfter, before, after } = await move(all, '--csv-formulas', 'escape');
        expect(csvAfter).toHaveLength(csv.length); // columns of nested members may change places
        expect(after).toEqual(before);
      }),
      { numRuns: runs(5) },
    );
  });

  it('keeps values and types of a rejected row in the rejects file', async () => {
    const { world, service } = await serve();
    const header = 'identity,profileData.City,profileData.Age,profileData.a\\.b';
    writeFileSync(world.path('e.csv'), `${header}\n,Oslo,41,x\n`);
    expect((await world.run(['upload', 'e.csv'])).code).toBe(3);
    const rejects = readFileSync(world.path('e.csv.rejects.ndjson'), 'utf8');
    writeFileSync(world.path('r.ndjson'), rejects.replace('"identity":""', '"identity":"ann"'));
    expect((await world.run(['upload', 'r.ndjson'])).code).toBe(0);
    expect(written(service).flat()).toEqual([
      { identity: 'ann', type: 'profile', profileData: { City: 'Oslo', Age: 41, 'a.b': 'x' } },
    ]);
  });

  it('keeps text that looks like a number in CSV rejects, also of a numeric identity', async () => {
    const { world, service } = await serve();
    const header = 'identity,profileData.Email,profileData.Zip,profileData.Age,profileData.Home';
    writeFileSync(world.path('e.csv'), `${header}\n1001,nowhere,"75001",41,{}\n`);
    expect((await world.run(['upload', 'e.csv', '--rejects', 'r.csv'])).code).toBe(3);
    const rejects = readFileSync(world.path('r.csv'), 'utf8');
    expect(rejects).toContain('\n1001,nowhere,"75001",41,{},2,');
    writeFileSync(world.path('r.csv'), rejects.replace('nowhere', 'a@b.test'));
    expect((await world.run(['upload', 'r.csv'])).code).toBe(0);
    const profileData = { Email: 'a@b.test', Zip: '75001', Age: 41, Home: {} };
    expect(written(service).at(-1)).toMatchObject([{ identity: '1001', profileData }]);
  });

  it.each(['r.csv', 'r.ndjson'])('is cleaned in %s as in the export', async (file) => {
    const { world, service } = await serve();
    const row = (rest: string): string => `${rest},NULL, x ,"0","[{""objectId"":""dev""}]"\n`;
    writeFileSync(
      world.path('e.csv'),
      `identity,profileData.Email,profileData.City,profileData.Note,profileData.Age,platformInfo\n${row('NULL,a@b.test')}${row('NULL,nowhere')}`,
    );
    const cleaning = ['--null-values=NULL,0', '--trim'];
    expect((await world.run(['upload', 'e.csv', '--rejects', file, ...cleaning])).code).toBe(3);
    const rejects = readFileSync(world.path(file), 'utf8');
    writeFileSync(world.path(file), rejects.replace('nowhere', 'a@b.test'));
    expect((await world.run(['upload', file, ...cleaning])).code).toBe(0);
    const [first, , corrected] = written(service).flat();
    expect(first).toMatchObject({ objectId: 'dev', profileData: { Email: 'a@b.test', Note: 'x' } });
    expect(corrected).toEqual(first);
  });

  it('reads numbers of a program that quotes every cell as numbers', async () => {
    const { world, service } = await serve();
    const header = '"identity","profileData.Age","profileData.Vip"';
    writeFileSync(world.path('e.csv'), `${header}\n"ann","41","true"\n`);
    expect((await world.run(['upload', 'e.csv'])).code).toBe(0);
    expect(written(service).flat()).toMatchObject([{ profileData: { Age: 41, Vip: true } }]);
  });

  it.each([
    ['x.csv', 'identity,events,platformInfo,City\nann,12,ios,Oslo\n'],
    ['x.ndjson', '{"identity":"ann","events":"12","platformInfo":"ios","City":"Oslo"}\n'],
  ])('is not a %s of another program that has columns of these names', async (name, text) => {
    const { world, service } = await serve();
    writeFileSync(world.path(name), text);
    expect((await world.run(['upload', name])).code).toBe(0);
    expect(written(service).flat()).toEqual([
      {
        identity: 'ann',
        type: 'profile',
        profileData: { events: '12', platformInfo: 'ios', City: 'Oslo' },
      },
    ]);
  });

  it('warns of a column that was added to it, and is not sent', async () => {
    const { world } = await serve();
    writeFileSync(
      world.path('e.csv'),
      'identity,email,profileData.City,events.Charged.count,all_identities,platformInfo,Zip\nann,,Oslo,1,"[""ann""]",[],1\n',
    );
    const { stderr } = await world.run(['upload', 'e.csv']);
    expect(stderr).toContain('warning: e.csv: column "Zip" is not sent');
    expect(stderr.match(/is not sent/g)).toHaveLength(1);
  });

  it('is rejected where a program took an identity for a missing value', async () => {
    const { world, service } = await serve();
    const device = '"[{""platform"":""Web"",""objectId"":""dev-9""}]"';
    writeFileSync(
      world.path('e.csv'),
      `identity,profileData.City,all_identities,platformInfo\n,Oslo,"[""NA""]",${device}\n,Rome,[],${device}\n`,
    );
    const { code, stderr } = await world.run(['upload', 'e.csv']);
    expect(code).toBe(3);
    expect(stderr).toContain('e.csv:2: validate: identity: it is empty, but all_identities is');
    expect(written(service).flat()).toMatchObject([
      { objectId: 'dev-9', profileData: { City: 'Rome' } },
    ]);
    expect((await world.run(['upload', 'e.csv.rejects.ndjson'])).code).toBe(3);
    expect(written(service).flat()).toHaveLength(1);
  });

  it('is an ordinary CSV if its columns are mapped', async () => {
    const { world, service } = await serve();
    writeFileSync(world.path('e.csv'), 'identity,profileData.City\nann,Oslo\n');
    const mapped = await world.run(['upload', 'e.csv', '--map', 'profileData.City=Town']);
    expect(written(service).flat()).toMatchObject([{ profileData: { Town: 'Oslo' } }]);
    expect(mapped.stderr).not.toContain('ordinary CSV');

    const typed = await world.run(['upload', 'e.csv', '--types', 'profileData.City:string']);
    expect(typed.stderr).toContain('ordinary CSV: "profileData.City" is sent under this name');
  });
});

it('uploads a CSV that export-events wrote as events', async () => {
  const { world, service } = await serve();
  writeFileSync(
    world.path('e.csv'),
    'profile.identity,profile.name,ts,event_props.Amount,event_props.Item,event_name\n' +
      '1001,Ann,20261001120000,7,"a ""b""",Charged\nbob,,20261001120001,,,Charged\n',
  );
  expect((await world.run(['upload', 'e.csv'])).code).toBe(0);
  const event = { type: 'event', evtName: 'Charged' };
  expect(written(service).flat()).toEqual([
    { identity: '1001', ...event, ts: 1790856000, evtData: { Amount: 7, Item: 'a "b"' } },
    { identity: 'bob', ...event, ts: 1790856001, evtData: {} },
  ]);
});

const columnsOfEvents = 'profile.identity,profile.objectId,ts,event_props.Amount,event_name,Coupon';
const eventRow = 'ann,dev-1,20261001120000,7,Charged,X10';

it('warns of a column that was added to exported events, and is not sent', async () => {
  const { world } = await serve();
  writeFileSync(world.path('e.csv'), `${columnsOfEvents}\n${eventRow}\n`);
  const { stderr } = await world.run(['upload', 'e.csv']);
  expect(stderr).toContain(
    'column "Coupon" is not sent, because exports have none: name it "event_props.Coupon"',
  );
  expect(stderr.match(/is not sent/g)).toHaveLength(1);
});

it.each(['Profile.Identity', 'profile.identity ', 'profile_identity'])(
  'refuses an export whose identities would give way to devices: %s',
  async (name) => {
    const { world, service } = await serve();
    const header = columnsOfEvents.replace('profile.identity', name);
    writeFileSync(world.path('e.csv'), `${header}\n${eventRow}\n`);
    const { code, stderr } = await world.run(['upload', 'e.csv']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-COLUMN-MISSING')]);
    expect(written(service)).toHaveLength(0);
  },
);

it.each([
  [
    'in quotes',
    `"\uFEFFprofile.identity",profile.objectId,ts,event_name\nann,d,20261001120000,E\n`,
  ],
  [
    'behind another column',
    `event_props.A,\uFEFFprofile.identity,profile.objectId,ts,event_name\n1,ann,d,20261001120000,E\n`,
  ],
  [
    'of a header of files that were joined',
    `event_name,\uFEFFprofile.identity,profile.objectId,ts\nE,ann,d,20261001120000\nevent_name,\uFEFFprofile.identity,profile.objectId,ts\n`,
  ],
])('takes no byte order mark for a part of the name: %s', async (_, csv) => {
  const { world, service } = await serve();
  writeFileSync(world.path('e.csv'), csv);
  await world.run(['upload', 'e.csv']);
  expect(written(service).flat()).toMatchObject([{ identity: 'ann', evtName: 'E' }]);
});

it('keeps the types of event properties in a CSV export', async () => {
  const { world, service } = await serve();
  const evtData = { Amount: '7', Price: 7, Sure: 'false' };
  const event = { identity: '1', type: 'event', evtName: 'Charged', ts: 1790848800, evtData };
  writeFileSync(world.path('e.ndjson'), lines([event]));
  expect((await world.run(['upload', 'e.ndjson'])).code).toBe(0);
  const flags = ['--with-event-name', '-o', 'e.csv'];
  expect((await world.run(['export-events', ...range, ...flags])).code).toBe(0);
  expect((await world.run(['upload', 'e.csv', '--again'])).code).toBe(0);
  expect(written(service).at(-1)).toEqual([event]);
});

it('sends flags of addresses as booleans, as a spreadsheet writes them, and none as text', async () => {
  const { world, service } = await serve();
  const header = 'identity,profileData.MSG-email,all_identities\n';
  const rows = ['FALSE', 'true', '"false"', 'yes', '', 'WAHR'].map(
    (flag, n) => `u${n},${flag},"[""u${n}""]"\n`,
  );
  writeFileSync(world.path('p.csv'), header + rows.join(''));
  const { code, stderr } = await world.run(['upload', 'p.csv']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('"WAHR" is not true, false')]);
  const flags = written<{ profileData: object }>(service)
    .flat()
    .map(({ profileData }) => profileData);
  const [on, off] = [{ 'MSG-email': true }, { 'MSG-email': false }];
  expect(flags).toEqual([off, on, off, on, {}]);
  const rejects = readFileSync(world.path('p.csv.rejects.ndjson'), 'utf8');
  writeFileSync(world.path('corrected.ndjson'), rejects.replaceAll('WAHR', 'TRUE'));
  expect((await world.run(['upload', 'corrected.ndjson'])).code).toBe(0);
  expect(written(service).flat().at(-1)).toMatchObject({ identity: 'u5', profileData: on });
});

it('uploads events of a CSV export even if none of them has a property', async () => {
  const { world, service } = await serve();
  const text =
    'profile.identity,events.Charged.count,ts,event_name\nbob,1,20261001120001,Charged\n';
  writeFileSync(world.path('e.csv'), text);
  const { code, stderr } = await world.run(['upload', 'e.csv', '--type', 'event']);
  expect([code, stderr]).toEqual([0, expect.stringContaining('uploaded 1 event')]);
  expect(written(service).flat()).toEqual([
    { identity: 'bob', type: 'event', evtName: 'Charged', ts: 1790856001, evtData: {} },
  ]);
});

it('says how to send a line that cannot be decoded, until its row in the rejects file is corrected', async () => {
  const { world, service } = await serve();
  writeFileSync(world.path('u.csv'), Buffer.from('identity,City\nbob,Z\xfcrich\n', 'latin1'));
  await world.run(['upload', 'u.csv', '--encoding', 'utf-8', '--rejects', 'r.csv']);
  const again = await world.run(['upload', 'r.csv']);
  expect([again.code, again.stderr]).toEqual([3, expect.stringContaining('r.csv:2: parse: its bytes are not UTF-8: correct it here, or send the original input again with its --encoding')]); // prettier-ignore
  const rejects = readFileSync(world.path('r.csv'), 'utf8');
  writeFileSync(world.path('r.csv'), rejects.replace('\n,,', '\nbob,Zürich,'));
  expect((await world.run(['upload', 'r.csv'])).code).toBe(0);
  expect(written(service).flat()).toMatchObject([{ profileData: { City: 'Zürich' } }]);
});

it('keeps the bytes of a line that cannot be decoded in a CSV rejects file', async () => {
  const { world } = await serve();
  const line = Buffer.from('bob,Z\xfcrich', 'latin1');
  writeFileSync(world.path('u.csv'), Buffer.concat([Buffer.from('identity,City\n'), line]));
  await world.run(['upload', 'u.csv', '--encoding', 'utf-8', '--rejects', 'r.csv']);
  expect(readFileSync(world.path('r.csv'), 'utf8')).toContain(`base64: ${line.toString('base64')}`);
});

it('sends a row to no other user whose identity has an apostrophe less', async () => {
  const { world, service } = await serve();
  const profiles = [
    ['identity,profileData.City,all_identities', ''],
    [`'@ann,Oslo,"[""@ann""]"`, '@ann'], // as --csv-formulas escape writes it
    [`'@bob,Rome,"[""'@bob""]"`, "'@bob"],
    ["'@eve,Bonn,", undefined],
    ["'12,Ulm,", undefined],
    [`'13,Ulm,"[""'13""]"`, "'13"],
  ] as const;
  writeFileSync(world.path('p.csv'), profiles.map(([row]) => `${row}\n`).join(''));
  const first = await world.run(['upload', 'p.csv']);
  expect([first.code, first.stderr]).toEqual([3, expect.stringContaining('may be that of --csv-formulas escape')]); // prettier-ignore
  const sent = () => written(service).flat().map(({ identity }) => identity); // prettier-ignore
  expect(sent()).toEqual(profiles.flatMap(([, identity]) => identity || []));
  expect((await world.run(['upload', 'p.csv.rejects.ndjson'])).code).toBe(3);
  expect(sent()).toHaveLength(3);

  const events = "profile.identity,ts,event_name,event_props.a\n'@eve,20261001120000,A,1\n";
  writeFileSync(world.path('e.csv'), events);
  const { code, stderr } = await world.run(['upload', 'e.csv']);
  expect([code, stderr]).toEqual([
    3,
    expect.stringMatching(/profile\.identity: .* has an apostrophe/),
  ]);
});

it.each([
  ['profile.identity,ts,event_name,event_props.a', '20261001120000,A,1'],
  ['identity,profileData.City', 'Oslo'],
  ['identity,profileData.City,all_identities', 'Oslo,[]'],
])('sends no row of an export whose identity a program has changed: %s', async (header, rest) => {
  const { world, service } = await serve();
  const changed = ['9.17012E+11', '1001.0', 'NULL', 'nan', '#REF!', "'007"];
  const rows = [...changed, 'ann'].map((identity) => `${identity},${rest}\n`);
  writeFileSync(world.path('e.csv'), `${header}\n${rows.join('')}`);
  const { code, stderr } = await world.run(['upload', 'e.csv']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('is a placeholder')]);
  expect((await world.run(['upload', 'e.csv.rejects.ndjson'])).code).toBe(3);
  const sent = () =>
    written(service)
      .flat()
      .map(({ identity }) => identity);
  expect(sent()).toEqual(['ann']);
  expect((await world.run(['upload', 'e.csv.rejects.ndjson', '--null-values', ''])).code).toBe(0);
  expect(sent()).toEqual(['ann', ...changed]);
});

it('takes TRUE for no spelling of the identity true', async () => {
  const { world, service } = await serve();
  const rows = ['TRUE,"[""true""]"', 'false,"[""false""]"', 'ANN,"[""ann""]"'];
  writeFileSync(world.path('p.csv'), `identity,all_identities\n${rows.join('\n')}\n`);
  expect((await world.run(['upload', 'p.csv'])).code).toBe(3);
  expect(written(service).flat()).toMatchObject([{ identity: 'false' }, { identity: 'ANN' }]);
});

it('sends rows of an export with the columns of the format of the service as records', async () => {
  const { world, service } = await serve();
  const rows = ['identity,type,profileData.City', 'ann,profile,Oslo', 'bob,profile,Rome'];
  writeFileSync(world.path('e.csv'), `${rows.join('\n')}\n`);
  const { code, stderr } = await world.run(['upload', 'e.csv']);
  expect([code, stderr]).toEqual([0, expect.stringContaining('uploaded 2')]);
  expect(written(service).flat()).toEqual([
    { identity: 'ann', type: 'profile', profileData: { City: 'Oslo' } },
    { identity: 'bob', type: 'profile', profileData: { City: 'Rome' } },
  ]);
});

it('demerges no identity that a spreadsheet changed, neither from the export nor from its rejects', async () => {
  const { world, service } = await serve();
  const rows = '7,"[""007""]",Rome\n12,"[""12"",""x""]",Oslo\n';
  writeFileSync(world.path('ex.csv'), `identity,all_identities,profileData.City\n${rows}`);
  const { code, stderr } = await world.run(['demerge', 'ex.csv', '--yes']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('"7" is not one of all_identities')]);
  expect((await world.run(['demerge', 'ex.csv.rejects.ndjson', '--yes'])).code).toBe(3);
  expect(written(service).flat()).toEqual(['12']);
});

it.each<[string, string]>([
  ['e.ndjson', '{"identity":"ann","ts":1700000000,"evtName":"E","Amount":5,"events":{}}\n'],
  [
    'e.ndjson',
    '{"identity":"ann","ts":1700000000,"evtName":"E","Amount":5,"profileData":{"x":1}}\n',
  ],
  ['e.ndjson', '{"identity":"ann","ts":1700000000,"evtName":"E","Amount":5,"platformInfo":[{"objectId":"o"}]}\n'], // prettier-ignore
  ['e.csv', 'identity,ts,evtName,Amount,profileData.City\nann,1700000000,E,5,Oslo\n'],
  ['e.csv', 'identity,ts,evtName,Amount,profile\nann,1700000000,E,5,gold\n'],
])(
  'sends a row as an event that --type event names, whatever members it has: %s %s',
  async (name, text) => {
    const { world, service } = await serve();
    writeFileSync(world.path(name), text);
    const { code } = await world.run(['upload', name, '--type', 'event']);
    expect(code).toBe(name === 'e.csv' ? 0 : 3); // the service accepts no objects in events
    expect(written(service).flat()).toMatchObject([
      { identity: 'ann', type: 'event', evtName: 'E', ts: 1_700_000_000 },
    ]);
  },
);

it.each([
  [
    'text only',
    '"u1","12345","1.50","true","[]",5',
    { Zip: '12345', Pin: '1.50', Opt: 'true', L: '[]', Age: 5 },
    false,
  ],
  [
    'every cell',
    '"u1","12345","1.50","true","[]","5"',
    { Zip: 12345, Pin: 1.5, Opt: true, L: [], Age: 5 },
    true,
  ],
])(
  'reads an export that another program has saved with quotes around %s',
  async (_, row, profileData, warns) => {
    const { service, world } = await serve();
    const header = [
      'identity',
      ...['Zip', 'Pin', 'Opt', 'L', 'Age'].map((name) => `profileData.${name}`),
    ];
    writeFileSync(world.path('x.csv'), `${header.map((name) => `"${name}"`).join(',')}\n${row}\n`);
    const { code, stderr } = await world.run(['upload', 'x.csv']);
    expect([code, stderr.includes('every cell in quotes')]).toEqual([0, warns]);
    expect(written(service).flat()).toMatchObject([{ identity: 'u1', profileData }]);
  },
);

it('rejects rows of an export whose column names are nested without end', async () => {
  const { service, world } = await serve();
  const deep = `profileData${'.a'.repeat(45_000)}`;
  writeFileSync(world.path('x.csv'), `identity,${deep},${deep}.b\nu1,x,\nu2,,y\nu3,,\n`);
  const { code, stderr } = await world.run(['upload', 'x.csv']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('nests deeper than 200')]);
  expect(written(service).flat()).toMatchObject([{ identity: 'u3', profileData: {} }]);
});
