import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startService, type TestService } from '../../src/testing.js';
import { hasCommand } from '../support/has-command.js';
import { binPath } from '../support/processes/bin-process.js';

// The built program at a real pseudo-terminal, made by `script` (util-linux), while it uploads.

const canTry = hasCommand('script', 'progress is not tried at a terminal');
// No world of test/support: its clean-up does not know concurrent tests.
const root = mkdtempSync(path.join(tmpdir(), 'engagectl-terminal-'));
let service: TestService;
beforeAll(async () => {
  service = await startService({ latencyMs: 100 });
});
afterAll(async () => {
  await service.close();
  rmSync(root, { recursive: true, force: true });
});

interface Terminal {
  readonly columns: number;
  /** Requests of 100 records and 100 ms, one after the other. */
  readonly requests?: number;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Once something of the run is to be seen: what to type, or to do with the process. */
  readonly act?: (terminal: { type: (text: string) => void; pid: number }) => void;
}

const environment = (cwd: string) => ({
  PATH: process.env['PATH'],
  SHELL: '/bin/sh',
  TERM: 'xterm',
  ENGAGECTL_CONFIG_DIR: path.join(cwd, 'config'),
  ENGAGECTL_STATE_DIR: path.join(cwd, 'state'),
  ...service.env,
});

