import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { hasCommand } from '../support/has-command.js';
import { makeWorld } from '../support/test-environment.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const demo = fileURLToPath(new URL('../../bin/demo.mjs', import.meta.url));
const runDemo = (folder: string) =>
  spawnSync(process.execPath, [demo, folder], { encoding: 'utf8' });

const withTerminal = hasCommand('script', 'the demo is not tried at a terminal');

/** At a pseudo-terminal, made by `script` (util-linux), where there is one. */
function runAtTerminal(folder: string) {
  if (!withTerminal) return runDemo(folder);
  const command = `stty cols 200; exec "${process.execPath}" "${demo}" "${folder}"`;
  return spawnSync('script', ['-qec', command, '/dev/null'], {
    encoding: 'utf8',
    env: { ...process.env, TERM: 'xterm', SHELL: '/bin/sh', CI: '', NO_COLOR: '' },
  });
}

it('runs the demo as planned, replacing an earlier one', { timeout: 300_000 }, () => {
  const world = makeWorld();
  const folder = world.path('demo-output');
  mkdirSync(folder);
  for (const name of ['.demo', 'buyers.csv']) writeFileSync(world.path('demo-output', name), '');

  const { status, stdout: shown } = runAtTerminal(folder);
  expect(status, shown).toBe(0);
  if (withTerminal) {
    expect(shown).toContain('\u001B[33mwarning:');
    expect(shown).toMatch(/\[=+-+\] upload \S+users\.csv: \d+ %/);
  }
  const stdout = withoutBars(shown);
  expect(readdirSync(folder).sort()).toEqual([
    '.demo',
    '.state',
    'buyers.csv',
    'events.ndjson.gz',
    'profiles.rejects.ndjson',
    'report.html',
    'users.csv',
  ]);
  // A part had arrived when it was killed, and it was not sent again.
  expect(stdout).toMatch(/^\$ kill -9 \d+$/m);
  expect(stdout).toMatch(/uploaded 20,000 users, [1-9][\d,]* of them in an earlier attempt/);
  // No other way to call it is shown than the one that was used.
  expect(stdout).not.toContain('node bin/');
  expect(inOrder(sampleOfReadme(), linesOf(stdout.replaceAll(folder, 'demo-output')))).toBe('');

  const next = stdout.split('\n').filter((line) => line.startsWith('  ENGAGECTL_STATE_DIR='));
  expect(next).toHaveLength(3);
  const typed = spawnSync('bash', ['-euc', next.join('\n')], { cwd: root, encoding: 'utf8' });
  expect(typed.status, typed.stderr).toBe(0);
  expect(typed.stdout).toContain('"identity":"crm-00003"');
  expect(typed.stderr).toContain('0 of 3,000 events differ');
  expect(typed.stdout).toContain('20,000');
});

it('refuses a demo directory that it did not create', () => {
  const world = makeWorld();
  writeFileSync(world.path('letter.txt'), '');
  expect(runDemo(world.cwd).status).toBe(1);
  expect(existsSync(world.path('letter.txt'))).toBe(true);
});

/** What is left when the bars are gone, and the colours. */
function withoutBars(shown: string): string {
  const ends = ['\r\n', '\u001B[K', '\u001B[0K', '\u001B[2K'];
  return stripVTControlCharacters(ends.reduce((text, end) => text.replaceAll(end, '\n'), shown));
}

/** Lines of the README's sample of what the demo prints; it leaves others out. */
function sampleOfReadme(): string[] {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const blocks = [...readme.matchAll(/^```text\n([^]*?)^```$/gm)].map((match) => match[1] ?? '');
  const sample = blocks.filter((block) => block.includes('ran as expected'));
  expect(sample).toHaveLength(1);
  return linesOf(sample.join('')).filter((line) => line !== '…');
}

/** Without what differs from run to run: durations, rates, how far the killed one came, names of runs. */
const linesOf = (text: string): string[] =>
  text
    .replaceAll(/\d[\d.,]*s, [\d,]+ records\/s/g, '(duration)')
    .replaceAll(/[\d.]+ [KM]B in \d+ requests/g, '(traffic)')
    .replaceAll(/[\d,]+ of them/g, '(some) of them')
    .replaceAll(/kill -9 \d+/g, 'kill -9 (process)')
    .replaceAll(/^\d{8}-\d{6}-\S+ {2}\S+Z/gm, '(run)')
    .split('\n')
    .filter((line) => line !== '');

/** The first line that does not come after those before it; '' when all do. */
function inOrder(wanted: readonly string[], lines: readonly string[]): string {
  let from = 0;
  for (const line of wanted) {
    const at = lines.indexOf(line, from);
    if (at === -1) return line;
    from = at + 1;
  }
  return '';
}
