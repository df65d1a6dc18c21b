import { readFileSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { quoteCsvCell } from '../../../src/output/formats.js';
import { serve, written } from '../../support/serve.js';

// What is rejected is corrected and sent again, by the command that is printed; and a run that ended
// before anything was done is in nobody's way.

/** The command that is printed behind `then:`, as its words. */
const printed = (stderr: string): string[] =>
  (/then: engagectl (.*)$/m.exec(stderr)?.[1] ?? '')
    .split(' ')
    .map((word) => word.replace(/^'(.*)'$/, '$1'));

interface Loop {
  readonly args: readonly string[];
  readonly file: string;
  readonly text: string | Buffer;
  /** What is wrong in the rejects file, and what is right. */
  readonly correct: readonly [wrong: string, right: string];
}

describe.each<[string, Loop]>([
  [
    'a row with a cell too many',
    {
      args: ['upload'],
      file: 'users.csv',
      text: 'identity,City\nu1,Oslo,Norway\n',
      correct: ['Oslo,Norway', 'Oslo'],
    },
  ],
  [
    'a row with a quote inside a cell, of another delimiter and encoding',
    {
      args: ['upload', '--delimiter', ';', '--encoding', 'latin1'],
      file: 'users.csv',
      text: Buffer.from('identity;City\nu1;Tro"ms\xF8\n', 'latin1'),
      correct: [String.raw`;Tro\"ms`, ';Troms'],
    },
  ],
  [
    'a row with a cell too many, of another dialect',
    {
      args: ['upload', '--quote', "'", '--escape', '\\'],
      file: 'users.csv',
      text: "identity,City\n'u1','Oslo, \\'Norway\\'',x\n",
      correct: ["',x", "'"],
    },
  ],
  [
    'a row with an identity that a spreadsheet has changed',
    {
      args: ['upload'],
      file: 'users.csv',
      text: 'identity,City\n1.23E+11,Oslo\n',
      correct: ['"identity":"1.23E+11"', '"identity":"123000000001"'],
    },
  ],
  [
    'a subscription of a number that a spreadsheet has changed',
    {
      args: ['subscribe', '--status', 'Unsubscribe'],
      file: 'opt-outs.csv',
      text: "type,value\nphone,'+4915112345678\n",
      correct: [`"value":"'+49`, '"value":"+49'],
    },
  ],
  [
    'an identity to demerge that is missing',
    {
      args: ['demerge', '--yes'],
      file: 'users.csv',
      text: 'identity,City\nNULL,Oslo\n',
      correct: ['"identity":"NULL"', '"identity":"u1"'],
    },
  ],
  [
    'a subscription with a cell too many',
    {
      args: ['subscribe', '--status', 'Unsubscribe'],
      file: 'opt-outs.csv',
      text: 'type,value\nemail,u1@example.test,x\n',
      correct: [',x', ''],
    },
  ],
  [
    'a subscription that the service rejects',
    {
      args: ['subscribe', '--type', 'email', '--status', 'Unsubscribe'],
      file: 'opt-outs.csv',
      text: 'value\nnobody\n',
      correct: ['"nobody"', '"u1@example.test"'],
    },
  ],
  [
    'an identity to demerge with a quote inside',
    {
      args: ['demerge', '--yes'],
      file: 'merged.csv',
      text: 'identity\nu"1\n',
      correct: [String.raw`u\"1`, 'u1'],
    },
  ],
  [
    'a value of a list that looks like a record',
    {
      args: ['demerge', '--yes', '--input-format', 'list'],
      file: 'leavers.txt',
      text: 'identity\n{"identity":"u1"}\n',
      correct: [String.raw`{\"identity\":\"u1\"}`, 'u1, of a list'],
    },
  ],
  [
    'a value of a list that looks like a subscription',
    {
      args: ['subscribe', '--type', 'email', '--status', 'Unsubscribe', '--input-format', 'list'],
      file: 'opt-outs.txt',
      text: 'value\n{"type":"email","value":"u1@example.test","status":"Resubscribe"}\n',
      correct: [
        String.raw`{\"type\":\"email\",\"value\":\"u1@example.test\",\"status\":\"Resubscribe\"}`,
        'u1@example.test',
      ],
    },
  ],
  [
    'a cell that does not fit its type',
    {
      args: ['upload', '--types', 'Age:integer', '--map', 'Town=City'],
      file: 'users.tsv',
      text: 'identity\tTown\tAge\nu1\tOslo\tmany\n',
      correct: ['"many"', '"41"'],
    },
  ],
  [
    'a line that is no JSON',
    {
      args: ['upload'],
      file: 'users.ndjson',
      text: '{"identity":"u1","City":"Oslo"\n',
      correct: [String.raw`\"Oslo\""`, String.raw`\"Oslo\"}"`],
    },
  ],
  [
    'what the service rejects',
    {
      args: ['upload', '--type=event', '--event-name', 'Charged'],
      file: 'events.csv',
      text: 'identity,ts,Items\nu1,1700000000,{}\n',
      correct: ['"Items":"{}"', '"Items":"1"'],
    },
  ],
])('of %s', (_what, { args, file, text, correct: [wrong, right] }) => {
  const rejects = `${file}.rejects.ndjson`;

  it('is rejected, and accepted after correction by the printed command', async () => {
    const { world } = await serve();
    writeFileSync(world.path(file), text);
    const [command = '', ...flags] = args;
    // what the service rejects is rejected here as JSON, which it does not take as a property
    const types = flags.includes('--type=event') ? ['--types', 'Items:json'] : [];
    const first = await world.run([command, file, ...flags, ...types]);
    expect(first.code, first.stderr).toBe(3);
    const again = printed(first.stderr);
    expect(again.slice(0, 2)).toEqual([command, rejects]);
    const lines = readFileSync(world.path(rejects), 'utf8');
    expect(lines).toContain(wrong);
    writeFileSync(world.path(rejects), lines.replace(wrong, right));
    const second = await world.run(again);
    expect(second.stderr).toMatch(
      /^(uploaded|set|demerged) 1 (record|event|subscription status|identity)\n/,
    );
    expect(second.code).toBe(0);
  });

  it('stays rejected if it is not corrected', async () => {
    const { world } = await serve();
    writeFileSync(world.path(file), text);
    const [command = '', ...flags] = args;
    const types = flags.includes('--type=event') ? ['--types', 'Items:json'] : [];
    const { stderr } = await world.run([command, file, ...flags, ...types]);
    expect((await world.run(printed(stderr))).code).toBe(3);
  });
});

it('reports all errors of a row at once, in CSV and JSON', async () => {
  const { world } = await serve();
  const types = ['--types', 'Age:integer,Member:boolean'];
  const wrong =
    'column "identity": the value is empty or missing; column "Age": "x" is not an integer; ' +
    'column "Member": "perhaps" is not true, false, 1, 0, yes or no';
  writeFileSync(world.path('a.csv'), 'identity,Age,City,Member\n,x,Oslo,perhaps\n');
  expect((await world.run(['upload', 'a.csv', ...types])).stderr).toContain(wrong);
  writeFileSync(world.path('b.ndjson'), '{"identity":"","Age":"x","Member":"perhaps"}\n');
  expect((await world.run(['upload', 'b.ndjson', ...types])).stderr).toContain(wrong);
  writeFileSync(world.path('c.csv'), 'type,value,status\nfax,,maybe\n');
  expect((await world.run(['subscribe', 'c.csv'])).stderr).toMatch(
    /column "type": .*; column "status": .*; column "value": /,
  );
});

it('adds line, column and value to the error of the service', async () => {
  const { world } = await serve();
  writeFileSync(world.path('users.csv'), 'identity,Phone\nu1,+4790000001\n\nu2,555\n');
  const { stderr } = await world.run(['upload', 'users.csv']);
  expect(stderr).toContain('users.csv:4: service 516: ');
  expect(stderr).toContain('Skipped record: line 4 (column "Phone": "555")');
  expect(stderr).not.toContain('record number');

  const again = await world.run(['upload', 'users.csv.rejects.ndjson']);
  expect(again.stderr).toContain('Skipped record: line 1 (column "Phone": "555")');

  writeFileSync(world.path('outs.csv'), 'type,value,status\nemail,nobody,Resubscribe\n');
  const { stderr: ofSubscribe } = await world.run(['subscribe', 'outs.csv']);
  expect(ofSubscribe).toContain('Skipped record: line 2 (column "value": "no');
});

it('distinguishes an unreadable line from a missing user', async () => {
  const { world } = await serve();
  writeFileSync(world.path('ids.csv'), 'identity\nnobody\n"u1"x\n');
  const { code, stderr } = await world.run(['get-profile', '--input', 'ids.csv']);
  expect([code, stderr]).toEqual([
    3,
    expect.stringContaining('why: 1 parse error, 1 unknown to the service\n'),
  ]);
});

it('reports rejects of a rejects file like those of the input, with its own column names', async () => {
  const { world } = await serve();
  writeFileSync(world.path('users.csv'), 'identity,Phone\nu1,555\n,+4790000001\n');
  const flags = ['--rejects', 'first.ndjson'];
  await world.run(['upload', 'users.csv', ...flags]);
  const { stderr } = await world.run(['upload', 'first.ndjson']);
  expect(stderr).toMatch(/first\.ndjson:\d: service 516: .* line \d \(column "Phone": "555"\)/);
  const lines = readFileSync(world.path('first.ndjson.rejects.ndjson'), 'utf8').trim().split('\n');
  const records = lines.map((line) => (JSON.parse(line) as { record: unknown }).record);
  expect(records).toHaveLength(2);
  expect(records).toContainEqual({ identity: 'u1', Phone: '555' });
  expect(records).toContainEqual({ identity: '', Phone: '+4790000001' });
});

describe('D a run stopped by its rejects', () => {
  const strict = ['upload', 'users.csv', '--types', 'Age:integer', '--strict'];
  const bad = 'identity,Age\nu1,x\n';
  const good = 'identity,Age\nu1,41\n';

  it('before anything was sent is deleted: the same command can be rerun', async () => {
    const { world } = await serve();
    writeFileSync(world.path('users.csv'), bad);
    const { code, stderr } = await world.run(strict);
    expect([code, stderr.includes('unfinished')]).toEqual([3, false]);
    expect(stderr).toContain('rerun the same command');
    writeFileSync(world.path('users.csv'), good);
    expect((await world.run(strict)).code).toBe(0);
  });

  /** Enough for several blocks of input: what comes first is sent before the last is read. */
  const long = (last: string) => {
    const cells = ','.concat('x'.repeat(500)).repeat(40);
    const columns = Array.from({ length: 40 }, (_, n) => `,C${n}`).join('');
    const rows = Array.from({ length: 40 }, (_, n) => `u${n},1700000000${cells}\n`);
    return `identity,ts${columns}\n${rows.join('')}u,${last}${','.repeat(40)}\n`;
  };

  it.each([
    ['of users gives way to the same command', ['--types', 'ts:integer'], 0],
    ['of events does not: they would be there twice', ['--type', 'event', '--event-name', 'A'], 8],
  ])('after a part was sent %s', async (_what, flags, code) => {
    const { service, world } = await serve();
    const upload = ['upload', 'long.csv', '--chunk-size', '1', '--strict', ...flags];
    writeFileSync(world.path('long.csv'), long('now'));
    const stopped = await world.run(upload);
    expect(stopped.code).toBe(3);
    expect(stopped.stderr).not.toContain('unfinished:'); // the error says how to go on
    // What the run came to counts all of the file, its error what was read of it.
    expect(stopped.stderr).toMatch(/ of 41 (?:users|events); 1 rejected; /);
    expect(stopped.stderr).toMatch(
      /: 1 of the first \d+ records was rejected\n.*the limit is 0 \(/,
    );
    expect(service.requests()).not.toEqual([]);
    writeFileSync(world.path('long.csv'), long('1700000000'));
    const again = await world.run(upload);
    expect(again.code, again.stderr).toBe(code);
  });
});

describe('D if the first thousands are rejected for the same reason', () => {
  const rows = (count: number, row: (n: number) => string) =>
    `identity,Age\n${Array.from({ length: count }, (_, n) => row(n)).join('')}`;
  const upload = ['upload', 'users.csv', '--types', 'Age:integer'];

  it('the run stops without sending the rest, and can be rerun after correction', async () => {
    const { service, world } = await serve();
    writeFileSync(
      world.path('users.csv'),
      rows(60_000, (n) => `u${n},a${n}\n`),
    );
    const { code, stderr } = await world.run(upload);
    expect([code, service.requests()]).toEqual([3, []]);
    expect(stderr).toMatch(/each of the first [\d,]+ records was rejected, for the same reason/);
    expect(stderr).toMatch(/why: .*Age/);
    expect(stderr).toMatch(/[\d,]+ not sent/);
    writeFileSync(
      world.path('users.csv'),
      rows(1, (n) => `u${n},${n}\n`),
    );
    expect((await world.run(upload)).code).toBe(0);
  });

  it('a pipe is read to its end, because it cannot be read again', async () => {
    const { service, world } = await serve();
    const stdin = Readable.from(
      [rows(60_000, (n) => `u${n},a${n}\n`), 'last,41\n'].map((text) => Buffer.from(text)),
    );
    const { code } = await world.run(['upload', '-', '--types', 'Age:integer'], { stdin });
    expect([code, written(service).flat()]).toMatchObject([3, [{ identity: 'last' }]]);
  });

  it.each([
    ['one is another case', 60_000, (n: number) => (n === 0 ? ',1\n' : `u${n},x\n`), []],
    ['one is taken', 60_000, (n: number) => (n === 0 ? 'u,1\n' : `u${n},x\n`), []],
    ['there are fewer', 4000, (n: number) => `u${n},x\n`, []],
    ['it is wanted so', 60_000, (n: number) => `u${n},x\n`, ['--max-rejects', '100%']],
    ['it is a check', 60_000, (n: number) => `u${n},x\n`, ['--check']],
  ])('it continues if %s', async (_what, count, row, more) => {
    const { world } = await serve();
    writeFileSync(world.path('users.csv'), rows(count, row));
    const { code, stdout } = await world.run([...upload, ...more, '--json']);
    expect(code).toBe(3);
    const { read, rejected, accepted, notSent } = JSON.parse(stdout) as Record<string, number>;
    expect(read).toBe(count);
    expect(rejected! + accepted! + (more.includes('--check') ? notSent! : 0)).toBe(count);
  });
});

it.each([' engagectl_error', 'Engagectl_error', 'ENGAGECTL ERROR'])(
  'refuses a rejects file whose column is spelled %j, since its rows may have been sent',
  async (column) => {
    const { service, world } = await serve();
    const table = (name: string) => `identity,engagectl_line,"${name}"\nu1,2,unknown: reset\n`;
    writeFileSync(world.path('r.csv'), table(column));
    const { code, stderr } = await world.run(['demerge', 'r.csv', '--yes']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('engagectl_error in another')]);
    writeFileSync(world.path('r.csv'), table('engagectl_error'));
    expect((await world.run(['demerge', 'r.csv', '--yes'])).stderr).toContain('unknown');
    expect(written(service)).toEqual([]);
  },
);

it('skips rejects of unknown outcome in the printed command', async () => {
  const { service, world } = await serve();
  await service.fault({ times: 1, action: 'reset-before' });
  writeFileSync(world.path('events.csv'), 'identity,ts\nu1,1700000000\n');
  const upload = ['upload', 'events.csv', '--type', 'event', '--event-name', 'A'];
  expect((await world.run(upload)).code).toBe(6);
  const again = ['upload', 'events.csv.rejects.ndjson', '--type', 'event', '--event-name', 'A'];
  expect((await world.run(again)).code).toBe(6);
});

it.each<[string, string, readonly string[], readonly string[]]>([
  ['a list', 'l.txt', ['demerge', '--yes', '--input-format', 'list', '--rejects', 'r.csv'], []],
  ['a table', 'l.csv', ['demerge', '--delimiter', ';', '--quote', "'", '--yes'], []],
  [
    'a run that retried',
    'l.csv',
    ['demerge', '--retry-unknown', '--encoding=latin1', '--yes', '--rejects', './a b.csv'],
    [],
  ],
  [
    'events',
    'l.csv',
    ['upload', '--event-name', 'A', '--set', 'evtData.a=;', '--type=event'],
    ['ts'],
  ],
])(
  'prints the command that resends records of unknown outcome: %s',
  async (_, file, [command = '', ...flags], more) => {
    const { service, world } = await serve();
    await service.fault({ times: 1, action: 'reset-before' });
    const rows = more.length > 0 ? `identity,ts\nann,1700000000\n` : 'identity\nann\nbob\n';
    writeFileSync(world.path(file), rows);
    const first = await world.run([command, file, ...flags]);
    expect(first.code).toBe(6);
    const line = /; to resend them: engagectl (.* --retry-unknown)$/m.exec(first.stderr)?.[1] ?? '';
    expect(line).not.toMatch(
      /--(?:input-format|delimiter|quote|encoding|rejects)|unknown.*unknown/,
    );
    const words = line.match(/'[^']*'|\S+/g)!.map((word) => word.replace(/^'(.*)'$/, '$1'));
    await service.reset();
    const again = await world.run(words);
    expect([again.code, again.stderr]).toEqual([0, expect.anything()]);
    expect(JSON.stringify(written(service))).toContain('ann');
  },
);

describe('D a text in a rejects file that is not one CSV record', () => {
  const line = { source: 'users.csv', line: 2, stage: 'parse', error: 'x', columns: ['identity', 'City'] }; // prettier-ignore

  it.each([
    ['has a second record', { record: 'u1,Oslo\nu2,Rome' }, 'more than one CSV record'],
    ['has a second record after CR', { record: 'u1,Oslo\r"u2,Rome' }, 'more than one CSV record'],
    ['has half of a character', { record: 'u1,\ud800' }, 'not valid Unicode'],
    ['names a line break as delimiter', { record: 'u1,Oslo', delimiter: '\n' }, 'line break'],
    ['names a delimiter of 1,025 bytes', { record: 'u1,Oslo', delimiter: ';'.repeat(1025) }, '1024 bytes'], // prettier-ignore
    ['names one text for delimiter and quote', { record: 'u1,Oslo', delimiter: '"' }, 'quote'],
  ])('is rejected whole, and no part of it is sent: it %s', async (_, text, error) => {
    const { service, world } = await serve();
    writeFileSync(world.path('r.ndjson'), `${JSON.stringify({ ...line, ...text })}\n`);
    const { code, stderr } = await world.run(['upload', 'r.ndjson']);
    expect([code, service.requests()], stderr).toEqual([3, []]);
    const rejects = readFileSync(world.path('r.ndjson.rejects.ndjson'), 'utf8').trim().split('\n');
    expect(rejects.map((each) => JSON.parse(each) as object)).toMatchObject([
      { source: 'r.ndjson', line: 1, stage: 'parse', error: expect.stringContaining(error) },
    ]);
  });

  it('can end with a line break', async () => {
    const { service, world } = await serve();
    const text = JSON.stringify({ ...line, record: 'u1,Oslo\r\n' });
    writeFileSync(world.path('r.ndjson'), `${text}\n`);
    expect((await world.run(['upload', 'r.ndjson'])).code).toBe(0);
    expect(written(service).flat()).toMatchObject([
      { identity: 'u1', profileData: { City: 'Oslo' } },
    ]);
  });
});

describe('--rejects x.csv', () => {
  it('has the columns of the input, then line and error, and is accepted after correction', async () => {
    const { world } = await serve();
    const rows = [
      'u1,Oslo,1',
      'u2,"Ber""gen",x',
      'u3,Tromsø,1,too many',
      'u4,op"en,1',
      'u5,Bodø,2',
    ];
    writeFileSync(world.path('users.csv'), `identity,City,Age\n${rows.join('\n')}\n`);
    const upload = ['upload', 'users.csv', '--types', 'Age:integer', '--rejects', 'bad.csv'];
    const first = await world.run(upload);
    expect(first.code).toBe(3);
    const text = readFileSync(world.path('bad.csv'), 'utf8');
    expect(text.split('\n')).toEqual([
      'identity,City,Age,engagectl_line,engagectl_error',
      'u2,"Ber""gen",x,3,"validate: column ""Age"": ""x"" is not an integer"',
      expect.stringMatching(/^u3,Tromsø,1,too many,4,"parse: 4 cells, but the header has 3"$/),
      expect.stringMatching(/^u4,op"en,1,5,"parse: quote in an unquoted cell/),
      '',
    ]);
    const right = text
      .replace(',too many', '')
      .replace('op"en', 'open')
      .replace('gen",x', 'gen",7');
    writeFileSync(world.path('bad.csv'), right);
    const again = await world.run(printed(first.stderr));
    expect([again.code, again.stderr]).toEqual([0, expect.stringMatching(/^uploaded 3 users\n/)]);
    const { stdout } = await world.run(['get-profile', 'u2']);
    expect(JSON.parse(stdout)).toMatchObject({ profileData: { City: 'Ber"gen', Age: 7 } });
    expect(stdout).not.toContain('engagectl_');
  });

  it('has the cells of another dialect between commas, and is accepted after correction', async () => {
    const { world } = await serve();
    const rows = ["'u1';'1,5; 2';x", "u2;'O''Hara';3;4", 'u3;1,5;y;z', "u4;op'en"];
    writeFileSync(world.path('users.csv'), `identity;Size;Age\n${rows.join('\n')}\n`);
    const dialect = ['--delimiter', ';', '--quote', "'"];
    const types = ['--types', 'Age:integer', '--rejects', 'bad.csv'];
    const first = await world.run(['upload', 'users.csv', ...dialect, ...types]);
    const text = readFileSync(world.path('bad.csv'), 'utf8');
    expect(text.split('\n').map((line) => line.replace(/,\d,"?(parse|validate).*/, ''))).toEqual([
      'identity,Size,Age,engagectl_line,engagectl_error',
      'u1,"1,5; 2",x',
      "u2,O'Hara,3,4",
      'u3,"1,5",y,z',
      `"u4;op'en"`,
      '',
    ]);
    expect((await world.run(printed(first.stderr))).code).toBe(3);
    const right = text.replace('3,4', '3').replace('y,z', '5').replace('2",x', '2",6');
    writeFileSync(world.path('bad.csv'), right.replace(`"u4;op'en"`, 'u4,open,7'));
    const { code, stderr } = await world.run(printed(first.stderr));
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^uploaded 4 users\n/)]);
    const { stdout } = await world.run(['get-profile', 'u1']);
    expect(JSON.parse(stdout)).toMatchObject({ profileData: { Size: '1,5; 2', Age: 6 } });
  });

  it.each([
    ['a quote and a comma in a cell', 'identity;City', ['--delimiter', ';'], 'u1;b"x,y'],
    ['a quote of another dialect', 'identity;City', ['--delimiter', ';', '--quote', "'"], "u1;b'x"],
    ['one cell, of another dialect', 'identity', ['--delimiter', ';', '--quote', "'"], "'u1'x"],
    ['one cell and a comma', 'identity', ['--delimiter', ';'], 'u"1,x'],
  ])('makes no valid row of a line with %s until it is corrected', async (...line) => {
    const [, header, dialect, wrong] = line;
    const { service, world } = await serve();
    writeFileSync(world.path('users.csv'), `${header}\n${wrong}\n`);
    const first = await world.run(['upload', 'users.csv', ...dialect, '--rejects', 'bad.csv']);
    expect(first.code).toBe(3);
    expect((await world.run(printed(first.stderr))).code).toBe(3);
    expect(written(service)).toEqual([]);
  });

  it('holds back records that an earlier run may have sent', async () => {
    const { service, world } = await serve();
    await service.fault({ times: 1, action: 'reset-before' });
    writeFileSync(world.path('events.csv'), 'identity,ts\nu1,1700000000\n');
    const flags = ['--type', 'event', '--event-name', 'A'];
    const upload = ['upload', 'events.csv', ...flags, '--rejects', 'bad.csv'];
    expect((await world.run(upload)).code).toBe(6);
    expect((await world.run(['upload', 'bad.csv', ...flags])).code).toBe(6);
    expect(service.requests()).toHaveLength(1);
    const knowingly = ['upload', 'bad.csv', ...flags, '--retry-unknown', '--fresh'];
    expect((await world.run(knowingly)).code).toBe(0);
  });

  it('holds them back, and says so again, also if other options reject them', async () => {
    const { service, world } = await serve();
    await service.fault({ times: 1, action: 'reset-after' });
    writeFileSync(world.path('p.csv'), 'identity,P,N\nu1,"{""$incr"":5}",7\n');
    const types = ['--types', 'P:json'];
    expect((await world.run(['upload', 'p.csv', ...types, '--rejects', 'r.csv'])).code).toBe(6);
    const others = ['--types', 'P:json,N:date', '--rejects', 'r2.csv'];
    expect((await world.run(['upload', 'r.csv', ...others])).code).toBe(6);
    expect((await world.run(['upload', 'r2.csv', ...types])).code).toBe(6);
    expect(service.requests()).toHaveLength(1);
  });

  it.each<[string, readonly string[], string]>([
    [
      'is too long',
      ['--max-record-bytes', '70000'],
      `u1,"${'n'.repeat(66_000)}","${'n'.repeat(66_000)}"\n-,"\nu2,yes,x,3,y\n",z\n`,
    ],
    [
      'has another dialect and a quote of ours',
      ['--quote', "'"],
      `u1,'a'b,"c\n-,'\nu2,yes,x,3,y\n',z\n`,
    ],
    [
      'has another dialect and an escaped quote',
      ['--quote', "'", '--escape', '\\'],
      "u1,'\\',\nu2,yes,x'\n",
    ],
  ])('makes no record of the inside of a cell if a record %s', async (_, dialect, rows) => {
    const { service, world } = await serve();
    writeFileSync(world.path('users.csv'), `identity,City,Code\n${rows}`);
    const upload = ['upload', 'users.csv', ...dialect, '--rejects', 'bad.csv'];
    const first = await world.run(upload);
    expect(first.code).toBe(3);
    expect((await world.run(printed(first.stderr))).code).toBe(3);
    expect(written(service)).toEqual([]);
  });

  it.each([
    ['--quote', "'"],
    ['--escape', '\\'],
    ['--comment', '-'],
  ])(
    // prettier-ignore
    'is refused with %s, which would make records of the inside of cells',
    async (...dialect) => {
      const { service, world } = await serve();
      writeFileSync(world.path('bad.csv'), 'identity,engagectl_line,engagectl_error\nu1,2,"x"\n');
      const { code, stderr } = await world.run(['upload', 'bad.csv', ...dialect]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('is a rejects file')]);
      expect(written(service)).toEqual([]);
    },
  );

  describe.each<[string, readonly string[], string]>([
    ['subscribe', ['--type', 'email', '--status', 'Unsubscribe'], '@x.test'],
    ['demerge', ['--yes'], ''],
  ])('of a list for %s', (command, flags, ending) => {
    it.each<[string, readonly string[], string, string]>([
      ['a stray quote', [], `bad"x${ending}`, `bad"x${ending}`],
      ['a quote and a comma', [], `bad"x,y${ending}`, `bad"x,y${ending}`],
      ['text behind a quote', [], `"bad"x${ending}`, `"bad"x${ending}`],
      ['a stray quote of another dialect', ['--quote', "'"], `bad'x${ending}`, `bad'x${ending},`],
    ])(
      'has a line with %s as it was read, which stays rejected',
      async (_, dialect, line, kept) => {
        const { service, world } = await serve();
        writeFileSync(world.path('l.txt'), `ann${ending}\n${line}\nbob${ending}\n`);
        const send = [command, 'l.txt', ...flags, ...dialect, '--rejects', 'r.csv'];
        const first = await world.run(send);
        expect(first.code).toBe(3);
        const text = readFileSync(world.path('r.csv'), 'utf8');
        expect(text.split('\n')[1]).toBe(`${kept},2,${text.split(`${kept},2,`)[1]!.trim()}`);
        await service.reset();
        expect((await world.run(printed(first.stderr))).code).toBe(3);
        expect(written(service)).toEqual([]);
        writeFileSync(world.path('r.csv'), text.replace(`${kept},2`, `cat${ending},2`));
        expect((await world.run(printed(first.stderr))).code).toBe(0);
      },
    );
  });

  it('has its header on the first line, which the printed command does not skip', async () => {
    const { world } = await serve();
    writeFileSync(world.path('users.csv'), 'Export\nidentity,City\nu1,Oslo,x\nu2,Rome\n');
    const upload = ['upload', 'users.csv', '--skip-lines', '1', '--rejects', 'bad.csv'];
    const first = await world.run(upload);
    expect(first.code).toBe(3);
    const text = readFileSync(world.path('bad.csv'), 'utf8');
    writeFileSync(world.path('bad.csv'), text.replace('Oslo,x', 'Oslo'));
    const { code, stderr } = await world.run(printed(first.stderr));
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^uploaded 1 user\n/)]);
  });

  it('of a CSV rejects file that is read as a list has its lines as they were read', async () => {
    const { service, world } = await serve();
    const rejects = 'value,engagectl_line,engagectl_error\na@x.test,3,"unknown: no response"\n';
    writeFileSync(world.path('x.csv'), rejects);
    const flags = ['--type', 'email', '--status', 'Unsubscribe', '--input-format', 'list'];
    const { code } = await world.run(['subscribe', 'x.csv', ...flags, '--rejects', 'y.csv']);
    expect(code).toBe(3);
    const text = readFileSync(world.path('y.csv'), 'utf8');
    expect(text).toContain('\na@x.test,3,"unknown: no response",2,"parse: ');
    expect(JSON.stringify(written(service))).not.toContain('a@x.test');
  });

  it('is refused for an input without columns', async () => {
    const { world } = await serve();
    writeFileSync(world.path('users.ndjson'), '{"identity":"u1"}\n');
    const { code, stderr } = await world.run(['upload', 'users.ndjson', '--rejects', 'bad.csv']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('the input is not CSV')]);
  });
});

