import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { startService, type TestService } from '../../src/testing.js';
import { hasCommand } from '../support/has-command.js';
import { makeWorld } from '../support/test-environment.js';
import { binPath } from '../support/processes/bin-process.js';

// What a shell is used to: all of the output, whoever reads it and however slowly; UTF-8 whatever the locale;
// and nobody is talked to but the service that was named.

const hasStrace = hasCommand('strace', 'whom the program talks to is not looked at');
const day = Date.UTC(2026, 9, 1) / 1000;
const events = Array.from({ length: 4000 }, (_, at) => ({
  type: 'event',
  identity: `Zoë-${at}`,
  ts: day + at,
  evtName: 'Bought',
  evtData: { note: `👩‍👧 ${'æ'.repeat(200)}` },
}));

let service: TestService;
beforeAll(async () => {
  service = await startService({ accountId: 'ACC-1', passcode: 'pass' });
  return () => service.close();
});

const shell = async (line: string, cwd: string) => {
  const env = { PATH: process.env['PATH'], HOME: cwd, LC_ALL: 'C', LANG: 'C', ...service.env };
  return promisify(execFile)('bash', ['-c', line], { cwd, env, maxBuffer: 2 ** 26 });
};

it('writes the same UTF-8 to a slow pipe as to a file', async () => {
  const world = makeWorld();
  const { cwd } = world;
  writeFileSync(
    world.path('events.ndjson'),
    `${events.map((each) => JSON.stringify(each)).join('\n')}\n`,
  );
  await shell(`node ${binPath} upload events.ndjson --quiet`, cwd);
  const ask = `node ${binPath} export-events --event Bought --from 2026-10-01 --to 2026-10-01 --quiet`;
  await shell(`${ask} | (sleep 1; cat) > piped; test \${PIPESTATUS[0]} = 0`, cwd);
  await shell(`${ask} -o file.ndjson; ${ask} --format csv --bom -o file.csv`, cwd);
  const piped = readFileSync(world.path('piped'));
  expect(piped.length).toBeGreaterThan(1_500_000);
  expect(piped.equals(readFileSync(world.path('file.ndjson')))).toBe(true);
  expect(piped.toString()).toContain('👩‍👧 æææ');
  expect(piped[0]).toBe('{'.charCodeAt(0));
  expect(readFileSync(world.path('file.csv')).subarray(0, 3).toString('hex')).toBe('efbbbf');
});

it.skipIf(!hasStrace)('connects to no host but the named service', async () => {
  const world = makeWorld();
  const { cwd } = world;
  writeFileSync(world.path('users.csv'), 'identity\nu1\n');
  const env = { PATH: process.env['PATH'], HOME: cwd, ...service.env };
  const { port } = new URL(service.url);
  for (const line of ['upload users.csv --quiet', 'get-profile u1', 'version --json', 'doctor']) {
    const words = ['-f', '-qq', '-e', 'trace=connect,sendto', '-o', 'calls', 'node', binPath];
    await promisify(execFile)('strace', [...words, ...line.split(' ')], { cwd, env });
    const calls = readFileSync(world.path('calls'), 'utf8').split('\n');
    const met = calls.filter((call) => /AF_INET/.test(call));
    const others = met.filter((call) => !call.includes(`htons(${port})`));
    expect(others, line).toEqual([]);
    expect(met.length > 0, line).toBe(line !== 'version --json');
  }
});
