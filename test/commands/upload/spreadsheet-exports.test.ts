import { PassThrough } from 'node:stream';
import { writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startService } from '../../../src/testing.js';
import { serve, written } from '../../support/serve.js';
import { makeWorld } from '../../support/test-environment.js';

// Files as spreadsheets and hurried people make them: what is wrong is said where it can be put right.

async function upload(name: string, text: string | Buffer, ...flags: string[]) {
  const service = await startService();
  onTestFinished(() => service.close());
  const world = makeWorld({ env: service.env });
  writeFileSync(world.path(name), text);
  return { ...(await world.run(['upload', name, ...flags])), service };
}

it('skips no row as empty of which only the first 64 KiB are blank', async () => {
  const blanks = ' '.repeat(66_000);
  const text = `identity,City\nann,Oslo\n${blanks}bob,Rome,extra\n${blanks.slice(0, 60_000)},,\n`;
  const { code, stdout } = await upload('users.csv', text, '--json');
  expect([code, JSON.parse(stdout)]).toMatchObject([3, { read: 2, rejected: 1, emptyRows: 1 }]);
});

describe('the dialect of a spreadsheet', () => {
  const detected = (text: string) => `users.csv: detected ${text}`;
  const utf16 = Buffer.from('identity\tCity\nu1\tMalmö\n', 'utf16le');
  it.each<[string, string | Buffer, string, object]>([
    ['semicolons', 'identity;City\nu1;Malmö\n', detected('delimiter ";"'), { delimiter: ';' }],
    ['tabs', 'identity\tCity\nu1\tMalmö\n', detected('delimiter "\\t"'), { delimiter: '\t' }],
    ['bars', 'identity|City\nu1|Malmö\n', detected('delimiter "|"'), { delimiter: '|' }],
    ['a separator line', 'sep=;\r\nidentity;City\r\nu1;Malmö\r\n', '";"', { headerLine: 2 }],
    ['a separator line of its own delimiter', 'sep=,\nidentity,City\nu1,Malmö\n', '', {}],
    ['decimal commas', 'identity;City\nu1;Malmö\nu2;1,5\n', '";"', { delimiter: ';' }],
    [
      'an old encoding',
      Buffer.from('identity,City\nu1,Malmö\n', 'latin1'),
      detected('encoding windows-1252 (override with --encoding)'),
      { encoding: 'windows-1252' },
    ],
    ['UTF-16 without a mark', utf16, 'encoding utf-16le', { encoding: 'utf-16le' }],
    [
      'title lines',
      'Users of 2026\n;;\n"as of\ntoday";;\nidentity;City;Plan\nu1;Malmö;a\nu2;Rome;b\n',
      'header on line 5',
      { headerLine: 5, delimiter: ';' },
    ],
    [
      'a title with a comma, and no other',
      'Users, as of 2026\nidentity;City\nu1;Malmö\nu2;Rome\n',
      'header on line 2',
      { headerLine: 2, delimiter: ';' },
    ],
  ])('is detected and reported: %s', async (_, text, note, input) => {
    const { code, stdout, stderr, service } = await upload('users.csv', text, '--json');
    expect([code, stderr]).toEqual([0, expect.stringContaining(JSON.stringify(note).slice(1, -1))]);
    expect(JSON.parse(stdout)).toMatchObject({ input: { format: 'csv', ...input } });
    expect(JSON.stringify(written(service).flat()[0])).toContain('"City":"Malmö"');
  });

  it.each([
    ['sep=;\nidentity|City;x\nu1|Oslo;y\n', '--delimiter', '|', { 'City;x': 'Oslo;y' }],
    ['a\nb\nidentity,City\nu1,Oslo\n', '--skip-lines', '2', { City: 'Oslo' }],
    ['Report,X\nidentity,City\nu1,Oslo\n', '--skip-lines', '1', { City: 'Oslo' }],
  ])('can be set by flags: %j %s %s', async (text, flag, value, profileData) => {
    const { code, service } = await upload('users.csv', text, flag, value);
    expect(code).toBe(0);
    expect(written(service).flat()).toMatchObject([{ identity: 'u1', profileData }]);
  });

  it.each<[string, string | Buffer, string]>([
    [
      'an ambiguous delimiter',
      'identity;a,b\nu1;2,3\n',
      "choose one: --delimiter ',' or --delimiter ';'",
    ],
    [
      'Cyrillic',
      Buffer.from([...Buffer.from('identity,City\nu1,'), 0xcc, 0xee, 0xf1, 0xea, 10]),
      'windows-1251',
    ],
    [
      'German of DOS, which would name another user',
      Buffer.concat([Buffer.from('identity,City\nM'), Buffer.of(0x94), Buffer.from('ller,x\n')]),
      'iconv -f CP850 -t UTF-8',
    ],
    [
      'UTF-8 with one other byte',
      Buffer.concat([Buffer.from('identity,City\nu1,Malmö\nu2,'), Buffer.of(0xf6, 10)]),
      'line 3 is not valid UTF-8',
    ],
    [
      'text that was encoded twice',
      'identity,City\nu1,MalmÃ¶\n',
      'probably for "MalmÃ¶"'.replace('MalmÃ¶', 'Malmö'),
    ],
    [
      'a title of two cells, as of a bank',
      'Account;DE00 1234\nDate;1.11.2026\n\nCustomer;Amount\nu1;2\n',
      '--skip-lines <count>',
    ],
    ['a nameless column', 'Report;;\n\nidentity;;x\nu1;Oslo;y\n', '--skip-lines'],
    [
      'rows of text with another delimiter, and commas without quotes',
      'identity,Note\nu1,Oslo\nu7,a|identity|Email|b,c\nu8,a|u2|u8@example.com|b,c\nu9,a|u3|u9@example.com|b,c\n',
      "--skip-lines 0 --delimiter ','",
    ],
    [
      'a title, and rows of text with another delimiter below the header',
      'Contact form\nidentity;Note\nu1;x;y\nu7;a,identity,b\nu7;a,u2,b\nu7;a,u3,b\n',
      "--skip-lines 1 --delimiter ';'",
    ],
    [
      'a title, and only rows of text with another delimiter below the header',
      'Contact form\nidentity;Note\nu7;a,identity,b\nu7;a,u2,b\nu7;a,u3,b\n',
      "--skip-lines 1 --delimiter ';'",
    ],
  ])('stops the run before anything is sent if it is ambiguous: %s', async (_, text, message) => {
    const { code, stderr, service } = await upload('users.csv', text);
    expect([code, stderr]).toEqual([8, expect.stringContaining(message)]);
    expect(service.requests()).toEqual([]);
  });

  it.each([
    ['an object', '{"identity":"victim"}\nann\n'],
    ['one object', '{"identity":"victim"}\n'],
    [
      'a rejected record',
      '{"source":"x","line":1,"stage":"service","record":{"identity":"victim"}}\n',
    ],
    ['an array', '["victim"]\nann\n'],
    ['one array', '["victim","admin"]\n'],
  ])('takes %s at the start of a list for no other format', async (what, text) => {
    const { world, service } = await serve();
    writeFileSync(world.path('leavers.txt'), text);
    const refused = await world.run(['demerge', 'leavers.txt', '--yes']);
    expect([refused.code, refused.stderr]).toEqual([8, expect.stringContaining('E-FORMAT')]);
    expect(refused.stderr).toContain('--input-format list');
    const asList = ['--input-format', 'list', '--quote', ''];
    const list = await world.run(['demerge', 'leavers.txt', '--yes', ...asList]);
    expect([list.code, written(service).flat()]).toEqual([0, text.trimEnd().split('\n')]);
    const other = await serve();
    const piped = await other.world.run(['demerge', '-', '--yes'], { stdin: text });
    const isNdjson = what === 'one object' || what === 'a rejected record'; // as far as a pipe shows
    expect(piped.code).toBe(isNdjson ? 0 : 8);
    expect(written(other.service).flat()).toEqual(isNdjson ? ['victim'] : []);
  });

  it('waits for the second line of a pipe before it takes the first one for a record', async () => {
    const { world, service } = await serve();
    const stdin = new PassThrough();
    stdin.write('{"identity":"victim"}\n');
    const piped = world.run(['demerge', '-', '--yes'], { stdin });
    setTimeout(() => stdin.end('ann\n'), 300);
    const { code, stderr } = await piped;
    expect([code, stderr]).toEqual([8, expect.stringContaining('--input-format list')]);
    expect(service.requests()).toEqual([]);
  });

  it('makes no table of a list of which some values have delimiters', async () => {
    const { service, world } = await serve();
    writeFileSync(world.path('list.csv'), 'identity\nu1\nu7|identity\nu8|u2\nu9|u3\n');
    const { code, stderr } = await world.run(['demerge', 'list.csv', '--yes']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('header row is in doubt')]);
    expect(service.requests()).toEqual([]);
  });

  it('skips lines above the values of a list', async () => {
    const { service, world } = await serve();
    writeFileSync(world.path('list.txt'), 'Leavers\n\nu1\nu2\n');
    const flags = ['--yes', '--input-format', 'list', '--skip-lines', '2'];
    const { code, stderr } = await world.run(['demerge', 'list.txt', ...flags]);
    expect(code, stderr).toBe(0);
    expect(written(service).flat()).toEqual(['u1', 'u2']);
  });

  it.each(['sep=,', 'sep=;'])(
    'makes no table of a list whose first value is %s',
    async (separator) => {
      const { service, world } = await serve();
      const row = (...cells: string[]) => `${cells.join(separator.at(-1))}\n`;
      const list = `${separator}\n${row('identity', 'x')}u1\nu2\nu3\n${row('u7', 'y')}u4\n`;
      writeFileSync(world.path('list.txt'), list);
      const { code, stderr } = await world.run(['demerge', 'list.txt', '--yes']);
      expect([code, stderr]).toEqual([8, expect.stringContaining('may be a list or a table')]);
      expect(service.requests()).toEqual([]);
    },
  );

  it.each([
    [['upload'], 'identity', 'identity,City\n'],
    [['upload'], '"identity"', 'platformInfo,City\n'],
    [['upload', '--object-id', 'device'], 'device', 'device,City\n'],
    [['upload', '--type', 'event', '--event-name', 'X', '--ts', 'now'], 'identity', 'identity,a\n'],
    [
      ['subscribe', '--type', 'email', '--status', 'Unsubscribe', '--map', 'mail=value'],
      'mail',
      'mail,City\n',
    ],
    [['get-profile', '--input'], 'email', 'identity,City\n'],
  ])('takes no row for the header of a table with one column: %j', async (words, header, row) => {
    const { service, world } = await serve();
    writeFileSync(world.path('users.csv'), `${header}\nu1\nu2\n${row}u7,a\nu8,b\nu9,c\n`);
    const { code, stderr } = await world.run([...words, 'users.csv']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('header row is in doubt')]);
    expect(service.requests()).toEqual([]);
  });

  it.each([
    ['in the first line', 'Customers, as of today\n'],
    ['in a later line', 'Report\nBerlin, 27 November\n\n'],
  ])(
    'takes titles with another delimiter %s for no header without the identity',
    async (_, titles) => {
      const rows = `${titles}identity;City\nu1;Oslo\nu2;Rome, Lazio\n`;
      const { code, stderr, service } = await upload('users.csv', rows);
      expect([code, stderr]).toEqual([0, expect.stringContaining('delimiter ";"')]);
      expect(written(service).flat()).toMatchObject([
        { identity: 'u1', profileData: { City: 'Oslo' } },
        { identity: 'u2', profileData: { City: 'Rome, Lazio' } },
      ]);
    },
  );

  it.each([
    ['preview', ['upload', '--preview']],
    ['verify', ['verify']],
  ])('finds the header in %s where the upload finds it', async (_, words) => {
    const { world } = await serve();
    const rows = 'Report\nBerlin, 27 November\n\nidentity;City\nu1;Oslo\nu2;Rome, Lazio\n';
    writeFileSync(world.path('users.csv'), rows);
    writeFileSync(world.path('list.csv'), 'identity\nu1\nidentity,a\nu7,a\nu8,b\nu9,c\n');
    expect(await world.run(['upload', 'users.csv'])).toMatchObject({ code: 0 });
    expect(await world.run([...words, 'users.csv'])).toMatchObject({ code: 0 });
    const inDoubt = { code: 8, stderr: expect.stringContaining('in doubt') as unknown };
    expect(await world.run(['upload', 'list.csv'])).toMatchObject(inDoubt);
    expect(await world.run([...words, 'list.csv'])).toMatchObject(inDoubt);
  });

  it('makes no rows of a quoted cell with quotes and line ends', async () => {
    const note = '"say ""hi"", then\nx,identity,y\na,u7,b\nc,u8,d\n"';
    const rows = `Report\nidentity;Note\nu1;${note}\nu2;ok\n`;
    const { code, service } = await upload('users.csv', rows);
    expect(code).toBe(0);
    expect(written(service).flat()).toMatchObject([{ identity: 'u1' }, { identity: 'u2' }]);
  });

  it.each([
    'u7|identity\nu8|u2\nu3\nu4\n',
    'u1;x\nu2\nidentity,City\nu7,a\nu8,b\nu9,c\n',
    'u1;x\nu2;y;z\nidentity,City\nu7,a;b;c\nu8,b;c;d\nu9,c;d;e\n',
  ])('makes no table of a list of which the first value has a delimiter: %j', async (list) => {
    const { service, world } = await serve();
    writeFileSync(world.path('list.txt'), list);
    const { code, stderr } = await world.run(['demerge', 'list.txt', '--yes']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('--input-format list')]);
    expect(service.requests()).toEqual([]);
  });

  it('allows empty rows at the end, which are counted and not sent', async () => {
    const rows = 'identity,City\nu1,Oslo\n,\n"",""\n,,,\nu2,Rome\n,\n';
    const { code, stdout, service } = await upload('users.csv', rows, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ read: 2, accepted: 2, rejected: 0, emptyRows: 4 });
    expect(written(service).flat()).toHaveLength(2);
  });
});