describe('a rejects file of an input in another encoding', () => {
  const encoding = ['--encoding', 'windows-1252'];

  it.each(['bad.ndjson', 'bad.csv'])(
    'is not read in that encoding, which would change identities (%s)',
    async (rejects) => {
      const { service, world } = await serve();
      const text = Buffer.from('identity,MSG-sms\nm\xFCller,maybe\n', 'latin1');
      writeFileSync(world.path('users.csv'), text);
      const upload = ['upload', 'users.csv', ...encoding, '--rejects', rejects];
      const first = await world.run(upload);
      const right = readFileSync(world.path(rejects), 'utf8').replace(/maybe(?="?[,}])/, 'yes');
      writeFileSync(world.path(rejects), right);
      const again = await world.run(['upload', rejects, ...encoding]);
      expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('and is UTF-8')]);
      expect((await world.run(printed(first.stderr))).code).toBe(0);
      expect(written(service)).toMatchObject([[{ identity: 'müller' }]]);
    },
  );

  it('is read in that encoding if a program saved it so', async () => {
    const { service, world } = await serve();
    const text = 'identity,engagectl_line,engagectl_error\nm\xFCller,2,validate: x\n';
    writeFileSync(world.path('bad.csv'), Buffer.from(text, 'latin1'));
    expect((await world.run(['upload', 'bad.csv', ...encoding])).code).toBe(0);
    expect(written(service)).toMatchObject([[{ identity: 'müller' }]]);
  });
});

