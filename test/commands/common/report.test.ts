import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EngagectlError } from '../../../src/errors.js';
import type { FaultRuleInput, TestServiceOptions } from '../../../src/testing.js';
import { serve } from '../../support/serve.js';
import { makeWorld, type World } from '../../support/test-environment.js';
import { until } from '../../support/until.js';

const rows = Array.from({ length: 40 }, (_, n) => `user-${n},${n}\n`);
const users = `identity,Seq\n${rows.join('')}`;

async function start(fault?: FaultRuleInput, options?: TestServiceOptions) {
  const served = await serve(options);
  if (fault) await served.service.fault(fault);
  writeFileSync(served.world.path('users.csv'), users);
  return served;
}

/** Text of the page as a reader sees it; entities stand for themselves. */
const pageOf = (world: World, name = 'run.html') => readFileSync(world.path(name), 'utf8');

/** Label and value of each line of the table "Summary". */
const figuresOf = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<th scope="row">(.*?)<\/th>\s*<td>(.*?)<\/td>/gs)].map((match) => [
      match[1] ?? '',
      (match[2] ?? '').trim(),
    ]),
  );

const upload = ['upload', 'users.csv', '--chunk-size', '10', '--report', 'run.html'];

describe('--report', () => {
  it('writes one page with the figures of the summary, for its owner only', async () => {
    const run = await start({ times: 1, answer: { status: 429 } });
    const { code, stdout } = await run.world.run([...upload, '--json']);
    const summary = JSON.parse(stdout) as Record<string, number>;
    const page = pageOf(run.world);
    expect(code).toBe(0);
    expect(figuresOf(page)).toMatchObject({
      command: `engagectl ${upload.join(' ')} --json`,
      read: `${summary['read']}`,
      accepted: '40',
      requests: `${summary['requests']}`,
      retries: '1',
    });
    expect(page).toContain('HTTP 429: 1');
    expect(statSync(run.world.path('run.html')).mode & 0o777).toBe(0o600);
    expect(readdirSync(run.world.cwd).toSorted()).toEqual(['run.html', 'users.csv']);
  });

  it('loads nothing from elsewhere, and contains no secret', async () => {
    const run = await start();
    await run.world.run(upload);
    const page = pageOf(run.world);
    expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|url\(|\ssrc=|\shref=|\sstyle=/i);
    expect(page).toContain(`default-src 'none'; style-src 'sha256-`);
    expect(page).not.toContain(run.service.passcode);
  });

  it('shows rejects by kind with samples, as text', async () => {
    const hostile = `</style><script>alert(1)</script><img src=x onerror=alert(2)> & " ' \u202E\u001B[2J`;
    const unprocessed = (n: number) => ({
      status: 'fail',
      code: 515,
      error: `${hostile} record number : ${n}`,
    });
    const body = { status: 'partial', processed: 6, unprocessed: [1, 2, 3, 4].map(unprocessed) };
    const run = await start({ times: 1, answer: { body } });
    writeFileSync(
      run.world.path('users.csv'),
      `identity,Note\n${Array.from({ length: 10 }, (_, n) => `u${n},"<b>${hostile.replaceAll('"', '""')}"\n`).join('')}`,
    );
    const { code } = await run.world.run(upload);
    const page = pageOf(run.world);
    expect(code).toBe(3);
    expect(page).toContain('service 515');
    expect(page.match(/users\.csv:\d+/g)).toEqual(['users.csv:2', 'users.csv:3', 'users.csv:4']);
    expect(page).toContain('&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page.replaceAll('\n', '')).not.toMatch(/<script|<img|<b>&lt;|[\p{Cc}\p{Bidi_Control}]/u);
    expect(page.match(/<style>/g)).toHaveLength(1);
    expect(page).toContain('engagectl upload users.csv.rejects.ndjson');
  });

  it('shows where a run stopped and the command that resumes it', async () => {
    const run = await start({ after: 1, answer: { status: 401 } });
    const { code } = await run.world.run([...upload, '--concurrency', '1']);
    expect(code).toBe(4);
    const page = pageOf(run.world);
    expect(page).toContain('E-CREDENTIALS');
    expect(figuresOf(page)).toMatchObject({ accepted: '10', 'not sent': '30' });
    const next = /engagectl runs resume [\w-]+/.exec(page)?.[0] ?? '';
    expect((await run.world.run(['runs', 'list'])).stdout).toContain(next.split(' ')[3]);
  });

  it('is written after Ctrl-C, and replaced by the resumed run, which states what its charts cover', async () => {
    const stop = new AbortController();
    const run = await start({ after: 1, times: 1, action: 'hang' });
    const ended = run.world.run([...upload, '--concurrency', '1'], { signal: stop.signal });
    await until(() => run.service.requests().length >= 2);
    stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT'));
    expect((await ended).code).toBe(130);
    const [id = ''] = /(?<=runs resume )[\w-]+/.exec(pageOf(run.world)) ?? [];
    expect((await run.world.run(['runs', 'resume', id])).code).toBe(0);
    const page = pageOf(run.world);
    expect(figuresOf(page)).toMatchObject({ read: '40', accepted: '30', resumed: '10' });
    expect(page).toContain('of its last process only');
  });

  it.each<
    [what: string, report: string, prepare: (world: World) => void, code: number, id: string]
  >([
    ['a folder', 'folder', (world) => mkdirSync(world.path('folder')), 2, 'E-USAGE'],
    ['the input', 'users.csv', () => undefined, 2, 'E-USAGE'],
    [
      'a file that is no report',
      'notes.html',
      (world) => writeFileSync(world.path('notes.html'), '<p>mine</p>'),
      8,
      'E-OUTPUT-EXISTS',
    ],
    ['a missing folder', 'none/run.html', () => undefined, 9, 'E-FILE-WRITE'],
  ])('refuses %s before anything is sent', async (_, report, prepare, code, id) => {
    const run = await start();
    prepare(run.world);
    const outcome = await run.world.run(['upload', 'users.csv', '--report', report]);
    expect(outcome.code).toBe(code);
    expect(outcome.stderr).toContain(id);
    expect(run.service.requests()).toEqual([]);
  });

  it('keeps a file of that name that appears during the run', async () => {
    const { world, service } = await start({ after: 1, times: 1, delayMs: 300 });
    const ended = world.run(upload);
    await until(() => service.requests().length >= 2);
    writeFileSync(world.path('run.html'), 'mine');
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('run.html appeared during the run, and is run.html.1 now'),
    ]);
    expect(figuresOf(pageOf(world))).toMatchObject({ accepted: '40' });
    expect(readFileSync(world.path('run.html.1'), 'utf8')).toBe('mine');
  });

  it('replaces an earlier report', async () => {
    const run = await start();
    await run.world.run(upload);
    const before = pageOf(run.world);
    expect((await run.world.run(upload)).code).toBe(0);
    expect(pageOf(run.world)).not.toBe(before);
  });

  it('ends with exit code 9 when the page cannot be written, and --resume repeats nothing', async () => {
    const moveAway = () => {
      if (existsSync(world.path('reports'))) renameSync(world.path('reports'), world.path('gone'));
    };
    const { service, world }: Awaited<ReturnType<typeof start>> = await start(undefined, {
      onRequest: moveAway,
    });
    mkdirSync(world.path('reports'));
    const argv = ['upload', 'users.csv', '--report', 'reports/run.html', '--json'];
    const { code, stdout, stderr } = await world.run(argv);
    expect(code).toBe(9);
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 40, exitCode: 9 });
    expect(stderr).toContain('E-FILE-WRITE');
    rmSync(world.path('gone'), { recursive: true });
    mkdirSync(world.path('reports'));
    expect((await world.run([...argv, '--resume'])).code).toBe(0);
    expect(service.requests()).toHaveLength(1);
    expect(figuresOf(pageOf(world, 'reports/run.html'))).toMatchObject({
      accepted: '0',
      resumed: '40',
    });
  });

  it.each(['subscribe', 'demerge'])('is written by %s', async (command) => {
    const run = await start();
    writeFileSync(run.world.path('list.txt'), 'a@example.test\nb@example.test\n');
    const argv = [command, 'list.txt', '--report', 'run.html'];
    const more = command === 'demerge' ? ['--yes'] : ['--type', 'email', '--status', 'Unsubscribe'];
    expect((await run.world.run([...argv, ...more])).code).toBe(0);
    expect(figuresOf(pageOf(run.world))).toMatchObject({ accepted: '2' });
  });

  it('shows the plan of --changed as a chart with text', async () => {
    const run = await start();
    const changed = ['upload', 'users.csv', '--changed', '--report', 'run.html'];
    await run.world.run(changed);
    const next = [...rows.slice(4), 'user-3,Rome\n', 'new-1,1\n', 'new-2,2\n'];
    writeFileSync(run.world.path('users.csv'), `identity,Seq\n${next.join('')}`);
    expect((await run.world.run(changed)).code).toBe(0);
    const page = pageOf(run.world);
    expect(page).toContain('Of 39 records: 3 accepted, 36 unchanged');
    const what = 'Against what was accepted before: 2 new, 1 changed, 36 unchanged';
    const [, picture = ''] = page.split(what);
    const bars = picture
      .slice(0, picture.indexOf('</svg>'))
      .matchAll(/fill (\w+)".*?width="(.*?)"/gs);
    const widths = [...bars].map(([, tone, width]) => [tone, Math.round(Number(width))]);
    expect(widths).toEqual([
      ['good', 5],
      ['main', 3],
      ['soft', 92],
    ]);
    expect(page).toContain('3 remembered keys are not in the input any more');
  });

  it('is written by --check, without charts', async () => {
    const run = await start();
    expect((await run.world.run([...upload, '--check'])).code).toBe(0);
    expect(pageOf(run.world)).toContain('No request was made');
  });
});

