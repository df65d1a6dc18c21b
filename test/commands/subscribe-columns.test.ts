import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { quoteForShell } from '../../src/wording.js';
import { jsonRunner, serve, written } from '../support/serve.js';

const phone = (value: string, status: string) => ({ type: 'phone', value, status });

it.each([
  ['list.csv', 'Name,Mobil,Kanal,Status\nAnn,0151 12345678,Phone,opted_out\nBob,+49 151 12345679,phone,Opt-In\n'], // prettier-ignore
  ['list.ndjson', '{"Mobil":"0151 12345678","Kanal":"Phone","Status":"opted_out"}\n{"Mobil":15112345679,"Kanal":"phone","Status":"Opt-In"}\n'], // prettier-ignore
])(
  'sends the columns of %s that --map names, phones in the spelling of the service',
  async (name, text) => {
    const { world, service } = await serve();
    writeFileSync(world.path(name), text);
    const map = ['Mobil=value', 'Kanal=type', 'Status=status'].flatMap((each) => ['--map', each]);
    const argv = [name, ...map, '--types', 'Mobil:phone(DE)'];
    expect((await world.run(['subscribe', ...argv])).code).toBe(0);
    expect(written(service).flat()).toEqual([
      phone('+4915112345678', 'Unsubscribe'),
      phone('+4915112345679', 'Resubscribe'),
    ]);
  },
);

it('reads map, types and lowercase from a mapping file, and flags win', async () => {
  const { world, service } = await serve();
  writeFileSync(world.path('m.json'), '{"map":{"Mail":"value"},"lowercase":["Mail"]}');
  writeFileSync(world.path('list.csv'), 'Mail\nANN@x.com\n');
  const argv = ['subscribe', 'list.csv', '--mapping', 'm.json', '--type', 'email'];
  expect((await world.run([...argv, '--status', 'Unsubscribe'])).code).toBe(0);
  expect(written(service).flat()).toEqual([
    { type: 'email', value: 'ann@x.com', status: 'Unsubscribe' },
  ]);
});

it.each([
  ['l.csv', 'value\n+4915112345670\n+4915112345678\n" +4915112345679 "\n'],
  [
    'l.ndjson',
    '{"value":"+4915112345670"}\n{"value":"+4915112345678"}\n{"value":" +4915112345679 "}\n',
  ],
])(
  'cleans the values of %s as the mapping file says, also to verify them; flags win',
  async (name, text) => {
    const { world, service } = await serve();
    const mapping = { trim: true, nullValues: ['+4915112345670', '+4915112345678'] };
    writeFileSync(world.path('m.json'), JSON.stringify(mapping));
    writeFileSync(world.path(name), text);
    const flags = [name, '--mapping', 'm.json', '--type', 'phone', '--status', 'Unsubscribe'];
    const run = jsonRunner<object>(world);
    for (const more of [['--check'], []]) {
      const { code, summary } = await run(['subscribe', ...flags, ...more]);
      expect([code, summary]).toMatchObject([3, { read: 3, rejected: 2 }]);
    }
    expect(written(service).flat()).toEqual([phone('+4915112345679', 'Unsubscribe')]);
    const verified = await world.run(['verify', '--subscriptions', ...flags, '--json']);
    const summary = verified.stderr.trim().split('\n').at(-1) ?? '';
    expect(JSON.parse(summary)).toMatchObject({ read: 3, rejected: 2 });
    expect((await run(['subscribe', ...flags, '--null-values', ''])).code).toBe(0);
    const values = ['+4915112345670', '+4915112345678', '+4915112345679'];
    expect(written(service).slice(1).flat()).toEqual(values.map((value) => phone(value, 'Unsubscribe'))); // prettier-ignore
  },
);