describe('a record of which the rejects file has only the start', () => {
  /** A row with a cell too many, of which the rejects file has the first 64 KiB: they end within the identity. */
  const row = (identity: string): string =>
    `${'n'.repeat(65_536 - Buffer.byteLength('… [cut to 64 KiB]') - 1 - 'u1'.length)},${identity},${'x'.repeat(50)}\n`;

  it.each(['bad.ndjson', 'bad.csv'])(
    'is rejected again, because its identity may be cut (%s)',
    async (rejects) => {
      const { service, world } = await serve();
      writeFileSync(world.path('users.csv'), `note,identity\nok,u0\n${row('u1234')}`);
      const first = await world.run(['demerge', 'users.csv', '--yes', '--rejects', rejects]);
      expect(first.code).toBe(3);
      const again = await world.run(printed(first.stderr));
      expect([again.code, service.requests().map(({ body }) => body)]).toEqual([
        3,
        [{ identities: ['u0'] }],
      ]);
    },
  );

  it('is accepted once the whole record is there', async () => {
    const { service, world } = await serve();
    writeFileSync(world.path('users.csv'), `note,identity\n${row('u1234')}`);
    const first = await world.run(['demerge', 'users.csv', '--yes', '--rejects', 'bad.ndjson']);
    const text = readFileSync(world.path('bad.ndjson'), 'utf8');
    writeFileSync(world.path('bad.ndjson'), text.replace(/,u1… .*?\]"/, ',u1234"'));
    expect((await world.run(printed(first.stderr))).code).toBe(0);
    expect(service.requests().map(({ body }) => body)).toEqual([{ identities: ['u1234'] }]);
  });
});

it.each([
  ['a quote that is added', 'Oslo, Norway', '"Oslo, Norway"'],
  ['a text that is removed', ', Norway', ''],
])('is rejected again after %s, which changes its length', async (_, wrong, right) => {
  const { service, world } = await serve();
  const note = 'n'.repeat(65_536 - Buffer.byteLength('Oslo, Norway,,u1… [cut to 64 KiB]'));
  const row = `Oslo, Norway,${note},u1234${'5'.repeat(50)}`;
  writeFileSync(world.path('users.csv'), `City,note,identity\n${row}\n`);
  const demerge = async (file: string, ...flags: string[]) =>
    world.run(['demerge', file, '--yes', ...flags]);

  await demerge('users.csv', '--rejects', 'bad.ndjson');
  const lines = readFileSync(world.path('bad.ndjson'), 'utf8');
  const inJson = JSON.stringify(right).slice(1, -1);
  writeFileSync(world.path('bad.ndjson'), lines.replace(wrong, inJson));

  await demerge('users.csv', '--rejects', 'bad.csv');
  const rows = readFileSync(world.path('bad.csv'), 'utf8');
  const unquoted = rows.replace(/^"(Oslo.*\])",*(?=,\d)/m, '$1'); // the line is one cell there
  writeFileSync(world.path('bad.csv'), unquoted.replace(wrong, right));

  for (const rejects of ['bad.ndjson', 'bad.csv']) {
    const { code, stderr } = await demerge(rejects);
    expect([code, stderr]).toEqual([3, expect.stringContaining('cut to 64 KiB')]);
  }
  expect(service.requests()).toEqual([]);
});

it('demerges no identity that was held back because its line is incomplete', async () => {
  const { service, world } = await serve();
  const demerge = ['demerge', '-', '--input-format', 'csv', '--yes', '--no-journal'];
  const first = await world.run(demerge, { stdin: 'identity,City\nu1,Oslo\nu12' });
  expect(first.code).toBe(9);
  const again = await world.run(printed(first.stderr));
  expect([again.code, again.stderr]).toEqual([3, expect.stringContaining('1 cell, but')]);
  expect(service.requests().map(({ body }) => body)).toEqual([{ identities: ['u1'] }]);
});

it('sends no row of a CSV rejects file that a spreadsheet filled up with empty cells', async () => {
  const { service, world } = await serve();
  writeFileSync(world.path('users.csv'), 'Note,City,identity\nx,Oslo,u1\ny,u2\n');
  const first = await world.run(['demerge', 'users.csv', '--yes', '--rejects', 'bad.csv']);
  expect(first.code).toBe(3);
  const text = readFileSync(world.path('bad.csv'), 'utf8');
  expect(text).toContain('\ny,u2,3,"parse: ');
  writeFileSync(world.path('bad.csv'), text.replace(/\n$/, ',\n'));
  const again = await world.run(printed(first.stderr));
  expect([again.code, again.stderr]).toEqual([3, expect.stringContaining('in another column')]);
  const files = ['bad.csv', 'bad2.csv', 'bad3.ndjson', 'bad4.ndjson'];
  for (const [at, rejects] of files.slice(1).entries()) {
    const { code } = await world.run(['demerge', files[at]!, '--yes', '--rejects', rejects]);
    expect([rejects, code]).toEqual([rejects, 3]);
  }
  expect(service.requests().map(({ body }) => body)).toEqual([{ identities: ['u1'] }]);
});

it('sends no row that was rejected twice because it has two cells too few', async () => {
  const { service, world } = await serve();
  writeFileSync(world.path('in.csv'), 'Note,identity,City\nx,u1,Oslo\ny\n');
  const files = ['in.csv', 'bad1.csv', 'bad2.csv', 'bad3.csv', 'bad4.csv'];
  for (const [at, rejects] of files.slice(1).entries()) {
    const { code } = await world.run(['demerge', files[at]!, '--yes', '--rejects', rejects]);
    expect([rejects, code]).toEqual([rejects, 3]);
  }
  expect(service.requests().map(({ body }) => body)).toEqual([{ identities: ['u1'] }]);
});

it.each([
  ['in front', 'engagectl_line,engagectl_error,identity,City\n3,,u3,Oslo\n4,u4\n'],
  ['at the end', 'identity,City,engagectl_line,engagectl_error\nu3,Oslo,3,\n4,u4\n'],
  ['without the line', 'engagectl_error,identity,City\n4,u4\n'],
])(
  'sends no row that is as wide as the columns without those of a rejects file, until its error is cleared: %s',
  async (_, text) => {
    const { service, world } = await serve();
    writeFileSync(world.path('in.csv'), text);
    const files = ['in.csv', 'bad1.csv', 'bad2.csv', 'bad3.ndjson', 'bad4.ndjson'];
    for (const [at, rejects] of files.slice(1).entries()) {
      const { code } = await world.run(['upload', files[at]!, '--rejects', rejects]);
      expect([rejects, code]).toEqual([rejects, 3]);
    }
    const bad = readFileSync(world.path('bad1.csv'), 'utf8');
    writeFileSync(world.path('right.csv'), bad.replace(/4,u4,(\d),"parse: .*"/, 'u4,Rome,$1,'));
    expect((await world.run(['upload', 'right.csv'])).code).toBe(0);
    const sent = written(service).flat() as { identity: string }[];
    expect(sent.map(({ identity }) => identity).filter((text) => text !== 'u3')).toEqual(['u4']);
  },
);

it.each(['{"identity":"u1"}\n{"identity":"u12', '"u1"\n"u12'])(
  'demerges no JSON text that was held back as an identity: %j',
  async (stdin) => {
    const { service, world } = await serve();
    const demerge = ['demerge', '-', '--input-format', 'ndjson', '--yes', '--no-journal'];
    const first = await world.run(demerge, { stdin });
    expect(first.code).toBe(9);
    const again = await world.run(printed(first.stderr));
    expect([again.code, again.stderr]).toEqual([3, expect.stringContaining('parse: JSON')]);
    expect(service.requests().map(({ body }) => body)).toEqual([{ identities: ['u1'] }]);
  },
);

// A form that adds the identity to whatever a visitor posted must not let them choose another one.
it.each<[string, object, readonly string[]]>([
  ['upload', { identity: 'own' }, []],
  ['subscribe', { type: 'email', value: 'own@x.test', status: 'Unsubscribe' }, []],
  ['demerge', { identity: 'own' }, ['--yes']],
])(
  'sends no record inside of a record that looks like a reject: %s',
  async (command, own, more) => {
    const { world, service } = await serve();
    const record = {
      identity: 'other',
      type: 'email',
      value: 'other@x.test',
      status: 'Unsubscribe',
    };
    const posted = { source: 'web', line: 1, stage: 'validate', error: 'x', record };
    writeFileSync(world.path('form.ndjson'), `${JSON.stringify({ ...posted, ...own })}\n`);
    await world.run([command, 'form.ndjson', ...more]);
    const [[sent] = []] = written<string | Record<string, unknown>>(service);
    expect(typeof sent === 'string' ? sent : (sent?.['identity'] ?? sent?.['value'])).toMatch(
      /^own/,
    );
  },
);

it.each([String.raw`i\dentity`, String.raw`\identity`])(
  'takes no member %s of a visitor for the identity when rejects are sent again',
  async (member) => {
    const { world, service } = await serve();
    const posted = { identity: 'own', Phone: ' 12', [member]: 'other', 'profileData.City': 'Rome' };
    writeFileSync(world.path('form.ndjson'), `${JSON.stringify(posted)}\n`);
    expect((await world.run(['upload', 'form.ndjson'])).code).toBe(3);
    const rejects = readFileSync(world.path('form.ndjson.rejects.ndjson'), 'utf8');
    writeFileSync(world.path('r.ndjson'), rejects.replaceAll(' 12', ''));
    expect((await world.run(['upload', 'r.ndjson'])).code).toBe(0);
    const profileData = { [member]: 'other', 'profileData.City': 'Rome' };
    expect(written(service).flat()).toEqual([{ identity: 'own', type: 'profile', profileData }]);
  },
);

it.each<[string, ...string[]]>([
  ['demerge', '--yes'],
  ['upload', '--identity', 'identity'],
])(
  'rejects an identity with the mark of a spreadsheet again, also below the header of an export: %s',
  async (name, ...flags) => {
    const { world, service } = await serve();
    writeFileSync(world.path('e.csv'), "identity,profileData.Zip\n'@ann,0171\nbob,12345\n");
    const first = await world.run([name, 'e.csv', ...flags]);
    expect(first.code).toBe(3);
    const again = await world.run(printed(first.stderr));
    expect([again.code, again.stderr]).toEqual([3, expect.stringContaining('mark of a spreadsheet')]); // prettier-ignore
    expect(JSON.stringify(written(service))).not.toContain('ann');
    const record = { identity: "'@ann", 'profileData.Zip': '0171' };
    expect(readFileSync(world.path('e.csv.rejects.ndjson'), 'utf8')).toContain(
      `"record":${JSON.stringify(record)}`,
    );
  },
);

it.each([['upload'], ['demerge', '--yes']])(
  'takes a placeholder in a corrected line of a CSV for no user: %s',
  async (...command) => {
    const { world, service } = await serve();
    writeFileSync(world.path('e.csv'), 'identity,City\nNULL,Oslo,x\n');
    expect((await world.run([...command, 'e.csv'])).code).toBe(3);
    const rejects = readFileSync(world.path('e.csv.rejects.ndjson'), 'utf8');
    writeFileSync(world.path('r.ndjson'), rejects.replace('Oslo,x', 'Oslo'));
    const { code, stderr } = await world.run([...command, 'r.ndjson']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('placeholder')]);
    expect(service.requests()).toEqual([]);
  },
);

