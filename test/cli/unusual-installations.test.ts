import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { startService } from '../../src/testing.js';
import { accountAt } from '../support/account-environment.js';
import { makeWorld } from '../support/test-environment.js';
import { outcomeOf, start } from '../chaos/bin.js';
import { passcode } from '../chaos/invariants.js';

// The built program in places and at widths that are unusual.

it('reports missing build output in one line', () => {
  const world = makeWorld();
  mkdirSync(world.path('bin'));
  const bin = world.path('bin', 'engagectl.cjs');
  copyFileSync(fileURLToPath(new URL('../../bin/engagectl.js', import.meta.url)), bin);
  const { status, stderr } = spawnSync(process.execPath, [bin, '--help'], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([2, expect.stringMatching(/^engagectl is not built: .*\n$/)]);
});

it.runIf(process.getuid?.() === 0)(
  'keeps compiled code in no folder that others can write to',
  () => {
    const world = makeWorld();
    mkdirSync(world.path('bin'));
    const bin = world.path('bin', 'engagectl.cjs');
    copyFileSync(fileURLToPath(new URL('../../bin/engagectl.js', import.meta.url)), bin);
    // A Node that keeps it, and prints where.
    const hook = world.path('node-22.cjs');
    writeFileSync(
      hook,
      `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.20.0' } });
require('node:module').enableCompileCache = (folder) => process.stdout.write(folder);`,
    );
    const caches = world.path('caches');
    const ours = world.path('caches', 'engagectl');
    const keptIn = () =>
      spawnSync(process.execPath, ['--require', hook, bin, '--version'], {
        encoding: 'utf8',
        env: { XDG_CACHE_HOME: caches },
      }).stdout;
    expect(keptIn()).toBe('');
    mkdirSync(caches);
    expect(keptIn()).toBe(ours);
    mkdirSync(ours);
    expect(keptIn()).toBe(ours);
    chmodSync(ours, 0o777);
    expect(keptIn()).toBe('');
    chmodSync(ours, 0o700);
    chownSync(caches, 4711, 4711);
    expect(keptIn()).toBe('');
  },
);

it('causes no warning of Node with 15 requests waiting at once', async () => {
  await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
  await service.fault({ answer: { status: 503 } });
  const { url } = service;
  const world = makeWorld({ env: accountAt(url, passcode) });
  const rows = Array.from({ length: 60 }, (_, n) => `user-${n},${n}\n`);
  writeFileSync(world.path('users.csv'), `identity,Seq\n${rows.join('')}`);
  const how = '--chunk-size 1 --concurrency 15 --max-attempts 3 --retry-base 200ms --json';
  const argv = ['upload', 'users.csv', ...how.split(' ')];
  const { code, stderr } = await outcomeOf(start(world, { url, argv }));
  expect(code).toBe(5);
  expect(stderr).not.toContain('MaxListeners');
});
