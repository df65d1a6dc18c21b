import { writeFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../support/property-runs.js';
import { serve } from '../../support/serve.js';

interface Hint {
  readonly id: string;
  readonly column: string | null;
  readonly count: number;
  readonly code: number | null;
  readonly line: number | null;
  readonly fix: string;
}

async function run(argv: readonly string[], files: Readonly<Record<string, string>>) {
  const { world } = await serve();
  for (const [name, text] of Object.entries(files)) writeFileSync(world.path(name), text);
  return world.run(argv);
}

const hintsOf = (stdout: string): readonly Hint[] =>
  (JSON.parse(stdout) as { hints?: readonly Hint[] }).hints ?? [];

const users = 'identity,Born,Points,City\nu1,2024-01-05,5,Berlin\nu2,2024-01-06,7,nan\n';

it.each([[], ['--check']])('prints likely mistakes at the end: %j', async (...flags) => {
  const { code, stderr } = await run(['upload', 'u.csv', ...flags], { 'u.csv': users });
  expect(code).toBe(0);
  const lines = stderr.split('\n').filter((line) => line.startsWith('warning: '));
  expect(lines).toEqual([
    'warning: column "Born": all 2 values are dates like "2024-01-05", sent as text, first on line 2 of u.csv: --types Born:date',
    'warning: column "Points": all 2 values are numbers like "5", sent as text, first on line 2 of u.csv: --types Points:integer, or --types Points:string for codes',
    'warning: column "City": 1 of 2 values is the text "nan", first on line 3 of u.csv: --null-values nan treats such cells as empty, and empty cells are not sent',
  ]);
  expect(stderr).toMatch(/^ {2}hints {5}3$/m);
});

it.each([
  ['45657', 'excel'],
  ['20241231', 'YYYYMMDD'],
])(
  'proposes a date for the number %s in a column that is named like a time',
  async (text, format) => {
    const files = { 'u.csv': `identity,SignupDate,Points\nu1,${text},45657\n` };
    const { stdout } = await run(['upload', 'u.csv', '--json'], files);
    expect(hintsOf(stdout).map(({ fix }) => fix.split(' or ')[0])).toEqual([
      `--types 'SignupDate:date(${format})'`,
      '--types Points:integer,',
    ]);
  },
);

it.each([
  [['3', '4.5'], 'number-as-text', '--types Price:number, or --types Price:string for codes'],
  [
    ['3', '301,5'],
    'decimal-comma',
    "--types 'Price:number(1.234,56)', or --types Price:string for codes",
  ],
  [
    ['1,234'],
    'decimal-comma',
    "--types 'Price:number(1,234.56)' or --types 'Price:number(1.234,56)', or --types Price:string for codes",
  ],
])('points at a column of the numbers %j', async (prices, id, fix) => {
  const rows = prices.map((price, n) => `u${n};${price}\n`).join('');
  const { stdout } = await run(['upload', 'u.csv', '--json'], {
    'u.csv': `identity;Price\n${rows}`,
  });
  expect(hintsOf(stdout)).toMatchObject([{ id, column: 'Price', count: prices.length, fix }]);
});

it.each([
  [[], 2],
  [['--check'], 2],
  [[], 3000],
  [['--check'], 3000],
])('points at a row of totals at the end (%j, %d users)', async (flags, count) => {
  const rows = Array.from({ length: count }, (_, n) => `u${n},a\n`).join('');
  const files = { 'u.csv': `Kunde,Stadt\n${rows}Summe:,x\n` };
  const argv = ['upload', 'u.csv', '--identity', 'Kunde', '--json', ...flags];
  const { code, stdout } = await run(argv, files);
  expect(code).toBe(0);
  expect(hintsOf(stdout)).toMatchObject([
    { id: 'totals-row', column: 'Kunde', count: 1, line: count + 2 },
  ]);
  const meant = await run([...argv, '--types', 'Kunde:string'], files);
  expect(hintsOf(meant.stdout)).toEqual([]);
});

it('lists them in the JSON summary, without values of the input', async () => {
  const { stdout, stderr } = await run(['upload', 'u.csv', '--json'], { 'u.csv': users });
  expect(hintsOf(stdout).map(({ id, column, count, line }) => [id, column, count, line])).toEqual([
    ['date-as-text', 'Born', 2, 2],
    ['number-as-text', 'Points', 2, 2],
    ['placeholder', 'City', 1, 3],
  ]);
  expect(stderr).toContain('{"type":"warning","message":"column \\"Born\\"');
});

it('names the line of the first one, though the memory of its block was used for others', async () => {
  const note = 'x'.repeat(400);
  const rows = Array.from({ length: 15_000 }, (_, n) => `u${n},${n === 7 ? 'nan' : note}`);
  const text = ['identity,City', ...rows, ''].join('\n');
  const { stdout } = await run(['upload', 'u.csv', '--json'], { 'u.csv': text });
  expect(hintsOf(stdout)).toMatchObject([{ id: 'placeholder', column: 'City', count: 1, line: 9 }]);
});

it('prints at most five, and how many more there are', async () => {
  const names = Array.from({ length: 8 }, (_, n) => `n${n}`);
  const text = `identity,${names.join(',')}\nu1${',5'.repeat(8)}\n`;
  const { stderr } = await run(['upload', 'u.csv'], { 'u.csv': text });
  expect(stderr.match(/^warning: column/gm)).toHaveLength(5);
  expect(stderr).toContain('warning: 3 more likely mistakes; --preview shows all\n');
});

it.each([[], ['--check']])('fails with --fail-on-warnings after its work: %j', async (...flags) => {
  const argv = ['upload', 'u.csv', '--fail-on-warnings', ...flags];
  const { code, stderr } = await run(argv, { 'u.csv': users });
  expect(code).toBe(3);
  expect(stderr).toContain('E-WARNINGS: 3 likely mistakes in the input');
  expect(stderr).toContain('why: column "Born": date-as-text');
  expect(stderr).toMatch(/^(?:uploaded 2 users|check: 2 users would be sent)/m);
});

it('ignores the columns of later files in a check when there are too many', async () => {
  const names = Array.from({ length: 10 }, (_, n) => `u${n}.csv`);
  const header = (name: string) => Array.from({ length: 250 }, (_, n) => `${name}${n}`).join(',');
  const files = names.map((name) => [name, `identity,${header(name)}\nu,${'x,'.repeat(249)}x\n`]);
  const { code, stderr } = await run(
    ['upload', '--check', ...names],
    Object.fromEntries(files) as Record<string, string>,
  );
  expect(stderr).toContain('there are more than 2,000 different keys');
  expect(code).toBe(0);
});

it('has no hint about what the options state', async () => {
  const meant = [
    '--types',
    'Born:string,Points:string',
    '--null-values',
    'nan',
    '--map',
    'mail=mail',
  ];
  const text = users.replace('City', 'mail').replace('Berlin', '" a "');
  const files = { 'u.csv': text };
  const { code, stderr } = await run(['upload', 'u.csv', ...meant, '--fail-on-warnings'], files);
  expect([code, stderr]).toEqual([
    3,
    expect.stringContaining(
      'all 1 values'.replace('all 1 values', 'the only value is sent with the whitespace around'),
    ),
  ]);
  const trimmed = ['upload', 'u.csv', ...meant, '--trim', '--fail-on-warnings'];
  expect((await run(trimmed, files)).code).toBe(0);
});

it('counts all records that the service rejects in a check, and masks addresses', async () => {
  const rows = Array.from(
    { length: 30_000 },
    (_, n) => `u${n},u${n}@example.com,+49171${1_000_000 + n}`,
  );
  rows[9000] = 'u9000,someone at example.com,+491711009000';
  rows[20_000] = 'u20000,a@example.com,0171 1020000';
  rows[20_001] = 'u20001,a@example.com,0171 1020001';
  const files = { 'u.csv': ['identity,Email,Phone', ...rows, ''].join('\n') };
  const { stdout, stderr } = await run(['upload', 'u.csv', '--check', '--json'], files);
  expect(
    hintsOf(stdout).map(({ column, code, count, line }) => [column, code, count, line]),
  ).toEqual([
    ['Email', 515, 1, 9002],
    ['Phone', 516, 2, 20_002],
  ]);
  expect(stderr).toContain('; the service rejects it with 516');
  expect(stderr).not.toContain('0171 1020000');
  expect(stdout + stderr).not.toContain('someone at');
});

it('counts in a check the typed values that the service rejects, also behind the first records', async () => {
  const rows = Array.from({ length: 30_000 }, (_, n) => `u${n},${n % 90},1,5,yes`);
  rows[20_000] = `u20000,999,1,${'7'.repeat(513)},yes`;
  const header = 'identity,Age,City,Points,Employed';
  const files = { 'u.csv': [header, ...rows, ''].join('\n') };
  const check = async (types: string) => {
    const argv = ['upload', 'u.csv', '--check', '--json', '--types', types];
    const all = hintsOf((await run(argv, files)).stdout);
    return all
      .filter(({ id }) => ['field-value', 'value-too-long'].includes(id))
      .map(({ column, count, line }) => [column, count, line]);
  };
  const all = [
    ['Age', 1, 20_002],
    ['Employed', 30_000, 2],
    ['Points', 1, 20_002],
  ];
  expect(await check('Age:integer,Points:number')).toEqual(all);
  expect(await check('Age:integer,Points:number,Employed:boolean')).toEqual(all);
});

it.each([
  ['u.csv', 'identity,City\n u1,Rome\nu2,Oslo\n', 2],
  ['u.ndjson', '{"identity":" u1","type":"profile","profileData":{}}\n', 1],
])('explains rejected identities in a check of %s', async (name, text, line) => {
  const { stdout } = await run(['upload', name, '--check', '--json'], { [name]: text });
  expect(hintsOf(stdout)).toMatchObject([
    { id: 'padded-identity', count: 1, line, fix: 'add --trim, or correct the identities' },
  ]);
});

it('predicts in a check what the local service rejects', async () => {
  const data = (profileData: object) => ({ type: 'profile', profileData });
  const event = (members: object) => ({
    type: 'event',
    evtName: 'Bought',
    ts: 1_700_000_000,
    ...members,
  });
  const many = (keys: number) =>
    Object.fromEntries(Array.from({ length: keys }, (_, n) => [`k${n}`, n]));
  const records = [
    data({ Email: 'nobody' }),
    data({ Phone: '0171' }),
    data({ Gender: 'male' }),
    data({ Employed: 'yes' }),
    data({ Education: 'none' }),
    data({ Married: 'true' }),
    data({ Age: 'old' }),
    event({ evtName: 'Stayed' }),
    event({ evtData: { list: [1] } }),
    event({ evtData: many(257) }),
    event({ ts: 0 }),
    data({ Email: 'a@example.com', Phone: '+491711234567', City: 'x' }),
  ];
  const lines = records.map((record, n) => JSON.stringify({ identity: `u${n}`, ...record }));
  const files = { 'r.ndjson': `${lines.join('\n')}\n` };
  const predicted = hintsOf((await run(['upload', 'r.ndjson', '--check', '--json'], files)).stdout);
  const sent = await run(['upload', 'r.ndjson'], files);
  const codes = [...sent.stderr.matchAll(/service (\d{3})/g)].map(([, code]) => Number(code));
  const of = (all: readonly (number | null)[]) =>
    [...new Set(all)].filter((code) => code !== null).toSorted((a, b) => a - b);
  expect(of(predicted.map(({ code }) => code))).toEqual(of(codes));
  expect(of(codes)).toEqual([512, 513, 514, 515, 516, 517, 518, 519, 520, 522, 525]);
});

it.each(['2024', '45657', '20241231'])(
  'gives a hint about the time %s in a record of the service',
  async (ts) => {
    const record = `{"identity":"u","type":"event","evtName":"Seen","ts":${ts},"evtData":{}}\n`;
    const file = { 'r.ndjson': record };
    for (const flags of [[], ['--check']]) {
      const { code, stderr } = await run(['upload', 'r.ndjson', ...flags], file);
      expect(code).toBe(0);
      expect(stderr).toContain(
        `warning: column "ts": the only value is like "${ts}", which is a time between 1970 and 1973, first on line 1 of r.ndjson: write epoch seconds`,
      );
    }
  },
);

it('predicts the same in a check whether or not a record repeats the text around the values of the one before', async () => {
  const { world } = await serve();
  const values = fc.constantFrom(
    '"a@b.example"',
    '"a"',
    '"a\\u0040b.example"',
    '"a\\nb@c.example"',
    'null',
    '""',
    'true',
    '7',
    '151',
    '-1',
    '1.5e3',
    '"M"',
    '"}"',
    '"a,b"',
    '"+4712345678"',
    '"é"',
    '[1]',
    '{"a":1}',
    `"${'x'.repeat(511)}"`,
    `"${'x'.repeat(513)}"`,
    JSON.stringify(Array.from({ length: 101 }, String)),
  );
  const keys = ['Email', 'Phone', 'Gender', 'Age', 'Em\\u0061il2', 'City'];
  const shapes = fc.record({
    isEvent: fc.boolean(),
    keys: fc.subarray(keys),
    rows: fc.array(fc.array(values, { minLength: 6, maxLength: 6 }), { maxLength: 20 }),
  });
  const head = {
    true: '"type":"event","evtName":"Seen","ts":1790000000,"evtData"',
    false: '"type":"profile","profileData"',
  };
  let file = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(shapes, { maxLength: 6 }), async (inputs) => {
      const records = inputs.flatMap(({ isEvent, keys: names, rows }) =>
        rows.map((row) => {
          const members = names.map((name, index) => `"${name}":${row[index]}`);
          return `"identity":"u",${head[`${isEvent}`]}:{${members.join(',')}}}`;
        }),
      );
      const name = `${file++}.ndjson`;
      const hints = async (begin: (index: number) => string) => {
        const lines = records.map((record, index) => begin(index) + record);
        writeFileSync(world.path(name), `${lines.join('\n')}\n`);
        const { stdout } = await world.run(['upload', name, '--check', '--json']);
        return hintsOf(stdout);
      };
      const repeated = await hints(() => '{');
      expect(repeated).toEqual(await hints((index) => (index % 2 === 0 ? '{' : '{ ')));
    }),
    { numRuns: runs(60) },
  );
});