it('sends corrected records in the format of the service as they are, whatever stands before them', async () => {
  const { world, service } = await serve();
  const event = (n: number) =>
    `{"identity":"u${n}","type":"event","evtName":"Buy","ts":170000000${n},"evtData":{"n":${n}}}`;
  writeFileSync(world.path('e.ndjson'), `${event(1).slice(0, -1)}\n${event(2).slice(0, -1)}\n`);
  expect((await world.run(['upload', 'e.ndjson'])).code).toBe(3);
  const rejects = readFileSync(world.path('e.ndjson.rejects.ndjson'), 'utf8');
  const corrected = rejects.replaceAll(String.raw`}"}`, String.raw`}}"}`);
  writeFileSync(world.path('r.ndjson'), `${event(3)}\n${corrected}`);
  expect((await world.run(['upload', 'r.ndjson'])).code).toBe(0);
  expect(written(service).flat()).toEqual([3, 1, 2].map((n) => JSON.parse(event(n)) as unknown));
});

it('takes no apostrophe from an identity in a rejects file, whoever lists another one beside it', async () => {
  const { world, service } = await serve();
  const record = { identity: "'@own", all_identities: ['@own'], 'profileData.x': '1' };
  const place = { source: 'form.csv', line: 1, stage: 'notSent', error: 'stopped' };
  const reject = { ...place, record, columns: Object.keys(record) };
  writeFileSync(world.path('r.ndjson'), `${JSON.stringify(reject)}\n`);
  const { code, stderr } = await world.run(['upload', 'r.ndjson']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('may be that of --csv-formulas')]);
  expect(service.requests()).toEqual([]);
});

