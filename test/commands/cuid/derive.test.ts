import { createHmac } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../support/property-runs.js';
import { validateCuid } from '../../../src/calling/cuid.js';
import { cuidsBy } from '../../support/cuids-by.js';
import { makeWorld, type World } from '../../support/test-environment.js';

// `cuid derive`: a column more, all others as they were; the same cuid for the same value, no two rows
// with one, and nothing that `cuid check --strict` would turn down.

const key = 'a key of more than sixteen characters';
const slug = cuidsBy();

async function derive(world: World, content: string, flags: readonly string[]) {
  writeFileSync(world.path('users.csv'), content);
  writeFileSync(world.path('cuid.key'), `${key}\n`);
  return world.run(['cuid', 'derive', 'users.csv', ...flags]);
}

it('adds a column, and keeps every other byte', async () => {
  const row = 'ann_1,"said ""hi"", twice\nand more", x ,007\n';
  const { code, stdout } = await derive(makeWorld(), `id,"a ""b""",c,d\n${row}`, ['--from', 'id']);
  expect(code).toBe(0);
  const [head, ...rest] = stdout.split('\n');
  expect(head).toBe('id,"a ""b""",c,d,cuid');
  expect(rest.join('\n')).toBe(row.replace('\n', '\n').slice(0, -1) + ',ann_1\n');
});

it('adds a member to JSON records, and keeps every other digit', async () => {
  const world = makeWorld();
  const records = ['{"id":"ann_1","n":1.50,"big":12345678901234567890}', '{ "id" : "bob_1" }'];
  writeFileSync(world.path('users.ndjson'), records.join('\n'));
  const { code, stdout } = await world.run(['cuid', 'derive', 'users.ndjson', '--from', 'id']);
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual([
    '{"id":"ann_1","n":1.50,"big":12345678901234567890,"cuid":"ann_1"}',
    '{ "id" : "bob_1" ,"cuid":"bob_1"}',
    '',
  ]);
  await world.run(['cuid', 'derive', 'users.ndjson', '--from', 'id', '-o', 'out.json.gz']);
  const document = gunzipSync(readFileSync(world.path('out.json.gz'))).toString();
  expect(JSON.parse(document)).toMatchObject([{ cuid: 'ann_1' }, { cuid: 'bob_1' }]);
});

it('keeps objects whose path it reads', async () => {
  const world = makeWorld();
  const record = '{"user":{"id":"annie","n":1.0},"a.b":2}';
  writeFileSync(world.path('users.ndjson'), record);
  const { stdout } = await world.run(['cuid', 'derive', 'users.ndjson', '--from', 'user.id']);
  expect(stdout).toBe(`${record.slice(0, -1)},"cuid":"annie"}\n`);
});

it.each([[], ['--key-file', 'cuid.key']])(
  'derives the same cuid however value and device are escaped: %j',
  async (...flags) => {
    const world = makeWorld();
    writeFileSync(world.path('cuid.key'), key);
    const plain = String.raw`{"id":"müller","device":"bob's phone"}`;
    const escaped = String.raw`{"id":"m\u00fcller","device":"bob\u0027s phone"}`;
    const cuids = [];
    for (const record of [plain, escaped]) {
      writeFileSync(world.path('in.ndjson'), record);
      const argv = ['cuid', 'derive', 'in.ndjson', '--from=id', '--device-column=device'];
      const { stdout } = await world.run([...argv, ...flags]);
      cuids.push((JSON.parse(stdout) as { cuid: string }).cuid);
    }
    const expected = cuidsBy(flags.length > 0 ? Buffer.from(key) : undefined);
    expect(cuids).toEqual([1, 2].map(() => expected('müller', "bob's phone")));
  },
);

it.each<[value: string, device: string | undefined, cuid: RegExp]>([
  ['ann_1', undefined, /^ann_1$/],
  ['Ann-1', undefined, /^Ann_1_[a-z2-7]{8}$/],
  ['1234567', undefined, /^u_1234567$/],
  ['91_8899555', undefined, /^u_91_8899555$/],
  ['_x_', undefined, /^x_[a-z2-7]{8}$/],
  ['two__lines', undefined, /^two_lines_[a-z2-7]{8}$/],
  ['芳王', undefined, /^u_[a-z2-7]{8}$/],
  ['ab', undefined, /^ab_[a-z2-7]{8}$/],
  ['x'.repeat(60), undefined, /^x{41}_[a-z2-7]{8}$/],
  ['annie', 'phone', /^annie_phone$/],
  ['ann_1', 'phone', /^ann_1_phone_[a-z2-7]{8}$/],
])('derives a slug of %j from %j', (value, device, cuid) => {
  expect(slug(value, device)).toMatch(cuid);
});

