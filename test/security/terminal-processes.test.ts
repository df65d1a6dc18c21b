import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import ora from 'ora';
import { describe, expect, it } from 'vitest';
import { redactedStream, typedSecretsRemover } from '../../src/redact.js';
import { hasCommand } from '../support/has-command.js';
import { binPath } from '../support/processes/bin-process.js';
import { serve } from '../support/serve.js';
import type { World } from '../support/test-environment.js';

// The built program at a real pseudo-terminal, made by `script` (util-linux), with a passcode in the environment: every
// command ends with its exit code, and no control sequence of a record or a response reaches the terminal.

const canTry = hasCommand('script', 'records are not printed to a terminal');

/** Sets the title, clears the screen, colors text, reverses it; each byte of it is active in some terminal. */
const steering = '\u001B]0;owned\u0007\u001B[2J\u009B31m\u202Eowned\u2066\u0085\u007F';

/** What the program itself sends to a terminal: colors, and the sequences of its progress line. */
const ownSequences = /\u001B(?:[78]|\[(?:\?\d+[lh]|\d*[GK]|[\d;]*m|1A))/g; // oxlint-disable-line no-control-regex -- a terminal reads these
const active =
  // oxlint-disable-next-line no-control-regex -- a terminal reads these
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/u;

async function prepared() {
  const { service, world } = await serve();
  const profile = {
    identity: 'ann',
    type: 'profile',
    profileData: { Note: steering, [`k${steering}`]: 'y' },
  };
  const event = {
    identity: 'ann',
    type: 'event',
    evtName: 'Seen',
    ts: 1_700_000_000,
    evtData: { Note: steering },
  };
  writeFileSync(world.path('all.ndjson'), `${JSON.stringify(profile)}\n${JSON.stringify(event)}\n`);
  expect(await world.run(['upload', '--yes', 'all.ndjson'])).toMatchObject({ code: 0 });
  writeFileSync(
    world.path('users.csv'),
    `identity,Note,N${steering}\nann,"x${steering}",1\n"${steering}",x,2\n,x,3\n`,
  );
  return { service, world };
}

/** Runs a command at a terminal of 80 columns. Its exit code, or null if it did not end within 20 s. */
async function atTerminal(world: World, argv: readonly string[]) {
  const words = argv.map((word) => `'${word}'`).join(' ');
  const command = `stty cols 80 rows 24; exec "${process.execPath}" "${binPath}" ${words}`;
  const { env } = world.runtime();
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: world.cwd,
    env: { PATH: process.env['PATH'], SHELL: '/bin/sh', TERM: 'xterm', ...env },
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, shown };
}

const range = ['--event', 'Seen', '--from', '20231113', '--to', '20231116'];
const progress = ['--progress', 'always'];

describe.skipIf(!canTry)('at a terminal', () => {
  it.each([
    [0, ['export-events', ...range]],
    [0, ['export-events', ...range, '--format', 'csv', ...progress]],
    [0, ['export-profiles', ...range]],
    [0, ['export-profiles', ...range, '-o', 'p.csv', ...progress]],
    [0, ['get-profile', 'ann']],
    [3, ['get-profile', '--input', 'users.csv', ...progress]],
    [3, ['upload', 'users.csv']],
    [3, ['upload', 'users.csv', ...progress, '-vv']],
    [3, ['upload', 'users.csv', '--check']],
    [3, ['verify', 'users.csv']],
  ])('exit code %i: %j', async (expected, argv) => {
    const { world } = await prepared();
    const { code, shown } = await atTerminal(world, argv);
    expect(code, shown).toBe(expected);
    expect(shown.replaceAll(ownSequences, '').replaceAll(/\r+\n?/g, '\n')).not.toMatch(active);
    expect(shown).not.toBe('');
  });

  it('a response of the service is printed without its control sequences', async () => {
    const { service, world } = await prepared();
    await service.fault({ answer: { status: 400, body: `no ${steering}` } });
    const { code, shown } = await atTerminal(world, ['get-profile', 'ann', '-vv', ...progress]);
    expect(code, shown).toBeGreaterThan(1);
    expect(shown.replaceAll(ownSequences, '').replaceAll(/\r+\n?/g, '\n')).not.toMatch(active);
  });
});

it('redacts what others write below a spinner of ora', async () => {
  const secret = 'S3cret-of-the-test';
  const redact = typedSecretsRemover(['--passcode', secret], {})!;
  const written: string[] = [];
  const terminal = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      written.push(chunk);
      done();
    },
  });
  const methods = {
    isTTY: true,
    columns: 80,
    cursorTo: () => true,
    clearLine: () => true,
    moveCursor: () => true,
  };
  const stream = redactedStream(
    Object.assign(terminal, methods) as unknown as NodeJS.WriteStream,
    redact,
  );
  const spinner = ora({ stream, isEnabled: true, discardStdin: false, hideCursor: false });
  spinner.text = `uploads with ${secret}`;
  spinner.start();
  stream.write(`a message with ${secret}\n`);
  spinner.render();
  spinner.stop();
  stream.write(`the end of ${secret}\n`);
  await new Promise(setImmediate);
  const text = written.join('');
  expect(text).toContain('uploads with [redacted]');
  expect(text).toContain('a message with [redacted]');
  expect(text).toContain('the end of [redacted]');
  expect(text).not.toContain(secret);
});