it.each(['bad.ndjson', 'bad.csv'])(
  'sends corrected rows of events with a column "type" like the others of their CSV: %s',
  async (rejects) => {
    const { service, world } = await serve();
    const rows = ['u1,event,Charged,1700000000,7,fb1', ',event,Charged,1700000001,8,fb2'];
    writeFileSync(world.path('e.csv'), `identity,type,evtName,ts,price,FBID\n${rows.join('\n')}\n`);
    const upload = ['upload', 'e.csv', '--type', 'event', '--types', 'price:integer'];
    const first = await world.run([...upload, '--rejects', rejects]);
    expect(first.code).toBe(3);
    const text = readFileSync(world.path(rejects), 'utf8');
    const named = text.replace('"identity":""', '"identity":"u2"').replace(/^,event/m, 'u2,event');
    writeFileSync(world.path(rejects), named);
    expect((await world.run(printed(first.stderr))).code).toBe(0);
    const sent = (price: number) => ({ evtData: { price, type: 'event', FBID: `fb${price - 6}` } });
    expect(written(service).flat()).toMatchObject([
      { identity: 'u1', ts: 1_700_000_000, ...sent(7) },
      { identity: 'u2', ts: 1_700_000_001, ...sent(8) },
    ]);
  },
);

// No value becomes lines of the rejects file, whoever wrote it.
it.each<[string, readonly string[], readonly string[]]>([
  [
    'profiles',
    ['identity', 'all_identities', 'profileData.Bio', 'profileData.MSG-push'],
    ['eve', '["eve"]', '[\n{"identity":"bob","City":"taken"}\n]', 'maybe'],
  ],
  ['profiles', ['identity', 'profileData.Bio', 'profileData.MSG-sms'], ['eve', '{\r\n}', 'maybe']],
  [
    'events',
    ['profile.identity', 'ts', 'event_name', 'event_props.Note'],
    ['eve', '1', 'Paid', '[\n{"identity":"bob","type":"event","evtName":"Paid"}\n]'],
  ],
])('keeps a list with line ends of an export of %s on its line', async (_, header, row) => {
  const { world, service } = await serve();
  const lines = [header, row].map((cells) => cells.map(quoteCsvCell).join(','));
  writeFileSync(world.path('users.csv'), `${lines.join('\n')}\n`);
  const first = await world.run(['upload', 'users.csv']);
  expect(first.code).toBe(3);
  expect((await world.run(printed(first.stderr))).code).toBe(3);
  expect(readFileSync(world.path('users.csv.rejects.ndjson'), 'utf8').split('\n')).toHaveLength(2);
  expect(written(service)).toEqual([]);
});