it.each([{ trim: true }, { nullValues: ['+4915112345679'] }])(
  'does not resume a run after %j was added to its mapping file',
  async (cleaning) => {
    const { world, service } = await serve();
    writeFileSync(world.path('m.json'), '{}');
    writeFileSync(world.path('l.csv'), 'value\n+4915112345678\n+4915112345679\n');
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    const flags = ['--type', 'phone', '--status', 'Unsubscribe', '--chunk-size', '1'];
    const argv = ['subscribe', 'l.csv', '--mapping', 'm.json', ...flags];
    expect((await world.run([...argv, '--concurrency', '1'])).code).toBe(4);
    writeFileSync(world.path('m.json'), JSON.stringify(cleaning));
    const changed = await world.run([...argv, '--resume']);
    expect([changed.code, changed.stderr]).toEqual([8, expect.stringContaining('E-RUN-CHANGED')]);
    writeFileSync(world.path('m.json'), '{}');
    expect((await world.run([...argv, '--resume'])).code).toBe(0);
  },
);

it.each([
  [['--map', 'Mobile=value'], 8, 'column "Mobile" missing; did you mean "Mobil"?'],
  [['--map', 'Mobil=number'], 2, 'column "Mobil" cannot be "number"'],
  [['--map', 'Mobil=value', '--map', 'Name=value'], 2, 'column "Name" cannot be "value"'],
  [['--map', 'Mobil=value', '--types', 'Mobil:date'], 2, 'cannot have the type date'],
  [['--mapping', 'm.json'], 2, 'm.json: not a mapping file of subscriptions'],
  [[], 8, 'name the column of the numbers or addresses with --map <column>=value'],
])('refuses %j before anything is sent', async (flags, code, message) => {
  const { world, service } = await serve();
  writeFileSync(world.path('m.json'), '{"map":{"Mobil":"value"},"drop":["Name"]}');
  writeFileSync(world.path('list.csv'), 'Name,Mobil\nAnn,+4915112345678\n');
  const argv = ['subscribe', 'list.csv', '--type', 'phone', '--status', 'Unsubscribe', ...flags];
  const run = await world.run(argv);
  expect([run.code, run.stderr]).toEqual([code, expect.stringContaining(message)]);
  expect(written(service).flat()).toEqual([]);
});

it.each([
  ['Status', ['--status', 'Resubscribe'], 'value,type,Status\na@x.com,email,Unsubscribe\n'],
  ['TYPE', ['--type', 'phone'], 'value,TYPE,status\n+4915112345678,whatsapp,Unsubscribe\n'],
])('rejects a row whose column "%s" contradicts a flag', async (column, flags, text) => {
  const { world, service } = await serve();
  const part = column.toLowerCase();
  const [header, cells] = text.split('\n').map((line) => line.split(','));
  const record = Object.fromEntries(header!.map((name, index) => [name, cells![index]]));
  writeFileSync(world.path('l.csv'), text);
  writeFileSync(world.path('l.ndjson'), `${JSON.stringify(record)}\n`);
  for (const file of ['l.csv', 'l.ndjson']) {
    const run = await world.run(['subscribe', file, ...flags]);
    const fix = `read it with --map ${column}=${part}`;
    expect([run.code, run.stderr]).toEqual([3, expect.stringContaining(fix)]);
    expect(written(service).flat()).toEqual([]);
    const map = ['--map', `${column}=${part}`];
    expect((await world.run(['subscribe', file, ...flags, ...map])).code).toBe(0);
    const sent = { type: record[column === 'TYPE' ? 'TYPE' : 'type'], status: 'Unsubscribe' };
    expect(written(service).flat()).toMatchObject([sent]);
    await service.reset();
  }
});

it.each([
  ['resubscribes', 'Unsubscribed ', 'Resubscribe', 'is Unsubscribe'],
  ['resubscribes', 'opted out', 'Resubscribe', 'is Unsubscribe'],
  ['resubscribes', 'Opt Out', 'Resubscribe', 'is Unsubscribe'],
  ['unsubscribes', 'Subscribed', 'Unsubscribe', 'is Resubscribe'],
])('%s nobody whose column "Status" is "%s"', async (_, status, flag, found) => {
  const { world, service } = await serve();
  writeFileSync(world.path('l.csv'), `value,type,Status\na@x.com,email,${status}\n`);
  const { code, stderr } = await world.run(['subscribe', 'l.csv', '--status', flag]);
  expect([code, stderr]).toEqual([3, expect.stringContaining(found)]);
  expect(written(service).flat()).toEqual([]);
});

