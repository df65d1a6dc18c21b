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

const subscribeList = ['subscribe', '--type', 'email', '--status', 'Unsubscribe'];

it.each([
  ['a header', ['demerge', '--yes'], 'My report\nName,identity\nann,u1\nbob,"x\nvictim\ny"\n', 'E-HEADER', 2], // prettier-ignore
  ['a header', subscribeList, 'My report\nName,Email\nann,a@x.test\nbob,"x\nvictim@x.test\ny"\n', 'E-HEADER', 2], // prettier-ignore
  ['a quote', ['demerge', '--yes'], 'u1\nbob,"x\nvictim\ny"\n', 'E-CSV-QUOTE', 2],
  ['a quote', ['get-profile'], '# made by hand\nu1\n"bob"^"x\nvictim\ny"\n', 'E-CSV-QUOTE', 3],
  ['a quote', subscribeList, 'a@x.test\nbob = "x\nvictim@x.test\ny"\n', 'E-CSV-QUOTE', 2],
  ['a quote of a long line', ['demerge', '--yes'], `u1\n${'b'.repeat(2e6)},"x\nvictim\ny"\n`, 'E-CSV-QUOTE', 2], // prettier-ignore
])(
  'sends no line of a cell of a list with %s that may be of a table: %j',
  async (_, argv, text, id, line) => {
    for (const name of ['in.txt', '-'])
      for (const isList of [false, true]) {
        const { world, service } = await serve();
        writeFileSync(world.path('in.txt'), text);
        const file = argv[0] === 'get-profile' ? ['--input', name] : [name];
        const flags = isList ? ['--input-format', 'list'] : [];
        const { code, stderr } = await world.run([...argv, ...file, ...flags], { stdin: text });
        const sent = JSON.stringify(service.requests());
        expect(sent.includes('victim'), stderr).toBe(isList);
        if (isList) continue;
        expect([code, stderr]).toEqual([8, expect.stringContaining(id)]);
        expect(stderr).toMatch(new RegExp(`(?:line |:)${line}\\b`));
        expect(stderr).toMatch(/add --input-format csv.*add --input-format list|list;.*format csv/);
      }
  },
);

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

/** Text in UTF-8 with a cell whose lines look like a table in UTF-16. */
const withUtf16 = (before: string, encoding: string, after: string): Buffer => {
  const victims = Array.from({ length: 20 }, (_, n) => `victim-${n},evil@example.com\n`);
  const cell = Buffer.from(`${'A'.repeat(20)}\nidentity,Email\n${victims.join('')}`, 'utf16le');
  const bytes = encoding === 'utf-16be' ? cell.swap16() : cell;
  return Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]);
};
const utf16s = ['utf-16le', 'utf-16be'] as const;

it.each(
  ['identity,note\nu1,"', 'identity,😀\nu1,"', '\nidentity,имя\nu1,"'].flatMap((before) =>
    utf16s.flatMap((encoding) => [
      ['in.csv', before, encoding] as const,
      ['-', `${before}x`, encoding] as const,
    ]),
  ),
)(
  'makes no records of a cell that looks like UTF-16: %s %j in %s',
  async (name, before, encoding) => {
    const { world, service } = await serve();
    const bytes = withUtf16(before, encoding, '"\nuser-1,Анна\nuser-2,Ürün\n');
    writeFileSync(world.path('in.csv'), bytes);
    const { stderr } = await world.run(['upload', name], { stdin: bytes });
    const sent = new Set(
      written(service).flatMap((records) => records.map(({ identity }) => identity)),
    );
    expect(sent, stderr).toEqual(new Set(['u1', 'user-1', 'user-2']));
  },
);

it.each(
  ['"', '"x', 'aa,"', 'aa\n"'].flatMap((before) =>
    utf16s.map((encoding) => [before, encoding] as const),
  ),
)(
  'sends nothing of a list with a value that looks like UTF-16: %j in %s',
  async (before, encoding) => {
    const { world, service } = await serve();
    const bytes = withUtf16(before, encoding, '"\nuser-1\nuser-2\n');
    writeFileSync(world.path('in.txt'), bytes);
    for (const flags of [['in.txt'], ['in.txt', '--input-format', 'list'], ['-']]) {
      const { code, stderr } = await world.run(['demerge', ...flags, '--yes'], { stdin: bytes });
      expect([code, stderr]).toEqual([8, expect.stringContaining('nothing was sent')]);
      expect(stderr).toMatch(/fix: set its encoding: --encoding utf-16[lb]e or --encoding utf-8/);
    }
    expect(written(service)).toEqual([]);
  },
);