/** Runs an upload to its end; what the terminal got, and the exit code. */
async function upload({ columns, requests = 12, args = [], env = {}, act }: Terminal) {
  const cwd = mkdtempSync(path.join(root, 'work-'));
  const rows = Array.from(
    { length: requests * 100 },
    (_, n) => `u${n},${'Oslo'.padEnd(150, '-')}\n`,
  );
  writeFileSync(path.join(cwd, 'users.csv'), `identity,City\n${rows.join('')}`);
  const words = ['upload', 'users.csv', '--chunk-size', '100', '--concurrency', '1', ...args];
  const command = `stty cols ${columns} rows 24; echo $$ >pid; exec "${process.execPath}" "${binPath}" ${words.join(' ')}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd,
    env: { ...environment(cwd), ...env },
  });
  let shown = '';
  let acted = false;
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
    if (acted || !act || !/\d records/.test(shown)) return;
    acted = true;
    const pid = Number(readFileSync(path.join(cwd, 'pid'), 'utf8'));
    act({ type: (text) => child.stdin.write(text), pid });
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, shown };
}

/** The cursor is never hidden, or shown again; colours are off; the line is left clean. */
function expectTidy(shown: string): void {
  expect(shown.lastIndexOf('\u001B[?25h')).toBeGreaterThanOrEqual(shown.lastIndexOf('\u001B[?25l'));
  const last = shown.split('\n').at(-1) ?? '';
  expect(stripVTControlCharacters(last.slice(last.lastIndexOf('\r') + 1))).toBe('');
}

/** Columns of the widest piece that was drawn without moving the cursor. */
function widest(shown: string): number {
  const pieces = shown.split(/\r|\n|\u001B\[\d*G/); // oxlint-disable-line no-control-regex -- what a terminal is told begins with one
  return Math.max(...pieces.map((piece) => stripVTControlCharacters(piece).length));
}

/** The frames before the summary. */
const framesOf = (shown: string): string => shown.slice(0, shown.indexOf('uploaded '));

describe.skipIf(!canTry)('a terminal', { concurrent: true }, () => {
  it.each([20, 80, 200])('of %i columns: fits frames into the line', async (columns) => {
    const { code, shown } = await upload({ columns });
    expect(code, shown).toBe(0);
    expect(framesOf(shown)).toMatch(/\d records/);
    expect(widest(framesOf(shown))).toBeLessThanOrEqual(columns);
    if (columns >= 80)
      expect(framesOf(shown)).toMatch(/\[=+-*\] .*[\d,]+ records, [\d,]+\/s.*s left/);
    expectTidy(shown);
  });

  it('of 0 columns gets a few plain lines only', async () => {
    const { code, shown } = await upload({ columns: 0, args: ['--progress', 'always'] });
    expect(code, shown).toBe(0);
    expect(shown).not.toContain('\u001B');
    expect(shown.split('\n').length).toBeLessThan(40);
    expect(shown).toMatch(/^upload users\.csv: 0 %, \d+ records/m);
  });

  it('with TERM=dumb gets no control sequence', async () => {
    const { shown } = await upload({ columns: 80, env: { TERM: 'dumb' } });
    expect(shown).toContain('uploaded ');
    expect(shown).not.toContain('\u001B');
  });

  it('with NO_COLOR gets no color', async () => {
    const { shown } = await upload({ columns: 80, env: { NO_COLOR: '1' } });
    expect(framesOf(shown)).toContain('\u001B');
    expect(shown).not.toMatch(/\u001B\[[\d;]*m/); // oxlint-disable-line no-control-regex -- what a terminal is told begins with one
  });

  it('gets no drawing with --progress never', async () => {
    const { shown } = await upload({ columns: 80, args: ['--progress', 'never'] });
    expect(shown.slice(0, shown.indexOf('uploaded '))).not.toContain('records');
  });

  it('stops at once on Ctrl-C, and is left clean', async () => {
    const { code, shown } = await upload({
      columns: 80,
      requests: 100,
      act: ({ type }) => type('\u0003'),
    });
    expect(code, shown).toBe(130);
    expect(shown).toContain('stopping: ');
    expectTidy(shown);
  });

  it('stops without waiting on a second Ctrl-C, and is left clean', async () => {
    const { code, shown } = await upload({
      columns: 80,
      requests: 100,
      act: ({ type }) => type('\u0003\u0003'),
    });
    expect(code, shown).toBe(130);
    expectTidy(shown);
  });

  it('is left clean on SIGTERM', async () => {
    const { code, shown } = await upload({
      columns: 80,
      requests: 100,
      act: ({ pid }) => process.kill(pid, 'SIGTERM'),
    });
    expect(code, shown).toBe(143);
    expectTidy(shown);
  });

  it('that is closed, as by a lost connection, ends the command with 129, without a crash', async () => {
    const cwd = mkdtempSync(path.join(root, 'gone-'));
    const rows = Array.from({ length: 20_000 }, (_, n) => `u${n},Oslo\n`);
    writeFileSync(path.join(cwd, 'users.csv'), `identity,City\n${rows.join('')}`);
    // The leader of the session is told that the terminal is gone, and tells the program.
    const leader = `
      const child = require('node:child_process').spawn(process.execPath, process.argv.slice(2), { stdio: 'inherit' });
      process.on('SIGHUP', () => child.kill('SIGHUP'));
      child.on('close', (code, signal) => {
        fs.writeFileSync('ended.new', String(code ?? signal));
        fs.renameSync('ended.new', 'ended');
      });`;
    writeFileSync(path.join(cwd, 'leader.cjs'), `const fs = require('node:fs');${leader}`);
    const command = `stty cols 80 rows 24; exec "${process.execPath}" leader.cjs "${binPath}" upload users.csv --concurrency 1`;
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      cwd,
      env: environment(cwd),
    });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    const ended = path.join(cwd, 'ended');
    await vi.waitFor(() => expect(existsSync(ended)).toBe(true), 20_000);
    expect(readFileSync(ended, 'utf8')).toBe('129');
  });

  it('prints a line on SIGUSR1 that stays, and opens no debugger', async () => {
    const { code, shown } = await upload({
      columns: 80,
      requests: 20,
      act: ({ pid }) => process.kill(pid, 'SIGUSR1'),
    });
    expect(code, shown).toBe(0);
    expect(shown).toMatch(/\r\u001B\[Kupload users\.csv: \d+ %, [\d,]+ records[^\r\n]*\r\n/); // oxlint-disable-line no-control-regex -- what a terminal is told begins with one
    expect(shown).not.toContain('Debugger');
  });
});