it('distinguishes values that could be joined in two ways', () => {
  expect(slug('ann_1', 'phone')).not.toBe(slug('ann', '1_phone'));
});

it('hides the value with HMAC-SHA256 in base 32', async () => {
  const { stdout } = await derive(makeWorld(), 'Email\nann@example.com\n', [
    '--from',
    'Email',
    '--key-file',
    'cuid.key',
  ]);
  const [, cuid = ''] = stdout.split('\n')[1]!.split(',');
  expect(cuid).toMatch(/^u_[a-z2-7]{26}$/);
  const bits = createHmac('sha256', key).update('ann@example.com').digest();
  const five = Array.from({ length: 26 }, (_, n) => {
    const at = Math.floor((5 * n) / 8);
    return (((bits[at]! << 8) | bits[at + 1]!) >> (11 - ((5 * n) % 8))) & 31;
  });
  expect(cuid.slice(2)).toBe(five.map((n) => 'abcdefghijklmnopqrstuvwxyz234567'[n]).join(''));
});

it.each([
  ['by its name', 'Email\nann\n', 'Email'],
  ['by its first value', 'who\n+47 22 33 44 55\n', 'who'],
])('refuses an address or number in plain text: a column known %s', async (_, content, from) => {
  const world = makeWorld();
  const { code, stdout, stderr } = await derive(world, content, ['--from', from]);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('--key-file <file>');
  const shown = await derive(world, content, ['--from', from, '--style', 'slug']);
  expect(shown.code).toBe(0);
});

it.each(['" +4722334455"', 'tel:+4722334455', '＋4722334455', 'ann＠example.com'])(
  'rejects %s below another first value, and among the devices',
  async (value) => {
    const world = makeWorld();
    const content = `id,device\nannie,phone\n${value},phone\nbob_1,${value}\n`;
    const { code, stdout } = await derive(world, content, ['--from=id', '--device-column=device']);
    expect([code, stdout.split('\n').length]).toEqual([3, 3]);
    expect(stdout).toContain('annie,phone,annie_phone');
    const flags = ['--from=id', '--device-column=device', '--style=slug'];
    expect((await derive(world, content, flags)).code).toBe(0);
  },
);

it('rejects an address or number in plain text below another first value', async () => {
  const world = makeWorld();
  const content = 'id\nannie\nann@example.com\n+47 22 33 44 55\nbob_1\n';
  const { code, stdout, stderr } = await derive(world, content, ['--from', 'id']);
  expect([code, stdout]).toEqual([3, 'id,cuid\nannie,annie\nbob_1,bob_1\n']);
  expect(stderr).toContain('--key-file <file>');
  expect((await derive(world, content, ['--from', 'id', '--style', 'slug'])).code).toBe(0);
  const hashed = await derive(world, content, ['--from', 'id', '--key-file', 'cuid.key']);
  expect(hashed.code).toBe(0);
});

it.each([
  [['--style', 'hash'], 'openssl rand'],
  [['--style', 'slug', '--key-file', 'cuid.key'], 'cannot be combined with --key-file'],
  [['--key-file', 'users.csv'], 'shorter than 16'],
  [['--key-file', 'none'], 'there is no such file'],
  [['-o', 'out.ndjson'], 'contains table rows'],
])('refuses %j', async (flags, says) => {
  const { code, stderr } = await derive(makeWorld(), 'id\nann\n', ['--from', 'id', ...flags]);
  expect(code).toBe(2);
  expect(stderr).toContain(says);
});

it('keeps rows with delimiters of two bytes, and skips one without a value', async () => {
  const input = 'id;;name\r\nannie;;"x;y"\r\n;;empty\r\nbob_1;;z';
  const { code, stdout } = await derive(makeWorld(), input, ['--from', 'id', '--delimiter', ';;']);
  expect(code).toBe(3);
  expect(stdout).toBe('id;;name;;cuid\nannie;;"x;y";;annie\nbob_1;;z;;bob_1\n');
});

