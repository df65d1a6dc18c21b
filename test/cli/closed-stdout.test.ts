import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { makeWorld } from '../support/test-environment.js';

// Contract §1: a closed stdout ends a command in silence, with 141; exports have a test of their own.

const bin = fileURLToPath(new URL('../../bin/engagectl.js', import.meta.url));
const lines = [
  ['upload', '--help'],
  ['config', 'list', '--json'],
  ['config', 'path'],
];

it.each(lines)('%s %s: the reader of stdout left', async (...argv) => {
  const child = start(argv, 'pipe');
  child.stdout?.destroy();
  expect(await outcome(child)).toEqual({ code: 141, stderr: '' });
});

it.runIf(process.platform === 'linux').each(lines)('%s %s: stdout is full', async (...argv) => {
  const full = openSync('/dev/full', 'w');
  const child = start(argv, full);
  closeSync(full);
  const { code, stderr } = await outcome(child);
  expect(code).toBe(9);
  expect(stderr).toContain('E-FILE-WRITE');
  expect(stderr).not.toContain('node:');
});

it('a closed stderr keeps nobody from the answer', async () => {
  const child = start(['config', 'nonsense'], 'ignore');
  child.stderr?.destroy();
  expect(await outcome(child)).toMatchObject({ code: 2 });
});

function start(argv: readonly string[], stdout: 'pipe' | 'ignore' | number) {
  const { cwd, configDir, stateDir } = makeWorld();
  const env = { ENGAGECTL_CONFIG_DIR: configDir, ENGAGECTL_STATE_DIR: stateDir };
  return spawn(process.execPath, [bin, ...argv], { cwd, env, stdio: ['ignore', stdout, 'pipe'] });
}

async function outcome(child: ReturnType<typeof start>) {
  const [stderr, [code]] = await Promise.all([
    child.stderr ? text(child.stderr).catch(() => '') : '',
    once(child, 'close') as Promise<[number]>,
  ]);
  return { code, stderr };
}