it.each<[string, object]>([
  ['an event of an export', { ts: 20_260_101_000_000, event_name: 'x', 'event_props.a': '1', 'profile.identity': 'other' }], // prettier-ignore
  ['a profile of an export', { 'profileData.x': 1, 'platformInfo.0.objectId': 'other' }],
])(
  'makes of a record without identity no row of %s when rejects are sent again',
  async (_, posted) => {
    const { world, service } = await serve();
    writeFileSync(world.path('form.ndjson'), `${JSON.stringify({ identity: null, ...posted })}\n`);
    const first = await world.run(['upload', 'form.ndjson']);
    expect(first.code).toBe(3);
    expect((await world.run(printed(first.stderr))).code).toBe(3);
    expect(written(service)).toEqual([]);
  },
);

it('sends all members of a corrected record that has names as of an export', async () => {
  const { world, service } = await serve();
  const posted = { identity: 'ann', 'profileData.x': 1, City: 'Oslo', Phone: ' 12' };
  writeFileSync(world.path('form.ndjson'), `${JSON.stringify(posted)}\n`);
  const first = await world.run(['upload', 'form.ndjson']);
  const rejects = readFileSync(world.path('form.ndjson.rejects.ndjson'), 'utf8');
  writeFileSync(world.path('form.ndjson.rejects.ndjson'), rejects.replaceAll(' 12', '+4712345678'));
  expect((await world.run(printed(first.stderr))).code).toBe(0);
  const profileData = { 'profileData.x': 1, City: 'Oslo', Phone: '+4712345678' };
  expect(written(service).flat()).toEqual([{ identity: 'ann', type: 'profile', profileData }]);
});

it.each([
  ['upload', '--identity', 'code'],
  ['demerge', '--identity', 'code', '--yes'],
])(
  'reads no record inside of one whose own column has the name of a member of a rejects file: %s',
  async (...command) => {
    const { world, service } = await serve();
    const posted = {
      code: 'own',
      source: 'x',
      line: 1,
      stage: 'service',
      record: { code: 'other' },
    };
    writeFileSync(world.path('form.ndjson'), `${JSON.stringify(posted)}\n`);
    const { code, stderr } = await world.run([...command, 'form.ndjson']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('column "code" of its own')]);
    expect(written(service)).toEqual([]);
  },
);

it.each([['upload'], ['demerge', '--yes']])(
  'keeps a text that looks like a list in its cell of a CSV rejects file: %s',
  async (...command) => {
    const { world, service } = await serve();
    const row = ['eve', '[x"\nbob,taken,,,,\n"]', 'Oslo', 'maybe'].map(quoteCsvCell).join(',');
    const header = 'identity,profileData.Bio,profileData.City,profileData.MSG-sms';
    writeFileSync(world.path('u.csv'), `${header}\n${row}\n`);
    await service.fault({ times: 1, action: 'reset-before' });
    const first = await world.run([...command, 'u.csv', '--rejects', 'r.csv']);
    expect(first.code).not.toBe(0);
    const before = written(service).flat().length;
    await world.run([...command, 'r.csv', '--retry-unknown', '--again']);
    const sent = JSON.stringify(written(service).flat().slice(before));
    expect(sent).not.toMatch(/"(?:identity":")?bob"/);
  },
);

