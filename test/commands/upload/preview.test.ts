import { readdirSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { array, assert, asyncProperty, boolean, integer, record, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountAt } from '../../support/account-environment.js';
import { serve } from '../../support/serve.js';
import { makeWorld, type World } from '../../support/test-environment.js';

interface Preview {
  readonly records: number;
  readonly rejected: number;
  readonly complete: boolean;
  readonly estimate: { records: number; requests: number; bytes: number; seconds: number } | null;
  readonly first: readonly { source: string; line: number; record: unknown }[];
  readonly columns: readonly { column: string; key: string | null; [figure: string]: unknown }[];
  readonly mistakes: readonly {
    id: string;
    column: string | null;
    count: number;
    what: string;
    fix: string;
    code: number | null;
    line: number | null;
  }[];
  readonly exitCode: number;
}

/** Nothing listens at this account's address: a request would be an error. */
const nowhere = accountAt('http://127.0.0.1:1', 'seeded-secret-7f3a');

async function preview(world: World, argv: readonly string[], options = {}) {
  const { code, stdout } = await world.run(['upload', ...argv, '--preview', '--json'], options);
  const found = JSON.parse(stdout) as Preview;
  expect(found.exitCode).toBe(code);
  return found;
}

function worldWith(files: Readonly<Record<string, string | Buffer>>): World {
  const world = makeWorld({ env: nowhere });
  for (const [name, content] of Object.entries(files)) writeFileSync(world.path(name), content);
  return world;
}

/** Control and bidi characters; a line end is no danger. */
const isActive = /[\p{Cc}\p{Bidi_Control}]/u;

const csv = 'identity,Name,Age\nu1,Ann,33\nu2,,34\nu3,Cy,x\n';

describe('upload --preview', () => {
  it('shows the records as they would be sent, with their lines, and writes nothing', async () => {
    const world = worldWith({ 'users.csv': csv });
    const { code, stdout, stderr } = await world.run(['upload', 'users.csv', '--preview']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(
      '  line 2  {"identity":"u1","type":"profile","profileData":{"Name":"Ann","Age":"33"}}\n' +
        '  line 3  {"identity":"u2","type":"profile","profileData":{"Age":"34"}}\n',
    );
    expect(stdout).toMatch(/^ {2}Name +profileData\.Name +string +67 % +2 to 3$/m);
    expect(stdout).toContain('To be sent: 3 records, 217 B in 1 request\n');
    expect(stdout).toContain('Estimated time: ');
    expect(readdirSync(world.cwd)).toEqual(['users.csv']);
  });

  it('fits the table of columns to a terminal only', async () => {
    const name = 'a_name_that_an_export_of_another_system_has_made_up_from_three_tables';
    const files = { 'a.csv': `identity,${name},お客様,x\nu1,1,2,3\n` };
    const tableOf = async (options: object) => {
      const world = makeWorld({ ...options });
      for (const [file, text] of Object.entries(files)) writeFileSync(world.path(file), text);
      const { stdout } = await world.run(['upload', 'a.csv', '--preview']);
      return stdout.split('\n').slice(4, 9);
    };
    const [head, ...rows] = await tableOf({ tty: true, columns: 80 });
    expect(Math.max(...[head!, ...rows].map((row) => row.length))).toBeLessThanOrEqual(80);
    expect(rows[1]).toMatch(/^ {2}a_name_\w+… {2}profileData\.a_\w*… {2}string, /);
    const at = head!.indexOf('SENT AS');
    expect(rows.map((row) => row.indexOf(' profileData.') + 1).slice(1)).toEqual([at, at - 3, at]);
    expect((await tableOf({})).join('\n')).toContain(`  ${name}  profileData.${name}  string, `);
  });

  it('reads a word after the flag as a number or as a file', async () => {
    const world = worldWith({ 'users.csv': csv, '7': csv });
    const shown = async (...argv: string[]) => {
      const { stdout } = await world.run(['upload', ...argv, '--json', '--again']);
      return (JSON.parse(stdout) as Preview).first.map(({ source, line }) => `${source}:${line}`);
    };
    expect(await shown('--preview', 'users.csv', '7')).toEqual([
      'users.csv:2',
      'users.csv:3',
      'users.csv:4',
      '7:2',
      '7:3',
    ]);
    expect(await shown('--preview', '1', '7')).toEqual(['7:2']);
    expect(await shown('users.csv', '--preview=0')).toEqual([]);
  });

  it('names rejected rows by file and line, and exits 3', async () => {
    const world = worldWith({ 'users.csv': csv });
    const { code, stdout, stderr } = await world.run([
      'upload',
      'users.csv',
      '--types',
      'Age:integer',
      '--preview',
    ]);
    expect(code).toBe(3);
    expect(stdout).toContain('  line 4  validate: column "Age": "x" is not an integer\n');
    expect(stderr).toContain('E-REJECTED: 1 of 3 records would be rejected');
  });

  it('refuses what an upload refuses', async () => {
    const world = worldWith({ 'users.csv': 'Id,Name\n1,x\n' });
    const { code, stderr } = await world.run(['upload', 'users.csv', '--preview']);
    expect(code).toBe(8);
    expect(stderr).toContain('E-COLUMN-MISSING');
  });

  it.each<[string, Record<string, string | Buffer>, string[], string]>([
    ['CSV', { 'a.csv': csv }, ['a.csv'], ''],
    ['TSV', { 'a.tsv': csv.replaceAll(',', '\t') }, ['a.tsv'], ''],
    ['gzip', { 'a.csv.gz': gzipSync(csv) }, ['a.csv.gz'], ''],
    ['stdin', {}, [], csv],
    [
      'NDJSON',
      {
        'a.ndjson':
          '{"identity":"u1","Name":"Ann","Age":"33"}\n{"identity":"u2","Age":"34"}\n{"identity":"u3","Name":"Cy","Age":"x"}\n',
      },
      ['a.ndjson'],
      '',
    ],
    [
      'JSON',
      {
        'a.json':
          '[{"identity":"u1","Name":"Ann","Age":"33"},{"identity":"u2","Age":"34"},{"identity":"u3","Name":"Cy","Age":"x"}]',
      },
      ['a.json'],
      '',
    ],
    [
      'a mapping file',
      { 'a.csv': csv.replace('Name', 'nm'), 'm.json': '{"map":{"nm":"Name"}}' },
      ['a.csv', '--mapping', 'm.json'],
      '',
    ],
  ])('reads %s', async (_, files, argv, stdin) => {
    const found = await preview(worldWith(files), argv, { stdin });
    expect(found.first[0]?.record).toEqual({
      identity: 'u1',
      type: 'profile',
      profileData: { Name: 'Ann', Age: '33' },
    });
    expect(
      found.columns.map(({ key, filled, shortest, longest }) => [key, filled, shortest, longest]),
    ).toEqual([
      ['identity', 3, 2, 2],
      ['Name', 2, 2, 3],
      ['Age', 3, 1, 2],
    ]);
    expect(found).toMatchObject({
      complete: true,
      records: 3,
      estimate: { records: 3, requests: 1 },
    });
  });

  it('keeps numbers as written', async () => {
    const world = worldWith({ 'a.ndjson': '{"identity":"u1","n":12345678901234567890.10}\n' });
    const { stdout } = await world.run(['upload', 'a.ndjson', '--preview', '--json']);
    expect(stdout).toContain('"n":12345678901234567890.10');
  });

  it('sanitizes control characters of the input', async () => {
    const world = worldWith({ 'a.csv': 'identity,N\u001B[2J\nu1,\u202Ex\u001B]0;t\u0007\n' });
    for (const json of [[], ['--json']]) {
      const { stdout } = await world.run(['upload', 'a.csv', '--preview', ...json]);
      expect(stdout.replaceAll('\n', '')).not.toMatch(isActive);
    }
  });

  it('reads the start of a long input and estimates the rest, in flat memory', async () => {
    const rows = Array.from({ length: 20_000 }, (_, n) => `user-${n},${'x'.repeat(1000)}\n`);
    const world = worldWith({ 'big.csv': `identity,Note\n${rows.join('')}` });
    const found = await preview(world, ['big.csv']);
    expect(found.complete).toBe(false);
    expect(found.records).toBeLessThan(20_000);
    expect(Math.abs((found.estimate?.records ?? 0) / 20_000 - 1)).toBeLessThan(0.05);
    expect(Math.abs((found.estimate?.requests ?? 0) / 20 - 1)).toBeLessThan(0.05);
    const piped = await preview(world, [], { stdin: `identity,Note\n${rows.join('')}` });
    expect(piped).toMatchObject({ complete: false, estimate: null });
  });

  it('counts the requests and bytes that the upload then makes', async () => {
    const { service, world } = await serve();
    await assert(
      asyncProperty(
        array(record({ event: boolean(), text: string({ maxLength: 60 }) }), {
          maxLength: 40,
        }),
        integer({ min: 1, max: 9 }),
        integer({ min: 120, max: 900 }),
        async (records, chunkSize, chunkBytes) => {
          await service.reset();
          const lines = records.map(({ event, text }, n) =>
            JSON.stringify(
              event
                ? { identity: `u${n}`, type: 'event', evtName: 'E', evtData: { text } }
                : { identity: `u${n}`, type: 'profile', profileData: { text } },
            ),
          );
          writeFileSync(world.path('a.ndjson'), lines.join('\n'));
          const argv = [
            'a.ndjson',
            '--chunk-size',
            `${chunkSize}`,
            '--chunk-bytes',
            `${chunkBytes}`,
          ];
          const { estimate } = await preview(world, argv);
          expect(service.requests()).toEqual([]);
          const { stdout } = await world.run(['upload', ...argv, '--json', '--again']);
          const { accepted, requests, bytesSent } = JSON.parse(stdout) as Record<string, number>;
          expect(estimate).toMatchObject({ records: accepted, requests, bytes: bytesSent });
        },
      ),
      { numRuns: 12 },
    );
  });
});

describe('likely mistakes', () => {
  /** Column and values; the mistakes that are found, by id. */
  it.each<[column: string, values: string[], argv: string[], ids: string[]]>([
    ['Phone', ['447700900001', '+447700900002'], [], ['field-value']],
    ['Phone', ['+447700900001'], [], []],
    ['Email', ['a(at)example.test'], [], ['field-value']],
    ['Employed', ['true', 'false'], [], ['field-value']],
    ['Married', ['Y', 'N'], [], []],
    ['Gender', ['female'], [], ['field-value']],
    ['Education', ['PhD'], [], ['field-value']],
    ['Age', ['41'], [], []],
    ['Age', ['forty'], [], ['field-value']],
    ['DOB', ['1990-01-31'], [], ['field-value']],
    ['DOB', ['1990-01-31'], ['--types', 'DOB:date'], []],
    ['email', ['a@example.test'], [], ['field-spelling']],
    ['e-mail', ['a@example.test'], [], ['field-spelling']],
    ['email', ['a@example.test'], ['--map', 'email=Email'], []],
    ['msg-email', ['false'], [], ['field-spelling', 'boolean-as-text']],
    ['MSG-email', ['false'], [], []],
    ['MSG-email', ['false'], ['--types', 'MSG-email:string'], ['flag-as-text']],
    ['Signed Up', ['2026-01-31', '2026-01-31T10:00:00Z'], [], ['date-as-text']],
    ['Signed Up', ['31.01.2026'], [], ['date-as-text']],
    ['Signed Up', ['2026-01-31'], ['--types', 'Signed Up:date'], []],
    ['Seen', ['1700000000000'], [], ['milliseconds']],
    ['Points', ['12', '-3'], [], ['number-as-text']],
    ['Points', ['12', '-3'], ['--types', 'Points:integer'], []],
    ['Zip', ['01234', '00501'], [], []],
    ['Member', ['yes', 'no'], [], ['boolean-as-text']],
    ['Note', ['NULL', 'a word'], [], ['placeholder']],
    ['Code', ['1.23E+11', 'a word'], [], ['shortened-number']],
    ['Note', ['one\\ntwo', 'C:\\\\temp'], [], ['escaped-text']],
    ['Note', ['one\\ntwo'], ['--types', 'Note:string'], []],
    ['Note', ['C:\\temp\\new', '\\\\host\\share', '^\\d+$'], [], []],
    ['evtName', ['Charged'], [], ['event-as-profile']],
    ['City', ['Oslo', 'Ørsta'], [], []],
  ])('are reported for column %s with %j and %j: %j', async (column, values, argv, ids) => {
    const rows = values.map((value, n) => `u${n},${value}\n`).join('');
    const world = worldWith({ 'a.csv': `identity,${column}\n${rows}` });
    const { mistakes } = await preview(world, ['a.csv', ...argv]);
    expect(mistakes.map(({ id }) => id)).toEqual(ids);
    expect(mistakes.filter((mistake) => mistake.column !== column)).toEqual([]);
  });

  it.each<[id: string, lines: unknown[]]>([
    ['reserved-event', [{ identity: 'u', type: 'event', evtName: 'App Launched' }]],
    ['nested-property', [{ identity: 'u', type: 'event', evtName: 'E', evtData: { a: { b: 1 } } }]],
    [
      'outside-data',
      [{ identity: 'u', type: 'profile', profileData: {}, Email: 'a@example.test' }],
    ],
    [
      'too-many-values',
      [{ identity: 'u', type: 'profile', profileData: { tags: Array(101).fill('x') } }],
    ],
    [
      'too-many-keys',
      [
        {
          identity: 'u',
          ...Object.fromEntries(Array.from({ length: 257 }, (_, n) => [`k${n}`, 'x'])),
        },
      ],
    ],
    [
      'too-many-fields',
      Array.from({ length: 2001 }, (_, n) => ({ identity: 'u', [`k${n}`]: 'x' })),
    ],
    ['padded-identity', [{ identity: ' u', type: 'profile', profileData: {} }]],
    ['flag-as-text', [{ identity: 'u', type: 'profile', profileData: { 'MSG-sms': 'false' } }]],
    ['milliseconds', [{ identity: 'u', type: 'event', evtName: 'E', ts: 1700000000000 }]],
    ['milliseconds', [{ identity: 'u', type: 'profile', profileData: { Seen: 1700000000000 } }]],
    ['identity-empty', [{ identity: '', Name: 'x' }]],
  ])('are reported in JSON: %s', async (id, records) => {
    const world = worldWith({ 'a.ndjson': records.map((line) => JSON.stringify(line)).join('\n') });
    const { mistakes } = await preview(world, ['a.ndjson']);
    expect(mistakes.map((mistake) => mistake.id)).toContain(id);
  });

  it('are not reported for the items of a charge, nor for a valid profile', async () => {
    const records = [
      {
        identity: 'u',
        type: 'event',
        evtName: 'Charged',
        evtData: { Items: [{ a: 1 }] },
        ts: 1700000000,
      },
      {
        identity: 'u',
        type: 'profile',
        profileData: { Phone: '+447700900001', DOB: '$D_0', n: 3, b: true },
      },
    ];
    const world = worldWith({ 'a.ndjson': records.map((line) => JSON.stringify(line)).join('\n') });
    expect((await preview(world, ['a.ndjson'])).mistakes).toEqual([]);
  });

  it('name the rows of an empty identity and of milliseconds in ts', async () => {
    const world = worldWith({
      'a.csv': 'identity,ts,evtName\n,1700000000,E\nu,1700000000000,E\n,1700000000,E\n',
    });
    const { mistakes, rejected } = await preview(world, ['a.csv', '--type', 'event']);
    expect(rejected).toBe(3);
    expect(mistakes.map(({ id, count, line }) => [id, count, line])).toEqual([
      ['identity-empty', 2, 2],
      ['milliseconds', 1, 3],
    ]);
  });

  it('name the code that the service would answer', async () => {
    const world = worldWith({ 'a.csv': 'identity,Phone\nu,12\n' });
    expect((await preview(world, ['a.csv'])).mistakes[0]).toMatchObject({
      code: 516,
      line: 2,
      count: 1,
    });
  });
});