it.each([[], ['--check']])(
  'reports long numbers that a spreadsheet has shortened in every run: %j',
  async (...flags) => {
    const rows = 'identity,Card\nann,9.17891234567E+11\nbob,9.17891234567E+11\n';
    const { code, stderr } = await upload('users.csv', rows, ...flags);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^warning: users\.csv: "Card" all 2 values are like "9\.17…", which a spreadsheet has rounded: .*number$/m,
    );
    const german = 'identity;Card\nann;9,17891234567E+11\nbob;9,17891234567E+11\n';
    expect((await upload('german.csv', german, ...flags)).stderr).toContain(
      '"Card" all 2 values are like "9,17…", which a spreadsheet has rounded',
    );
    const ids = 'identity,City\nE10,1e\n917891234567,Rome\n';
    expect((await upload('users.csv', ids, ...flags)).stderr).not.toContain('warning');
  },
);

it.each([['upload'], ['demerge', '--yes']])(
  'takes no user for another one by an id that a spreadsheet has changed: %j',
  async (...argv) => {
    const service = await startService();
    onTestFinished(() => service.close());
    const world = makeWorld({ env: service.env });
    const ids = ['9.17891E+11', "'007", "'@ann", 'bob'];
    writeFileSync(world.path('users.csv'), `identity,City\n${ids.join(',Oslo\n')},Oslo\n`);
    const { code, stderr } = await world.run([...argv, 'users.csv']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('3 validation errors')]);
    const body = service.requests().map((request) => request.body);
    expect(JSON.stringify(body)).toContain('bob');
    expect(JSON.stringify(body)).not.toMatch(/E\+11|007|@ann/);
  },
);

