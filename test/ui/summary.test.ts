import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { messagePrinter } from '../../src/ui/messages.js';
import { showSummary, type Summary } from '../../src/ui/summary.js';
import { makeWorld, type World } from '../support/test-environment.js';

const upload: Summary = {
  command: 'upload',
  run: '20241121-abcd',
  profile: 'default',
  region: 'eu1',
  accountId: 'ACC-1',
  read: 2_500_000,
  accepted: 2_499_998,
  rejected: 2,
  unknown: 0,
  notSent: 0,
  resumed: 0,
  duplicates: 0,
  requests: 2501,
  retries: 1,
  bytesSent: 343_000_000,
  seconds: 133.4,
  rejectsFile: 'users.csv.rejects.ndjson',
  exitCode: 3,
};
const exported: Summary = {
  command: 'export-events',
  profile: null,
  region: 'eu1.example',
  accountId: 'ACC-1',
  records: 40,
  pages: 2,
  requests: 5,
  retries: 0,
  pendingSeconds: 4,
  bytes: 1234,
  seconds: 2,
  output: 'events.ndjson',
  exitCode: 0,
};

async function shown(
  summary: Summary,
  options: {
    json?: boolean;
    quiet?: boolean;
    recordsOnStdout?: boolean;
    world?: World;
    env?: Record<string, string>;
    tty?: boolean;
    next?: string;
    verb?: string;
  } = {},
) {
  const {
    json = false,
    quiet = false,
    recordsOnStdout = false,
    world = makeWorld(),
    env = {},
    tty = false,
    next,
    verb = 'uploaded',
  } = options;
  const runtime = world.runtime({ env, tty });
  const settings = { json, quiet, verbose: false, color: false };
  await showSummary(summary, {
    settings,
    runtime,
    messages: messagePrinter(settings, runtime),
    recordsOnStdout,
    verb,
    nouns: 'users',
    next,
  });
  return runtime.output();
}

describe('a summary', () => {
  test('of a write is one aligned block on stderr', async () => {
    const { stdout, stderr } = await shown(upload);
    expect(stdout).toBe('');
    expect(stderr).toBe(`uploaded 2,499,998 of 2,500,000 users; 2 rejected
  account   ACC-1 (region eu1, profile default)
  traffic   343 MB in 2,501 requests (1 retry), 2m 13s, 18,741 records/s
  rejects   users.csv.rejects.ndjson
`);
  });

  test('of an export names its file, and on a terminal the next command', async () => {
    const next = 'head -n 3 events.ndjson';
    const lines = `exported 40 users
  account   ACC-1 (region eu1.example)
  traffic   1.2 KB in 5 requests, 2.0s, 20 records/s
  output    events.ndjson
`;
    expect((await shown(exported, { next, verb: 'exported' })).stderr).toBe(lines);
    const onTerminal = await shown(exported, { next, verb: 'exported', tty: true });
    expect(onTerminal.stderr).toBe(`${lines}  next      ${next}\n`);
    const failed = await shown(
      { ...exported, exitCode: 5, run: 'r1' },
      { next, verb: 'exported', tty: true },
    );
    expect(failed.stderr).toMatch(/^exported 40 users before it stopped\n[^]* {2}run {7}r1\n/);
  });

  test.each([
    [{ rejected: 0, read: 1, accepted: 1 }, 'uploaded 1 user'],
    [{ rejected: 0, read: 0, accepted: 0 }, 'uploaded 0 users'],
    [
      { rejected: 0, read: 2, accepted: 0, resumed: 2 },
      'nothing to send: an earlier attempt sent 2 users',
    ],
    [
      { read: 9, accepted: 1, resumed: 2, rejected: 1, unknown: 1, duplicates: 1, notSent: 3 },
      'uploaded 3 of 9 users, 2 of them in an earlier attempt; 1 rejected; ' +
        '1 with an unknown outcome; 1 duplicate; 3 not sent',
    ],
    [
      { rehearsal: 'check' as const, read: 3, rejected: 1, accepted: 0, notSent: 2 },
      'check: 2 of 3 users would be sent; 1 rejected; nothing was sent',
    ],
    [
      { rehearsal: 'dryRun' as const, read: 3, rejected: 0, accepted: 3 },
      'dry run: the service would take 3 users; nothing was changed',
    ],
    [
      { command: 'get-profile', read: 3, rejected: 1, accepted: 2 },
      'found 2 of 3 users; 1 not found',
    ],
  ])('of %j starts with %s', async (figures, line) => {
    const verb = line.split(' ')[0]!;
    const { stderr } = await shown({ ...upload, ...figures }, { verb });
    expect(stderr.split('\n')[0]).toBe(line);
  });

  test('of a check names no account', async () => {
    const { stderr } = await shown({ ...upload, profile: null, region: null, accountId: null });
    expect(stderr).not.toMatch(/account|null/);
  });

  test('is one JSON object on stdout with --json, on stderr if stdout carries records', async () => {
    const plain = await shown(upload, { json: true });
    expect(plain.stderr).toBe('');
    expect(JSON.parse(plain.stdout)).toEqual({ schemaVersion: 1, ...upload });
    expect(plain.stdout).toMatch(/^\{"schemaVersion":1,"command":"upload",.*\}\n$/);

    const piped = await shown(exported, { json: true, recordsOnStdout: true });
    expect(piped.stdout).toBe('');
    expect(JSON.parse(piped.stderr)).toEqual({ type: 'summary', schemaVersion: 1, ...exported });
  });

  test('is silent with --quiet, but not with --quiet --json', async () => {
    expect(await shown(upload, { quiet: true })).toEqual({ stdout: '', stderr: '' });
    expect((await shown(upload, { quiet: true, json: true })).stdout).not.toBe('');
  });

  test('sanitizes texts of the service', async () => {
    const { stderr } = await shown({ ...upload, rejectsFile: 'a\u001B[2Jb' });
    expect(stderr).toContain('a\\u{1B}[2Jb');
  });
});