it.each(['Status ', ' status', 'Status_', 'STATUS', 'Subscription Status', 'subscription-status'])(
  'rejects a row that contradicts --status in a column "%s"',
  async (column) => {
    const { world, service } = await serve();
    writeFileSync(world.path('l.csv'), `${column},value\nSubscribed,a@x.com\n`);
    writeFileSync(
      world.path('l.ndjson'),
      `${JSON.stringify({ [column]: 'Subscribed', value: 'a@x.com' })}\n`,
    );
    for (const file of ['l.csv', 'l.ndjson']) {
      const { code, stderr } = await world.run([
        'subscribe',
        file,
        '--type',
        'email',
        '--status',
        'Unsubscribe',
      ]);
      expect([code, stderr]).toEqual([
        3,
        expect.stringContaining('is Resubscribe, and --status is Unsubscribe'),
      ]);
      expect(stderr).toContain(quoteForShell(`${column}=status`));
      expect(written(service).flat()).toEqual([]);
    }
  },
);

it('sends rows whose columns "Status" and "Type" are about something else', async () => {
  const { world, service } = await serve();
  writeFileSync(world.path('crm.csv'), 'value,Status,Type\na@x.com,active,optin\n');
  const flags = ['--type', 'email', '--status', 'Unsubscribe'];
  expect((await world.run(['subscribe', 'crm.csv', ...flags])).code).toBe(0);
  expect(written(service).flat()).toMatchObject([{ type: 'email', status: 'Unsubscribe' }]);
});

it('refuses an input if no JSON record has a column that a flag names', async () => {
  const { world, service } = await serve();
  writeFileSync(world.path('l.ndjson'), '{"type":"email","value":"A@x.com","status":"opt-out"}\n');
  const stdin = readFileSync(world.path('l.ndjson'));
  for (const file of ['l.ndjson', '-']) {
    const run = await world.run(['subscribe', file, '--lowercase', 'Mail'], { stdin });
    expect([run.code, run.stderr]).toEqual([8, expect.stringContaining('no record has the column "Mail"')]); // prettier-ignore
  }
  expect(written(service).flat()).toHaveLength(0);
});

it('sends each number once in one of two shards, however it is written', async () => {
  const { world, service } = await serve();
  const numbers = ['0151 12345678', '+49 151 12345678', '0049 151 12345678', '0151 12345679'];
  writeFileSync(world.path('list.csv'), `value\n${numbers.join('\n')}\n`);
  const argv = ['subscribe', 'list.csv', '--type', 'phone', '--status', 'Unsubscribe'];
  const sent: string[][] = [];
  for (const shard of ['1/2', '2/2']) {
    const before = written(service).length;
    const flags = ['--types', 'value:phone(DE)', '--shard', shard];
    expect((await world.run([...argv, ...flags])).code).toBe(0);
    const records = written<{ value: string }>(service).slice(before).flat();
    sent.push(records.map(({ value }) => value));
  }
  expect(sent.flat().toSorted()).toEqual([...Array.from({ length: 3 }, () => '+4915112345678'), '+4915112345679']); // prettier-ignore
  expect(sent[0]!.filter((value) => sent[1]!.includes(value))).toEqual([]);
});

it('verifies subscriptions with the mapping flags of the write', async () => {
  const { world } = await serve();
  writeFileSync(world.path('u.csv'), 'identity,Phone\nann,+4915112345678\n');
  writeFileSync(world.path('list.csv'), 'Mobil\n0151 12345678\n');
  expect((await world.run(['upload', 'u.csv'])).code).toBe(0);
  const flags = ['--map', 'Mobil=value', '--types', 'Mobil:phone(DE)', '--type', 'phone'];
  const argv = ['list.csv', ...flags, '--status', 'Unsubscribe'];
  expect((await world.run(['subscribe', ...argv])).code).toBe(0);
  const run = await world.run(['verify', '--subscriptions', ...argv, '--json']);
  const summary = run.stderr.trim().split('\n').at(-1) ?? '';
  expect([run.code, JSON.parse(summary)]).toMatchObject([0, { read: 1, rejected: 0 }]);
});

