import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { EngagectlError } from '../../../src/errors.js';
import type { TestService } from '../../../src/testing.js';
import { serve, written } from '../../support/serve.js';
import { makeWorld } from '../../support/test-environment.js';
import { until } from '../../support/until.js';

// What an error advises can be done.

const range = ['--event', 'Charged', '--from', '2026-10-01', '--to', '2026-10-01'];
const charged = { type: 'event', identity: 'u1', evtName: 'Charged', ts: 1_790_856_000 };
const anew = 'fix: rerun the same command: there is nothing to resume';

it.each([
  [['verify', 'users.csv'], anew],
  [['get-profile', 'u1'], anew],
  [['get-profile', '--input', 'users.csv'], anew],
  [['export-events', ...range], anew],
  [['config', 'check'], 'fix: rerun the same command'],
])('does not suggest --resume after Ctrl-C if nothing can be resumed: %j', async (argv, fix) => {
  const stop = new AbortController();
  const { service, world } = await serve({}, { signal: stop.signal });
  await service.fault({ action: 'hang' });
  writeFileSync(world.path('users.csv'), 'identity,Email\nu1,u1@example.test\n');
  const ended = world.run(argv);
  await until(() => service.requests().length > 0);
  stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT'));
  const { code, stderr } = await ended;
  expect([code, stderr]).toEqual([130, expect.stringContaining(fix)]);
  expect(stderr).not.toMatch(/^ {2}run {2}/m);
});

it('names the command that resumes an upload after Ctrl-C, also if only a reject was recorded', async () => {
  const stop = new AbortController();
  const { service, world } = await serve({}, { signal: stop.signal });
  await service.fault({ action: 'hang' });
  writeFileSync(world.path('users.csv'), 'identity,Email\nu1,too,many\nu2,u2@example.test\n');
  const ended = world.run(['upload', 'users.csv']);
  await until(() => service.requests().length > 0);
  stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT'));
  const { code, stderr } = await ended;
  const [run] = readdirSync(path.join(world.stateDir, 'runs'));
  expect([code, stderr]).toEqual([
    130,
    expect.stringContaining(`fix: engagectl runs resume ${run}\n`),
  ]);
  expect(stderr.split('resume')).toHaveLength(2);
});

it.each([
  [['upload', 'people.csv', '--map', 'mail=Email', '--chunk-size', '1'], '0 of 1 user differs: '],
  [['subscribe', 'outs.csv', '--type', 'email'], '0 of 1 address differs: '],
])('ends %j on a terminal with the command that verifies it', async (argv, proof) => {
  const { world } = await serve(
    { seed: [{ type: 'profile', identity: 'u1', profileData: { Email: 'u1@example.test' } }] },
    { tty: true },
  );
  writeFileSync(world.path('people.csv'), 'identity,mail\nu1,u1@example.test\n');
  writeFileSync(world.path('outs.csv'), 'value,status\nu1@example.test,Unsubscribe\n');
  const written = await world.run(argv);
  expect(written.code, written.stderr).toBe(0);
  const next = /^ {2}next {6}engagectl (.*)$/m.exec(written.stderr)?.[1] ?? '';
  const { code, stderr } = await world.run(next.split(' '));
  expect([code, stderr]).toEqual([0, expect.stringContaining(proof)]);
});

it('suggests once to resume a run whose service failed half-way', async () => {
  const { service, world } = await serve();
  await service.fault({ after: 1, times: 1, answer: { status: 503 } });
  writeFileSync(world.path('users.csv'), 'identity\nu1\nu2\nu3\n');
  const upload = ['upload', 'users.csv', '--chunk-size', '1', '--concurrency', '1'];
  const { code, stderr } = await world.run([...upload, '--max-attempts', '1']);
  const told = /^uploaded 1 user before it stopped; \d more were read and not sent\n/m;
  expect([code, stderr]).toEqual([5, expect.stringMatching(told)]);
  expect(stderr).toMatch(/fix: later, engagectl runs resume \S+; --max-attempts /);
  expect(stderr.split('resume')).toHaveLength(2);
  expect((await world.run([...upload, '--resume'])).code).toBe(0);
});

