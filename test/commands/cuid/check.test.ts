import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { validateCuid } from '../../../src/calling/cuid.js';
import { isUnremarkable } from '../../../src/jobs/cuid/check-cuids.js';
import { makeWorld, type World } from '../../support/test-environment.js';

// `cuid check`: every rule by its id, duplicates and twins with both lines, and the siblings' ways of
// reading, rejecting and counting.

interface Found {
  readonly source: string;
  readonly line: number;
  readonly cuid: string | null;
  readonly severity: string;
  readonly rules: readonly string[];
  readonly message: string;
  readonly first?: { readonly source: string; readonly line: number };
}

const linesOf = <T>(text: string): T[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);

async function check(world: World, content: string, flags: readonly string[] = []) {
  writeFileSync(world.path('cuids.csv'), content);
  const { code, stdout, stderr } = await world.run(['cuid', 'check', 'cuids.csv', ...flags]);
  return { code, stdout, stderr, found: linesOf<Found>(stdout) };
}

const rulesByLine = (found: readonly Found[]) =>
  Object.fromEntries(found.map(({ line, severity, rules }) => [line, [severity, ...rules]]));

it('names the violated rules of each row, and both lines of duplicates and lookalikes', async () => {
  const world = makeWorld();
  const cuids = [
    'org_25', // 2
    '91_8899555',
    '91_88a', // 4
    '1_2_a',
    'a-b_cde', // 6
    'usér1',
    '_user1', // 8
    'abcd',
    '"-b"', // 10
    'org_25',
    'Org_25', // 12
    '12_34_56',
    'two__underscores', // 14
    '""',
  ];
  const { code, found } = await check(world, `cuid\n${cuids.join('\n')}\n`);
  expect(code).toBe(3);
  expect(rulesByLine(found)).toEqual({
    3: ['error', 'number-separator-number'],
    6: ['error', 'alphabet'],
    7: ['error', 'alphabet'],
    8: ['error', 'first-character'],
    9: ['error', 'length'],
    10: ['error', 'length', 'first-character', 'alphabet'],
    11: ['error', 'duplicate'],
    12: ['warning', 'case-twin'],
    13: ['warning', 'no-letter'],
    14: ['warning', 'underscores'],
    15: ['error', 'required'],
  });
  expect(found.find(({ line }) => line === 11)).toMatchObject({
    cuid: 'org_25',
    message: 'is the same as on line 2',
    first: { source: 'cuids.csv', line: 2 },
  });
  expect(found.find(({ line }) => line === 12)?.first).toEqual({ source: 'cuids.csv', line: 2 });
  const rejects = linesOf<{ line: number; stage: string; error: string }>(
    readFileSync(world.path('cuids.csv.rejects.ndjson'), 'utf8'),
  );
  expect(rejects.map(({ line }) => line)).toEqual([3, 6, 7, 8, 9, 10, 11, 15]);
  expect(rejects[6]).toMatchObject({ stage: 'validate', error: expect.stringContaining('line 2') });
});

it('exits 0 with warnings only, which --strict makes errors', async () => {
  const world = makeWorld();
  const lax = await check(world, 'cuid\nann_1\nANN_1\n12345\n');
  expect([lax.code, lax.found.length]).toEqual([0, 2]);
  expect(existsSync(world.path('cuids.csv.rejects.ndjson'))).toBe(false);
  const strict = await check(world, 'cuid\nann_1\nANN_1\n12345\n', ['--strict', '--json']);
  expect(strict.code).toBe(3);
  expect(JSON.parse(strict.stdout)).toMatchObject({
    command: 'cuid check',
    read: 3,
    accepted: 1,
    rejected: 2,
    warnings: 0,
    rules: { 'case-twin': 1, 'no-letter': 1 },
    rejectsFile: 'cuids.csv.rejects.ndjson',
    exitCode: 3,
  });
});

it('names the file of a duplicate in another file', async () => {
  const world = makeWorld();
  writeFileSync(world.path('a.csv'), 'cuid\nann_1\nbob_1\n');
  writeFileSync(world.path('b.ndjson.gz'), gzipSync('{"cuid":"carl_1"}\n{"cuid":"bob_1"}\n'));
  writeFileSync(world.path('c.txt'), 'dora_1\nBob_1\n');
  const files = ['a.csv', 'b.ndjson.gz', 'c.txt'];
  const { code, stdout } = await world.run(['cuid', 'check', ...files]);
  expect(code).toBe(3);
  const first = { source: 'a.csv', line: 3 };
  expect(linesOf(stdout)).toMatchObject([
    {
      source: 'b.ndjson.gz',
      line: 2,
      rules: ['duplicate'],
      message: expect.stringContaining('a.csv:3'),
      first,
    },
    { source: 'c.txt', line: 2, rules: ['case-twin'], first },
  ]);
});

it('reports unreadable rows, and continues', async () => {
  const world = makeWorld();
  const content = '{"cuid":"ann_1"}\n{"cuid":7}\n{oops\n{"id":"x"}\n"bob_1"\n';
  writeFileSync(world.path('in.ndjson'), content);
  const { code, stdout } = await world.run(['cuid', 'check', 'in.ndjson']);
  expect(code).toBe(3);
  expect(rulesByLine(linesOf<Found>(stdout))).toEqual({
    2: ['error', 'unreadable'],
    3: ['error', 'unreadable'],
    4: ['error', 'required'],
  });
});

it('accepts its own rejects file after correction', async () => {
  const world = makeWorld();
  await check(world, 'cuid\na-b_cd\n');
  const file = world.path('cuids.csv.rejects.ndjson');
  writeFileSync(file, readFileSync(file, 'utf8').replace('"cuid":"a-b_cd"', '"cuid":"a_b_cd"'));
  const { code } = await world.run(['cuid', 'check', file]);
  expect(code).toBe(0);
});

it('refuses an input without the column', async () => {
  const { code, stderr } = await check(makeWorld(), 'identity,Email\nann_1,x\n');
  expect(code).toBe(8);
  expect(stderr).toContain('E-COLUMN-MISSING');
  expect(stderr).toContain('--column <column>');
});

it('makes control and bidi characters of a cuid visible on a terminal', async () => {
  const { stdout, stderr } = await check(makeWorld(), 'cuid\n"ann\u202E\u001B[31m_1"\n');
  for (const active of ['\u202E', '\u001B']) expect(stdout + stderr).not.toContain(active);
  expect(stdout).toContain('\\u202e\\u001b');
});

describe('the check on bytes', () => {
  it('accepts exactly the cuids that validateCuid accepts', () => {
    const letters = fc.constantFrom('a', 'Z', '0', '9', '_', '_', '-', 'é', ' ');
    const cuid = fc.oneof(
      fc.string({ unit: letters, maxLength: 8 }),
      fc.string({ unit: fc.constantFrom('a', '1', '_'), minLength: 45, maxLength: 55 }),
    );
    fc.assert(
      fc.property(cuid, (text) => {
        const bytes = Buffer.from(text);
        expect(isUnremarkable(bytes, 0, bytes.length)).toBe(validateCuid(text).length === 0);
      }),
    );
  });
});