it('converts a list to CSV, quoting its values', async () => {
  const world = makeWorld();
  writeFileSync(world.path('users.txt'), 'annie\n"carl""5"\nannie\nbob,5\n');
  const { code, stdout } = await world.run(['cuid', 'derive', 'users.txt', '--from', 'id']);
  expect(code).toBe(3);
  expect(stdout.replaceAll(/_[a-z2-7]{8}$/gm, '_…')).toBe(
    'id,cuid\nannie,annie\n"carl""5",carl_5_…\n"bob,5",bob_5_…\n',
  );
});

it('names both rows of a collision, writes neither twice, and continues', async () => {
  const world = makeWorld();
  const ids = ['u_123', '123', 'ann_1', 'ANN_1', 'ann_1', '', 'bob_1'];
  const { code } = await derive(world, `id,n\n${ids.map((id) => `${id},0\n`).join('')}`, [
    '--from',
    'id',
    '-o',
    'out.csv',
  ]);
  expect(code).toBe(3);
  expect(readFileSync(world.path('out.csv'), 'utf8')).toBe(
    'id,n,cuid\nu_123,0,u_123\nann_1,0,ann_1\nbob_1,0,bob_1\n',
  );
  const rejects = readFileSync(world.path('users.csv.rejects.ndjson'), 'utf8')
    .trimEnd()
    .split('\n');
  const said = rejects.map((line) => JSON.parse(line) as { line: number; error: string });
  expect(said.map(({ line }) => line)).toEqual([3, 5, 6, 7]);
  for (const [at, where] of [0, 1, 2].map((n) => [n, [2, 4, 4][n]] as const)) {
    expect(said[at]!.error).toContain(`line ${where}`);
  }
});

it('refuses an input that already has a cuid, before anything is written', async () => {
  const world = makeWorld();
  const { code, stderr } = await derive(world, 'id,cuid\n1,x\n', ['--from', 'id', '-o', 'out.csv']);
  expect(code).toBe(8);
  expect(stderr).toContain('E-HEADER-DUPLICATE');
  expect(existsSync(world.path('out.csv.partial'))).toBe(false);
});

it('writes the header of an input without rows', async () => {
  const { code, stdout } = await derive(makeWorld(), 'id,n\n', ['--from', 'id']);
  expect([code, stdout]).toEqual([0, 'id,n,cuid\n']);
});

const anything = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({ unit: fc.constantFrom('a', 'B', '7', '_', '-', '.'), maxLength: 12 }),
  fc.nat().map(String),
  fc.emailAddress(),
);

it('derives no cuid that check would report', () => {
  const hashed = cuidsBy(Buffer.from(key));
  fc.assert(
    fc.property(anything, fc.option(anything, { nil: undefined }), (value, device) => {
      expect(validateCuid(slug(value, device))).toEqual([]);
      expect(validateCuid(hashed(value, device))).toEqual([]);
      expect(slug(value, device)).toBe(slug(value, device));
    }),
    { numRuns: runs(500) },
  );
});

it('writes output that passes cuid check --strict, whatever the values', async () => {
  const world = makeWorld();
  const inputs = fc.array(fc.record({ id: anything, device: anything }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(inputs, fc.boolean(), async (rows, withDevice) => {
      writeFileSync(
        world.path('in.ndjson'),
        rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
      );
      const device = withDevice ? ['--device-column', 'device'] : [];
      const how = ['--from', 'id', ...device, '--style', 'slug', '--overwrite', '-o', 'out.ndjson'];
      const derived = await world.run(['cuid', 'derive', 'in.ndjson', ...how]);
      expect([0, 3]).toContain(derived.code);
      const { code, stdout } = await world.run(['cuid', 'check', 'out.ndjson', '--strict']);
      expect([code, stdout]).toEqual([0, '']);
    }),
    { numRuns: 10 },
  );
});

it('rejects a row with only empty cells instead of dropping it', async () => {
  const world = makeWorld();
  const { code, stdout } = await derive(world, 'id,City\nann,Oslo\n,\n', ['--from', 'id']);
  expect(code).toBe(3);
  expect(stdout).toMatch(/^id,City,cuid\nann,Oslo,\w+\n$/);
});
