import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalJson, FleetKey } from '../../src/fleet/signature.js';
import { makeWorld } from '../support/test-environment.js';

const owner = { accountId: 'ACCOUNT-1', host: 'eu1.example.com', passcode: 'of-the-account' };
const content = { run: '0123456789ab', shard: { index: 1, count: 2 } };

/** The same value, with the members of its objects in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([k, v]) => [k, reversed(v)]),
  );
}

it('signs a value identically in any member order, and after it was stored in a file', () => {
  const key = new FleetKey(owner);
  fc.assert(
    fc.property(fc.object(), (value) => {
      const inFile = JSON.parse(JSON.stringify(value)) as object;
      expect(canonicalJson(reversed(inFile))).toBe(canonicalJson(inFile));
      expect(key.verify('run', reversed(inFile) as object, key.sign('run', value))).toBe(true);
    }),
  );
});

it('signs different values differently', () => {
  const key = new FleetKey(owner);
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      fc.pre(JSON.stringify(a) !== JSON.stringify(b));
      fc.pre(canonicalJson(a) !== canonicalJson(b));
      expect(key.verify('run', { of: b }, key.sign('run', { of: a }))).toBe(false);
    }),
  );
});

it.each([
  ['another passcode', { passcode: 'of-the-accounT' }],
  ['another account', { accountId: 'ACCOUNT-2' }],
  ['another address', { host: 'us1.example.com' }],
])('rejects a signature of %s', (_, other) => {
  const signature = new FleetKey({ ...owner, ...other }).sign('shard', content);
  expect(new FleetKey(owner).verify('shard', content, signature)).toBe(false);
});

it.each([
  ['of another kind', new FleetKey(owner).sign('result', content)],
  ['cut short', new FleetKey(owner).sign('shard', content).slice(0, 63)],
  ['longer', `${new FleetKey(owner).sign('shard', content)}0`],
  ['in capitals', new FleetKey(owner).sign('shard', content).toUpperCase()],
  ['in a list', [new FleetKey(owner).sign('shard', content)]],
  ['that is missing', undefined],
  ['that is empty', ''],
])('rejects a signature %s', (_, signature) => {
  const key = new FleetKey(owner);
  expect(key.verify('shard', content, key.sign('shard', content))).toBe(true);
  expect(key.verify('shard', content, signature)).toBe(false);
});

it('signs no passcode, and distinguishes accounts whose concatenated names are equal', () => {
  const a = new FleetKey({ ...owner, accountId: 'A', host: 'B,C' });
  const b = new FleetKey({ ...owner, accountId: 'A","B', host: 'C' });
  expect(a.sign('run', content)).not.toBe(b.sign('run', content));
  expect(JSON.stringify(a)).not.toContain(owner.passcode);
});

it.each([[''], [':'], ['::']])(
  'refuses to start a worker with ENGAGECTL_WORK_DIRS="%s"',
  async (dirs) => {
    const world = makeWorld({
      env: { ENGAGECTL_WORK_DIRS: dirs, ENGAGECTL_QUEUE: 'redis://127.0.0.1:1' },
    });
    const { code, stderr } = await world.run(['fleet', 'work', '--drain']);
    expect(code).toBe(2);
    expect(stderr).toContain('E-USAGE: no work directory is named');
    expect(stderr).toContain('fix: engagectl fleet work --work-dir /shared/fleet');
  },
);