/** Characters of UTF-16 whose bytes are ASCII text. */
const cjk = (text: string): string => Buffer.from(text).toString('utf16le');

it.each([
  ['upload', 'in.ndjson', '{"identity":"u1","a":"¤"}\n{"identity":"u2"}\n', []],
  ['upload', 'in.csv', 'identity,a\nu1,¤\nu2,\n', []],
  [
    'subscribe',
    'in.txt',
    'ann@x.com\n¤\nbob@x.com\n',
    ['--type', 'email', '--status', 'Unsubscribe'],
  ],
])(
  'makes no records of characters of UTF-16 that are text in UTF-8: %s %s',
  async (command, name, text, flags) => {
    const inside = cjk(`\n{"identity":"victim"}\nvictim,x\nvictim@x.com\n${'\nN'.repeat(300)}`);
    const lists = command === 'subscribe' ? ['utf-16le'] : [];
    for (const mark of ['\uFEFF', ''])
      for (const encoding of [[], ['windows-1252'], ['utf-8'], ...(mark ? [] : [['utf-16le']])]) {
        if (mark === '' && encoding.length > 0 && encoding[0] !== 'utf-16le') continue; // a wrong one of the user
        const { world, service } = await serve();
        writeFileSync(world.path(name), Buffer.from(mark + text.replace('¤', inside), 'utf16le'));
        const named = encoding.flatMap((each) => ['--encoding', each]);
        const { stderr } = await world.run([command, name, ...flags, ...named]);
        const sent = JSON.stringify(written(service));
        expect(sent, stderr).not.toMatch(/"victim/);
        if (mark !== '' || lists.length === 0 || encoding.length > 0)
          expect(sent, stderr).toMatch(/u1.*u2|ann@x.com.*bob@x.com/);
      }
  },
);

it('asks for the encoding of a header in UTF-16 whose first letter has no NUL', async () => {
  for (const [name, text] of [
    ['in.csv', 'Имя;identity\nАнна;u1\n'],
    ['in.txt', 'ÜŁ\nĄ\n慢慢\n'],
  ] as const)
    for (const encoding of utf16s) {
      const { world, service } = await serve();
      const bytes = Buffer.from(text, 'utf16le');
      writeFileSync(world.path(name), encoding === 'utf-16be' ? bytes.swap16() : bytes);
      const argv = name === 'in.csv' ? ['upload', name] : ['demerge', name, '--yes'];
      const asked = await world.run(argv);
      expect([asked.code, written(service)], asked.stderr).toEqual([8, []]);
      const { code, stderr } = await world.run([...argv, '--encoding', encoding]);
      expect(code, stderr).toBe(0);
      expect(JSON.stringify(service.requests().map(({ body }) => body))).toMatch(/Анна|慢慢/);
    }
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

it.each([
  ['windows-1252', 'ÿþanna\nuser12\nuser13\n', ['ÿþanna', 'user12', 'user13']],
  ['windows-1251', 'ÿþàííà\nîëüãà\n', ['яюанна', 'ольга']],
])(
  'does not take the first value of a list in %s for a mark of UTF-16',
  async (encoding, text, values) => {
    for (const name of ['in.txt', '-']) {
      const { world, service } = await serve();
      const bytes = Buffer.from(text, 'latin1');
      writeFileSync(world.path('in.txt'), bytes);
      const list = ['demerge', name, '--input-format', 'list', '--yes'];
      const asked = await world.run(list, { stdin: bytes });
      expect([asked.code, written(service)]).toEqual([8, []]);
      expect(asked.stderr).toContain('--encoding utf-16le or --encoding windows-1252');
      const { stderr } = await world.run([...list, '--encoding', encoding], { stdin: bytes });
      expect(
        service.requests().map(({ body }) => body),
        stderr,
      ).toMatchObject([{ identities: values }]);
    }
  },
);

it.each([
  ['u.csv', 'identity,City\nu1,Größe\n', ['--encoding', 'utf-16le'], 'why: it starts with text in UTF-8'], // prettier-ignore
  ['u.csv', 'identity,City\n\uFFFD,Oslo\n', ['--encoding', 'utf-16le'], 'why: it starts with text in UTF-8'], // prettier-ignore
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
