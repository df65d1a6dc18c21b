import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startService } from '../../../src/testing.js';
import { serve, written } from '../../support/serve.js';
import { makeWorld, type World } from '../../support/test-environment.js';

// --quote, --escape, --comment and longer delimiters: the same outcomes as with RFC 4180.

const dialect = ['--delimiter', '::', '--quote', "'", '--escape', '\\', '--comment', '#'];
const users = 60;

/** Each user on two lines, every tenth line a comment, a row of three cells at the end. */
const text = `# made by hand\nidentity::Note\n${Array.from(
  { length: users },
  (_, n) => `${n % 10 === 0 ? "#'\n" : ''}'user-${n}'::'it\\'s "${n}"\nü: 1:2'\n`,
).join('')}too::many::cells\n`;

const rejectsOf = (world: World, name: string): unknown[] =>
  readFileSync(world.path(name), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

const recordsIn = (body: unknown) => (body as { readonly d: readonly unknown[] }).d;

it('uploads cells, reports rejects by line, and resumes only with the same dialect', async () => {
  await using service = await startService();
  await service.fault({ after: 3, times: 1, answer: { status: 401 } });
  const world = makeWorld({ env: service.env });
  writeFileSync(world.path('users.txt'), text);
  const small = ['--input-format', 'csv', '--chunk-size', '10', '--concurrency', '1', '--json'];
  const argv = ['upload', 'users.txt', ...small];
  expect((await world.run([...argv, ...dialect])).code).toBe(4);
  const otherDialect = dialect.map((word) => (word === '\\' ? '^' : word));
  const changed = await world.run([...argv, ...otherDialect, '--resume']);
  expect([changed.code, changed.stderr]).toEqual([8, expect.stringContaining('options')]);

  const { code, stdout } = await world.run([...argv, ...dialect, '--resume']);
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({
    code: 3,
    read: users + 1,
    resumed: 30,
    accepted: 30,
    rejected: 1,
  });
  const sent = service
    .requests()
    .flatMap(({ status, body }) => (status === 200 ? recordsIn(body) : []));
  expect(sent).toEqual(
    Array.from({ length: users }, (_, n) => ({
      type: 'profile',
      identity: `user-${n}`,
      profileData: { Note: `it's "${n}"\nü: 1:2` },
    })),
  );
  expect(rejectsOf(world, 'users.txt.rejects.ndjson')).toMatchObject([
    { line: 3 + users * 2 + 6, stage: 'parse', record: 'too::many::cells' },
  ]);
});

it('can be read by subscribe and demerge, and as a list with comments', async () => {
  const world = makeWorld();
  writeFileSync(
    world.path('s.csv'),
    "type::value::status\n#\nphone::'+1\\'2'::Unsubscribe\nx::y::z\n",
  );
  const subscribe = await world.run(['subscribe', 's.csv', '--check', '--json', ...dialect]);
  expect([subscribe.code, JSON.parse(subscribe.stdout)]).toMatchObject([
    3,
    { read: 2, rejected: 1 },
  ]);
  expect(rejectsOf(world, 's.csv.rejects.ndjson')).toMatchObject([{ line: 4, stage: 'validate' }]);

  const list = "# to take apart\n'a'\n\nb\n#c\n";
  const argv = ['demerge', '--check', '--json', '--quote', "'", '--comment', '#'];
  const demerge = await world.run(argv, { stdin: list });
  expect([demerge.code, JSON.parse(demerge.stdout)]).toMatchObject([0, { read: 2 }]);
});

it('can be read by get-profile', async () => {
  const world = makeWorld();
  writeFileSync(world.path('who.csv'), "# who\nidentity::Note\n'nobody\\'s'::x\n");
  const argv = ['get-profile', '--input', 'who.csv', '--region', 'local', '--quiet', ...dialect];
  const { code, stderr } = await world.run(argv);
  expect(code, stderr).toBe(3);
  expect(rejectsOf(world, 'who.csv.rejects.ndjson')).toMatchObject([
    { line: 3, record: { identity: "nobody's", Note: 'x' } },
  ]);
});

it.each([
  ['identity,City\nu1,Łódź\n', 'Łódź'],
  ['identity;Город\nu1;Москва\n', 'Москва'],
])('recognizes UTF-16 without a byte order mark by its letters: %j', async (text, city) => {
  for (const isBigEndian of [false, true]) {
    const { world, service } = await serve();
    const bytes = Buffer.from(text, 'utf16le');
    writeFileSync(world.path('u.csv'), isBigEndian ? bytes.swap16() : bytes);
    const { code, stderr } = await world.run(['upload', 'u.csv']);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`encoding utf-16${isBigEndian ? 'be' : 'le'}`)]); // prettier-ignore
    expect(JSON.stringify(written(service))).toContain(city);
  }
});

/** UTF-8 with a cell whose lines look like a table, or a list, in UTF-16 without a mark. */
const cellOfUtf16 = (before: string, inside: string, encoding: 'utf-16le' | 'utf-16be'): Buffer => {
  const cell = Buffer.from(inside, 'utf16le');
  const bytes = encoding === 'utf-16be' ? cell.swap16() : cell;
  return Buffer.concat([Buffer.from(before), bytes, Buffer.from('"\nuser-1,x\nuser-2,x\n')]);
};
const victims = Array.from({ length: 20 }, (_, n) => `victim-${n},evil@example.com\n`).join('');

