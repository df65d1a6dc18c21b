import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { accountAt } from '../../support/account-environment.js';
import { makeWorld, type World } from '../../support/test-environment.js';

// `upload --preview --write-mapping`: a mapping file is drafted from the data.

/** Nothing listens at this account's address: a request would be an error. */
const nowhere = accountAt('http://127.0.0.1:1', 'seeded-secret-7f3a');

function worldWith(files: Readonly<Record<string, string>>): World {
  const world = makeWorld({ env: nowhere });
  for (const [name, content] of Object.entries(files)) writeFileSync(world.path(name), content);
  return world;
}

const times = (count: number, row: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => `${row(n)}\n`).join('');

const crm =
  'Customer ID,e-mail, Full Name ,Mobile Number,dob,age,Plan,Zip,Signed Up,Score,active,MSG-email,"a,""b"": =c",City\n' +
  times(
    1008,
    (n) =>
      `c${n},x${n}@x.de,Ann ${n},+4915112345${n},1955-01-0${1 + (n % 9)},${n % 90},${n % 2 ? 'free' : 'paid'},0123${n % 2},2024-01-02T03:04,${n % 2 ? 1.5 : 2},${n % 3 ? 'yes' : 'No'},1,${n},${n === 3 ? '' : 'Köln'}`,
  );

