import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  eachDay,
  inTurn,
  recordsPage,
  startPageServer,
} from '../../support/servers/page-server.js';
import { makeWorld } from '../../support/test-environment.js';

const days = ['--from', '2024-01-01', '--to', '2024-01-03'];
const command = ['export-events', '--event', 'Charged', ...days];

/** Two pages of two records a day. */
const daily = eachDay(({ from }) =>
  [1, 2].map((page) => recordsPage(...[1, 2].map((n) => `{"d":${from},"p":${page},"n":${n}}`))),
);
const wholeExport = [20240101, 20240102, 20240103].flatMap((d) =>
  [1, 2].flatMap((p) => [1, 2].map((n) => `{"d":${d},"p":${p},"n":${n}}\n`)),
);

describe('--limit of an export', () => {
  it.each([1, 2, 3, 4, 5, 12, 99])(
    '%i: writes the first records, and makes no further request',
    async (limit) => {
      await using server = await startPageServer(daily);
      const { code, stdout, stderr } = await makeWorld({ env: server.env }).run([
        ...command,
        `--limit=${limit}`,
        '--json',
      ]);
      expect(code, stderr).toBe(0);
      expect(stdout).toBe(wholeExport.slice(0, limit).join(''));
      expect(JSON.parse(stderr.trim().split('\n').at(-1)!)).toMatchObject({
        records: Math.min(limit, 12),
      });
      expect(server.openings).toHaveLength(1);
      expect(server.asked).toHaveLength(Math.min(Math.ceil(limit / 2), 6));
    },
  );

  it.each(['json', 'csv', 'ndjson.gz'])('writes a complete document: .%s', async (extension) => {
    await using server = await startPageServer(daily);
    const world = makeWorld({ env: server.env });
    const { code, stderr } = await world.run([...command, '--limit', '5', '-o', `a.${extension}`]);
    expect(code, stderr).toBe(0);
    const file = readFileSync(world.path(`a.${extension}`));
    const lines = wholeExport.slice(0, 5).map((line) => JSON.parse(line) as object);
    if (extension === 'json') expect(JSON.parse(file.toString())).toEqual(lines);
    else if (extension === 'csv') expect(file.toString().trim().split('\n')).toHaveLength(6);
    else expect(gunzipSync(file).toString()).toBe(wholeExport.slice(0, 5).join(''));
  });

  it.each([
    ['1', '23'],
    ['24', '46'],
    ['9999', '4991'],
  ])('%s requests pages of %s', async (limit, size) => {
    await using server = await startPageServer(daily);
    const profiles = ['export-profiles', '--event', 'Charged', ...days, '--limit', limit];
    await makeWorld({ env: server.env }).run(profiles);
    expect(server.openings).toMatchObject([{ parameters: { batch_size: size } }]);
  });

  it('resumes up to the same record, and refuses another limit', async () => {
    const broken = { status: 400, body: '{"status":"fail","error":"broken","code":400}' };
    await using server = await startPageServer((opening) =>
      daily(opening).map((page, index) => (index === 3 ? inTurn([broken], page) : page)),
    );
    const world = makeWorld({ env: server.env });
    const run = [...command, '-o', 'a.ndjson', '--max-attempts', '1'];
    expect((await world.run([...run, '--limit', '7'])).code).toBe(7);
    const other = await world.run([...run, '--limit', '8', '--resume']);
    expect([other.code, other.stderr]).toEqual([8, expect.stringContaining('--limit')]);
    const { code, stderr } = await world.run([...run, '--limit', '7', '--resume']);
    expect(code, stderr).toBe(0);
    expect(readFileSync(world.path('a.ndjson'), 'utf8')).toBe(wholeExport.slice(0, 7).join(''));
  });

  it.each([[['-o', '{day}.ndjson']], [['-o', 'a.ndjson', '--shard', '1/2']], [['--limit', '0']]])(
    'refuses %j',
    async (more) => {
      await using server = await startPageServer(daily);
      const limit = more.includes('--limit') ? [] : ['--limit', '3'];
      const { code, stderr } = await makeWorld({ env: server.env }).run([
        ...command,
        ...limit,
        ...more,
      ]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('--limit')]);
      expect(server.openings).toEqual([]);
    },
  );
});