it.each(
  (['utf-16le', 'utf-16be'] as const).flatMap((encoding) =>
    ['', 'x'].flatMap((pad) => [
      ['upload', 'identity,note\nu1,"', pad, encoding] as const,
      ['demerge', '"', pad, encoding] as const,
    ]),
  ),
)('makes no records of a quoted cell that looks like UTF-16: %s %j%s in %s', async (...input) => {
  const [command, before, pad, encoding] = input;
  const inside = `${'A'.repeat(20)}\nidentity,Email\n${victims}`;
  const bytes = cellOfUtf16(before + pad, inside, encoding);
  for (const name of ['in.txt', '-']) {
    const { world, service } = await serve();
    writeFileSync(world.path('in.txt'), bytes);
    const flags = command === 'demerge' ? ['--yes'] : ['--input-format', 'csv'];
    const { stderr } = await world.run([command, name, ...flags], { stdin: bytes });
    expect(JSON.stringify(written(service)), stderr).not.toContain('"victim');
    if (command === 'demerge') continue;
    await world.run(['upload', name, ...flags, '--encoding', 'utf-8'], { stdin: bytes });
    const identities = new Set(written(service).flat().map(({ identity }) => identity)); // prettier-ignore
    expect(identities).toEqual(new Set(['u1', 'user-1', 'user-2']));
  }
});

it('says which encodings are possible if there are NULs as in UTF-16, and lines without', async () => {
  const { world, service } = await serve();
  writeFileSync(world.path('in.csv'), cellOfUtf16('identity,note\nu1,"', victims, 'utf-16be'));
  const { code, stderr } = await world.run(['upload', 'in.csv']);
  expect([code, stderr]).toEqual([8, expect.stringContaining('in.csv may be utf-16be or utf-8')]);
  expect(stderr).toContain('fix: set its encoding: --encoding utf-16be or --encoding utf-8');
  expect(written(service)).toEqual([]);
});

it.each(['utf-16le', 'utf-16be'])(
  'reads %s with a mark, with the bytes of line ends',
  async (encoding) => {
    const { world, service } = await serve();
    const cities = ['上海上市', '不大不小', '好不好'];
    const lines = cities.map((city, n) => `u${n},${city}\n`);
    const bytes = Buffer.from(`\uFEFFidentity,City\n${lines.join('')}`, 'utf16le');
    writeFileSync(world.path('in.csv'), encoding === 'utf-16be' ? bytes.swap16() : bytes);
    const { code, stderr } = await world.run(['upload', 'in.csv']);
    expect(code, stderr).toBe(0);
    for (const city of cities) expect(JSON.stringify(written(service))).toContain(city);
  },
);

it('does not take the first value of a list for a mark of UTF-16', async () => {
  const { world, service } = await serve();
  const bytes = Buffer.from('ÿþanna\nuser12\nuser13\nuser14\nuser1\n', 'latin1');
  writeFileSync(world.path('in.txt'), bytes);
  const list = ['demerge', 'in.txt', '--input-format', 'list', '--yes'];
  const asked = await world.run(list);
  expect([asked.code, written(service)]).toEqual([8, []]);
  expect(asked.stderr).toContain('--encoding utf-16le or --encoding windows-1252');
  const { stderr } = await world.run([...list, '--encoding', 'windows-1252']);
  const sent = service.requests().map(({ body }) => body);
  expect(sent, stderr).toMatchObject([{ identities: ['ÿþanna', 'user12', 'user13', 'user14', 'user1'] }]); // prettier-ignore
});

it.each([
  ['u.csv', 'identity,City\nu1,Größe\n', ['--encoding', 'utf-16le'], 'why: it starts with text in UTF-8'], // prettier-ignore
  ['u.ndjson', '{"identity":"u1"}\n', ['--encoding', 'utf-16be'], 'E-FORMAT: u.ndjson is not utf-16be'], // prettier-ignore
  ['u.tsv', 'identity;City\nu1;Oslo\n', [], "fix: set the delimiter: --delimiter ';'"],
])(
  'stops before anything is sent and says what to type: %s %j %j',
  async (name, text, flags, message) => {
    const { world, service } = await serve();
    writeFileSync(world.path(name), text);
    const { code, stderr } = await world.run(['upload', name, ...flags]);
    expect([code, stderr]).toEqual([8, expect.stringContaining(message)]);
    expect(written(service)).toEqual([]);
  },
);

it('makes no record of the inside of a cell whose escape sequence hides the quote at its end', async () => {
  const { service, world } = await serve();
  const escape = '\x1B$B!';
  const rows = ['ann,Oslo', `mal,"a,x${escape}"`, 'bob,Rome'];
  const evil = `mal2,"\r\nvic,Evil\r\ny,z${escape}"`;
  writeFileSync(
    world.path('jp.csv'),
    ['identity,City', ...rows, evil, 'cat,Bonn', ''].join('\r\n'),
  );
  const { code, stderr } = await world.run(['upload', 'jp.csv', '--encoding', 'iso-2022-jp']);
  expect(written(service)).toEqual([]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('save the input as UTF-8')]);
});