it('reports a decimal comma', async () => {
  const { code, stderr } = await upload(
    'users.csv',
    'identity,Score,Points\nu1,"1.234,5",x\n',
    '--types',
    'Score:number,Points:number',
  );
  expect(code).toBe(3);
  expect(stderr).toContain(
    '"1.234,5" is not a number: its decimal separator must be a point, not a comma',
  );
  expect(stderr).toContain('"x" is not a number\n');
});

describe('D JSON with a wrong extension', () => {
  it.each(['[\n{"identity":"u1"}\n]\n', ' [{"identity":"u1"}]'])(
    'an array in a .ndjson is refused, and accepted with the named flag: %j',
    async (text) => {
      const { code, stderr } = await upload('users.ndjson', text);
      expect([code, stderr]).toEqual([8, expect.stringContaining('fix: add --input-format json')]);
      expect((await upload('users.ndjson', text, '--input-format', 'json')).code).toBe(0);
    },
  );

  it('lines that end with a comma are rejected with that reason', async () => {
    const { code, stderr } = await upload('users.ndjson', '{"identity":"u1"},\n[1]\n');
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining('continues after its end, with ","'),
    ]);
  });

  it.each([
    ['{"users":[{"identity":"u1"}]}', 'add --records users\n'],
    [
      '{"a":"[{","tags":["x"],"data":{"n":{},"my users":[{"b":[{}]}]},"more":[\n{}]}',
      "add --records 'data.my users' or --records more",
    ],
    ['{"total":0}', 'add --records <path>\n'],
  ])(
    'an object around the records is reported with the paths of its arrays: %s',
    async (text, fix) => {
      const { code, stderr } = await upload('users.json', text);
      expect([code, stderr]).toEqual([8, expect.stringContaining(fix)]);
    },
  );
});

