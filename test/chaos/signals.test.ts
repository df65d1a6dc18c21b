import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readJournal } from '../../src/bulk/journal/journal.js';
import {
  replayWrite,
  writeEntries,
  type WriteEntry,
} from '../../src/bulk/outcomes/journal-entries.js';
import {
  accept,
  after,
  hang,
  startFaultServer,
  type Script,
  type Step,
} from '../support/servers/fault-server.js';
import { recordsOf } from '../support/servers/record-outcomes.js';
import { whenAborted } from '../../src/jobs/job-context.js';
import { makeWorld } from '../support/test-environment.js';
import { until } from '../support/until.js';
import { hasStrace, outcomeOf, startInto, start } from './bin.js';
import { passcode, runsOf, type Summary } from './invariants.js';
import { accountAt } from '../support/account-environment.js';

// The built program and real signals.

async function stage(script: Script) {
  const server = await startFaultServer(script);
  const world = makeWorld({
    env: accountAt(server.url, passcode),
  });
  const rows = Array.from({ length: 60 }, (_, n) => `user-${n},${n}\n`);
  writeFileSync(world.path('users.csv'), `identity,Seq\n${rows.join('')}`);
  return {
    server,
    world,
    start: (...words: string[]) => start(world, { url: server.url, argv: [...argv, ...words] }),
    /** Resolves when so many requests have arrived. */
    arrived: (requests: number) =>
      until(() => server.received.length >= requests, { message: `${requests} requests arrived` }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const argv = ['upload', 'users.csv', '--chunk-size', '10', '--concurrency', '1', '--json'];
/** The second request waits, the others are answered at once. */
const slowSecond =
  (milliseconds: number): Script =>
  (_received, index) =>
    index === 1 ? after(milliseconds, accept()) : accept();

const summaryOf = (stdout: string): Summary => JSON.parse(stdout) as Summary;

describe('the first signal', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s lets requests in flight finish, and %i can be resumed', async (signal, code) => {
    await using run = await stage(slowSecond(600));
    const child = run.start();
    const ended = outcomeOf(child);
    await run.arrived(2);
    child.kill(signal);
    const [first] = (await once(child.stderr, 'data')) as [Buffer];
    expect(run.server.executed, 'a message before the request in flight is done').toHaveLength(1);
    expect(first.toString()).not.toBe('');
    const outcome = await ended;
    expect(outcome.code).toBe(code);
    expect(summaryOf(outcome.stdout).accepted).toBe(20);
    expect(outcome.stderr).toContain('engagectl.js runs resume');

    const { stdout, code: resumed } = await outcomeOf(run.start('--resume'));
    expect([resumed, summaryOf(stdout).resumed, summaryOf(stdout).accepted]).toEqual([0, 20, 40]);
    expect(run.server.executed).toHaveLength(6);
  });

  it('ends a wait for an idle pipe at once', async () => {
    await using run = await stage([accept()]);
    const { url } = run.server;
    const child = start(run.world, { url, argv: ['upload', '-', '--input-format', 'ndjson'] });
    child.stdin.write('{"identity":"a","Seq":"1"}\n');
    await run.arrived(1); // what came is sent when the pipe falls silent
    child.kill('SIGINT'); // the pipe stays open, so the process ends only if it stops waiting for it
    expect((await outcomeOf(child)).code).toBe(130);
  });
});

it('exits at once on the second signal', async () => {
  await using run = await stage([hang()]);
  const child = run.start();
  const ended = outcomeOf(child);
  await run.arrived(1);
  child.kill('SIGINT');
  await once(child.stderr, 'data');
  child.kill('SIGINT');
  expect((await ended).code).toBe(130);
});

it('releases the lock at kill -9, and can be resumed', async () => {
  await using run = await stage((_received, index) => (index === 2 ? hang() : accept()));
  const child = run.start();
  await run.arrived(3);
  const second = await outcomeOf(run.start('--resume'));
  expect(second.code, second.stderr).toBe(8);
  expect(second.stderr).toContain('E-RUN-LOCKED');
  const listed = await run.world.run(['runs', 'list', '--json']);
  expect((JSON.parse(listed.stdout) as { runs: object[] }).runs).toHaveLength(1);
  child.kill('SIGKILL');
  await once(child, 'close');

  const [id = ''] = runsOf(run.world);
  const { code, stdout, stderr } = await run.world.run(['runs', 'resume', id]);
  expect(code, stderr).toBe(0);
  expect([code, summaryOf(stdout).resumed, summaryOf(stdout).accepted]).toEqual([0, 20, 40]);
  const sent = run.server.executed.flatMap(({ body }) => recordsOf(body));
  expect(new Set(sent.map(({ identity }) => identity)).size).toBe(60);
  expect(sent).toHaveLength(60);
});

