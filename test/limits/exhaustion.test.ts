import { appendFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { outcomeOf, start } from '../chaos/bin.js';
import { randomOf } from '../chaos/random.js';
import { startLoopbackServer } from '../support/servers/loopback-server.js';
import { makeWorld } from '../support/test-environment.js';
import { serve } from '../support/serve.js';
import { mostBytes, runMeasured } from './peak-memory.js';

// A sample of `exhaustion.long.test.ts`: small inputs and answers that took gigabytes, or that nobody could stop.

/** So many mebibytes of a text over and over, compressed. */
const repeated = (unit: string, mebibytes: number): Buffer => {
  const text = Buffer.alloc(Math.floor(2 ** 20 / unit.length) * unit.length, unit, 'latin1');
  const member = gzipSync(text);
  return Buffer.concat(Array.from({ length: mebibytes }, () => member));
};

it.runIf(process.platform === 'linux').each([
  { what: 'NULs as CSV', file: 'in.csv.gz', unit: '\0', code: 8, id: 'E-HEADER' },
  { what: 'blank lines as CSV', file: 'in.csv.gz', unit: '\n', code: 8, id: 'E-HEADER' },
  { what: 'spaces of no named format', file: 'in.gz', unit: ' ', code: 0, id: '0 records' },
  { what: 'blank lines as NDJSON', file: 'in.ndjson.gz', unit: ' \n', code: 0, id: '0 records' },
])('reads 24 MiB of $what in flat memory', async ({ file, unit, code, id }) => {
  const world = makeWorld();
  writeFileSync(world.path(file), repeated(unit, 24));
  const outcome = await runMeasured(world, ['upload', '--check', file]);
  expect(outcome).toMatchObject({ code, stderr: expect.stringContaining(id) as unknown });
  expect(outcome.peak).toBeLessThan(mostBytes);
});

/** Most of a megabyte, which takes a kilobyte when it is compressed. */
const long = 'z'.repeat(900_000);
const linesOf = (count: number, line: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => line(n)).join('\n');

it.runIf(process.platform === 'linux').each([
  {
    what: 'values',
    most: 110_000_000,
    line: (n: number) => `{"identity":"a${n}","c${n}":"${long}"}`,
  },
  { what: 'keys', line: (n: number) => `{"identity":"a${n}","${long}${n}":1}` },
  {
    what: 'keys at different places',
    line: (n: number) => {
      const before = Array.from({ length: n }, (_, k) => `"k${k}":1,`).join('');
      return `{"identity":"a${n}",${before}"${long}${n}":1}`;
    },
  },
])(
  'keeps none of many long $what in memory',
  { timeout: 30_000 },
  async ({ line, most = mostBytes }) => {
    const world = makeWorld();
    writeFileSync(world.path('in.ndjson.gz'), gzipSync(linesOf(150, line)));
    const outcome = await runMeasured(world, ['upload', '--check', 'in.ndjson.gz']);
    expect(outcome.code).toBe(0);
    expect(outcome.peak).toBeLessThan(most);
  },
);

it.runIf(process.platform === 'linux').each([
  ['--all', 500],
  ['--sample', 300],
] as const)(
  'verifies no more long records than fit in memory: %s',
  { timeout: 120_000 },
  async (sample, count) => {
    const { service, world } = await serve();
    const line = (n: number) => `{"identity":"a${n}","profileData":{"City":"${long}"}}`;
    writeFileSync(world.path('in.ndjson.gz'), gzipSync(linesOf(count, line)));
    const size = sample === '--all' ? [] : [String(count)];
    const argv = ['verify', 'in.ndjson.gz', sample, ...size];
    const { code, stderr, peak } = await runMeasured(world, argv, service.url);
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-TOO-MANY')]);
    expect(peak).toBeLessThan(sample === '--all' ? 600 * 2 ** 20 : 250 * 2 ** 20);
  },
);

it.runIf(process.platform === 'linux').each([
  [16, 0],
  [20, 2],
])(
  'drafts a mapping file from 1,000 records with %i names of their own, or refuses to',
  { timeout: 30_000 },
  async (names, code) => {
    const world = makeWorld();
    const member = (row: number) => (_: unknown, n: number) => [`m${row}_${n}`, 1] as const;
    const line = (row: number) =>
      JSON.stringify({
        identity: `u${row}`,
        ...Object.fromEntries(Array.from({ length: names }, member(row))),
      });
    writeFileSync(world.path('in.ndjson'), linesOf(1000, line));
    const argv = ['upload', 'in.ndjson', '--preview', '--write-mapping', 'm.json'];
    const outcome = await runMeasured(world, argv);
    expect(outcome.code, outcome.stderr).toBe(code);
    if (code === 2) expect(outcome.stderr).toContain('the rows have more than 16384 columns');
    expect(outcome.peak).toBeLessThan(mostBytes);
  },
);

/** Values within objects with long names: the path of each takes as much as all of these names. */
const deep = (depth: number, values: number): string => {
  const names = Array.from({ length: depth }, () => `{"${'k'.repeat(20_000)}":`).join('');
  const members = Array.from({ length: values }, (_, n) => `"${n}":1`);
  return `${names}{${members.join(',')}}${'}'.repeat(depth)}`;
};

it.runIf(process.platform === 'linux').each([
  ['upload', '--types=b.c:integer'],
  ['demerge', '--identity=b.c'],
  ['subscribe', '--map=b.c=value'],
])('rejects a record in %s whose paths would fill the memory', async (command, flag) => {
  const world = makeWorld();
  const lines = [`{"identity":"a","b":${deep(20, 40_000)}}`, '{"identity":"b","b":{"c":"1"}}'];
  writeFileSync(world.path('in.ndjson'), `${lines.join('\n')}\n`);
  const outcome = await runMeasured(world, [command, '--check', 'in.ndjson', flag]);
  expect(outcome.stderr).toContain('the paths of its values have more than 4 MiB together');
  expect(outcome.code).toBe(3);
  expect(outcome.peak).toBeLessThan(mostBytes);
});

it.runIf(process.platform === 'linux')(
  'rejects a record of many values in objects 190 deep',
  async () => {
    const world = makeWorld();
    const members = Array.from({ length: 80_000 }, (_, n) => `"${n}":1`).join(',');
    const lines = [
      `{"identity":"a","b":${'{"a":'.repeat(190)}{${members}}${'}'.repeat(190)}}`,
      '{"identity":"b","b":{"c":1}}',
    ];
    writeFileSync(world.path('in.ndjson'), `${lines.join('\n')}\n`);
    const argv = ['upload', '--check', 'in.ndjson', '--types=b.c:integer'];
    const outcome = await runMeasured(world, argv);
    expect(outcome.stderr).toContain('check: 1 of 2 records would be sent');
    expect(outcome.peak).toBeLessThan(mostBytes);
  },
);

it.runIf(process.platform === 'linux')(
  'drafts no mapping file whose column names would fill the memory',
  async () => {
    const world = makeWorld();
    writeFileSync(world.path('in.ndjson'), `{"identity":"a","b":${deep(20, 40_000)}}\n`);
    const argv = ['upload', 'in.ndjson', '--preview', '--write-mapping', 'm.json'];
    const outcome = await runMeasured(world, argv);
    expect(outcome.stderr).toContain('the names of the columns have more than 4 MiB together');
    expect(outcome.code).toBe(2);
    expect(outcome.peak).toBeLessThan(mostBytes);
  },
);

it('stops on a signal while it reads text that would take an hour', async () => {
  const world = makeWorld();
  writeFileSync(world.path('in.ndjson.gz'), '');
  const part = repeated('\n', 1024);
  for (let n = 0; n < 64; n += 1) appendFileSync(world.path('in.ndjson.gz'), part);
  const child = start(world, {
    url: 'http://127.0.0.1:1',
    argv: ['upload', '--check', 'in.ndjson.gz', '--progress=always'],
  });
  child.stderr.once('data', () => child.kill('SIGTERM'));
  expect(await outcomeOf(child)).toMatchObject({ code: 143 });
});

/** So many that a pattern which is not linear takes most of a minute. */
const many = 200_000;

/** Names with the same `hashOf` of `wasm/memory.ts`: three times two words, which lead to the same state. */
function meetingNames(): string[] {
  const factor = 0x9e3779b97f4a7c15n;
  const turned = (word: bigint) => BigInt.asUintN(64, word << 23n) | (word >> 41n);
  const mixed = (hash: bigint, word: bigint) => BigInt.asUintN(64, (turned(hash) ^ word) * factor);
  const random = randomOf(1);
  let hash = 0n;
  const halves = [32, 32, 16].map((count) => {
    const before = hash;
    const meeting = BigInt(random.below(2 ** 32)) * factor;
    hash = BigInt.asUintN(64, meeting * factor);
    const found: string[] = [];
    while (found.length < count) {
      const words = Buffer.from(Array.from({ length: 16 }, () => 97 + random.below(26)));
      const second = turned(mixed(before, words.readBigUInt64LE())) ^ BigInt.asUintN(64, meeting);
      words.writeBigUInt64LE(second, 8);
      if (/^[!#-[\]-~]*$/.test(words.toString('latin1'))) found.push(words.toString('latin1'));
    }
    return found;
  });
  const [first, second, third] = halves as [string[], string[], string[]];
  return first.flatMap((one) => second.flatMap((two) => third.map((three) => one + two + three)));
}

const columns = Array.from({ length: 16_000 }, (_, n) => `c${n}`).join(',');
it.each([
  {
    what: 'a trimmed cell with blanks in it',
    text: `identity,a\na,é${' '.repeat(many)}é`,
    flags: ['--trim'],
  },
  {
    what: 'a cell of percent signs in a column of numbers',
    text: `identity,a\na,${'%'.repeat(many)}`,
    flags: ['--types', 'a:integer(1.234)'],
  },
  {
    what: 'rows of the names of 16,000 columns',
    text: `identity,${columns}\n${`c1,${columns.replace(/c\d+$/, 'x')}\n`.repeat(20)}`,
    flags: [],
  },
  { what: 'a header of line ends', text: `identity,"${'\n'.repeat(many)}"\na,1`, flags: [] },
  {
    what: 'a header of slashes',
    text: `identity,${'/'.repeat(many)}\na,1`,
    flags: ['--log-file=log'],
  },
  {
    what: 'records of 16,000 names with one hash',
    text: `{"identity":"a","type":"profile","profileData":{${meetingNames()
      .map((name) => `"${name}":1`)
      .join(',')}}}\n`.repeat(40),
    flags: ['--input-format=ndjson'],
  },
  {
    what: 'an object of quotes',
    text: `{"a":"${String.raw`\"`.repeat(many)}`,
    flags: ['--input-format=json'],
  },
])('reads $what in linear time', { timeout: 20_000 }, async ({ text, flags }) => {
  const world = makeWorld();
  writeFileSync(world.path('in.csv'), text);
  const { code } = await world.run(['upload', '--check', '--region=local', 'in.csv', ...flags]);
  expect([0, 3, 8]).toContain(code);
});

const brackets = `[${'[],'.repeat(12_000_000)}[]]`;

it.runIf(process.platform === 'linux').each([
  {
    what: 'to an upload',
    argv: ['upload', 'in.ndjson', '--max-attempts=1'],
    answer: `{"status":"success","processed":1,"unprocessed":[],"more":${brackets}}`,
  },
  {
    what: 'to a look-up',
    argv: ['get-profile', 'a', '--max-attempts=1'],
    answer: `{"status":"success","record":{"identity":"a","more":${brackets}}}`,
  },
])('does not parse an answer $what of 36 MB of brackets', async ({ argv, answer }) => {
  const world = makeWorld();
  writeFileSync(world.path('in.ndjson'), '{"identity":"a","type":"profile","profileData":{}}\n');
  await using server = await startLoopbackServer((request, response) => {
    request.resume().on('end', () => response.end(answer));
  });
  const outcome = await runMeasured(world, argv, server.url);
  expect(outcome.code).toBe(7);
  expect(outcome.stderr).toMatch(/more values than the request allows|a body of more than/);
  expect(outcome.peak).toBeLessThan(mostBytes);
});

it.runIf(process.platform === 'linux').each([
  ['reads', 0.7, 0],
  ['refuses', 6, 7],
])('%s answers of %s MB to many requests at once', async (_, megabytes, expected) => {
  const world = makeWorld();
  const lines = Array.from({ length: 30_000 }, (_, n) => `{"identity":"a${n}","v":1}\n`);
  writeFileSync(world.path('in.ndjson'), lines.join(''));
  const more = 'z'.repeat(megabytes * 1_000_000);
  const answer = `{"status":"success","processed":1000,"unprocessed":[],"more":"${more}"}`;
  const waiting: (() => void)[] = [];
  await using server = await startLoopbackServer((request, response) => {
    request.resume().on('end', () => {
      waiting.push(() => response.end(answer));
      if (waiting.length === 15) for (const send of waiting.splice(0)) send();
    });
  });
  const argv = ['upload', 'in.ndjson', '--max-attempts=1', '--concurrency=15'];
  const outcome = await runMeasured(world, argv, server.url);
  expect(outcome.code).toBe(expected);
  expect(outcome.peak).toBeLessThan(mostBytes);
});

it.runIf(process.platform === 'linux')('keeps few of many different error codes', async () => {
  const world = makeWorld();
  const lines = Array.from({ length: 120_000 }, (_, n) => `{"identity":"a${n}","v":1}\n`);
  writeFileSync(world.path('in.ndjson'), lines.join(''));
  let code = 1000;
  await using server = await startLoopbackServer((request, response) => {
    request.resume().on('end', () => {
      const unprocessed = Array.from({ length: 1000 }, (_, n) => ({
        status: 'fail',
        code: ++code,
        error: `${'x'.repeat(100)} record number : ${n + 1}`,
      }));
      response.end(JSON.stringify({ status: 'fail', processed: 0, unprocessed }));
    });
  });
  const outcome = await runMeasured(world, ['upload', 'in.ndjson'], server.url);
  expect(outcome.code).toBe(3);
  expect(outcome.stderr).toContain('120,000 rejected by the service');
  expect(outcome.peak).toBeLessThan(mostBytes);
});

it.runIf(process.platform === 'linux').each([
  { what: 'refuses', flags: [], code: 9, text: 'names of the columns have more than 8 MiB' },
  {
    what: 'writes chosen columns of',
    flags: ['--columns=identity,Cit'],
    code: 0,
    text: 'exported',
  },
])('$what records whose columns would fill the memory', async ({ flags, code, text }) => {
  const world = makeWorld();
  const record = `{"identity":"a","profileData":${deep(20, 9000)}}`;
  await using server = await startLoopbackServer((request, response) => {
    const page = request.method === 'POST' ? '"cursor":"c"' : `"records":[${record}]`;
    request.resume().on('end', () => response.end(`{"status":"success",${page}}`));
  });
  const range = ['--event=a', '--from=2026-01-01', '--to=2026-01-01'];
  const argv = ['export-profiles', ...range, '-o', 'out.csv', ...flags];
  const outcome = await runMeasured(world, argv, server.url);
  expect(outcome.stderr).toContain(text);
  expect(outcome.code).toBe(code);
  expect(outcome.peak).toBeLessThan(200_000_000);
});

it('refuses a request body that is nested too deep or has too many values', async () => {
  const { service } = await serve();
  const post = async (body: string) => {
    const { accountId, passcode } = service;
    const headers = {
      'Content-Type': 'application/json',
      'X-Service-Account-Id': accountId,
      'X-Service-Passcode': passcode,
    };
    const answer = await fetch(`${service.url}/1/upload`, { method: 'POST', headers, body });
    return answer.json();
  };
  const nested = (depth: number) => `{"d":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const refused = { status: 'fail', code: 400, error: 'Malformed request' };
  expect(await post(nested(4_000_000))).toMatchObject(refused);
  expect(await post(`{"d":[${'[],'.repeat(2_500_000)}[]]}`)).toMatchObject(refused);
});
