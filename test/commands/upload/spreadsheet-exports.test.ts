import { writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startService } from '../../../src/testing.js';
import { makeWorld } from '../../support/test-environment.js';

// Files as spreadsheets and hurried people make them: what is wrong is said where it can be put right.

async function upload(name: string, text: string, ...flags: string[]) {
  const service = await startService();
  onTestFinished(() => service.close());
  const world = makeWorld({ env: service.env });
  writeFileSync(world.path(name), text);
  return { ...(await world.run(['upload', name, ...flags])), service };
}

describe('a line that tells a spreadsheet the delimiter', () => {
  it.each([
    ['sep=;\r\nidentity;City\r\nu1;Oslo\r\n', [], "delete that line, and add --delimiter ';'"],
    ['sep=;\nidentity;City\nu1;Oslo\n', ['--delimiter', ';'], 'delete that line'],
    [
      '\uFEFF"sep=\t"\nidentity\tCity\nu1\tOslo\n',
      [],
      "delete that line, and add --delimiter '\\t'",
    ],
    ['sep=,\nidentity,City\nu1,Oslo\n', [], 'fix: delete that line\n'],
  ])('is no header: %j %j', async (text, flags, fix) => {
    const { code, stderr, service } = await upload('users.csv', text, ...flags);
    expect([code, stderr]).toEqual([8, expect.stringContaining(fix)]);
    expect(stderr).toContain('not a header');
    expect(service.requests()).toEqual([]);
  });
});

it.each([[], ['--check']])(
  'long numbers that a spreadsheet has shortened are told in every run: %j',
  async (...flags) => {
    const rows = 'identity,City\n9.17891234567E+11,Oslo\n9.17891234567E+11,Rome\n';
    const { code, stderr } = await upload('users.csv', rows, ...flags);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^warning: users\.csv: "identity" all 2 values are like "9\.17…", which a spreadsheet has rounded: .*number$/m,
    );
    const ids = 'identity,City\nE10,1e\n917891234567,Rome\n';
    expect((await upload('users.csv', ids, ...flags)).stderr).not.toContain('warning');
  },
);

it('a decimal comma is named as what it is', async () => {
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

describe('JSON under a wrong name', () => {
  it.each(['[\n{"identity":"u1"}\n]\n', ' [{"identity":"u1"}]'])(
    'an array in a .ndjson is refused, and goes with the flag that is named: %j',
    async (text) => {
      const { code, stderr } = await upload('users.ndjson', text);
      expect([code, stderr]).toEqual([8, expect.stringContaining('fix: add --input-format json')]);
      expect((await upload('users.ndjson', text, '--input-format', 'json')).code).toBe(0);
    },
  );

  it('lines that end in a comma are rejected, and the comma is named', async () => {
    const { code, stderr } = await upload('users.ndjson', '{"identity":"u1"},\n[1]\n');
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining('continues after its end, with ","'),
    ]);
  });

  it('an object around the records is said to be one', async () => {
    const { code, stderr } = await upload('users.json', '{"users":[{"identity":"u1"}]}');
    expect([code, stderr]).toEqual([8, expect.stringContaining('extract the array first')]);
  });
});

it('an empty name of a file is a variable that was not set', async () => {
  const { code, stderr } = await makeWorld().run(['upload', '', '--region', 'local']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('variable that is not set')]);
});

describe('a header without the column identity', () => {
  it.each([
    ['Id,City\n1,Oslo\n', 'Id'],
    ["City,Customer's ID,Email\nOslo,1,a@example.test\n", `'Customer'"'"'s ID'`],
    ['Identity,City\nu1,Oslo\n', 'Identity'],
  ])(
    'suggests the column that identifies the user, if one is called so: %j',
    async (text, column) => {
      const { code, stderr } = await upload('users.csv', text);
      expect([code, stderr]).toEqual([
        8,
        expect.stringContaining(`fix: add --identity ${column} if`),
      ]);
    },
  );

  it('may be no header at all', async () => {
    const { code, stderr } = await upload('users.csv', 'u1,Oslo\nu2,Rome\n');
    expect([code, stderr]).toEqual([8, expect.stringContaining('add a header line')]);
  });
});

it('a preview of which all is rejected does not say that there is nothing wrong', async () => {
  const rows = 'identity,Score\nu1,"1,5"\n';
  const { code, stdout } = await upload('users.csv', rows, '--types', 'Score:number', '--preview');
  expect(code).toBe(3);
  expect(stdout).not.toMatch(/No likely mistakes|Time:/);
  expect(stdout).toContain('To be sent: nothing\n');
});

it('a list of addresses without type and status is told what it needs', async () => {
  const world = makeWorld();
  writeFileSync(world.path('addresses.txt'), 'ann@example.test\n');
  const { code, stderr } = await world.run(['subscribe', 'addresses.txt', '--region', 'local']);
  const fix = 'a list of values alone needs --type <type> and --status <status>';
  expect([code, stderr]).toEqual([8, expect.stringContaining(fix)]);
});

it('a mapping file is told all of its faults, in words, with the names that were meant', async () => {
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
])('a web page that was saved as %s is told as one', async (name, text) => {
  const { code, stderr, service } = await upload(name, text);
  expect([code, stderr]).toEqual([
    8,
    expect.stringContaining(`E-FORMAT: ${name} is a web page, not records`),
  ]);
  expect(service.requests()).toEqual([]);
});
