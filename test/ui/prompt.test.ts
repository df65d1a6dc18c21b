import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { EngagectlError } from '../../src/errors.js';
import { confirmIrreversible } from '../../src/ui/prompt.js';
import { makeWorld, type WorldOptions } from '../support/test-environment.js';

const demerge = {
  command: 'demerge',
  irreversible: 'event data of the profiles may be lost',
  accountId: 'ACC-1',
  region: 'eu1',
  production: false,
  files: ['identities.csv'],
  count: 1204,
  firstIdentities: ['ann@example.com', 'bob\u001B[2J'],
};

async function asked(options: WorldOptions, asking = { yes: false, inputIsStdin: false }) {
  const runtime = makeWorld(options).runtime();
  const error: unknown = await confirmIrreversible(demerge, asking, runtime).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { error, ...runtime.output() };
}

describe('the demerge confirmation', () => {
  test('shows account, region, count, first identities and a warning, and accepts the count', async () => {
    const { error, stdout, stderr } = await asked({ tty: true, stdin: '1204\n' });
    expect(error).toBeUndefined();
    expect(stdout).toBe('');
    for (const part of [
      'ACC-1',
      'eu1',
      'identities.csv',
      '1,204',
      'ann@example.com',
      'bob\\u{1B}[2J',
      '1,202 more',
      'may be lost',
    ])
      expect(stderr).toContain(part);
  });

  test.each([
    ['another number', '1205\n'],
    ['yes', 'yes\n'],
    ['an empty line', '\n'],
    ['the end of input', ''],
  ])('refuses %s', async (_what, stdin) => {
    const { error } = await asked({ tty: true, stdin });
    expect(error).toMatchObject({ id: 'E-CONFIRM', exitCode: 2 });
  });

  test.each([
    ['standard input is no terminal', { tty: { stderr: true }, stdin: '1204\n' }, false],
    ['standard error is no terminal', { tty: { stdin: true }, stdin: '1204\n' }, false],
    ['standard input carries the identities', { tty: true, stdin: '1204\n' }, true],
  ])('requires --yes when %s', async (_what, options, inputIsStdin) => {
    const { error, stderr } = await asked(options, { yes: false, inputIsStdin });
    expect(error).toMatchObject({
      id: 'E-CONFIRM',
      exitCode: 2,
      details: { fix: expect.stringContaining('--yes') as string },
    });
    expect(stderr).toBe('');
  });

  test('does not ask with --yes', async () => {
    const { error, stderr } = await asked({ tty: true }, { yes: true, inputIsStdin: false });
    expect([error, stderr]).toEqual([undefined, '']);
  });

  test('ends with the reason of Ctrl-C', async () => {
    const stop = new AbortController();
    const pending = asked({ tty: true, stdin: new PassThrough(), signal: stop.signal });
    const reason = new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT');
    setImmediate(() => stop.abort(reason));
    expect((await pending).error).toBe(reason);
  });
});