it('reports an empty file name as a variable that was not set', async () => {
  const { code, stderr } = await makeWorld().run(['upload', '', '--region', 'local']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('variable that is not set')]);
});

describe('D a header without the column identity', () => {
  it.each([
    ['Id,City\n1,Oslo\n', 'Id'],
    ["City,Customer's ID,Email\nOslo,1,a@example.test\n", '"Customer\'s ID"'],
    ['Identity,City\nu1,Oslo\n', 'Identity'],
  ])('suggests the column that probably identifies the user: %j', async (text, column) => {
    const { code, stderr } = await upload('users.csv', text);
    expect([code, stderr]).toEqual([
      8,
      expect.stringContaining(`fix: add --identity ${column} if`),
    ]);
  });

  it('may be a missing header', async () => {
    const { code, stderr } = await upload('users.csv', 'u1,Oslo\nu2,Rome\n');
    expect([code, stderr]).toEqual([8, expect.stringContaining('add a header line')]);
  });
});

it('does not report a preview with only rejects as free of mistakes', async () => {
  const rows = 'identity,Score\nu1,"1,5"\n';
  const { code, stdout } = await upload('users.csv', rows, '--types', 'Score:number', '--preview');
  expect(code).toBe(3);
  expect(stdout).not.toMatch(/No likely mistakes|Time:/);
  expect(stdout).toContain('To be sent: nothing\n');
});