it('predicts the numbers and addresses that the service rejects in subscribe', async () => {
  const text =
    'type,value,status\nphone,0171 123456,Unsubscribe\nphone,+491711234567,Unsubscribe\nemail,nobody,Unsubscribe\n';
  const argv = ['subscribe', 's.csv', '--check', '--json'];
  const { code, stdout } = await run(argv, { 's.csv': text });
  expect([code, hintsOf(stdout).map(({ column, code: of, line }) => [column, of, line])]).toEqual([
    0,
    [
      ['value', 516, 2],
      ['value', 515, 4],
    ],
  ]);
  expect(hintsOf(stdout)[0]!.fix).toContain("--types 'value:phone(DE)'");
  const failing = await run([...argv, '--fail-on-warnings'], { 's.csv': text });
  expect(failing.code).toBe(3);
});

it('warns about columns that differ only in case or spaces', async () => {
  const { world } = await serve();
  writeFileSync(
    world.path('a.csv'),
    'identity,Email,email,City\nu1,a@example.com,b@example.com,x\n',
  );
  const { code, stderr } = await world.run(['upload', 'a.csv', '--check']);
  expect([code, stderr]).toEqual([0, expect.stringContaining('columns "Email" and "email" differ only in case or spaces')]); // prettier-ignore
});

it('proposes the identity of an export, and not its internal number', async () => {
  const { world } = await serve();
  writeFileSync(world.path('a.csv'), 'profile.id,profile.identity,name\n1,ann,x\n');
  const { stderr } = await world.run(['upload', 'a.csv', '--check']);
  expect(stderr).toContain('add --identity profile.identity');
});