it('sends a corrected line of an export with the types of its cells', async () => {
  const { world, service } = await serve();
  const rows = 'ann,5,"[""a"",1]"\nbob,6,"[""b""]",too many\n';
  writeFileSync(world.path('u.csv'), `identity,profileData.Age,profileData.Tags\n${rows}`);
  const first = await world.run(['upload', 'u.csv']);
  expect(first.code).toBe(3);
  const rejects = readFileSync(world.path('u.csv.rejects.ndjson'), 'utf8');
  writeFileSync(world.path('u.csv.rejects.ndjson'), rejects.replace(',too many', ''));
  expect((await world.run(printed(first.stderr))).code).toBe(0);
  expect(written(service).flat()).toMatchObject([
    { identity: 'ann', profileData: { Age: 5, Tags: ['a', 1] } },
    { identity: 'bob', profileData: { Age: 6, Tags: ['b'] } },
  ]);
});

it.each(['user.id', 'source.id', 'record.id'])(
  'reads no record inside of one whose own identity is at %s',
  async (identity) => {
    const { world, service } = await serve();
    const [first = ''] = identity.split('.');
    const posted = { source: 'web', line: 1, stage: 'service', record: { user: { id: 'other' }, source: { id: 'other' }, record: { id: 'other' } } }; // prettier-ignore
    writeFileSync(
      world.path('f.ndjson'),
      `${JSON.stringify({ ...posted, [first]: { id: 'own' } })}\n`,
    );
    await world.run(['upload', 'f.ndjson', '--identity', identity]);
    expect(JSON.stringify(written(service).flat())).not.toContain('"identity":"other"');
  },
);

it('keeps the types of a corrected line of an export, and its identity, also in the next rejects', async () => {
  const { world, service } = await serve();
  const rows = '7,"[""007""]",5,maybe,too many\nbob,"[""bob""]",6,maybe,too many\n';
  const header = 'identity,all_identities,profileData.Age,profileData.MSG-sms';
  writeFileSync(world.path('s.csv'), `${header}\n${rows}`);
  await world.run(['upload', 's.csv']);
  const correct = (from: string, to: string, wrong: string, right = ''): void =>
    writeFileSync(world.path(to), readFileSync(world.path(from), 'utf8').replaceAll(wrong, right));
  correct('s.csv.rejects.ndjson', '1.ndjson', ',too many');
  expect((await world.run(['upload', '1.ndjson', '--rejects', '2.ndjson'])).code).toBe(3);
  correct('2.ndjson', '3.ndjson', '"maybe"', 'true');
  const { code, stderr } = await world.run(['upload', '3.ndjson']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('"7" is not one of all_identities')]);
  expect(written(service).flat()).toMatchObject([{ identity: 'bob', profileData: { Age: 6 } }]);
});

it.each<[string, readonly string[], number]>([
  ['upload', [], 6],
  ['upload', ['--retry-unknown'], 0],
])(
  'asks each line of a rejects file that was broken and repaired: %s %j',
  async (name, flags, exit) => {
    const { world, service } = await serve();
    const record = { identity: 'ann', type: 'profile', profileData: { Count: { $incr: 5 } } };
    const line = { source: 'f', line: 1, stage: 'unknown', error: 'reset', record };
    writeFileSync(world.path('r.ndjson'), JSON.stringify(line).slice(0, -1));
    expect((await world.run([name, 'r.ndjson', '--final', '--rejects', 'r2.ndjson'])).code).toBe(3);
    const broken = readFileSync(world.path('r2.ndjson'), 'utf8');
    writeFileSync(world.path('r3.ndjson'), broken.replace('}}}"', '}}}}"'));
    expect((await world.run([name, 'r3.ndjson', ...flags])).code).toBe(exit);
    expect(written(service)).toHaveLength(exit === 0 ? 1 : 0);
  },
);

it('reads a broken and repaired line of an export as its row', async () => {
  const { world, service } = await serve();
  writeFileSync(world.path('x.csv'), 'identity,profileData.Age,profileData.MSG-sms\nann,5,maybe\n');
  await world.run(['upload', 'x.csv', '--rejects', 'r.ndjson']);
  const line = readFileSync(world.path('r.ndjson'), 'utf8').trim();
  writeFileSync(world.path('r.ndjson'), line.slice(0, -1));
  expect((await world.run(['upload', 'r.ndjson', '--final', '--rejects', 'r2.ndjson'])).code).toBe(
    3,
  );
  const broken = readFileSync(world.path('r2.ndjson'), 'utf8');
  writeFileSync(world.path('r3.ndjson'), broken.replace(/\]"/, ']}"').replaceAll('maybe', 'true'));
  expect((await world.run(['upload', 'r3.ndjson'])).code).toBe(0);
  expect(written(service).flat()).toMatchObject([
    { identity: 'ann', profileData: { Age: 5, 'MSG-sms': true } },
  ]);
});

it('rejects a line whose columns are no texts', async () => {
  const { world, service } = await serve();
  const line = { source: 'x', line: 1, stage: 'parse', error: 'x', record: 'a,b' };
  const lines = [[{ toString: 1 }, 'b'], 'ab', { length: 2 }].map((columns) => JSON.stringify({ ...line, columns })); // prettier-ignore
  writeFileSync(world.path('r.ndjson'), lines.join('\n'));
  expect((await world.run(['upload', 'r.ndjson'])).code).toBe(3);
  expect(written(service)).toEqual([]);
});

it.each([
  [
    ['--drop', 'a', '--map', 'a.b=B', '--types', 'a.c:integer'],
    { B: 'x', 'a.c': 1, [String.raw`a\.b`]: '7' },
  ],
  [['--only', 'a,a.b,MSG-sms'], { a: 'w', 'a.b': 'x' }],
  [['--only', 'a,MSG-sms', '--types', 'a.c:integer'], { a: 'w' }],
  [
    ['--drop', 'a', '--drop', 'a.b', '--types', String.raw`a\.b:integer`],
    { [String.raw`a\.b`]: 7, 'a.c': '1' },
  ],
])('sends a row of a table from its rejects as from the table: %j', async (flags, sent) => {
  const { world, service } = await serve();
  const rows = ['ann,w,x,1,7,true', 'bob,w,x,1,7,maybe'].join('\n');
  writeFileSync(world.path('u.csv'), `identity,a,a.b,a.c,a\\.b,MSG-sms\n${rows}\n`);
  expect((await world.run(['upload', 'u.csv', ...flags])).code).toBe(3);
  const rejects = readFileSync(world.path('u.csv.rejects.ndjson'), 'utf8');
  writeFileSync(world.path('r.ndjson'), rejects.replaceAll('maybe', 'true'));
  expect((await world.run(['upload', 'r.ndjson', ...flags])).code).toBe(0);
  const [ann, bob] = written(service).flat();
  expect(ann).toEqual({ identity: 'ann', type: 'profile', profileData: { ...sent, 'MSG-sms': true } }); // prettier-ignore
  expect(bob).toEqual({ ...ann, identity: 'bob' });
});

it('keeps an unknown outcome in rejects whose identity has the name of one of their members', async () => {
  const { world, service } = await serve();
  writeFileSync(world.path('u.csv'), 'code,Points\nann,"{""$incr"":5}"\n');
  await service.fault({ times: 1, action: 'reset-after' });
  const flags = ['--identity', 'code', '--types', 'Points:json'];
  expect((await world.run(['upload', 'u.csv', ...flags])).code).toBe(6);
  const [rejects, again] = ['u.csv.rejects.ndjson', 'again.ndjson'];
  const { code } = await world.run(['upload', rejects, ...flags, '--rejects', again]);
  expect([code, readFileSync(world.path(again), 'utf8')]).toEqual([
    6,
    expect.stringContaining('"stage":"unknown"'),
  ]);
  const asked = await world.run(['upload', rejects, ...flags, '--retry-unknown']);
  expect([asked.code, asked.stderr]).toEqual([3, expect.stringContaining('rename the column')]);
  expect(written(service)).toHaveLength(1);
});

it.each([
  [['--escape', '\\'], String.raw`"CORP\\ann","say \"hi\" now"`, ',x'],
  [['--quote', "'"], `'O''Brien',{"a":1}`, ',x'],
  [['--quote', "'", '--escape', '\\'], String.raw`'O\'Brien',{"a":1}`, ',x'],
  [['--quote', ''], '"ann" "x",5" disk; 3" tape', ',x'],
  [['--quote', '', '--delimiter', '|'], 'ann|"', '|x'],
  [[], 'ann,"say ""hi"" now"', ',x'],
])('reads a corrected line as a line of its input: %j', async (dialect, row, excess) => {
  const { world, service } = await serve();
  const header = row.includes('|') ? 'identity|Text' : 'identity,Text';
  writeFileSync(world.path('ok.csv'), `${header}\n${row}\n`);
  expect((await world.run(['upload', 'ok.csv', ...dialect])).code).toBe(0);
  writeFileSync(world.path('u.csv'), `${header}\n${row}${excess}\n`);
  expect((await world.run(['upload', 'u.csv', ...dialect])).code).toBe(3);
  const rejects = readFileSync(world.path('u.csv.rejects.ndjson'), 'utf8');
  writeFileSync(world.path('r.ndjson'), rejects.replace(`${excess}","columns"`, '","columns"'));
  expect((await world.run(['upload', 'r.ndjson'])).code).toBe(0);
  const [direct, corrected] = written(service);
  expect(corrected).toEqual(direct);
});

it('asks about a row of CSV rejects of unknown outcome that an edit broke and another one repaired', async () => {
  const { world, service } = await serve();
  const record = '{""$incr"":5}';
  writeFileSync(world.path('u.csv'), `identity,City,Points\nann,Oslo,"${record}"\n`);
  await service.fault({ times: 1, action: 'reset-after' });
  const types = ['--types', 'Points:json'];
  expect((await world.run(['upload', 'u.csv', ...types, '--rejects', 'r.csv'])).code).toBe(6);
  const csv = readFileSync(world.path('r.csv'), 'utf8');
  writeFileSync(world.path('r.csv'), csv.replace('Oslo', 'Oslo, Norway'));
  expect((await world.run(['upload', 'r.csv', ...types])).code).toBe(3);
  const rejects = readFileSync(world.path('r.csv.rejects.ndjson'), 'utf8');
  writeFileSync(world.path('r.ndjson'), rejects.replace(', Norway', ''));
  expect((await world.run(['upload', 'r.ndjson', ...types])).code).toBe(6);
  expect(written(service)).toHaveLength(1);
  expect((await world.run(['upload', 'r.ndjson', ...types, '--retry-unknown'])).code).toBe(0);
  expect(written(service)).toHaveLength(2);
});

it('asks about a row of CSV rejects of unknown outcome that another program made JSON of', async () => {
  const { world, service } = await serve();
  const row = { identity: 'ann', Points: { $incr: 5 }, engagectl_line: '2' };
  const lines = ['unknown: other side closed', 'service: 515'].map((engagectl_error) => JSON.stringify({ ...row, engagectl_error })); // prettier-ignore
  writeFileSync(world.path('r.ndjson'), lines.join('\n'));
  expect((await world.run(['upload', 'r.ndjson'])).code).toBe(6);
  expect(written(service)).toHaveLength(1);
  expect((await world.run(['upload', 'r.ndjson', '--retry-unknown', '--again'])).code).toBe(0);
});

it('makes no user of a header row, in whatever rejects file it is', async () => {
  const { world, service } = await serve();
  writeFileSync(world.path('u.csv'), 'identity,City\nann,Oslo\nidentity,City\n');
  expect((await world.run(['upload', 'u.csv', '--rejects', 'r.csv'])).code).toBe(3);
  expect((await world.run(['upload', 'r.csv'])).code).toBe(3);
  const { code, stderr } = await world.run(['upload', 'r.csv.rejects.ndjson']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('repeats the header')]);
  expect(written(service).flat()).toMatchObject([{ identity: 'ann' }]);
});

