import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { serve } from '../support/serve.js';
import { makeWorld } from '../support/test-environment.js';

// A file name, or a name in a file of the configuration, may contain line ends. It cannot add a line to the output.

const name = 'a\nerror E-DEFECT: call 555-1234.csv';
const shown = String.raw`a\u{A}error E-DEFECT: call 555-1234.csv`;

it.each([
  [[name, '--check'], 3],
  [[name], 3],
  [[name, '-v'], 3],
  [[name, '--report=b\nerror.html'], 3],
  [[name, '--log-format', 'json'], 3],
  [[name, '--types', 'City:\nerror E-DEFECT: x'], 2],
  [[`missing ${name}`], 9],
  [[name, `--rejects=${name}/x`], 9],
] as const)('upload %j prints no line that begins as in the name', async (words, expected) => {
  const { world } = await serve();
  writeFileSync(world.path(name), 'identity,City\nann,Oslo\n,Rome\n');
  const { code, stdout, stderr } = await world.run(['upload', ...words]);
  expect(code, stderr).toBe(expected);
  expect(stdout + stderr).not.toMatch(/^error(?: E-DEFECT|\.html)/m);
  if (words[0] === name && expected === 3 && words[1] !== '--log-format') {
    expect(stderr).toContain(`warning: ${shown}:3: validate`);
    expect(readdirSync(world.cwd)).toContain(`${name}.rejects.ndjson`);
  }
});

// Whoever adds members to a record chooses their names.
it.each([
  ['v.ndjson', '--mapping', 'm.json'],
  ['v.csv', '--mapping', 'm.json'],
  ['v.ndjson', '--check'],
  ['v.csv', '--preview'],
  ['v.csv', '--identity', 'none'],
])('upload of %s %s prints no line that begins as in the name of a column', async (...words) => {
  const { world } = await serve();
  const column = 'MSG-x\nerror E-DEFECT: call 555-1234';
  const record = {
    identity: 'ann',
    City: 'Oslo',
    [column]: 'neither',
    'a\nerror E-DEFECT': { b: 1 },
  };
  writeFileSync(world.path('v.ndjson'), `${JSON.stringify(record)}\n`);
  writeFileSync(world.path('v.csv'), `identity,City,"${column}"\nann,Oslo,neither\n`);
  writeFileSync(world.path('m.json'), '{"map":{"City":"City"},"columns":"exact"}');
  const { code, stdout, stderr } = await world.run(['upload', ...words, '--log-file', 'l.log']);
  expect(code, stderr).toBeGreaterThan(0);
  expect(stderr).toContain(String.raw`"MSG-x\nerror E-DEFECT: call`);
  const log = readFileSync(world.path('l.log'), 'utf8').replaceAll(/^\S+ \w+ +/gm, '');
  expect([stdout, stderr, log].join('\n')).not.toMatch(/^error E-DEFECT/m);
});

it('tables keep each cell in its line', async () => {
  const world = makeWorld();
  const region = {
    baseUrl: 'https://eu1.example',
    accountId: 'A\nerror\tB\u001B[31m',
    passcode: 'x',
  };
  const config = { profiles: { default: { regions: { eu1: region } } } };
  mkdirSync(world.configDir, { recursive: true, mode: 0o700 });
  writeFileSync(path.join(world.configDir, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  const { code, stdout, stderr } = await world.run(['config', 'list']);
  expect(code, stderr).toBe(0);
  expect(stdout.split('\n')).toHaveLength(4); // heads, row, file, end
  expect(stdout).toContain(String.raw`A\u{A}error\u{9}B\u{1B}[31m`);
});

it.each(['::stop-commands::x.csv', ' ::error file=a::b.csv', '::error::a\n::error::b.csv'])(
  'a note about %j is not a command to GitHub',
  async (hostile) => {
    const world = makeWorld();
    writeFileSync(world.path(hostile), 'identity;City\nann;Oslo\n');
    const { code, stdout, stderr } = await world.run(['upload', hostile, '--check']);
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/^note: \s*::.*: detected delimiter ";"/m);
    expect(stdout + stderr).not.toMatch(/^\s*::/m);
  },
);