it('names the process that works on the run, and waits for it with --wait-lock', async () => {
  const go = new AbortController();
  const held: Step = async (exchange) => {
    await whenAborted(go.signal);
    await accept()(exchange);
  };
  await using run = await stage((_received, index) => (index === 1 ? held : accept()));
  const first = run.start();
  const ended = outcomeOf(first);
  await run.arrived(2);
  const waiting = run.start('--wait-lock', '60s');
  const [noted, outcome] = [once(waiting.stderr, 'data'), outcomeOf(waiting)];
  for (const flags of [[], ['--wait-lock', '20ms']]) {
    const refused = await outcomeOf(run.start(...flags));
    expect(refused.code, refused.stderr).toBe(8);
    const { error } = JSON.parse(refused.stderr.trim().split('\n').at(-1)!) as {
      error: Record<string, string>;
    };
    expect(error['why']).toMatch(
      new RegExp(
        `^process ${first.pid} has been working on it since 20\\d\\d-[\\d-]{5}T[\\d:]{8}Z$`,
      ),
    );
    expect(error['fix']).toBe('wait until it is done; --wait-lock 10m does that');
  }
  await noted;
  go.abort();
  expect((await ended).code).toBe(0);
  const { code, stdout, stderr } = await outcome;
  expect([code, summaryOf(stdout).accepted]).toEqual([0, 60]);
  expect(stderr).toContain(`process ${first.pid} has been working on it since`);
  const left = readdirSync(path.join(run.world.stateDir, 'runs'));
  expect(left.filter((name) => name.includes('lock'))).toEqual([]);
});

it('stops waiting for another process on Ctrl-C', async () => {
  await using run = await stage([hang()]);
  const first = run.start();
  await run.arrived(1);
  const waiting = run.start('--wait-lock', '1h');
  const ended = outcomeOf(waiting);
  await once(waiting.stderr, 'data');
  waiting.kill('SIGINT');
  expect((await ended).code).toBe(130);
  first.kill('SIGKILL');
  await once(first, 'close');
});

it.runIf(hasStrace)(
  'does not wait for the disk with idempotent requests; kill -9 loses none',
  async () => {
    await using run = await stage([accept()]);
    const argv = ['upload', 'users.csv', '--chunk-size', '5', '--concurrency', '2', '--json'];
    const hangs = ['-e', 'trace=fdatasync', '-e', 'inject=fdatasync:delay_enter=3600s'];
    const tracer = ['strace', '-f', '-qq', '-o', run.world.path('trace'), ...hangs];
    const strace = start(run.world, { url: run.server.url, argv, tracer });
    await run.arrived(6);
    const [id = ''] = runsOf(run.world);
    const journal = path.join(run.world.stateDir, 'runs', id, 'journal.ndjson');
    const accepted = () =>
      replayWrite(readJournal<WriteEntry>(journal, writeEntries)).counts.accepted;
    await until(() => accepted() >= 30);
    const children = `/proc/${strace.pid}/task/${strace.pid}/children`;
    process.kill(Number.parseInt(readFileSync(children, 'utf8'), 10), 'SIGKILL');
    strace.kill('SIGKILL'); // it would go on waiting by itself
    await once(strace, 'close');

    const { stdout, code } = await outcomeOf(run.start('--resume'));
    expect([code, summaryOf(stdout).resumed, summaryOf(stdout).accepted]).toEqual([0, 30, 30]);
    const sent = run.server.executed.flatMap(({ body }) => recordsOf(body));
    expect(sent).toHaveLength(60);
  },
);

it.runIf(process.platform === 'linux')(
  'drops a journal line that a full disk truncated, and can be resumed',
  async () => {
    await using run = await stage([accept()]);
    // 3 KiB per file: after the slots of the synced mark, the third line or so of the journal is cut in the middle.
    const tracer = ['bash', '-c', 'ulimit -f 3; trap "" XFSZ; exec "$@"', '-'];
    const full = await outcomeOf(start(run.world, { url: run.server.url, argv, tracer }));
    expect([full.code, full.stderr]).toEqual([9, expect.stringContaining('journal')]);
    const { stdout, code } = await outcomeOf(run.start('--resume'));
    const { resumed, accepted } = summaryOf(stdout);
    expect([code, resumed > 0, resumed + accepted]).toEqual([0, true, 60]);
    expect(run.server.executed.length).toBeLessThanOrEqual(7);
  },
);

it.runIf(process.platform === 'linux')('keeps the run if stdout is full', async () => {
  await using run = await stage([accept()]);
  const stdout = openSync('/dev/full', 'w');
  const full = startInto(run.world, { url: run.server.url, argv, stdout });
  closeSync(stdout);
  const [code] = (await once(full, 'close')) as [number];
  expect(code).toBe(9);
  const { resumed, accepted } = summaryOf((await outcomeOf(run.start('--resume'))).stdout);
  expect([resumed, accepted]).toEqual([60, 0]);
  expect(run.server.executed).toHaveLength(6);
});
