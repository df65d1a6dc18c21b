import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { EngagectlError } from '../../src/errors.js';
import { confirmIrreversible } from '../../src/ui/prompt.js';
import { BinProcess } from '../support/processes/bin-process.js';
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

/** Runs a program on a terminal; types the first text before it starts, and the next one each time that it asks. */
const onTerminal = `
import os, pty, subprocess, sys
texts, words = sys.argv[1].split('|'), sys.argv[2:]
terminal, slave = pty.openpty()
os.write(terminal, texts[0].encode())
child = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
os.close(slave)
shown, asked = b'', 0
while True:
    try: piece = os.read(terminal, 65536)
    except OSError: break
    if not piece: break
    shown += piece
    if shown.count(b' to continue: ') > asked:
        asked += 1
        os.write(terminal, texts[asked].encode())
sys.stdout.write(shown.decode())
sys.exit(child.wait())
`;
const hasPython = spawnSync('python3', ['--version'], { stdio: 'ignore' }).status === 0;

test.skipIf(!hasPython).each([
  ['a line', '1\n', 'no\n', 2],
  ['many lines', '1\n'.repeat(500), 'no\n', 2],
  ['half a line', '1', '\n', 2],
  ['something else', 'no\nn', '1\n', 0],
])(
  'on a terminal, %s typed before the question does not answer it',
  async (_, ahead, answer, code) => {
    const world = makeWorld();
    writeFileSync(world.path('ids.csv'), 'identity\na\n');
    const argv = ['demerge', 'ids.csv', '--region', 'local'];
    const tracer = ['python3', '-c', onTerminal, `${ahead}|${answer}`];
    const child = new BinProcess(world, argv, {}, { tracer });
    expect(await child.ended(), child.stdout + child.stderr).toBe(code);
    expect(child.stdout).toContain('Type 1 to continue');
  },
);

test.skipIf(!hasPython).each([
  ['', 'sleep'],
  [
    ', on a busy machine',
    '(ms) => { const slept = sleep(ms); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * ms); return slept; }',
  ],
])('no line behind the answer to a question answers the next one%s', (_, sleeping) => {
  const module = new URL('../../build/ui/prompt.js', import.meta.url).href;
  const asking = `
    import { askYesNo } from ${JSON.stringify(module)};
    import { setTimeout as sleep } from 'node:timers/promises';
    const { stdin, stderr } = process;
    const { signal } = new AbortController();
    for (let n = 0; n < 3; n += 1)
      console.log(await askYesNo('y to continue: ', { stdin, stderr, signal, sleep: ${sleeping} }, signal));
  `;
  const words = [process.execPath, '--input-type=module', '-e', asking];
  const typed = ['', 'n\ny\n', 'n\ny\n', 'y\n'].join('|');
  const { stdout } = spawnSync('python3', ['-c', onTerminal, typed, ...words], {
    encoding: 'utf8',
  });
  expect(stdout.match(/true|false/g)).toEqual(['false', 'false', 'true']);
});