describe('GITHUB_STEP_SUMMARY', () => {
  test('gets a table appended, without markup from the data', async () => {
    const world = makeWorld();
    const file = world.path('step.md');
    writeFileSync(file, 'before\n');
    const rejectsFile = '<img src=x>|`x`\n| a | [b](http://c) |\\| ``www.example.com';
    await shown(
      { ...upload, rejectsFile },
      { world, env: { GITHUB_STEP_SUMMARY: file }, quiet: true },
    );
    const text = readFileSync(file, 'utf8');
    expect(text).toMatch(/^before\n### engagectl upload/);
    expect(text).toContain('| accepted | 2,499,998 |\n');
    const row = text.split('\n').find((line) => line.startsWith('| rejects'));
    expect(row?.match(/\|/g)).toHaveLength(3);
    expect(row?.match(/`<img src=x>`/)).not.toBeNull();
    expect(row?.replaceAll(/`[^`|\\]+`/g, '')).toMatch(/^\| rejects \| (?:&#\d+;)+ \|$/);
  });

  test.each([
    'www.example.com/users.csv',
    'https://evil.example/users.csv',
    'ann@example.com',
    '@octocat',
    '#12',
    'GH-12',
    'deadbeefdeadbeefdeadbeefdeadbeefdeadbeef',
    '_bold_ & <b>',
  ])('does not turn the file %s into a link', async (rejectsFile) => {
    const world = makeWorld();
    const env = { GITHUB_STEP_SUMMARY: world.path('step.md') };
    await shown({ ...upload, rejectsFile }, { world, env, quiet: true });
    expect(readFileSync(world.path('step.md'), 'utf8')).toContain(
      `| rejects | \`${rejectsFile}\` |\n`,
    );
  });

  test('that cannot be written causes a warning', async () => {
    const { stderr } = await shown(upload, { env: { GITHUB_STEP_SUMMARY: '/nowhere/at/all' } });
    expect(stderr).toContain('warning: the step summary could not be written');
  });
});