// Rejects are NDJSON also under a name that stands for one JSON array.
it.each(['r.ndjson', 'r.json'])(
  'prints working commands for the rejects in %s',
  async (rejects) => {
    const { service, world } = await serve();
    await service.fault({ times: 1, action: 'reset-after' });
    writeFileSync(world.path('e.csv'), 'identity,ts,Plan\nu1,1790856000,gold\n');
    const event = ['--type', 'event', '--event-name', 'Charged', '--types', 'Plan:string'];
    const { code, stderr } = await world.run(['upload', 'e.csv', ...event, '--rejects', rejects]);
    const printed =
      /fix: find out which ones arrived: engagectl (verify .*);/.exec(stderr)?.[1] ?? '';
    expect([code, printed]).toEqual([6, expect.stringContaining('--settle --within 10m')]);
    const settled = await world.run([...printed.split(' '), '--json']);
    expect(settled.code, settled.stderr).toBe(0);
    expect(settled.stdout).toContain('"settled":{"accepted":1,"absent":0,"unknown":0}');
    writeFileSync(world.path('users.csv'), 'identity,Age\nu1,x\n');
    const typed = ['upload', 'users.csv', '--types', 'Age:integer', '--rejects', rejects];
    const [, again] = /then: engagectl (.*)/.exec((await world.run(typed)).stderr) ?? [];
    writeFileSync(
      world.path(rejects),
      readFileSync(world.path(rejects), 'utf8').replace('"x"', '7'),
    );
    const corrected = await world.run(again!.split(' '));
    expect([corrected.code, corrected.stderr]).toEqual([
      0,
      expect.stringContaining('uploaded 1 record\n'),
    ]);
  },
);

it('names once the command that resumes an export to a file after Ctrl-C', async () => {
  const stop = new AbortController();
  const { service, world } = await serve({ seed: [charged] }, { signal: stop.signal });
  await service.fault({ after: 1, action: 'hang' });
  const ended = world.run(['export-events', ...range, '-o', 'e.ndjson']);
  await until(() => service.requests().length >= 2);
  stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT'));
  const { code, stderr } = await ended;
  expect(code).toBe(130);
  expect(stderr.split('rerun the same command with --resume')).toHaveLength(2);
});

it.each([
  ['charged', '; did you mean "Charged"?'],
  ['App Lunched', '; did you mean "App Launched"?'],
  ['Something else', undefined],
])('reports an event that the account does not have: %s', async (event, meant) => {
  const { world } = await serve();
  const days = ['--from', '2026-10-01', '--to', '2026-10-01'];
  const { code, stderr } = await world.run(['export-events', '--event', event, ...days]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`Invalid event : ${event}`)]);
  if (meant === undefined) expect(stderr).not.toContain('did you mean');
  else expect(stderr).toContain(meant);
});

it('reads -o=file as -o file, and leaves words after -- unchanged', async () => {
  const { world } = await serve();
  writeFileSync(world.path('-o=x'), 'identity\nu1\n');
  const found = await world.run(['get-profile', 'u1', '-o=p.ndjson', '--region', 'local']);
  expect(found.code).toBe(3);
  expect([existsSync(world.path('p.ndjson')), existsSync(world.path('=p.ndjson'))]).toEqual([
    true,
    false,
  ]);
  expect((await world.run(['-r=local', 'config', 'show'])).stdout).toContain('LOCAL');
  const file = await world.run(['upload', '--input-format', 'csv', '--', '-o=x']);
  expect(file.code).toBe(0);
});

it.each([
  ['u', 'identity\nu1\n', 'u: detected as csv from the content (override with --input-format)\n'],
  ['u', '{"identity":"u1"}\n', 'u: detected as ndjson from the content (override '],
  ['u', '', undefined],
  ['u.csv', 'identity\nu1\n', undefined],
])(
  'names the flags for a file whose name does not show its format: %s',
  async (name, text, note) => {
    const world = makeWorld();
    writeFileSync(world.path(name), text);
    const { code, stderr } = await world.run(['upload', name, '--check']);
    expect(code).toBe(0);
    if (note === undefined) expect(stderr).not.toContain('by its content');
    else expect(stderr).toContain(note);
  },
);