it('names what a list of addresses without type and status requires', async () => {
  const world = makeWorld();
  writeFileSync(world.path('addresses.txt'), 'ann@example.test\n');
  const { code, stderr } = await world.run(['subscribe', 'addresses.txt', '--region', 'local']);
  const fix = 'a list of values alone needs --type <type> and --status <status>';
  expect([code, stderr]).toEqual([8, expect.stringContaining(fix)]);
});

it('reports all errors of a mapping file, with the nearest names', async () => {
  const world = makeWorld();
  writeFileSync(world.path('users.csv'), 'identity\nu1\n');
  writeFileSync(world.path('map.json'), '{"identiy":"Id","map":{"a":1}}');
  const line = ['upload', 'users.csv', '--mapping', 'map.json', '--region', 'local'];
  const { code, stderr } = await world.run(line);
  const faults =
    'map.a has to be string, not number; unknown member "identiy"; did you mean "identity"?';
  expect([code, stderr]).toEqual([2, expect.stringContaining(faults)]);
});

it.each([
  ['users.csv', '\uFEFF<!DOCTYPE html>\n<html><body>Sign in</body></html>\n'],
  ['users.ndjson', '\n<html lang="en">'],
  ['report.xls', '<table border="1"><tr><td>identity</td></tr></table>'],
])('recognizes a web page that was saved as %s', async (name, text) => {
  const { code, stderr, service } = await upload(name, text);
  expect([code, stderr]).toEqual([
    8,
    expect.stringContaining(`E-FORMAT: ${name} is a web page, not records`),
  ]);
  expect(service.requests()).toEqual([]);
});

it.each(['<html>', '<!doctype html'])(
  'reads a list whose first value is %s, if --input-format says that it is one',
  async (value) => {
    const { service, world } = await serve();
    writeFileSync(world.path('gone.txt'), `${value}\nu2\n`);
    const demerge = ['demerge', 'gone.txt', '--yes'];
    expect((await world.run(demerge)).stderr).toContain('--input-format list');
    const { code, stderr } = await world.run([...demerge, '--input-format', 'list']);
    expect(code, stderr).toBe(0);
    expect(written(service).flat()).toEqual([value, 'u2']);
  },
);

it.each(['utf-32le', 'utf-32be'])('recognizes %s, whose mark begins like UTF-16', async (name) => {
  const text = '\uFEFFidentity\nu1\n';
  const bytes = Buffer.from(Uint32Array.from(text, (letter) => letter.codePointAt(0)!).buffer);
  if (name === 'utf-32be') bytes.swap32();
  const { code, stderr, service } = await upload('users.csv', bytes);
  expect([code, stderr]).toEqual([8, expect.stringContaining('E-FORMAT: users.csv is UTF-32')]);
  expect(service.requests()).toEqual([]);
});

it('does not advise to take quotes for a part of the names', async () => {
  const { code, stderr } = await upload('users.csv', "'identity','City'\n'u1','Oslo'\n");
  expect([code, stderr]).toEqual([
    8,
    expect.stringContaining('fix: put cells between double quotes'),
  ]);
});