describe('paths in nested JSON', () => {
  const nested = [
    { contact: { mobile: '0151 12345678' }, consent: { state: 'opted_out' }, 'a.b': 'x' },
    { contact: { mobile: '+49 151 12345679' }, consent: { state: 'opt-in' }, 'a.b': 'y' },
  ];

  it.each([
    ['l.ndjson', nested.map((each) => `${JSON.stringify(each)}\n`).join(''), []],
    ['l.json', JSON.stringify({ total: 2, data: { users: nested } }), ['--records', 'data.users']],
  ])('subscribes the values of %s', async (name, text, more) => {
    const { world, service } = await serve();
    writeFileSync(world.path(name), text);
    const flags = ['--map', 'contact.mobile=value', '--map', 'consent.state=status', ...more];
    const types = ['--types', 'contact.mobile:phone(DE)', '--type', 'phone'];
    expect((await world.run(['subscribe', name, ...flags, ...types])).code).toBe(0);
    expect(written(service).flat()).toEqual([
      phone('+4915112345678', 'Unsubscribe'),
      phone('+4915112345679', 'Resubscribe'),
    ]);
  });

  it.each([
    ['user.id', [{ user: { id: 'ann' } }, { user: { id: 'bob' } }]],
    [String.raw`user\.id`, [{ 'user.id': 'ann' }, { 'user.id': 'bob' }]],
    ['user.id', [{ 'user.id': 'ann' }, { 'user.id': 'bob' }]],
  ])('demerges and looks up the identities at %s', async (path, records) => {
    const { world, service } = await serve();
    writeFileSync(world.path('u.csv'), 'identity,City\nann,Oslo\nbob,Bonn\n');
    writeFileSync(world.path('l.json'), JSON.stringify({ rows: records }));
    expect((await world.run(['upload', 'u.csv'])).code).toBe(0);
    const flags = ['--records', 'rows', '--identity', path];
    const found = await world.run(['get-profile', '--input', 'l.json', ...flags]);
    expect([found.code, found.stdout.match(/Oslo|Bonn/g)]).toEqual([0, ['Oslo', 'Bonn']]);
    expect((await world.run(['demerge', 'l.json', ...flags, '--yes'])).code).toBe(0);
    expect(written(service).at(-1)).toEqual(['ann', 'bob']);
  });

  it('refuses a path that no record has in get-profile, and reads a file in which only the last has it', async () => {
    const { world, service } = await serve();
    writeFileSync(world.path('l.ndjson'), '{"user":{"id":"ann"}}\n{"user":{"mail":"bob"}}\n');
    const lookUp = (path: string) =>
      world.run(['get-profile', '--input', 'l.ndjson', '--identity', path]);
    const before = service.requests().length;
    const refused = await lookUp('user.name');
    expect([refused.code, refused.stderr]).toEqual([8, expect.stringContaining('no record has the column "user.name"')]); // prettier-ignore
    expect(service.requests()).toHaveLength(before);
    const found = await lookUp('user.mail');
    expect([found.code, found.stderr]).toEqual([3, expect.stringContaining('l.ndjson:2: service')]);
  });

  it.each(['demerge', 'subscribe'])('refuses a path that no record has in %s', async (command) => {
    const { world, service } = await serve();
    const flags =
      command === 'demerge'
        ? ['--identity', 'user.mail', '--yes']
        : ['--map', 'user.mail=value', '--type', 'email', '--status', 'Unsubscribe'];
    writeFileSync(world.path('l.ndjson'), '{"user":{"id":"ann"}}\n');
    const run = await world.run([command, 'l.ndjson', ...flags]);
    expect([run.code, run.stderr]).toEqual([8, expect.stringContaining('no record has the column "user.mail"')]); // prettier-ignore
    expect(written(service).flat()).toEqual([]);
  });
});