describe('upload --preview --write-mapping', () => {
  it('drafts missing values that leave the identities of the next file checked', async () => {
    const world = worldWith({
      'monday.csv': 'identity,City\nu1,Berlin\nu2,-\nu3,Rome\n',
      'tuesday.csv':
        'identity,City\nu1,-\n-,Ulm\nNULL,Bonn\nnan,Paris\n4.91512E+11,Oslo\n123.0,Oslo\n#REF!,X\n\\N,Y\n',
    });
    await world.run(['upload', 'monday.csv', '--preview', '--write-mapping', 'm.json']);
    const draft = JSON.parse(readFileSync(world.path('m.json'), 'utf8')) as object;
    expect(draft).toMatchObject({ nullValues: ['-'] });
    const check = ['--check', '--mapping', 'm.json'];
    const { code, stderr } = await world.run(['upload', 'tuesday.csv', ...check]);
    expect(stderr).toContain('7 rejected');
    expect(code).toBe(3);
    // Without the mapping, "-" is not null.
    const again = await world.run(['upload', 'tuesday.csv.rejects.ndjson', '--check']);
    expect(again.stderr).toContain('7 rejected');
  });

  const rowsOf = (header: string, row: (n: number) => string): string =>
    `${header}\n${times(300, row)}`;
  it.each([
    ['beside an id', { id: 'u5' }, [], 'id'],
    ['beside an id that options name', { id: 'u5', identity: 'ann' }, ['--identity', 'id'], 'id'],
    ['beside an address', { email: 'a@x.de' }, [], 'email'],
    ['that options name', { id: 'u5' }, ['--identity', 'form.identity'], 'form.identity'],
  ])('takes a nested identity for data unless options name it: %s', async (_, row, flags, key) => {
    const form = { identity: 'bob', objectId: 'x', City: 'Oslo' };
    const world = worldWith({ 'n.ndjson': `${JSON.stringify({ ...row, form })}\n` });
    const argv = ['upload', 'n.ndjson', ...flags, '--preview', '--write-mapping', 'm.json'];
    const { code, stderr } = await world.run(argv);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`identity "${key}"`)]);
    const check = await world.run(['upload', 'n.ndjson', '--check', '--mapping', 'm.json']);
    expect([check.code, check.stderr]).toEqual([0, expect.stringContaining('check: ')]);
    const shown = await world.run(['upload', 'n.ndjson', '--preview', '--mapping', 'm.json']);
    if (key === 'form.identity') expect(shown.stdout).toContain('"identity":"bob"');
    else expect(shown.stdout).toContain('"form.identity":"bob"');
  });

  it.each(['Identity,identity,City', 'IDENTITY,City,identity', 'City,i d e n t i t y,identity'])(
    'prefers the column "identity", as upload does, to one with another spelling: %s',
    async (header) => {
      const world = worldWith({ 'u.csv': `${header}\nx1,x2,x3\ny1,y2,y3\n` });
      const argv = ['upload', 'u.csv', '--preview', '--write-mapping', 'm.json'];
      const { code, stderr } = await world.run(argv);
      expect([code, stderr]).toEqual([0, expect.stringContaining('identity "identity"')]);
      const drafted = await world.run(['upload', 'u.csv', '--preview', '--mapping', 'm.json']);
      const value = `x${header.split(',').indexOf('identity') + 1}`;
      expect(drafted.stdout).toContain(`"identity":"${value}"`);
    },
  );

  it('does not infer a nested identity of JSON', async () => {
    const world = worldWith({ 'n.ndjson': '{"a":1,"form":{"identity":"bob"}}\n' });
    const argv = ['upload', 'n.ndjson', '--preview', '--write-mapping', 'm.json'];
    const { code, stderr } = await world.run(argv);
    expect([code, stderr]).toEqual([
      8,
      expect.stringContaining('no column looks like an identity'),
    ]);
  });

  const answers = { 'customer id': 'bob', email: 'bob@x.de', date: '1999-01-01', event: 'Left' };
  it.each([
    ['identity and Email', { answers, email: 'a@x.de' }, [], 'email', '"identity":"a@x.de"'],
    ['Email', { identity: 'a', answers, email: 'a@x.de' }, [], 'identity', '"Email":"a@x.de"'],
    [
      'time and name of an event',
      { answers, identity: 'a', event: 'Seen', time: '2026-01-02T03:04:05Z' },
      ['--type', 'event'],
      'identity',
      '"evtName":"Seen","ts":1767323045',
    ],
    ['Email beside an identity', { email: 'a@x.de', answers }, [], 'email', '"answers.email":'],
    [
      'a flag',
      { identity: 'a', answers: { 'MSG-email': true }, 'msg-email': false },
      [],
      'identity',
      '"MSG-email":false',
    ],
    ['an identity that a program nests', { id: 'row 1', user: { id: 'a' } }, [], 'user.id', '"a"'],
  ])('prefers columns to the values that visitors name: %s', async (_, row, flags, key, sent) => {
    const world = worldWith({ 'n.ndjson': `${JSON.stringify(row)}\n` });
    const draft = ['upload', 'n.ndjson', ...flags, '--preview', '--write-mapping', 'm.json'];
    const { code, stderr } = await world.run(draft);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`identity "${key}"`)]);
    const drafted = ['upload', 'n.ndjson', ...flags, '--preview', '--mapping', 'm.json'];
    expect((await world.run(drafted)).stdout).toContain(sent);
  });

  it.each(['1790000000000', '01.11.2026 10:00'])(
    'drafts no time of an event from an object while a column is named like it: %s',
    async (timestamp) => {
      const world = worldWith({
        'n.ndjson': `${JSON.stringify({ identity: 'a', timestamp, answers })}\n`,
      });
      const event = ['--type', 'event', '--event-name', 'Booked'];
      await world.run(['upload', 'n.ndjson', ...event, '--preview', '--write-mapping', 'm.json']);
      const check = await world.run([
        'upload',
        'n.ndjson',
        ...event,
        '--mapping',
        'm.json',
        '--check',
      ]);
      expect([check.code, check.stderr]).toEqual([3, expect.stringContaining('ts is missing')]);
    },
  );

  it('drafts an object whose name ends in a backslash', async () => {
    const rows = [
      { identity: 'u1', plan: 'x' },
      { identity: 'u2', 'a\\': { b: 1 } },
    ];
    const world = worldWith({ 'n.ndjson': rows.map((row) => `${JSON.stringify(row)}\n`).join('') });
    const argv = ['upload', 'n.ndjson', '--preview', '--write-mapping', 'm.json'];
    expect(await world.run(argv)).toMatchObject({ code: 0 });
    const check = await world.run(['upload', 'n.ndjson', '--check', '--mapping', 'm.json']);
    expect([check.code, check.stderr]).toEqual([0, expect.stringContaining('2 records')]);
  });

  it.each([
    ['an identity', rowsOf('identity,City', (n) => `${n === 150 ? ' bob' : `u${n}`},Oslo`)],
    ['most identities', rowsOf('identity,City', (n) => `${n === 150 ? ' bob' : ` u${n}`},Oslo`)],
    ['a comment', rowsOf('identity,Comment', (n) => `u${n},${n === 7 ? 'hi ' : `x${n}`}`)],
    ['the only comment', rowsOf('identity,Comment', (n) => `u${n},${n === 7 ? 'hi ' : ''}`)],
    ['all of three comments', 'identity,Comment\nu1, hi\nu2, ho\nu3, he\n'],
    ['a dropped column', rowsOf('identity,Drop,City', (n) => `u${n}, x,Oslo`)],
  ])('does not trim because of whitespace around %s', async (_, text) => {
    const world = worldWith({
      'u.csv': text,
      'later.csv': `${text.slice(0, text.indexOf('\n'))}\n bob,attack\n`,
    });
    const argv = ['upload', 'u.csv', '--preview', '--write-mapping', 'm.json'];
    if (text.includes('Drop')) argv.push('--drop', 'Drop');
    const { stderr } = await world.run(argv);
    expect(stderr).not.toContain(': trim: ');
    expect(readFileSync(world.path('m.json'), 'utf8')).not.toContain('trim');
    const later = ['upload', 'later.csv', '--check', '--mapping', 'm.json'];
    expect((await world.run(later)).code).toBe(3);
  });

  it('rejects the few padded values that do not fit a type, and expects no few values', async () => {
    const text = rowsOf('identity,Seats,Plan', (n) =>
      n === 7 ? `u${n},8 ,free ` : `u${n},${n},${n % 2 ? 'free' : 'paid'}`,
    );
    const world = worldWith({ 'u.csv': text });
    const argv = ['upload', 'u.csv', '--preview', '--write-mapping', 'm.json'];
    const { code, stdout } = await world.run(argv);
    expect([code, stdout]).toEqual([3, expect.stringContaining('"8 " is not an integer')]);
    const draft = JSON.parse(readFileSync(world.path('m.json'), 'utf8')) as object;
    expect(draft).toEqual({
      identity: 'identity',
      map: { Seats: 'Seats', Plan: 'Plan' },
      types: { Seats: 'integer' },
    });
  });

  it('takes a padded word for a missing value only if it trims', async () => {
    const missing = (other: string) =>
      rowsOf('identity,City', (n) => `u${n},${n < 3 ? ' NULL ' : other}`);
    const world = worldWith({ 'u.csv': missing('Oslo'), 'v.csv': missing(' Oslo') });
    const argv = ['--preview', '--write-mapping', 'm.json', '--overwrite'];
    const plain = await world.run(['upload', 'u.csv', ...argv]);
    expect(plain.stderr).not.toContain('missing');
    const padded = await world.run(['upload', 'v.csv', ...argv]);
    expect(padded.stderr).toContain('"City": 3 values are "NULL", read as missing\n');
    expect(padded.stderr).toContain(
      '"City": trim: 300 of 300 rows have whitespace around the value; removed from all columns, the identity included\n',
    );
    const draft = JSON.parse(readFileSync(world.path('m.json'), 'utf8')) as object;
    expect(draft).toMatchObject({ trim: true, nullValues: ['NULL'] });
  });

  it('drafts trim on request', async () => {
    const world = worldWith({ 'u.csv': 'identity,City\n u1, Oslo\n' });
    const argv = ['upload', 'u.csv', '--trim', '--preview', '--write-mapping', 'm.json'];
    expect((await world.run(argv)).code).toBe(0);
    expect(readFileSync(world.path('m.json'), 'utf8')).toContain('"trim": true');
  });

  it.each([
    ['blanks', ' '],
    ['no-break spaces', '\u00a0'],
  ])('reads a number before 300,000 %s and a letter in linear time', async (_, blank) => {
    const world = worldWith({ 'u.csv': `identity,Size\nu1,"1${blank.repeat(300_000)}x"\nu2,2\n` });
    const argv = ['upload', 'u.csv', '--preview', '--write-mapping', 'm.json'];
    expect((await world.run(argv)).code).toBe(0); // it took minutes
  });

  it('writes columns that are named like members of every object', async () => {
    const world = worldWith({ 'u.csv': 'identity,constructor,toString,__proto__\na,x,y,z\n' });
    const argv = ['upload', 'u.csv', '--preview', '--write-mapping', 'm.json'];
    const { code, stderr } = await world.run(argv);
    expect(stderr).toContain('wrote m.json: identity "identity", 4 columns');
    expect(code).toBe(0);
  });

  it('infers the type and expectations of every column', async () => {
    const world = worldWith({ 'crm.csv': crm });
    const argv = ['upload', 'crm.csv', '--preview', '--write-mapping', 'm.json'];
    const { code, stdout, stderr } = await world.run(argv);
    expect(code).toBe(0);
    expect(JSON.parse(readFileSync(world.path('m.json'), 'utf8'))).toEqual({
      identity: 'Customer ID',
      map: {
        'e-mail': 'Email',
        ' Full Name ': 'Name',
        'Mobile Number': 'Phone',
        dob: 'DOB',
        age: 'Age',
        Plan: 'Plan',
        Zip: 'Zip',
        'Signed Up': 'Signed Up',
        Score: 'Score',
        active: 'active',
        'MSG-email': 'MSG-email',
        'a,"b": =c': 'a,"b": =c',
        City: 'City',
      },
      types: {
        dob: 'date',
        age: 'integer',
        Zip: 'string',
        'Signed Up': 'date',
        Score: 'number',
        active: 'boolean',
        'a,"b": =c': 'integer',
      },
      required: [
        'e-mail',
        ' Full Name ',
        'Mobile Number',
        'dob',
        'age',
        'Plan',
        'Zip',
        'Signed Up',
        'Score',
        'active',
        'MSG-email',
        'a,"b": =c',
      ],
      columns: 'exact',
      values: { Plan: ['free', 'paid'] },
    });
    // the preview is by the draft
    expect(stdout).toContain('"profileData":{"Email":"x0@x.de","Name":"Ann 0","Phone":');
    expect(stderr).toBe(
      'wrote m.json: identity "Customer ID", 14 columns, 5 renamed, 7 typed, 12 required, 1 of few values\n' +
        'next: engagectl upload crm.csv --check --mapping m.json\n',
    );
    expect(readdirSync(world.cwd).toSorted()).toEqual(['crm.csv', 'm.json']);
    expect((await world.run(['upload', 'crm.csv', '--check', '--mapping', 'm.json'])).code).toBe(0);
    // it notices what is otherwise
    writeFileSync(world.path('crm.csv'), crm.replace('free', 'gold').replace('x2@x.de', ''));
    const other = await world.run(['upload', 'crm.csv', '--check', '--mapping', 'm.json']);
    expect([other.code, other.stderr]).toEqual([3, expect.stringContaining('2 rejected')]);
  });

  const bom = '\uFEFF';
  it.each<[string, string, string, string[], object]>([
    ['one column', 'id.csv', 'id\nu1\nu2\n', [], { identity: 'id' }],
    ['a mark and CR LF', 'b.csv', `${bom}UserID,x\r\nu1,1\r\nu2,2\r\n`, [], { identity: 'UserID' }],
    ['no rows', 'n.csv', 'User Id,email\n', [], { identity: 'User Id', map: { email: 'Email' } }],
    ['an address alone', 'a.csv', 'City,mail\nRom,a@x.de\nRom,b@x.de\n', [], { identity: 'mail' }],
    // who is not the same in two rows is likelier meant
    ['ids that repeat', 'r.csv', 'user_id,id\n1,a\n1,b\n1,c\n', [], { identity: 'id' }],
    [
      'two for one field',
      't.csv',
      'id,email,E-Mail\nu,a@x.de,b@x.de\n',
      [],
      { map: { email: 'Email', 'E-Mail': 'E-Mail' } },
    ],
    ['odd names', 'o.csv', 'id,__proto__,constructor,🙂\nu,1,2,3\n', [], { identity: 'id' }],
    [
      'spaces around',
      's.csv',
      'id, a,a,  b \nu,1,2,3\n',
      [],
      { map: { ' a': ' a', a: 'a', '  b ': 'b' } },
    ],
    [
      'semicolons',
      'd.csv',
      'id;dob;note\nu;31.12.1990;a,b\n',
      ['--delimiter', ';'],
      { identity: 'id' },
    ],
    [
      'flags',
      'f.csv',
      'id,a,b,c\nu,1,2,3\n',
      ['--drop', 'a', '--map', 'b=B', '--types', 'c:string'],
      { drop: ['a'], map: { b: 'B', c: 'c' }, types: { b: 'integer', c: 'string' } },
    ],
    ['only some', 'y.csv', 'id,a,b\nu,1,2\n', ['--only', 'b'], { drop: ['a'], map: { b: 'b' } }],
    [
      'an objectId',
      'j.csv',
      'device,a\nabc,1\n',
      ['--object-id', 'device'],
      { objectId: 'device' },
    ],
    [
      'NDJSON',
      'n.ndjson',
      '{"user_id":"u1","age":33,"ok":true,"born":"1990-01-02"}\n{"user_id":"u2","tags":["a"],"born":null}\n',
      [],
      { identity: 'user_id', types: { born: 'date' } },
    ],
    [
      'a JSON array',
      'n.json',
      '[{"n":1,"id":"u1"},{"n":1,"id":"u2","email":"a@x.de"}]',
      [],
      { identity: 'id', map: { n: 'n', email: 'Email' } },
    ],
    [
      'events',
      'e.csv',
      `user,timestamp,event,amount\n${times(9, (n) => `u1,170000000${n},Bought,${n}.5`)}`,
      ['--type', 'event'],
      {
        identity: 'user',
        map: { timestamp: 'ts', event: 'evtName', amount: 'amount' },
        types: { amount: 'number' },
      },
    ],
    [
      'events by flags',
      'g.csv',
      'uid,date,x\nu1,31.12.2024,1\n',
      ['--type', 'event', '--ts', 'now', '--event-name', 'A'],
      { identity: 'uid', map: { date: 'date', x: 'x' } },
    ],
  ])('infers a mapping that --check accepts: %s', async (_, name, text, flags, part) => {
    const world = worldWith({ [name]: text });
    const argv = ['upload', name, ...flags];
    const draft = await world.run([...argv, '--preview', '--write-mapping', 'm.json', '--json']);
    expect([draft.code, draft.stderr]).toEqual([0, expect.not.stringContaining('error')]);
    expect(JSON.parse(readFileSync(world.path('m.json'), 'utf8'))).toMatchObject(part);
    const check = await world.run([...argv, '--check', '--mapping', 'm.json']);
    expect([check.code, check.stderr]).toEqual([0, expect.stringContaining('check: ')]);
  });

  it('reads a pipe once', async () => {
    const world = worldWith({});
    const argv = ['upload', '--preview', '--write-mapping', 'm.json'];
    expect((await world.run(argv, { stdin: 'id,x\nu,1\n' })).code).toBe(0);
    expect(JSON.parse(readFileSync(world.path('m.json'), 'utf8'))).toMatchObject({
      identity: 'id',
    });
  });

  it('replaces a file only on request', async () => {
    const world = worldWith({ 'u.csv': 'id,x\nu,1\n', 'm.json': 'mine' });
    const argv = ['upload', 'u.csv', '--preview', '--write-mapping', 'm.json'];
    const { code, stdout, stderr } = await world.run(argv);
    expect([code, stdout]).toEqual([8, '']);
    expect(stderr).toContain('E-OUTPUT-EXISTS: m.json already exists');
    expect(stderr).toContain('replace it with --overwrite, or choose another --write-mapping');
    expect(readFileSync(world.path('m.json'), 'utf8')).toBe('mine');
    expect((await world.run([...argv, '--overwrite'])).code).toBe(0);
    expect(readFileSync(world.path('m.json'), 'utf8')).toContain('"identity": "id"');
  });

  it.each([
    [
      'no identity',
      { 'u.csv': 'City,Plan\nRom,a\nRom,b\n' },
      ['--preview'],
      8,
      'no column looks like an identity',
    ],
    [
      'other columns in each',
      { 'u.csv': 'id,a\nu,1\n', 'v.csv': 'id,b\nu,1\n' },
      ['v.csv', '--preview'],
      2,
      'u.csv and v.csv have different columns',
    ],
    [
      'records of the service',
      { 'u.csv': '{"type":"profile","identity":"u","profileData":{}}\n' },
      ['--input-format', 'ndjson', '--preview'],
      2,
      'u.csv has no columns to map',
    ],
    ['no preview', { 'u.csv': 'id\nu\n' }, [], 2, '--write-mapping is for --preview'],
    [
      'another mapping',
      { 'u.csv': 'id\nu\n' },
      ['--preview', '--mapping', 'x.json'],
      2,
      "cannot be used with option '--mapping <file>'",
    ],
  ])('refuses to infer from %s, and writes nothing', async (_, files, flags, exit, message) => {
    const world = worldWith(files);
    const { code, stderr } = await world.run([
      'upload',
      'u.csv',
      ...flags,
      '--write-mapping',
      'm.json',
    ]);
    expect([code, stderr]).toEqual([exit, expect.stringContaining(message)]);
    expect(existsSync(world.path('m.json'))).toBe(false);
  });

  it('reports all errors of a mapping file', async () => {
    const world = worldWith({
      'u.csv': 'id\nu\n',
      'm.json': '{"identity":5,"types":{"a":"int"},"x":1}',
    });
    const { code, stderr } = await world.run(['upload', 'u.csv', '--check', '--mapping', 'm.json']);
    expect(code).toBe(2);
    for (const part of ['identity ', 'types.a is not one of', '"x"'])
      expect(stderr).toContain(part);
  });
});
