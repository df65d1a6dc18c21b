import { writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { startService } from '../../src/testing.js';
import { makeWorld, type World } from '../support/test-environment.js';

// Records may hold what steers a terminal. Where a command prints them on one, none of it arrives; a file or a pipe gets every byte.

const steering = '\u001B]0;title\u0007\u001B[2J\u009B31m\u202Etxt\u2066\u0085\u007F';
const active =
  // oxlint-disable-next-line no-control-regex -- these are what it is about
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]|\r(?!\n)/u;

async function world(): Promise<World> {
  const service = await startService();
  onTestFinished(() => service.close());
  const made = makeWorld({ env: service.env });
  const name = `x${steering}`;
  const users = [{ identity: 'ann', type: 'profile', profileData: { Note: name, [name]: 'y' } }];
  const seen = { identity: 'ann', type: 'event', evtName: 'Seen', ts: 1_700_000_000 };
  const events = [{ ...seen, evtData: { Note: name } }];
  const lines = [...users, ...events].map((record) => JSON.stringify(record));
  writeFileSync(made.path('all.ndjson'), `${lines.join('\n')}\n`);
  writeFileSync(made.path('in.csv'), `identity,Note\nann,"x${steering}"\n`);
  const { code, stderr } = await made.run(['upload', '--yes', 'all.ndjson']);
  expect(code, stderr).toBe(0);
  return made;
}

const range = ['--event', 'Seen', '--from', '20231113', '--to', '20231116'];

it.each([
  [['export-events', ...range]],
  [['export-events', ...range, '--format', 'csv']],
  [['export-events', ...range, '--format', 'json']],
  [['export-profiles', ...range]],
  [['export-profiles', ...range, '--format', 'csv']],
  [['get-profile', 'ann', '--format', 'ndjson']],
  [['get-profile', '--input', 'in.csv']],
])('%j', async (argv) => {
  const env = await world();
  const piped = await env.run(argv);
  expect(piped.code, piped.stderr).toBe(0);
  expect(piped.stdout, 'a pipe gets what was stored').toContain('\u202Etxt');
  const shown = await env.run(argv, { tty: { stdout: true } });
  expect(shown.code).toBe(0);
  expect(shown.stdout).not.toMatch(active);
  expect(shown.stdout).toMatch(/\\u(?:202e|\{202E\})txt/);
  const isJson = !argv.includes('csv') && !argv.includes('json');
  if (isJson) expect(parsed(shown.stdout)).toEqual(parsed(piped.stdout));
});

const parsed = (ndjson: string): unknown[] =>
  ndjson
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

it.each([
  [['get-profile', 'ann']],
  [['upload', '--preview=5', 'in.csv']],
  [['upload', '--preview=5', 'in.csv', '--json']],
  [['upload', '--check', 'in.csv', '--identity', 'Note']],
  [['verify', 'in.csv']],
  [['verify', 'in.csv', '--json']],
  [['cuid', 'derive', 'in.csv', '--column', 'Note', '--style', 'slug']],
  [['cuid', 'check', 'in.csv', '--column', 'Note']],
  [['runs', 'list', '--finished']],
])('%j', async (argv) => {
  const env = await world();
  const { stdout, stderr } = await env.run(argv, { tty: { stdout: true } });
  expect(stdout).not.toMatch(active);
  expect(stderr).not.toMatch(active);
  expect(stdout + stderr).not.toBe('');
});