describe('a stopped run that nothing remembers advises not to rerun it', () => {
  const profile = (n: number, value: unknown): string =>
    `${JSON.stringify({ identity: `u${n}`, type: 'profile', profileData: { N: value } })}\n`;
  const names = Array.from({ length: 10 }, (_, n) => `u${n}`);
  const counters = names.map((_, n) => profile(n, { $incr: 1 })).join('');
  const slowly = ['--chunk-size', '1', '--concurrency', '1'];
  const demerge = ['demerge', '-', '--yes', '--input-format', 'list', ...slowly];
  const upload = ['upload', '-', '--input-format', 'ndjson', ...slowly];
  const givesUp = ['--retry-for', '1ms'];
  const identities = (service: TestService): string[] =>
    written<string | { identity: string }>(service)
      .flat()
      .map((one) => (typeof one === 'string' ? one : one.identity));
  const fixOf = (stderr: string): string => /^ *fix: (.*)$/m.exec(stderr)?.[1] ?? '';
  const printed = (fix: string): string[] =>
    (/: engagectl ((?!verify)[^;]*)/.exec(fix)?.[1] ?? '').split(' ');
  const rest = 'if the input has more, send it without its first 10 records';
  const pipe = '--run-name <name> makes a pipe resumable';

  it.each([
    ['upload', upload, counters],
    ['demerge', demerge, `${names.join('\n')}\n`],
  ])('if the service throttles, but to send the rest: %s', async (_name, argv, stdin) => {
    const { service, world } = await serve();
    await service.fault({ after: 3, answer: { status: 429 } });
    const { code, stderr } = await world.run([...argv, ...givesUp], { stdin });
    const fix = fixOf(stderr);
    const [why, others, ...more] = fix.split('; ');
    expect([code, why]).toEqual([5, 'do not rerun: 3 records would be sent twice']);
    expect(others).toMatch(/^to send the others that were read: engagectl /);
    expect(more).toEqual([rest, pipe]);
    await service.reset();
    expect((await world.run(printed(fix))).code).toBe(0);
    expect(identities(service)).toEqual(names.slice(3));
  });

  it('on Ctrl-C, but to send the rest', async () => {
    const stop = new AbortController();
    const { service, world } = await serve({}, { sleep: 'real' });
    await service.fault({ after: 3, answer: { status: 429 } });
    const stdin = new PassThrough();
    stdin.write(counters);
    const ended = world.run(upload, { stdin, signal: stop.signal });
    await until(() => service.requests().length > 3);
    stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT'));
    const { code, stderr } = await ended;
    const fix = fixOf(stderr);
    expect([code, fix]).toEqual([130, expect.stringMatching(/^do not rerun: 3 records /)]);
    expect(fix).toContain(`; ${rest}; ${pipe}`);
    await service.reset();
    expect((await world.run(printed(fix))).code).toBe(0);
    expect(identities(service)).toEqual(names.slice(3));
  });

  it('if outcomes are unknown, but to look them up and to send the rest', async () => {
    const { service, world } = await serve();
    await service.fault({ after: 3, times: 1, action: 'reset-after' });
    await service.fault({ after: 3, answer: { status: 429 } });
    const { code, stderr } = await world.run([...upload, ...givesUp], { stdin: counters });
    const fix = fixOf(stderr);
    expect([code, fix]).toEqual([6, expect.stringContaining('; find out which ones arrived: ')]);
    expect(fix).toContain(`--retry-unknown; ${rest}; ${pipe}`);
    await service.reset();
    expect((await world.run(printed(fix))).code).toBe(0);
    expect(identities(service)).toEqual(names.slice(3));
  });

  it.each([
    ['--strict', 3],
    ['--max-rejects=10%', 3], // evaluated at the end
  ])('if too many are rejected, but to send the corrected rejects: %s', async (limit, code) => {
    const { service, world } = await serve();
    const bad = '{"identity":"u1","type":"profile","profileData":{"Phone":"555"}}\n';
    const stdin = profile(0, { $incr: 1 }) + bad + profile(2, { $incr: 1 });
    const stopped = await world.run([...upload, limit], { stdin });
    const fix = fixOf(stopped.stderr);
    const advice = /^do not rerun: \d records? would be sent twice; correct /;
    expect([stopped.code, fix]).toEqual([code, expect.stringMatching(advice)]);
    const rejects = world.path('engagectl-upload.rejects.ndjson');
    writeFileSync(
      rejects,
      readFileSync(rejects, 'utf8').replace('"Phone":"555"', '"Phone":"+4790000001"'),
    );
    const again = await world.run(printed(fix));
    expect(again.code, again.stderr).toBe(0);
    expect(identities(service).toSorted()).toEqual(['u0', 'u1', 'u1', 'u2']);
    expect(fix.includes('if the input has more')).toBe(limit === '--strict');
  });

  it.each([
    ['upload', upload, counters],
    ['demerge', demerge, names.join('\n')],
  ])('if no file has the rest, but to remove what was sent: %s', async (_name, argv, text) => {
    const { service, world } = await serve();
    mkdirSync(world.path('r'));
    await service.fault({ after: 3, times: 1, action: 'reset-after' });
    const lines = text.split('\n');
    const stdin = new PassThrough();
    const ended = world.run([...argv, '--rejects', 'r/r.ndjson'], { stdin });
    stdin.write(`${lines.slice(0, 3).join('\n')}\n`);
    await until(() => service.requests().length > 2);
    rmSync(world.path('r'), { recursive: true });
    stdin.end(lines.slice(3).join('\n'));
    const { code, stderr } = await ended;
    const sent = identities(service).length;
    expect([code, fixOf(stderr)]).toEqual([
      6,
      `do not rerun: ${sent} records would be sent twice; remove them from the input before you send it again; ${pipe}`,
    ]);
  });

  it.each([
    ['a named pipe', [...upload, '--run-name', 'crm'], `; ${rest}`],
    ['a file', upload.with(1, 'c.ndjson'), `; ${rest}`],
    ['a file of users to split', demerge.with(1, 'c.txt'), `; ${rest}`],
    ['a file of events', upload.with(1, 'e.ndjson'), `; ${rest}`],
  ])('without a journal, but to send the rest: %s', async (_name, argv, advice) => {
    const { service, world } = await serve();
    writeFileSync(world.path('c.ndjson'), counters);
    writeFileSync(world.path('c.txt'), `${names.join('\n')}\n`);
    const events = names.map((identity, n) => ({ ...charged, identity, evtData: { n } }));
    writeFileSync(world.path('e.ndjson'), events.map((one) => `${JSON.stringify(one)}\n`).join(''));
    await service.fault({ after: 3, answer: { status: 429 } });
    const unjournaled = [...argv, '--no-journal', ...givesUp];
    const fix = fixOf((await world.run(unjournaled, { stdin: counters })).stderr);
    expect(fix).toMatch(/^do not rerun: 3 records /);
    expect(fix).toContain(advice);
    await service.reset();
    expect((await world.run(printed(fix))).code).toBe(0);
    expect(identities(service)).toEqual(names.slice(3));
  });

  it('without a journal, if the first of several files ends in the middle of a record', async () => {
    const { service, world } = await serve();
    writeFileSync(world.path('a.ndjson'), counters.slice(0, -20));
    writeFileSync(world.path('b.ndjson'), counters);
    const argv = [...upload.with(1, 'a.ndjson'), 'b.ndjson', '--no-journal'];
    const { code, stderr } = await world.run(argv);
    expect([code, stderr]).toEqual([9, expect.stringContaining('10 more were read and not sent')]);
    expect(fixOf(stderr)).toMatch(/; then send what follows it: nothing of that was sent$/);
    expect(identities(service)).toEqual(names.slice(0, 9));
  });

  it('unless only idempotent records were sent', async () => {
    const { service, world } = await serve();
    const mixed = names.flatMap((_, n) => [profile(n, n), profile(n, { $incr: 1 })]);
    const text = mixed.toSpliced(2, 0, '{"broken\n').join('');
    writeFileSync(world.path('m.ndjson'), text);
    const argv = [...upload.with(1, 'm.ndjson'), '--order', 'none', '--no-journal', '--strict'];
    const { code, stderr } = await world.run(argv);
    const sent = written<{ profileData: { N: unknown } }>(service).flat();
    const hasOperators = sent.some(({ profileData }) => typeof profileData.N === 'object');
    expect([code, /do not rerun/.test(fixOf(stderr))]).toEqual([3, hasOperators]);
    expect(fixOf(stderr)).not.toContain('--resume');
  });

  it('without a journal, also if the service answers nothing to several requests', async () => {
    const { service, world } = await serve();
    writeFileSync(world.path('c.ndjson'), counters);
    await service.fault({ after: 3, action: 'reset-after' });
    const argv = [...upload.with(1, 'c.ndjson'), '--no-journal'];
    const fix = fixOf((await world.run(argv)).stderr);
    expect(fix).toMatch(/^read the reasons among the rejects; do not rerun: \d records /);
    expect(fix).toContain(`--retry-unknown; ${rest}`);
    service.clearFaults();
    const sent = identities(service);
    expect((await world.run(printed(fix))).code).toBe(0);
    const unknown = sent.slice(3);
    expect(identities(service).toSorted()).toEqual([...names, ...unknown].toSorted());
  });

  it.each([
    ['profiles', names.map((_, n) => profile(n, 1)).join('')],
    [
      'remembered events',
      [1, 2].map((n) => `${JSON.stringify({ ...charged, evtData: { n } })}\n`).join(''),
    ],
  ])('unless they are %s', async (_name, stdin) => {
    const { service, world } = await serve();
    await service.fault({ after: 1, answer: { status: 429 } });
    const { stderr } = await world.run([...upload, ...givesUp], { stdin });
    expect(fixOf(stderr)).toMatch(/^rerun the same command later/);
  });
});
