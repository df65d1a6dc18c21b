import { closeSync, openSync } from 'node:fs';
import { expect, it } from 'vitest';
import { BinProcess } from '../support/processes/bin-process.js';
import { makeWorld } from '../support/test-environment.js';

// Contract §1: a closed stdout ends a command in silence, with 141; exports have a test of their own.

const lines = [
  ['upload', '--help'],
  ['config', 'list', '--json'],
  ['config', 'path'],
];

it.each(lines)('exits 141 when the reader of stdout closes it: %s %s', async (...argv) => {
  const started = new BinProcess(makeWorld(), argv);
  started.child.stdout?.destroy();
  expect(await started.outcome()).toEqual({ code: 141, stdout: '', stderr: '' });
});

it.runIf(process.platform === 'linux').each(lines)(
  'reports a full stdout: %s %s',
  async (...argv) => {
    const full = openSync('/dev/full', 'w');
    const started = new BinProcess(makeWorld(), argv, {}, { stdout: full });
    closeSync(full);
    const { code, stderr } = await started.outcome();
    expect(code).toBe(9);
    expect(stderr).toContain('E-FILE-WRITE');
    expect(stderr).not.toContain('node:');
  },
);

it('completes the command although stderr is closed', async () => {
  const started = new BinProcess(makeWorld(), ['config', 'nonsense']);
  started.child.stderr?.destroy();
  expect(await started.ended()).toBe(2);
});