describe('--report of an export', () => {
  const event = { type: 'event', evtName: 'E', ts: Date.parse('2026-10-01T12:00:00Z') / 1000 };
  const seed = Array.from({ length: 25 }, (_, n) => ({ ...event, identity: `u${n}` }));
  const range = ['--event', 'E', '--from', '20261001', '--to', '20261002'];
  const argv = ['export-profiles', ...range, '--batch-size', '23'];

  it('shows its figures', async () => {
    const { world } = await serve({ seed });
    const { code, stdout } = await world.run([
      ...argv,
      '-o',
      'out.ndjson',
      '--report',
      'run.html',
      '--json',
    ]);
    const summary = JSON.parse(stdout) as Record<string, number>;
    expect(code).toBe(0);
    expect(figuresOf(pageOf(world))).toMatchObject({
      records: '25',
      pages: '2',
      requests: `${summary['requests']}`,
      output: 'out.ndjson',
    });
  });

  it('shows where it stopped and the command that resumes it', async () => {
    const { service, world } = await serve({ seed });
    await service.fault({ after: 2, answer: { status: 401 } });
    const { code } = await world.run([...argv, '-o', 'out.ndjson', '--report', 'run.html']);
    expect(code).toBe(4);
    expect(pageOf(world)).toMatch(/engagectl runs resume [\w-]+/);
    expect(figuresOf(pageOf(world))).toMatchObject({ records: '23', pages: '1' });
  });

  it('cannot be the output itself', async () => {
    const world = makeWorld();
    const local = [...argv, '--region', 'local'];
    expect((await world.run([...local, '-o', 'x.html', '--report', 'x.html'])).code).toBe(2);
  });
});