it.each([
  ['whose columns are moved', ['identity', 'Name', 'Email', 'Plan', 'City'], '4'],
  [
    'whose numbers another program has written',
    ['Name', 'Email', 'Plan', 'identity', 'City'],
    '4.0',
  ],
] as const)(
  'sends no line number as identity of a row that was rejected twice, and %s',
  async (_, order, line) => {
    const { service, world } = await serve();
    const text = 'Name,Email,Plan,identity,City\nBob,b@x.test,free,u2,Oslo\nCarl,c@x.test,paid\n';
    writeFileSync(world.path('u.csv'), text);
    expect((await world.run(['upload', 'u.csv', '--rejects', 'r1.csv'])).code).toBe(3);
    expect((await world.run(['upload', 'r1.csv', '--rejects', 'r2.csv'])).code).toBe(3);
    const names = [
      'Name',
      'Email',
      'Plan',
      'identity',
      'City',
      'engagectl_line',
      'engagectl_error',
    ];
    const row = readFileSync(world.path('r2.csv'), 'utf8').split('\n')[1]!;
    const cells = row.split(/,(?! but)/); // as wide as the header
    expect(cells).toHaveLength(names.length);
    const all = [...order, 'engagectl_line', 'engagectl_error'];
    const saved = all.map((name) => cells[names.indexOf(name)]!.replace(/^3$/, line));
    writeFileSync(world.path('r2.csv'), `${all.join(',')}\n${saved.join(',')}\n`);
    const { code, stderr } = await world.run(['upload', 'r2.csv']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('in another column')]);
    expect(written(service).flat()).toMatchObject([{ identity: 'u2' }]);
  },
);

// as csv.reader and csv.writer of Python, and spreadsheets, read and write them
it.each([
  [
    'broken quotes',
    'name,note,identity\n5" pipe,x,"u1\nb,c,u2\n',
    'name,note,identity,engagectl_line,engagectl_error\n"5"" pipe",x,"u1,2,parse: quote in an unquoted cell (column 2)""",,\n',
    'in another column',
  ],
  [
    'cells too many',
    'email,name,identity\na@x.test,Smith,John,7,Main Street\nb@x.test,Bob,u2\n',
    'email,name,identity,engagectl_line,engagectl_error\na@x.test,Smith,John,7,Main Street\n',
    'in another column',
  ],
  [
    'inches',
    'identity,product\nu1,"TV 32""\nu3,"Sofa"\nu2,x\n',
    'identity,product,engagectl_line,engagectl_error\nu1,"TV 32""\nu3,Sofa""",2,"parse: text after a closing quote, on line 3: lines 2 to 3 are one rejected record"\n',
    'may have made one cell of them',
  ],
])(
  'sends no row of a CSV rejects file that another program read in its own way: %s',
  async (_, text, saved, why) => {
    const { service, world } = await serve();
    writeFileSync(world.path('u.csv'), text);
    const first = await world.run(['upload', 'u.csv', '--rejects', 'r.csv']);
    expect(first.code).toBe(3);
    expect(readFileSync(world.path('r.csv'), 'utf8')).toContain(
      saved.split('parse: ')[1]?.split('"')[0] ?? 'parse: ',
    );
    writeFileSync(world.path('r.csv'), saved);
    const { code, stderr } = await world.run(['upload', 'r.csv']);
    expect([code, stderr]).toEqual([3, expect.stringContaining(why)]);
    expect(written(service).flat()).toMatchObject([{ identity: 'u2' }]);
  },
);

it.each([
  [
    'without the column of the line',
    (cells: readonly string[]) => [0, 1, 2, 4].map((at) => cells[at]),
  ],
  [
    'with the columns in another order',
    (cells: readonly string[]) => [3, 4, 0, 1, 2].map((at) => cells[at]),
  ],
  ['with both', (cells: readonly string[]) => [4, 2, 0, 1].map((at) => cells[at])],
])('sends no filled up or shortened row of a CSV rejects file %s', async (_, rewritten) => {
  const { service, world } = await serve();
  // rows with a cell too few, two too few, and a cell too many, as csv.DictReader of Python fills up and shortens them
  const rows = ['Note,City,identity', 'x,Oslo,u1', 'y,u2', 'z', 'Doe, John,Rome,u4'];
  writeFileSync(world.path('u.csv'), `${rows.join('\n')}\n`);
  expect((await world.run(['demerge', 'u.csv', '--yes', '--rejects', 'r.csv'])).code).toBe(3);
  const read = readFileSync(world.path('r.csv'), 'utf8').trim().split('\n').map((line) => line.split(/,(?! but)/)); // prettier-ignore
  const saved = read.map((cells) => rewritten(Array.from({ length: 5 }, (_, at) => cells[at] ?? '')).join(',')); // prettier-ignore
  writeFileSync(world.path('r.csv'), `${saved.join('\n')}\n`);
  const { code, stderr } = await world.run(['demerge', 'r.csv', '--yes']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('in another column')]);
  expect(written(service)).toEqual([['u1']]);
});
