import { createHash } from 'node:crypto';
import fs, {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { crc32, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lockRun } from '../../src/files/file-lock.js';
import { main } from '../../src/main.js';
import type { TestServiceOptions } from '../../src/testing.js';
import { outcomeOf, start } from '../chaos/bin.js';
import { passcode } from '../chaos/invariants.js';
import { accountAt } from '../support/account-environment.js';
import { jsonRunner, serve, written } from '../support/serve.js';
import { runOrKill, withoutRemovalOfRun } from '../support/killed-run.js';
import { until } from '../support/until.js';
import type { World, WorldOptions } from '../support/test-environment.js';

// What finished runs leave behind, so that nothing which does harm is sent twice by accident.

interface Figures {
  readonly run: string;
  readonly read: number;
  readonly accepted: number;
  readonly resumed: number;
  readonly alreadySent: number;
  readonly rejected: number;
}

async function stage(options: TestServiceOptions = {}, more: WorldOptions = {}) {
  const { service, world } = await serve({ accountId: 'ACC-1', ...options }, more);
  const runJson = jsonRunner<Figures>(world);
  const run = async (...argv: string[]) => runJson(argv);
  return { service, world, run };
}

/** The lines of a ledger with another text, and checksums that are right. */
const changed = (text: string, from: string | RegExp, to: string): string =>
  text.replaceAll(/^(.*),"checksum":".*$/gm, (_line, before: string) => {
    const json = before.replace(from, to);
    return `${json},"checksum":"${crc32(`${json}}`).toString(16).padStart(8, '0')}"}`;
  });
const ledgerFile = ({ stateDir }: World) => path.join(stateDir, 'ledger.ndjson');
const ledgerText = (world: World) => readFileSync(ledgerFile(world), 'utf8');
/** The lines of finished runs. */
const ledgerLines = (world: World) =>
  finishedText(ledgerText(world))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** A ledger without the lines that runs write when they start. */
const finishedText = (text: string): string => text.replace(/^.*"started":.*\n/gm, '');

const eventLine = (n: number): string =>
  `${JSON.stringify({ identity: `u${n}`, type: 'event', evtName: 'Visit', ts: 1_700_000_000, evtData: { n } })}\n`;
const events = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, n) => eventLine(from + n)).join('');
const increments = (count: number): string =>
  Array.from(
    { length: count },
    (_, n) => `{"identity":"u${n}","profileData":{"Visits":{"$incr":1}}}\n`,
  ).join('');
const eventCsv = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, n) => `u${from + n},1700000000,${from + n}\n`).join('');
const asEvents = ['--type', 'event', '--event-name', 'Visit'];

it('records a finished write as one line without secrets, and leaves no run directory', async () => {
  const { service, world, run } = await stage();
  writeFileSync(world.path('users.csv'), 'identity,City\nu1,Oslo\nu2,Rome\n');
  const { summary } = await run('upload', 'users.csv');
  const [line, ...more] = ledgerLines(world);
  expect(more).toEqual([]);
  expect(line).toMatchObject({
    schemaVersion: 1,
    run: summary.run,
    command: 'upload',
    accountId: 'ACC-1',
    sources: [{ name: 'users.csv', bytes: 30, records: 2 }],
    read: 2,
    accepted: 2,
    rejected: 0,
    unknown: 0,
    exitCode: 0,
  });
  expect(readFileSync(ledgerFile(world), 'utf8')).not.toContain(service.passcode);
});

it('is created by the first write, also by one without a journal', async () => {
  const { world, run } = await stage();
  writeFileSync(world.path('users.csv'), 'identity,City\nu1,Oslo\n');
  const { code, stderr } = await run('upload', 'users.csv', '--no-journal');
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('cannot')]);
  expect(ledgerLines(world)).toHaveLength(1);
});

it('records a write of 101 files as one line that names them all', async () => {
  const { service, world, run } = await stage();
  mkdirSync(world.path('day'));
  const names = Array.from({ length: 101 }, (_, n) => `day/${n}.ndjson`);
  for (const [n, name] of names.entries()) writeFileSync(world.path(name), events(1, n));
  expect((await run('upload', ...names)).code).toBe(0);
  const [line, ...more] = ledgerLines(world);
  expect(more).toEqual([]);
  const { sources } = line as { sources: { name: string }[] };
  expect(sources.map(({ name }) => name)).toEqual(names);
  const requests = written(service).length;
  const again = await run('upload', ...names);
  expect([again.code, again.stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
  expect(written(service)).toHaveLength(requests);
});

describe('the same events a second time', () => {
  it('are refused before anything is sent, naming run and day', async () => {
    const { service, world, run } = await stage(
      {},
      { now: () => Date.UTC(2026, 10, 23, 23, 59, 59) },
    );
    writeFileSync(world.path('e.ndjson'), events(3));
    const first = await run('upload', 'e.ndjson');
    const again = await run('upload', 'e.ndjson');
    expect([first.code, again.code]).toEqual([0, 8]);
    expect(again.stderr).toContain('E-ALREADY-SENT');
    expect(again.stderr).toContain(first.summary.run);
    expect(again.stderr).toContain('2026-11-23');
    expect(written(service)).toHaveLength(1);
  });

  it('are sent with --again, but not with --resume', async () => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('e.ndjson'), events(3));
    await run('upload', 'e.ndjson');
    const resumed = await run('upload', 'e.ndjson', '--resume');
    expect([resumed.code, resumed.summary]).toMatchObject([
      0,
      { read: 3, alreadySent: 3, accepted: 0 },
    ]);
    expect(written(service)).toHaveLength(1);
    const again = await run('upload', 'e.ndjson', '--again');
    expect([again.code, again.summary.accepted]).toEqual([0, 3]);
    expect(written(service)).toHaveLength(2);
    expect(ledgerLines(world)).toHaveLength(2);
  });

  it.each([
    ['under another name', 'copy.ndjson', events(3)],
    ['compressed', 'e.ndjson.gz', gzipSync(events(3))],
  ])('are recognized %s', async (_what, name, content) => {
    const { world, run } = await stage();
    writeFileSync(world.path('e.ndjson'), events(3));
    writeFileSync(world.path(name), content);
    await run('upload', 'e.ndjson');
    const { code, stderr } = await run('upload', name);
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
  });

  it.each([
    // The service does not know it, but was asked.
    ['of another account', {}, { ENGAGECTL_ACCOUNT_ID: 'ACC-2' }, 4],
    ['of other content', { text: eventCsv(3, 7) }, {}, 0],
  ])(
    'are distinguished from those %s',
    async (_what, { more = [], text }: { more?: string[]; text?: string }, env, expected) => {
      const { world, run } = await stage();
      const file = (text = '') =>
        writeFileSync(world.path('e.csv'), `identity,ts,evtName,n\n${text}`);
      file(eventCsv(3).replaceAll(',17', ',17').replaceAll('1700000000,', '1700000000,Visit,'));
      await run('upload', 'e.csv', '--type', 'event');
      if (text !== undefined) file(text.replaceAll('1700000000,', '1700000000,Visit,'));
      const { code } = await world.run(['upload', 'e.csv', '--type', 'event', ...more], { env });
      expect(code).toBe(expected);
    },
  );

  it('are refused with --no-journal too', async () => {
    const { world, run } = await stage();
    writeFileSync(world.path('e.ndjson'), events(3));
    await run('upload', 'e.ndjson', '--no-journal');
    const { code, stderr } = await run('upload', 'e.ndjson', '--no-journal');
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
  });

  it('are not sent twice by --resume after a run that ended with unknown outcomes', async () => {
    const { service, world, run } = await stage();
    await service.fault({ times: 1, answer: { status: 500 } });
    writeFileSync(world.path('e.csv'), `identity,ts,n\n${eventCsv(20)}`);
    const first = await run(
      'upload',
      'e.csv',
      ...asEvents,
      '--chunk-size',
      '10',
      '--concurrency',
      '1',
    );
    expect(first.code).toBe(6);
    const again = await run('upload', 'e.csv', ...asEvents, '--resume');
    expect([again.code, again.summary.alreadySent, again.summary.accepted]).toEqual([0, 20, 0]);
    expect(service.requests()).toHaveLength(2);
  });
});

it.each([
  ['a demerge', ['demerge', 'x.csv', '--yes'], 'identity\nu1\nu2\n'],
  [
    'an operator',
    ['upload', 'x.ndjson'],
    '{"identity":"u1","type":"profile","profileData":{"n":{"$incr":1}}}\n',
  ],
  ['an event', ['upload', 'x.ndjson'], events(1)],
])('does not repeat %s by accident', async (what, argv, text) => {
  const { service, world, run } = await stage();
  writeFileSync(world.path(argv[1]!), text);
  expect((await run(...argv)).code).toBe(0);
  expect(ledgerLines(world)).toMatchObject([{ once: [what === 'an event' ? 'event' : 'other'] }]);
  expect((await run(...argv)).code).toBe(8);
  expect((await run(...argv, '--resume')).code).toBe(0);
  expect(service.requests()).toHaveLength(1);
});

const inBatches = ['--chunk-size', '10', '--concurrency', '1'];

it('skips increments with --resume, with a note that some were rejected or may be missing', async () => {
  const { service, world, run } = await stage();
  await service.fault({ times: 1, answer: { status: 500 } });
  writeFileSync(world.path('i.ndjson'), `${increments(20)}{"identity":""}\n`);
  expect((await run('upload', 'i.ndjson', ...inBatches)).code).toBe(6);
  const { code, stderr } = await run('upload', 'i.ndjson', ...inBatches, '--resume');
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('(in that run: 1 rejected, 10 with an unknown outcome)'),
  ]);
});

describe('records of a run that has not finished', () => {
  /** Ends a run in its second request, by a refused passcode. */
  const stopped = async (text: string, ...flags: string[]) => {
    const staged = await stage();
    const { service, world, run } = staged;
    writeFileSync(world.path('x.ndjson'), text);
    writeFileSync(world.path('copy.ndjson'), text);
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    const first = await run('upload', 'x.ndjson', ...inBatches, ...flags);
    expect(first.code).toBe(4);
    const sent = () => written(service).flat().length;
    return { ...staged, sent, id: first.summary.run };
  };

  it.each([
    ['demerges', ['demerge', '--yes'], 'csv', 'identity\nu1\nu2\n'],
    ['operators', ['upload'], 'ndjson', increments(300)],
  ])('are sent once by two processes that start at once: %s', async (_, argv, ending, text) => {
    const { service, world, run } = await stage({ latencyMs: 20 });
    const names = [`a.${ending}`, `b.${ending}`];
    for (const name of names) writeFileSync(world.path(name), text);
    const both = await Promise.all(names.map(async (name) => run(...argv, name)));
    expect(both.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 8]);
    const refused = both.find(({ code }) => code === 8)!;
    expect(refused.stderr).toMatch(/E-ALREADY-SENT.*--again/s); // while the other one sends, or after it
    expect(service.requests()).toHaveLength(1);
  });

  it('are not sent again by what is advised after their file was changed', async () => {
    const { world, run } = await stopped(increments(30));
    writeFileSync(world.path('x.ndjson'), increments(29));
    const { code, stderr } = await run('upload', 'x.ndjson', ...inBatches, '--resume');
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-INPUT-CHANGED')]);
    expect(stderr).toContain('--fresh would send again what was sent');
  });

  it.each([
    ['--resume', ['demerge', 'ids.txt', '--yes', '--resume']],
    ['runs resume', ['runs', 'resume']],
  ])(
    'are skipped by %s if a copy was sent after the run was killed before its first request',
    async (_, argv) => {
      const { service, world } = await stage({}, { tty: true });
      for (const name of ['ids.txt', 'copy.txt']) writeFileSync(world.path(name), 'u1\nu2\n');
      const person = new PassThrough();
      const runtime = world.runtime({ stdin: person });
      const asked = main(['demerge', 'ids.txt'], runtime);
      await until(() => runtime.output().stderr.includes('Type 2'));
      const runs = path.join(world.stateDir, 'runs');
      cpSync(runs, world.path('killed'), { recursive: true });
      person.end('no\n');
      expect(await asked).toBe(2);
      cpSync(world.path('killed'), runs, { recursive: true });
      expect((await world.run(['demerge', 'copy.txt', '--yes'])).code).toBe(0);
      const id = argv[0] === 'runs' ? [readdirSync(runs).find((name) => /^\d/.test(name))!] : [];
      const { code, stderr } = await world.run([...argv, ...id]);
      expect(code, stderr).toBe(0);
      expect(stderr).toContain('nothing to send: an earlier attempt sent 2 ');
      expect(written(service).flat()).toHaveLength(2);
    },
  );

  it('are refused if a copy was sent while the run had not come to them', async () => {
    const { service, world, run } = await stage();
    const users = Array.from(
      { length: 300 },
      (_, n) => `${JSON.stringify({ identity: `v${n}`, type: 'profile', profileData: { n } })}\n`,
    ).join('');
    for (const name of ['slow.ndjson', 'copy.ndjson'])
      writeFileSync(world.path(name), users + increments(1));
    await service.fault({ times: 1, delayMs: 1500 });
    const slow = run('upload', 'slow.ndjson', ...inBatches);
    await until(() => service.requests().length > 0, { message: 'the first request' });
    expect((await run('upload', 'copy.ndjson')).code).toBe(0);
    const { code, stderr } = await slow;
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
    const resumed = await run('upload', 'slow.ndjson', ...inBatches, '--resume');
    expect([resumed.code, resumed.summary]).toMatchObject([0, { resumed: 301 }]);
    const counted = written(service)
      .flat()
      .filter((record) => JSON.stringify(record).includes('$incr'));
    expect(counted).toHaveLength(1);
  });

  it('are refused with other options by two processes that start at once, if they are events', async () => {
    const { service, world, run } = await stage({ latencyMs: 20 });
    for (const name of ['a.csv', 'b.csv'])
      writeFileSync(world.path(name), `identity,ts,n\n${eventCsv(30)}`);
    const both = await Promise.all([
      run('upload', 'a.csv', ...asEvents),
      run('upload', 'b.csv', ...asEvents, '--types', 'n:integer'),
    ]);
    expect(both.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 8]);
    expect(written(service).flat()).toHaveLength(30);
  });

  it('are found among 20,000 other starts', async () => {
    const { world, run } = await stopped(increments(30));
    const text = ledgerText(world);
    const { checksum: _, ...start } = JSON.parse(text.split('\n')[0]!) as Record<string, unknown>;
    const others = Array.from({ length: 20_000 }, (_unused, n) => {
      const json = JSON.stringify({ ...start, run: `other-${n}`, accountId: 'ACC-2' });
      const sum = crc32(json).toString(16).padStart(8, '0');
      return `${json.slice(0, -1)},"checksum":"${sum}"}\n`;
    });
    appendFileSync(ledgerFile(world), others.join(''));
    expect((await run('upload', 'copy.ndjson')).code).toBe(8);
  });

  it('are refused in a copy, whose advice leads to each record sent once', async () => {
    const { world, run, sent, id } = await stopped(increments(30));
    const copy = await run('upload', 'copy.ndjson', ...inBatches);
    expect([copy.code, copy.stderr]).toEqual([8, expect.stringContaining(`runs resume ${id}`)]);
    expect(sent()).toBe(10);
    expect((await run('runs', 'resume', id)).code).toBe(0);
    const again = await run('upload', 'copy.ndjson', ...inBatches, '--resume');
    expect([again.code, again.summary.resumed, sent()]).toEqual([0, 30, 30]);
    appendFileSync(world.path('copy.ndjson'), increments(31).slice(increments(30).length));
    const more = await run('upload', 'copy.ndjson', ...inBatches, '--resume');
    expect([more.code, more.summary.accepted, sent()]).toEqual([0, 1, 31]);
  });

  it('are refused in a copy with an option that does not change them', async () => {
    const { run, sent } = await stopped(increments(30));
    const { code, stderr } = await run('upload', 'copy.ndjson', '--type', 'event');
    expect([code, stderr]).toEqual([8, expect.stringContaining('with other options: --type')]);
    expect(sent()).toBe(10);
  });

  it('are refused after a run without a journal, until --again', async () => {
    const { run, sent } = await stopped(increments(30), '--no-journal');
    for (const name of ['x.ndjson', 'copy.ndjson']) {
      const { code, stderr } = await run('upload', name);
      expect([code, stderr]).toEqual([
        8,
        expect.stringMatching(/has not sent all of it.*--again/s),
      ]);
    }
    expect((await run('upload', 'copy.ndjson', '--again')).code).toBe(0);
    expect(sent()).toBe(40);
    expect((await run('upload', 'x.ndjson', '--resume')).summary.resumed).toBe(30);
  });

  it.each([
    ['--fresh', ['upload', 'x.ndjson', '--fresh']],
    ['runs prune', ['runs', 'prune', '--yes']],
  ])('may be sent once more after %s, which discards the run', async (_, argv) => {
    const { run, sent } = await stopped(increments(30));
    expect((await run(...argv)).code).toBe(0);
    const before = sent();
    const { code } = await run('upload', 'copy.ndjson');
    expect([code, sent() - before]).toEqual(before > 10 ? [8, 0] : [0, 30]);
  });

  it.each([[[]], [['--no-journal']]])(
    'are not refused if nothing was sent (%j)',
    async (flags: string[]) => {
      const { service, world, run } = await stage();
      writeFileSync(world.path('x.ndjson'), increments(30));
      await service.fault({ times: 1, answer: { status: 401 } });
      expect((await run('upload', 'x.ndjson', ...flags)).code).toBe(4);
      writeFileSync(world.path('copy.ndjson'), increments(30));
      expect((await run('upload', 'copy.ndjson', ...flags)).code).toBe(0);
    },
  );

  it('are refused with the options of an attempt of which nothing was accepted, if they are events', async () => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('x.csv'), `identity,ts,n\n${eventCsv(4)}`);
    const argv = ['upload', 'x.csv', ...asEvents];
    await service.fault({ times: 1, answer: { status: 401 } });
    expect((await run(...argv)).code).toBe(4);
    expect((await run(...argv, '--types', 'n:integer')).code).toBe(0);
    for (const more of [[], ['--resume']]) {
      const { code, stderr } = await run(...argv, ...more);
      expect([code, stderr]).toEqual([8, expect.stringContaining('with other options: --types')]);
    }
    expect(written(service).flat()).toHaveLength(4);
  });

  it('are refused with other options even after --fresh, if they are events', async () => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('x.csv'), `identity,ts,n\n${eventCsv(30)}`);
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    const argv = ['upload', 'x.csv', ...asEvents, ...inBatches];
    expect((await run(...argv)).code).toBe(4);
    const other = await run(...argv, '--fresh', '--types', 'n:integer');
    expect([other.code, other.stderr]).toEqual([
      8,
      expect.stringMatching(/E-ALREADY-SENT.*--types/s),
    ]);
    expect((await run(...argv, '--resume')).summary.alreadySent).toBe(10);
    expect(written(service).flat()).toHaveLength(30);
  });
});

it('refuses the same records with options that say what was detected', async () => {
  const { world, run } = await stage();
  writeFileSync(world.path('i.ndjson'), increments(3));
  writeFileSync(world.path('d.csv'), 'identity;City\na;Oslo\n');
  expect((await run('upload', 'i.ndjson')).code).toBe(0);
  expect((await run('demerge', 'd.csv', '--yes')).code).toBe(0);
  for (const argv of [
    ['upload', 'i.ndjson', '--input-format', 'ndjson'],
    ['upload', 'i.ndjson', '--encoding', 'utf-8'],
    ['demerge', 'd.csv', '--yes', '--delimiter', ';'],
    ['demerge', 'd.csv', '--yes'],
  ]) {
    const { code, stderr } = await run(...argv);
    expect([code, stderr], argv.join(' ')).toEqual([8, expect.stringContaining('was sent on')]);
  }
});

it('refuses the same records with the same options in another order', async () => {
  const { world, run } = await stage();
  const row = 'u1,"{""$incr"":1}",1,x,y';
  writeFileSync(world.path('i.csv'), `identity,Visits,n,d,e\n${row}\n`);
  const options = ['--types Visits:json', '--types n:integer', '--drop d', '--drop e', '--set x=1'];
  const upload = async (order: readonly string[]) =>
    run('upload', 'i.csv', ...order.flatMap((option) => option.split(' ')));
  expect((await upload(options)).code).toBe(0);
  const again = await upload(options.toReversed());
  expect([again.code, again.stderr]).toEqual([8, expect.stringContaining('was sent on')]);
  const other = await upload([...options, '--set y=1']);
  expect(other.stderr).toContain('with other options: --set');
});

it('refuses what an older version sent with options of the format, which its fingerprint contains', async () => {
  const { world, run } = await stage();
  writeFileSync(world.path('d.csv'), 'identity;City\na;Oslo\n');
  const argv = ['demerge', 'd.csv', '--yes', '--delimiter', ';'];
  expect((await run(...argv)).code).toBe(0);
  const options = { delimiter: ';', maxRecordBytes: 1024 * 1024, identity: 'identity' };
  const older = createHash('sha256').update(JSON.stringify(options)).digest('hex');
  const text = changed(ledgerText(world), /"meaning":"\w+"/, `"meaning":"${older}"`);
  writeFileSync(ledgerFile(world), text);
  expect((await run(...argv)).code).toBe(8);
  const others = ['demerge', 'd.csv', '--yes', '--delimiter', ';', '--identity', 'City'];
  expect((await run(...others)).code).toBe(0);
});

describe('the same records a second time with other options', () => {
  const csv = `identity,Visits,n\nu1,"{""$incr"":1}",1\nu2,"{""$incr"":1}",2\n`;
  const upload = ['upload', 'i.csv', '--types', 'Visits:json'];

  it.each([
    ['--types', 'n:integer'],
    ['--trim'],
    ['--quote', '"'],
    ['--skip-lines', '0'],
    ['--identity', 'identity'],
    ['--max-record-bytes', '2097152'],
    ['--null-values', ''],
    ['--map', 'n=Number'],
    ['--drop', 'n'],
    ['--only', 'Visits'],
  ])('are refused, and the error names the option: %s', async (...flags) => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('i.csv'), csv);
    expect((await run(...upload)).code).toBe(0);
    for (const more of [[], ['--resume'], ['--changed']]) {
      const { code, stderr } = await run(...upload, ...flags, ...more);
      expect([code, stderr]).toEqual([
        8,
        expect.stringMatching(new RegExp(`E-ALREADY-SENT.*with other options: ${flags[0]}`, 's')),
      ]);
    }
    expect(written(service).flat()).toHaveLength(2);
    expect((await run(...upload, '--resume')).summary.resumed).toBe(2);
    expect((await run(...upload, ...flags, '--again')).summary.accepted).toBe(2);
  });

  it('are refused beside events that are known', async () => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('i.ndjson'), eventLine(1) + increments(1));
    expect((await run('upload', 'i.ndjson')).code).toBe(0);
    expect((await run('upload', 'i.ndjson', '--trim', '--resume')).code).toBe(8);
    expect(written(service).flat()).toHaveLength(2);
  });

  it.each([
    [
      'users',
      Array.from({ length: 20 }, (_, n) => `{"identity":"p${n}","profileData":{}}\n`).join(''),
    ],
    ['a reject', '{"identity":"p1","profileDatum":{}}\n'],
  ])('are refused after %s, and the advice of the error leads on', async (_, before) => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('i.ndjson'), before + increments(1));
    const argv = ['upload', 'i.ndjson', '--chunk-size', '5', '--concurrency', '1'];
    const first = await run(...argv);
    for (const more of [[], ['--resume'], ['--resume']]) {
      const { code, stderr } = await run(...argv, '--trim', ...more);
      expect([code, stderr]).toEqual([8, expect.stringContaining('with other options: --trim')]);
      expect((await world.run(['runs', 'list'])).stdout).toBe('');
    }
    expect((await run(...argv, '--resume')).code).toBe(0);
    const counted = written(service)
      .flat()
      .filter((record) => JSON.stringify(record).includes('$incr'));
    expect(counted).toHaveLength(1);
    const { summary } = await run(...argv, '--trim', '--again');
    expect(summary.accepted).toBe(first.summary.accepted);
  });

  it('are continued by --resume after --again, unless the other run sent more of them', async () => {
    const { world, run } = await stage();
    writeFileSync(world.path('i.csv'), csv);
    expect((await run(...upload)).code).toBe(0);
    expect((await run(...upload, '--trim', '--again')).code).toBe(0);
    appendFileSync(world.path('i.csv'), 'u3,"{""$incr"":1}",3\n');
    const { code, summary, stderr } = await run(...upload, '--trim', '--resume');
    expect([code, summary], stderr).toMatchObject([0, { accepted: 1, resumed: 2 }]);
    for (let times = 0; times < 2; times += 1) {
      const other = await run(...upload, '--resume');
      expect([other.code, other.stderr]).toEqual([8, expect.stringContaining('other options')]);
    }
  });

  it('are refused while the first run is not finished', async () => {
    const { service, world, run } = await stage({ latencyMs: 20 });
    for (const name of ['i.csv', 'copy.csv']) writeFileSync(world.path(name), csv);
    const both = await Promise.all([
      run(...upload),
      run('upload', 'copy.csv', '--types', 'Visits:json', '--trim'),
    ]);
    expect(both.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 8]);
    expect(written(service).flat()).toHaveLength(2);
  });

  it('are refused if they are demerges, and sent if they are of others or can be resent', async () => {
    const { world, run } = await stage();
    writeFileSync(world.path('d.csv'), 'identity,Other\na,b\n');
    writeFileSync(world.path('i.csv'), csv);
    expect((await run('demerge', 'd.csv', '--yes')).code).toBe(0);
    expect((await run('demerge', 'd.csv', '--yes', '--trim')).code).toBe(8);
    expect((await run('demerge', 'd.csv', '--yes', '--identity', 'Other')).code).toBe(0);
    expect((await run(...upload)).code).toBe(0);
    expect((await run(...upload, '--identity', 'n')).code).toBe(0);
    expect((await run('upload', 'i.csv', '--only', 'Visits')).code).toBe(0);
    writeFileSync(world.path('d.json'), '{"old":["a"],"new":["b"]}');
    for (const records of ['old', 'new'])
      expect((await run('demerge', 'd.json', '--yes', '--records', records)).code).toBe(0);
  });

  const typed = '{"identity":"u1","type":"profile","profileData":{"Points":{"$incr":10}}}\n';
  const twoKeys = typed.replace(',', ',"objectId":"o1",');
  const keyed = ['--identity', 'identity', '--object-id', 'objectId'];
  const keyedCsv = 'identity,objectId,V\nu1,o1,"{""$incr"":1}"\n';
  const asJson = ['upload', '--types', 'V:json'];

  it.each([
    ['i.ndjson', eventLine(1) + typed, ['upload'], ['--type', 'event']],
    ['i.ndjson', typed, ['upload'], ['--type', 'event']],
    ['i.ndjson', twoKeys, ['upload'], keyed],
    ['i.csv', keyedCsv, asJson, keyed],
    ['i.csv', keyedCsv, [...asJson, '--object-id', 'objectId'], ['--identity', 'identity']],
    ['i.txt', 'u1\nu2\n', ['demerge', '--yes'], ['--identity', 'user']],
    ['i.txt', 'user\nu2\n', ['demerge', '--yes'], ['--identity', 'user']],
    [
      'i.ndjson',
      '{"identity":"u1","user":"u2"}\n"u3"\n',
      ['demerge', '--yes'],
      ['--identity', 'user'],
    ],
  ])(
    'are refused if the options leave some of their users as they are: %s %j',
    async (name, text, argv, flags) => {
      const { service, world, run } = await stage();
      writeFileSync(world.path(name), text);
      const first = await run(...argv, name);
      expect(first.code).toBe(0);
      const last = text.trimEnd().split('\n').at(-1)!;
      for (const grown of ['', `${last.replace('u', 'v')}\n`]) {
        appendFileSync(world.path(name), grown);
        const { code, stderr } = await run(...argv, name, ...flags, '--resume');
        const named = `E-ALREADY-SENT.*with other options: ${flags[0]}`;
        expect([code, stderr]).toEqual([8, expect.stringMatching(named)]);
        expect((await run(...argv, name, ...flags)).code).toBe(8);
      }
      expect(written(service).flat()).toHaveLength(first.summary.accepted);
      expect((await run(...argv, name, ...flags, '--again')).code).toBe(0);
    },
  );

  it('are refused if they are lines of a rejects file that --retry-unknown sent for the same users', async () => {
    const { service, world, run } = await stage();
    const record = { identity: 'u1', other: 'u1', V: '{"$incr":1}' };
    const line = { source: 'i.csv', line: 2, stage: 'unknown', error: 'reset', record };
    writeFileSync(world.path('r.ndjson'), `${JSON.stringify(line)}\n`);
    for (const argv of [asJson, ['demerge', '--yes']]) {
      const send = [argv[0]!, 'r.ndjson', ...argv.slice(1), '--retry-unknown'];
      expect((await run(...send)).summary.accepted).toBe(1);
      const { code, stderr } = await run(...send, '--identity', 'other');
      expect([code, stderr]).toEqual([8, expect.stringContaining('with other options')]);
    }
    expect(written(service).flat()).toHaveLength(2);
  });

  it('are refused if one of several runs with other options was of the same users', async () => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('d.csv'), 'identity,Other,Same\na,b,a\n');
    writeFileSync(world.path('e.csv'), 'identity,Other,Same\nc,d,c\n');
    writeFileSync(world.path('new.csv'), 'identity,Other,Same\ne,f,f\n');
    const demerge = ['demerge', '--yes', '--identity'];
    expect((await run(...demerge, 'identity', 'd.csv')).code).toBe(0);
    expect((await run(...demerge, 'Other', 'd.csv', 'e.csv')).code).toBe(0);
    for (const files of [['d.csv'], ['e.csv', 'd.csv']])
      expect((await run(...demerge, 'Same', ...files)).code).toBe(8);
    expect((await run(...demerge, 'Same', 'e.csv', 'new.csv')).code).toBe(0);
    expect(written(service).flat()).toEqual(['a', 'b', 'd', 'c', 'f']);
  });

  it('are refused in a pipe that begins like them, whatever users the options choose', async () => {
    const { service, world } = await stage();
    const runJson = jsonRunner<Figures>(world);
    const piped = async (...flags: string[]) =>
      runJson(['upload', '-', '--run-name', 'crm', '--resume', ...flags], { stdin: typed });
    expect((await piped()).code).toBe(0);
    const { code, stderr } = await piped('--type', 'event');
    expect([code, stderr]).toEqual([8, expect.stringContaining('with other options: --type')]);
    expect((await piped('--type', 'event', '--again')).code).toBe(0);
    expect((await piped('--type', 'event')).summary.resumed).toBe(1);
    expect(written(service).flat()).toHaveLength(2);
  });
});

it('finds what a pipe sent before others of its name', async () => {
  const { service, world } = await stage();
  const runJson = jsonRunner<Figures>(world);
  const piped = async (stdin: string) =>
    runJson(['upload', '-', '--run-name', 'crm', '--resume'], { stdin });
  const others = increments(2).replaceAll('"u', '"v');
  for (const text of [increments(2), others, increments(4)])
    expect((await piped(text)).code).toBe(0);
  for (const text of [increments(2), others, increments(4)])
    expect((await piped(text)).summary.accepted).toBe(0);
  expect(written(service).flat()).toHaveLength(6);
});

it('skips all that a file or another pipe sent since the last run of a pipe', async () => {
  for (const [command, text] of [
    ['upload', increments],
    ['demerge', (n: number) => Array.from({ length: n }, (_, at) => `user${at}\n`).join('')],
  ] as const) {
    const { service, world } = await stage();
    const runJson = jsonRunner<Figures>(world);
    const flags = command === 'demerge' ? ['--yes', '--resume'] : ['--resume'];
    const send = async (name: string, count: number) => {
      const piped = { stdin: text(count) };
      const argv = [command, '-', '--run-name', name, ...flags];
      writeFileSync(world.path('all'), text(count));
      return name === 'all' ? runJson([command, 'all', ...flags]) : runJson(argv, piped);
    };
    for (const [name, count] of [
      ['crm', 800],
      ['all', 1000],
      ['crm', 1000],
      ['other', 1200],
      ['crm', 1200],
    ] as const)
      expect((await send(name, count)).code).toBe(0);
    expect(written(service).flat()).toHaveLength(1200);
  }
});

it.each(['a file', 'another pipe'])(
  'refuses a pipe that %s overtook, and of which less was read than what is compared',
  async (other) => {
    const { service, world } = await stage();
    const head = '{"identity":"a","profileData":{"City":"Oslo"}}\n'.repeat(20);
    const [few, others] = [increments(20), increments(200).slice(increments(20).length)];
    const text = head + few + others;
    writeFileSync(world.path('i.ndjson'), text);
    const runJson = jsonRunner<Figures>(world);
    const named = (name: string) => ['upload', '-', '--run-name', name, '--resume'];
    const stdin = new PassThrough();
    stdin.write(head);
    const slow = runJson([...named('slow'), '--chunk-size', '10'], { stdin });
    await until(() => written(service).length > 0);
    const isPipe = other === 'another pipe';
    const fast = await runJson(isPipe ? named('fast') : ['upload', 'i.ndjson'], { stdin: text });
    expect(fast.code).toBe(0);
    stdin.write(few);
    setTimeout(() => stdin.end(others), 1000);
    const { code, stderr } = await slow;
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
    const operators = written(service).flat();
    expect(operators.filter(({ identity }) => identity !== 'a')).toHaveLength(200);
  },
);

it.each(['a file', 'another pipe'])(
  'refuses the operators of a pipe that %s sent after the pipe was compared',
  async (other) => {
    const { service, world } = await stage();
    const plain = '{"identity":"a","profileData":{"City":"Oslo"}}\n'.repeat(200);
    const head = increments(5).replaceAll('"u', '"first') + plain;
    const text = head + plain + increments(20);
    writeFileSync(world.path('i.ndjson'), text);
    const runJson = jsonRunner<Figures>(world);
    const named = (name: string) => ['upload', '-', '--run-name', name, '--resume'];
    expect((await runJson(named('slow'), { stdin: head })).code).toBe(0);
    const [{ length }, stdin] = [written(service), new PassThrough()];
    stdin.write(head + plain);
    const slow = runJson([...named('slow'), '--chunk-size', '50'], { stdin });
    await until(() => written(service).length > length);
    const isPipe = other === 'another pipe';
    const fast = await runJson(isPipe ? named('fast') : ['upload', 'i.ndjson', '--resume'], {
      stdin: text,
    });
    expect(fast.code).toBe(0);
    stdin.end(increments(20));
    const { code, stderr } = await slow;
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
    expect(stderr).toContain('run the same command again: it sends only what was added');
    // It is not left unfinished, so that the next one is compared with all that was sent.
    expect((await runJson(named('slow'), { stdin: text })).summary.accepted).toBe(0);
    const operators = written(service).flat();
    expect(operators.filter(({ identity }) => identity !== 'a')).toHaveLength(25);
  },
);

it('refuses a pipe that was sent with another division into shards', async () => {
  const { service, world } = await stage();
  const runJson = jsonRunner<Figures>(world);
  const piped = async (shard: string) =>
    runJson(['upload', '-', '--run-name', 'crm', '--resume', '--shard', shard], {
      stdin: increments(20),
    });
  expect((await piped('1/2')).code).toBe(0);
  const { code, stderr } = await piped('1/3');
  expect([code, stderr]).toEqual([8, expect.stringContaining('was sent as shard 1/2')]);
  expect((await piped('2/2')).code).toBe(0);
  expect(written(service).flat()).toHaveLength(20);
});

it('refuses a file that was sent in other shards, also after a file of these shards', async () => {
  const { service, world, run } = await stage();
  writeFileSync(world.path('a.ndjson'), increments(20));
  writeFileSync(world.path('b.ndjson'), increments(40).replaceAll('"u', '"v'));
  expect((await run('upload', 'a.ndjson', '--shard', '1/2')).code).toBe(0);
  expect((await run('upload', 'b.ndjson', '--shard', '1/3')).code).toBe(0);
  const { length } = written(service).flat();
  const both = ['upload', 'a.ndjson', 'b.ndjson', '--shard', '1/2', '--resume'];
  const { code, stderr } = await run(...both);
  expect([code, stderr]).toEqual([8, expect.stringContaining('b.ndjson was sent as shard 1/3')]);
  expect(written(service).flat()).toHaveLength(length);
});

describe('a part of what was sent, because its producer ended early,', () => {
  const counted = async (stdin: boolean, parts: readonly string[]) => {
    const { service, world, run } = await stage();
    const argv = ['upload', stdin ? '-' : 'i.ndjson', ...(stdin ? ['--run-name', 'crm'] : [])];
    const results: Awaited<ReturnType<typeof run>>[] = [];
    const send = async (text: string, ...flags: string[]) => {
      if (!stdin) writeFileSync(world.path('i.ndjson'), text);
      const runJson = jsonRunner<Figures>(world);
      return runJson([...argv, ...flags], stdin ? { stdin: text } : {});
    };
    for (const text of parts) results.push(await send(text, '--resume'));
    return { results, run, send, total: () => written(service).flat().length };
  };

  it.each([true, false])('does not let the rest be sent again: pipe %s', async (stdin) => {
    const all = increments(200);
    const parts = [all, all.slice(0, 100), all];
    const { results, run, send, total } = await counted(stdin, parts);
    expect(results.map(({ code }) => code)).toEqual([0, 9, 8]);
    expect(results[2]!.stderr).toContain('E-ALREADY-SENT');
    expect(results[2]!.stderr).toContain('sent a part of it once more');
    expect(total()).toBe(201);
    const [, id = ''] = /"engagectl runs prune (\S+)"/.exec(
      results[2]!.stderr.replaceAll('\\"', '"'),
    )!;
    expect((await run('runs', 'prune', id, '--yes')).code).toBe(0);
    const last = await send(all, '--resume');
    expect([last.code, last.summary.accepted, total()]).toEqual([0, 0, 201]);
  });

  it('does not hide what the pipe sent before it', async () => {
    const all = increments(200);
    const part = increments(1);
    const { results, total } = await counted(true, [all, part, all, part, all + part]);
    expect(results.map(({ code, summary }) => [code, summary.accepted])).toEqual([
      [0, 200],
      [0, 1],
      [0, 0],
      [0, 0],
      [0, 1],
    ]);
    expect(total()).toBe(202);
  });
});

it('advises to keep an unfinished run that alone knows what it sent of an earlier input', async () => {
  const { service, world, run } = await stage();
  const second = increments(200);
  writeFileSync(world.path('first.ndjson'), increments(3));
  writeFileSync(world.path('second.ndjson'), second.slice(0, -20));
  expect((await run('upload', 'first.ndjson', 'second.ndjson')).code).toBe(9);
  writeFileSync(world.path('second.ndjson'), second);
  expect((await run('upload', 'second.ndjson', '--again')).code).toBe(0);
  const sent = written(service).flat().length;
  const { code, stderr } = await run('upload', 'first.ndjson', 'second.ndjson', '--resume');
  expect([code, written(service).flat().length]).toEqual([8, sent]);
  expect(stderr).toContain('would send it a second time');
  expect(stderr).toMatch(/keep run \S+, because only it knows/);
  expect(stderr).not.toContain('prune');
});

it.each([
  ['demerge', ['demerge', '--yes'], (n: number) => `{"identity":"u${n}"}\n`],
  [
    'upload --changed',
    ['upload', '--changed'],
    (n: number) => `{"identity":"u${n}","profileData":{"Visits":{"$incr":1}}}\n`,
  ],
])(
  'a %s of two files that stopped behind what another run sent is resumed, though it reads them again',
  async (_what, argv, line) => {
    const { service, world, run } = await stage();
    const lines = (from: number) => Array.from({ length: 4 }, (_, n) => line(from + n)).join('');
    const daily = async () => run(...argv, 'a.ndjson', 'b.ndjson', '--resume', ...small);
    const small = ['--chunk-size', '2', '--concurrency', '1'];
    writeFileSync(world.path('a.ndjson'), lines(0));
    writeFileSync(world.path('b.ndjson'), lines(10));
    expect((await daily()).code).toBe(0);
    appendFileSync(world.path('b.ndjson'), lines(20));
    const before = service.requests().length;
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    expect((await daily()).code).toBe(4);
    const { code, stderr, summary } = await daily();
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('E-ALREADY-SENT')]);
    expect([summary.accepted, summary.resumed]).toEqual([2, 10]);
    expect(service.requests().slice(before)).toHaveLength(3);
  },
);

it('starts a run of a changed file if only the folder of a finished run was left', async () => {
  const { service, world, run } = await stage();
  const upload = ['upload', 'users.csv', '--resume', '--chunk-size', '1'];
  writeFileSync(world.path('users.csv'), 'identity,City\nu1,Oslo\nu2,Rome\n');
  await service.fault({ after: 1, times: 1, answer: { status: 401 } });
  expect((await run(...upload)).code).toBe(4);
  const runs = path.join(world.stateDir, 'runs');
  cpSync(runs, world.path('killed'), { recursive: true });
  expect((await run(...upload)).code).toBe(0);
  cpSync(world.path('killed'), runs, { recursive: true });
  writeFileSync(world.path('users.csv'), 'identity,City\nu3,Bonn\n');
  const { code, summary } = await run(...upload);
  expect([code, summary.accepted, summary.resumed]).toEqual([0, 1, 0]);
  expect(readdirSync(runs)).toEqual([]);
});

describe('of a run that stopped,', () => {
  it('an input that grew is refused if records of the inputs behind it were sent', async () => {
    const { service, world, run } = await stage();
    const upload = ['upload', 'a.ndjson', 'b.ndjson', '--chunk-size', '2', '--concurrency', '1'];
    writeFileSync(world.path('a.ndjson'), increments(6));
    writeFileSync(world.path('b.ndjson'), increments(20).slice(increments(6).length));
    await service.fault({ after: 4, times: 1, answer: { status: 401 } });
    expect((await run(...upload)).code).toBe(4);
    appendFileSync(
      world.path('a.ndjson'),
      '{"identity":"v","profileData":{"Visits":{"$incr":1}}}\n',
    );
    const { code, stderr } = await run(...upload, '--resume');
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-INPUT-CHANGED')]);
    writeFileSync(world.path('a.ndjson'), increments(6));
    appendFileSync(
      world.path('b.ndjson'),
      '{"identity":"v","profileData":{"Visits":{"$incr":1}}}\n',
    );
    expect((await run(...upload, '--resume')).code).toBe(0);
    const sent = written<{ identity: string }>(service).flat();
    expect(new Set(sent.map(({ identity }) => identity)).size).toBe(21);
    expect(sent).toHaveLength(21);
  });

  it('another time zone is refused, because it gives the rest of the events other times', async () => {
    const { service, world, run } = await stage();
    writeFileSync(
      world.path('e.csv'),
      `identity,ts\n${'abcdef'.replaceAll(/./g, '$&,2024-06-01T12:00:00\n')}`,
    );
    const upload = ['upload', 'e.csv', ...asEvents, '--chunk-size', '2', '--concurrency', '1'];
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    expect((await run(...upload, '--timezone', 'Europe/Berlin')).code).toBe(4);
    const { code, stderr } = await run(...upload, '--resume');
    expect([code, stderr]).toEqual([8, expect.stringMatching(/E-RUN-CHANGED[^]*time zone/)]);
    expect((await run(...upload, '--timezone', 'Europe/Berlin', '--resume')).code).toBe(0);
    const times = written<{ ts: number }>(service).flatMap((records) =>
      records.map(({ ts }) => ts),
    );
    expect(new Set(times)).toEqual(new Set([1_717_236_000]));
  });

  it.each([
    { what: '--types', flags: ['--types', 'Price:integer'] },
    { what: '--map', flags: ['--map', 'Price=Cost'] },
    { what: '--drop', flags: ['--drop', 'Price'] },
    { what: '--set', flags: ['--set', 'Source=x'] },
    { what: '--empty', flags: ['--empty', 'string'] },
    { what: '--lowercase', flags: ['--lowercase', 'Plan'] },
    { what: '--trim', flags: ['--trim'] },
    { what: '--null-values', flags: ['--null-values', 'free'] },
  ])(
    'events that $what changes are refused, also beside others, and of an edited file',
    async ({ what, flags }) => {
      const { service, world } = await stage();
      const runJson = jsonRunner<Figures>(world);
      const rows = ['u1,15, Gold', 'u2,,gold', 'u3,20,free', 'u4,,'];
      const send = async (lines: readonly string[], ...more: string[]) => {
        const text = lines.map((line) => `${line},1700000000,Seen\n`).join('');
        writeFileSync(world.path('log.csv'), `identity,Price,Plan,ts,evtName\n${text}`);
        return runJson(['upload', '--type', 'event', 'log.csv', ...more]);
      };
      expect((await send(rows)).code).toBe(0);
      const appended = [...rows, 'u5,30,Gold'];
      for (const edited of [rows, appended, ['u0,1,free', ...rows, 'u6,,'], rows.slice(0, 3)])
        for (const resume of [[], ['--resume']]) {
          const { code, stderr } = await send(edited, ...flags, ...resume);
          expect([code, stderr]).toEqual([8, expect.stringMatching(/E-ALREADY-SENT/)]);
          if (resume.length > 0) expect(stderr).toContain(`with other options: ${what}`);
        }
      expect(written(service).flat()).toHaveLength(4);
      // Without the records that were sent, the new form is sent, and then it grows.
      expect((await send(['u5,30,Gold'], ...flags, '--resume')).summary.accepted).toBe(1);
      const grown = await send(['u5,30,Gold', 'u6,,free'], ...flags, '--resume');
      expect(grown.summary.accepted).toBe(1);
      const isSame = ['--empty', '--trim', '--null-values'].includes(what); // for this record
      expect((await send(appended, '--resume')).code).toBe(isSame ? 0 : 8);
    },
  );

  it.each([
    { what: '--types', flags: ['--types', 'Price:integer'] },
    { what: '--trim', flags: ['--trim'] },
    { what: '--null-values', flags: ['--null-values', '7'] },
    { what: '--quote', flags: ['--quote', ''] },
  ])(
    'of an unchanged file, all events are compared with those of other options: $what',
    async ({ what, flags }) => {
      const { service, world, run } = await stage();
      const last = ['7', ' 8 ', '"9"', '7'];
      const price = (n: number) => last[n - 8000] ?? '';
      const rows = Array.from({ length: 8004 }, (_, n) => `u${n},${price(n)},1700000000`);
      for (const name of ['e.csv', 'f.csv', 'g.csv'])
        writeFileSync(
          world.path(name),
          `identity,Price,ts\n${rows.join('\n').replaceAll('u', name)}\n`,
        );
      expect((await run('upload', 'e.csv', ...asEvents)).code).toBe(0);
      expect((await run('upload', 'f.csv', 'g.csv', ...asEvents)).code).toBe(0);
      for (const names of [['e.csv'], ['f.csv', 'g.csv'], ['g.csv', 'e.csv']]) {
        const { code, stderr } = await run('upload', ...names, ...asEvents, ...flags, '--resume');
        const other = expect.stringContaining(`with other options: ${what}`) as string;
        expect([code, stderr]).toEqual([8, other]);
      }
      expect(written(service).flat()).toHaveLength(3 * rows.length);
    },
  );

  it('events of a pipe are compared whatever the order of its --null-values', async () => {
    const { service, world } = await stage();
    const upload = ['upload', '-', '--input-format', 'csv', ...asEvents, '--null-values', 'x,NULL'];
    const stdin = (id: string) => `identity,Price,ts\n${id},x,1700000000\na,5,1700000000\n`;
    expect((await world.run(upload, { stdin: stdin('b') })).code).toBe(0);
    const typed = [...upload, '--types', 'Price:integer', '--resume'];
    const { code, stderr } = await world.run(typed, { stdin: stdin('c') });
    expect([code, stderr]).toEqual([8, expect.stringContaining('other options: --types')]);
    expect(written(service).flat()).toHaveLength(2);
  });

  it.each([
    { what: 'added', before: [], after: ['--ts', 'now'] },
    { what: 'omitted', before: ['--ts', 'now'], after: [] },
  ])(
    'events that have a time are the same ones if --ts now is $what',
    async ({ before, after }) => {
      const { service, world } = await stage();
      const runJson = jsonRunner<Figures>(world);
      const send = async (rows: readonly string[], ...flags: string[]) => {
        writeFileSync(world.path('e.csv'), `identity,ts\n${rows.join('\n')}\n`);
        return runJson(['upload', 'e.csv', ...asEvents, ...flags, '--resume']);
      };
      expect((await send(['a,1700000000', 'b,1700000001'], ...before)).summary.accepted).toBe(2);
      const later = await send(['c,1700000002', 'a,1700000000', 'a,1700086400'], ...after);
      expect([later.code, later.summary]).toMatchObject([0, { accepted: 2, alreadySent: 1 }]);
      const timeless = ['d,', 'c,1700000002'];
      expect((await send(timeless, '--ts', 'now')).summary).toMatchObject({ accepted: 1 });
      expect((await send(timeless, '--ts', 'now')).summary).toMatchObject({ accepted: 0 });
      const sent = written<{ identity: string }>(service).flat();
      expect(sent.map(({ identity }) => identity).join('')).toBe('abcad');
    },
  );

  it('events with a name of their own are compared also with another --event-name', async () => {
    const { service, world, run } = await stage();
    const send = async (rows: readonly string[], ...flags: readonly string[]) => {
      writeFileSync(world.path('e.csv'), `identity,evtName,Price,ts\n${rows.join('\n')}\n`);
      return run('upload', 'e.csv', '--type', 'event', '--resume', ...flags);
    };
    const rows = ['a,Sold,5,1700000000', 'b,,5,1700000000'];
    expect((await send(rows, '--event-name', 'Seen')).code).toBe(0);
    const other = ['--event-name', 'Met', '--types', 'Price:integer'];
    const { code, stderr } = await send(['c,,5,1700000000', ...rows], ...other);
    expect([code, stderr]).toEqual([
      8,
      expect.stringMatching(/were sent on .* other options: .*--types/),
    ]);
    // A row without a name is another event.
    expect((await send(rows.slice(1), ...other)).summary.accepted).toBe(1);
    expect(written(service).flat()).toHaveLength(3);
  });

  it('events are compared with a form that drops a column which is gone now', async () => {
    const { service, world, run } = await stage();
    const send = async (lines: readonly string[], ...more: readonly string[]) => {
      writeFileSync(world.path('e.csv'), lines.map((line) => `${line}\n`).join(''));
      return run('upload', 'e.csv', ...asEvents, '--resume', ...more);
    };
    const before = ['identity,Price,ts,Note', 'a,5,1700000000,x', 'b,5,1700000000,x'];
    expect((await send(before, '--drop', 'Note')).code).toBe(0);
    const typed = ['--types', 'Price:integer'];
    const header = 'identity,Price,ts';
    const both = await send([header, 'c,5,1700000000', 'a,5,1700000000'], ...typed);
    const other = expect.stringContaining('other options: --types, --drop') as string;
    expect([both.code, both.stderr]).toEqual([8, other]);
    expect((await send([header, 'c,5,1700000000'], ...typed)).code).toBe(0);
    expect(written(service).flat()).toHaveLength(3);
  });

  it('events that --max-record-bytes rejected are sent with a larger one, also of one line', async () => {
    const { service, world, run } = await stage();
    const event = (identity: string, a: string) =>
      ({ identity, type: 'event', evtName: 'Seen', ts: 1_700_000_000, evtData: { a } }) as const;
    const events = [event('a', 'x'), event('b', 'x'.repeat(500)), event('c', 'x')];
    writeFileSync(world.path('e.json'), JSON.stringify(events));
    const upload = ['upload', 'e.json', '--type', 'event', '--resume', '--max-record-bytes'];
    expect((await run(...upload, '300')).code).toBe(3);
    expect((await run(...upload, '3000')).code).toBe(0);
    expect(written(service).flat()).toHaveLength(3);
  });

  it.each(['file', 'pipe'])(
    'events of a %s that were sent in another time zone are refused, whatever was edited',
    async (way) => {
      const { service, world } = await stage();
      const runJson = jsonRunner<Figures>(world);
      const table = (rows: readonly string[], time = '2024-06-01T12:00:00') =>
        `identity,ts\n${rows.map((row) => `${row},${time}\n`).join('')}`;
      const upload = async (text: string, ...flags: string[]) => {
        if (way === 'file') writeFileSync(world.path('e.csv'), text);
        const input = way === 'file' ? ['e.csv'] : ['-'];
        return runJson(['upload', ...input, ...asEvents, ...flags], { stdin: text });
      };
      const berlin = ['--timezone', 'Europe/Berlin'];
      expect((await upload(table(['a', 'b', 'c']), ...berlin)).code).toBe(0);
      const edited = table(['d', 'a', 'b', 'e']);
      const grown = table(['a', 'b', 'c', 'd']);
      for (const [text, ...flags] of [
        [edited],
        [edited, '--resume'],
        [grown, '--resume'],
      ] as const) {
        const { code, stderr } = await upload(text, ...flags);
        const named = /E-ALREADY-SENT[^]*other options: --timezone Europe\/Berlin/;
        expect([code, stderr]).toEqual([8, expect.stringMatching(named)]);
      }
      expect((await upload(edited, ...berlin, '--resume')).summary.accepted).toBe(2);
      const sent = written<{ identity: string }>(service).flatMap((batch) =>
        batch.map(({ identity }) => identity),
      );
      expect(sent).toEqual(['a', 'b', 'c', 'd', 'e']);
      // A time with an offset is the same everywhere.
      const many = Array.from({ length: 1200 }, (_, n) => `f${n}`);
      const fixed = table(many, '2024-06-01T12:00:00+02:00');
      expect((await upload(fixed, ...berlin)).code).toBe(0);
      const more = table(['g', ...many], '2024-06-01T12:00:00+02:00');
      expect((await upload(more, '--resume')).summary.accepted).toBe(1);
      expect((await upload(edited, '--again')).summary.accepted).toBe(4);
    },
  );

  it('another mapping file is refused, and the advice says what --fresh resends', async () => {
    const { service, world, run } = await stage();
    const rows = 'abc'.replaceAll(/./g, '$&,"{""$incr"":1}",x\n');
    writeFileSync(world.path('i.csv'), `identity,V,C\n${rows}`);
    writeFileSync(world.path('m.json'), '{"types":{"V":"json"}}');
    const upload = ['upload', 'i.csv', '--mapping', 'm.json', '--chunk-size', '1'];
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    expect((await run(...upload, '--concurrency', '1')).code).toBe(4);
    writeFileSync(world.path('m.json'), '{"types":{"V":"json"},"drop":["C"]}');
    const { code, stderr } = await run(...upload, '--resume');
    const advice = /E-RUN-CHANGED[^]*own options and mapping file[^]*--fresh[^]*may resend/;
    expect([code, stderr]).toEqual([8, expect.stringMatching(advice)]);
  });

  it('a run that replaced one whose input had changed can be resumed by its id, too', async () => {
    const { service, world, run } = await stage();
    const unfinished = async () => {
      const { stdout } = await world.run(['runs', 'list', '--json']);
      return (JSON.parse(stdout) as { runs: { run: string }[] }).runs.map((one) => one.run);
    };
    const stop = async (...argv: string[]) => {
      await service.fault({ after: 1, times: 1, answer: { status: 401 } });
      expect((await run(...argv)).code).toBe(4);
    };
    const write = (rows: string) =>
      writeFileSync(
        world.path('e.csv'),
        `identity,ts\n${rows.replaceAll(/./g, '$&,1717236000\n')}`,
      );
    write('abc');
    await stop('upload', 'e.csv', ...asEvents, '--chunk-size', '1', '--concurrency', '1');
    write('xabc');
    await stop('runs', 'resume', ...(await unfinished()));
    expect((await run('runs', 'resume', ...(await unfinished()))).code).toBe(0);
    const sent = written<{ identity: string }>(service).flat();
    expect(sent.map(({ identity }) => identity)).toEqual(['a', 'x', 'b', 'c']);
  });

  it('events that another zone did not send are not refused because of runs in it', async () => {
    const { service, world } = await stage();
    const runJson = jsonRunner<Figures>(world);
    const ids = (name: string, count: number) => Array.from({ length: count }, (_, n) => name + n);
    const upload = async (rows: readonly string[], ...flags: string[]) => {
      writeFileSync(world.path('e.csv'), `identity,ts\n${rows.map((row) => `${row}\n`).join('')}`);
      return (await runJson(['upload', 'e.csv', ...asEvents, '--resume', ...flags])).code;
    };
    const fixed = (names: readonly string[]) => names.map((name) => `${name},1717236000`);
    const hours = (...all: number[]) => all.map((hour) => `hourly,2024-06-01T${hour}:00:00`);
    const newYork = ['--timezone', 'America/New_York'];
    expect(await upload(fixed(['first']))).toBe(0);
    expect(await upload(hours(10, 11, 12, 13, 14), ...newYork)).toBe(0);
    // 15:00 is 11:00 in New York as UTC, but no run sent it as that.
    expect(await upload(hours(15, 16), ...newYork)).toBe(0);
    expect(await upload(fixed(ids('a', 20)), ...newYork, '--shard', '1/2')).toBe(0);
    expect(await upload(fixed(ids('a', 20)), '--shard', '2/2')).toBe(0);
    expect(await upload(fixed(ids('b', 1000)), ...newYork)).toBe(0);
    expect(await upload(fixed([...ids('c', 1000), ...ids('b', 1000)]))).toBe(0);
    expect(written(service).flat()).toHaveLength(1 + 7 + 20 + 2000);
  });

  it('an input that changed is refused if a request was sent, and none was answered', async () => {
    const { service, world, run } = await stage();
    const runs = path.join(world.stateDir, 'runs');
    const journals = () =>
      existsSync(runs)
        ? readdirSync(runs).map((name) => path.join(runs, name, 'journal.ndjson'))
        : [];
    const isIntended = () =>
      journals().some(
        (file) => existsSync(file) && readFileSync(file, 'utf8').includes('"intent"'),
      );
    const upload = ['upload', 'a.ndjson', '--chunk-size', '2', '--concurrency', '1'];
    writeFileSync(world.path('a.ndjson'), increments(6));
    await service.fault({ times: 1, delayMs: 500, answer: { status: 401 } });
    const stopped = run(...upload);
    await until(isIntended);
    cpSync(world.stateDir, world.path('killed'), { recursive: true });
    await stopped;
    rmSync(world.stateDir, { recursive: true });
    cpSync(world.path('killed'), world.stateDir, { recursive: true });
    writeFileSync(world.path('a.ndjson'), increments(7).replace('u0', 'v'));
    const { code, stderr } = await run(...upload, '--resume');
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-INPUT-CHANGED')]);
  });
});

it.each([
  ['the same command', 'u1\n', [], 8],
  ['--resume', 'u1\n', ['--resume'], 0],
  ['--resume, after the file was changed', 'u0\n', ['--resume'], 8],
])(
  'a finished run whose folder was left, and that stopped in what was added later, is kept by %s',
  async (_what, first, flags, code) => {
    const { service, world, run } = await stage();
    const demerge = ['demerge', 'ids.txt', '--yes', '--chunk-size', '2'];
    writeFileSync(world.path('ids.txt'), 'u1\nu2\n');
    expect((await withoutRemovalOfRun(world, async () => run(...demerge))).code).toBe(0);
    appendFileSync(world.path('ids.txt'), 'u3\nu4\nu5\n');
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    expect((await run(...demerge, '--resume')).code).toBe(4);
    writeFileSync(world.path('ids.txt'), `${first}u2\nu3\nu4\nu5\n`);
    expect((await run(...demerge, ...flags)).code).toBe(code);
    writeFileSync(world.path('ids.txt'), 'u1\nu2\nu3\nu4\nu5\n');
    expect((await run(...demerge, '--resume')).code).toBe(0);
    expect(written(service).flat()).toEqual(['u1', 'u2', 'u3', 'u4', 'u5']);
  },
);

it('sends operators beside a file without records that was beside others before', async () => {
  const { service, world, run } = await stage();
  writeFileSync(world.path('none.ndjson'), '\n');
  writeFileSync(world.path('i.ndjson'), increments(1));
  writeFileSync(world.path('j.ndjson'), increments(1).replace('u0', 'u1'));
  writeFileSync(world.path('k.ndjson'), increments(1).replace('u0', 'u2'));
  for (const files of [
    ['none', 'i'],
    ['none', 'j'],
    ['k', 'none', '--resume'],
  ]) {
    const names = files.map((name) => (name.startsWith('-') ? name : `${name}.ndjson`));
    expect((await run('upload', ...names)).code).toBe(0);
  }
  expect((await run('upload', 'none.ndjson', 'i.ndjson')).code).toBe(8);
  expect(written(service).flat()).toHaveLength(3);
});

it('resumes operators beside a file without records that another run read', async () => {
  const { service, world, run } = await stage();
  writeFileSync(world.path('none.ndjson'), '\n');
  writeFileSync(world.path('i.ndjson'), increments(1));
  writeFileSync(world.path('j.ndjson'), increments(3).replaceAll('"u', '"v'));
  expect((await run('upload', 'i.ndjson', 'none.ndjson')).code).toBe(0);
  await service.fault({ after: 1, times: 1, answer: { status: 401 } });
  const upload = ['upload', 'j.ndjson', 'none.ndjson', '--resume', '--chunk-size', '1'];
  expect((await run(...upload, '--concurrency', '1')).code).toBe(4);
  expect((await run(...upload)).code).toBe(0);
  expect(written(service).flat()).toHaveLength(4);
});

it('sends events once that a run without a journal sent, in front of others, and asks for that order', async () => {
  const { service, world, run } = await stage();
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name, at) => {
    writeFileSync(world.path(`${name}.ndjson`), events(2, 2 * at));
    return `${name}.ndjson`;
  });
  expect((await run('upload', a!, '--no-journal')).code).toBe(0);
  expect((await run('upload', b!, '--resume')).code).toBe(0);
  const { code, stderr } = await run('upload', b!, a!, c!, '--resume');
  expect([code, stderr]).toEqual([8, expect.stringContaining('list it before those')]);
  for (const files of [
    [a!, b!, c!],
    [a!, d!],
  ])
    expect((await run('upload', ...files, '--resume')).code).toBe(0);
  expect(written(service).flat()).toHaveLength(8);
});

it('sends events once that were added after a run ended, and before its folder was removed', async () => {
  const { service, world, run } = await stage();
  const upload = async () => run('upload', 'e.ndjson', '--resume');
  writeFileSync(world.path('e.ndjson'), events(1));
  expect((await upload()).code).toBe(0);
  appendFileSync(world.path('e.ndjson'), events(1, 1));
  expect((await withoutRemovalOfRun(world, upload)).code).toBe(0);
  appendFileSync(world.path('e.ndjson'), events(2, 2));
  expect((await upload()).code).toBe(0);
  expect((await upload()).summary).toMatchObject({ accepted: 0, alreadySent: 4 });
  expect(written(service).flat()).toHaveLength(4);
});

it('reports events in flight when a run was killed that went on after its end', async () => {
  const { service, world, run } = await stage();
  const upload = ['upload', 'e.ndjson', '--resume'];
  writeFileSync(world.path('e.ndjson'), events(2));
  expect((await withoutRemovalOfRun(world, async () => run(...upload))).code).toBe(0);
  appendFileSync(world.path('e.ndjson'), events(2, 2));
  await service.fault({ times: 1, delayMs: 200, answer: { status: 401 } });
  const killed = await runOrKill({ world, service }, upload, { stdin: '', kill: true });
  expect(killed.isKilled).toBe(true);
  expect((await world.run(['runs', 'prune', '--yes'])).code).toBe(0);
  const { code, summary } = await run(...upload);
  expect([code, summary]).toMatchObject([6, { alreadySent: 2, unknown: 2 }]);
});

it('sends events once that a run sends which goes on, while another one skips what it had sent', async () => {
  const { service, world, run } = await stage();
  writeFileSync(world.path('a.ndjson'), events(2));
  const goOn = async () => run('upload', 'a.ndjson', '--resume');
  expect((await withoutRemovalOfRun(world, goOn)).code).toBe(0);
  writeFileSync(world.path('b.ndjson'), events(6));
  const before = service.requests().length;
  await service.fault({ times: 1, delayMs: 1000 });
  const oneByOne = ['--chunk-size', '1', '--concurrency', '1'];
  const other = run('upload', 'b.ndjson', '--resume', ...oneByOne);
  await until(() => service.requests().length > before);
  appendFileSync(world.path('a.ndjson'), events(4, 2));
  expect((await goOn()).code).toBe(0);
  expect((await other).code).toBe(0);
  expect(written(service).flat()).toHaveLength(6);
});

it.each([[['b.ndjson']], [['i.ndjson', 'b.ndjson']]])(
  'of %j, sends no event that a run sends which goes on before the memory is opened',
  async (inputs) => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('i.ndjson'), increments(2));
    expect((await run('upload', 'i.ndjson')).code).toBe(0);
    writeFileSync(world.path('a.ndjson'), events(2));
    const goOn = async () => run('upload', 'a.ndjson', '--resume');
    expect((await withoutRemovalOfRun(world, goOn)).code).toBe(0);
    for (const name of ['a.ndjson', 'b.ndjson'])
      writeFileSync(world.path(name), `${events(6)}${events(1)}`);
    const memories = path.join(world.stateDir, 'events');
    const lock = await lockRun(path.join(memories, readdirSync(memories)[0]!, '.opening.lock'));
    // The other run has read the ledger when it waits for the lock.
    let gone: ReturnType<typeof goOn> | undefined;
    const sleep = async () => {
      if (gone === undefined) lock.release();
      await (gone ??= goOn());
    };
    const upload = ['upload', ...inputs, '--resume'];
    expect(await main(upload, { ...world.runtime(), sleep })).toBe(0);
    expect((await gone)?.code).toBe(0);
    expect(written(service).flat()).toHaveLength(2 + 7);
    const next = await run(...upload);
    expect([next.code, next.summary]).toMatchObject([
      0,
      { read: 5 + inputs.length * 2, accepted: 0 },
    ]);
    expect(written(service).flat()).toHaveLength(2 + 7);
  },
);

describe('after --limit sent a part', () => {
  /** An answer that rejects all records of `increments(count)`. */
  const refusalOf = (count: number) => ({
    status: 'partial',
    processed: 0,
    unprocessed: increments(count)
      .trimEnd()
      .split('\n')
      .map((line, n) => {
        const error = `refused, record number : ${n + 1}`;
        return { status: 'fail', code: 509, error, record: JSON.parse(line) as object };
      }),
  });
  const refusal = 'i.ndjson begins like the input of run';

  it('the whole input is refused, and the same part, but neither the other records nor --again', async () => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('i.ndjson'), increments(3));
    const part = await run('upload', 'i.ndjson', '--limit', '2');
    expect([part.code, part.stderr]).toEqual([0, expect.not.stringContaining('warning')]);
    for (const flags of [[], ['--resume'], ['--limit', '2'], ['--limit', '1']]) {
      const { code, stderr } = await run('upload', 'i.ndjson', ...flags);
      expect([code, stderr], flags.join(' ')).toEqual([8, expect.stringContaining(refusal)]);
      expect(stderr).toContain('which has sent the first 2 records');
      expect(stderr).toContain('remove those from the input to send the others; --again sends');
    }
    expect(service.requests()).toHaveLength(1);
    writeFileSync(world.path('rest.ndjson'), increments(3).split('\n').slice(2).join('\n'));
    expect((await run('upload', 'rest.ndjson')).code).toBe(0);
    expect((await run('upload', 'i.ndjson', '--again')).code).toBe(0);
    expect((await run('upload', 'i.ndjson')).code).toBe(8);
  });

  it('the whole input is sent if the service accepted nothing of the part, or it was not sent', async () => {
    const { service, world, run } = await stage();
    const rejected = increments(3).replaceAll('{"Visits"', '{"Phone":"12","Visits"');
    writeFileSync(world.path('i.ndjson'), rejected);
    expect((await run('upload', 'i.ndjson', '--limit', '2', '--check')).code).toBe(0);
    expect((await run('upload', 'i.ndjson', '--limit', '2')).code).toBe(3);
    expect((await run('upload', 'i.ndjson')).code).toBe(3);
    expect(service.requests()).toHaveLength(2);
  });

  it('lines added to a file are not sent twice after --limit sent some of them', async () => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('i.ndjson'), increments(3));
    expect((await run('upload', 'i.ndjson')).code).toBe(0);
    writeFileSync(world.path('i.ndjson'), increments(9));
    const part = await run('upload', 'i.ndjson', '--resume', '--limit', '5');
    expect([part.code, part.summary.accepted]).toEqual([0, 2]);
    expect((await run('upload', 'i.ndjson', '--resume')).code).toBe(8);
    expect(written(service).flat()).toHaveLength(5);
  });

  it('a pipe with the same name and beginning is refused with --resume, until --again', async () => {
    const { service, world } = await stage();
    const runJson = jsonRunner<Figures>(world);
    const piped = async (stdin: string, ...flags: string[]) =>
      runJson(['upload', '-', '--run-name', 'crm', ...flags], { stdin });
    expect((await piped(increments(3), '--limit', '2')).code).toBe(0);
    const { code, stderr } = await piped(increments(3), '--resume');
    expect([code, stderr]).toEqual([8, expect.stringContaining('has sent the first 2 records')]);
    expect(written(service).flat()).toHaveLength(2);
    const others = increments(5).split('\n').slice(2).join('\n');
    expect((await piped(others, '--resume')).summary.accepted).toBe(3);
    expect((await piped(increments(3), '--again')).summary.accepted).toBe(3);
    const same = await piped(increments(3), '--resume');
    expect([same.code, same.summary.resumed, same.summary.accepted]).toEqual([0, 3, 0]);
  });

  it('--again for one of its inputs does not send the others twice', async () => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('i.ndjson'), increments(3));
    writeFileSync(world.path('j.ndjson'), increments(3).replaceAll('"u', '"v'));
    expect((await run('upload', 'i.ndjson', 'j.ndjson', '--limit', '4')).code).toBe(0);
    expect((await run('upload', 'i.ndjson', '--again')).code).toBe(0);
    const { code, stderr } = await run('upload', 'j.ndjson');
    const sent = 'has sent the first 4 records of i.ndjson and 1 other input';
    expect([code, stderr]).toEqual([8, expect.stringContaining(sent)]);
    expect((await run('upload', 'i.ndjson', 'j.ndjson', '--again')).code).toBe(0);
    expect((await run('upload', 'j.ndjson', '--resume')).summary.accepted).toBe(0);
    expect(written(service).flat()).toHaveLength(4 + 3 + 6);
  });

  it.each([
    ['nothing is sent', { status: 401 }, 4],
    ['all is rejected', { status: 200, body: refusalOf(3) }, 3],
  ])('is still refused after --again with which %s', async (_, answer, code) => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('i.ndjson'), increments(3));
    expect((await run('upload', 'i.ndjson', '--limit', '2')).code).toBe(0);
    await service.fault({ times: 1, answer });
    expect((await run('upload', 'i.ndjson', '--again')).code).toBe(code);
    const { stderr } = await run('upload', 'i.ndjson');
    expect(stderr).toContain('which has sent the first 2 records');
    expect((await run('upload', 'i.ndjson', '--again')).summary.accepted).toBe(3);
    expect((await run('upload', 'i.ndjson', '--resume')).summary.resumed).toBe(3);
  });

  it.each([
    ['upload', []],
    ['demerge', ['--yes']],
  ])(
    '%s is refused, although only the folder of that run was left, also pruned',
    async (name, more) => {
      const { service, world, run } = await stage();
      const write = async (...flags: string[]) => run(name, 'i.ndjson', ...more, ...flags);
      const users = '{"identity":"a"}\n{"identity":"b"}\n{"identity":"c"}\n';
      writeFileSync(world.path('i.ndjson'), name === 'upload' ? increments(3) : users);
      const part = await withoutRemovalOfRun(world, async () => write('--limit', '2'));
      expect(part.code).toBe(0);
      const runs = path.join(world.stateDir, 'runs');
      cpSync(runs, world.path('left'), { recursive: true });
      for (const flags of [[], ['--fresh'], ['--limit', '2']]) {
        cpSync(world.path('left'), runs, { recursive: true });
        const { code, stderr } = await write(...flags);
        expect([code, stderr], flags.join(' ')).toEqual([8, expect.stringContaining(refusal)]);
      }
      cpSync(world.path('left'), runs, { recursive: true });
      const asked = await world.run(['runs', 'prune'], { tty: true, stdin: 'no\n' });
      expect([asked.code, asked.stderr]).toEqual([2, expect.not.stringContaining('go out again')]);
      const pruned = await world.run(['runs', 'prune', '--yes']);
      expect([pruned.code, pruned.stderr]).toEqual([0, expect.stringContaining('forgot 1 of 1')]);
      expect(pruned.stderr).not.toContain('would be sent again');
      expect((await write()).code).toBe(8);
      expect(service.requests()).toHaveLength(1);
      expect((await write('--again')).code).toBe(0);
    },
  );

  it('demerges are refused, and profiles are not', async () => {
    const { world, run } = await stage();
    writeFileSync(world.path('d.csv'), 'identity\na\nb\n');
    writeFileSync(world.path('u.csv'), 'identity,City\na,Oslo\nb,Rome\n');
    expect((await run('upload', 'u.csv', '--limit', '1')).code).toBe(0);
    expect((await run('upload', 'u.csv')).code).toBe(0);
    expect((await run('demerge', 'd.csv', '--yes', '--limit', '1')).code).toBe(0);
    const { code, stderr } = await run('demerge', 'd.csv', '--yes');
    expect([code, stderr]).toEqual([8, expect.stringContaining('has sent the first 1 record"')]);
  });
});

it('never refuses profiles and subscriptions', async () => {
  const { service, world, run } = await stage();
  writeFileSync(world.path('u.csv'), 'identity,City\nu1,Oslo\n');
  writeFileSync(world.path('s.csv'), 'type,value,status\nemail,a@b.test,Unsubscribe\n');
  for (const argv of [
    ['upload', 'u.csv'],
    ['subscribe', 's.csv'],
  ]) {
    for (const more of [[], ['--resume']]) {
      const { code, summary } = await run(...argv, ...more);
      expect([code, summary.accepted]).toEqual([0, 1]);
    }
  }
  expect(written(service)).toHaveLength(4);
});

it('allows events that were all rejected to be sent again', async () => {
  const refused = { status: 'fail', processed: 0, unprocessed: [], error: 'no such event' };
  const { service, world, run } = await stage();
  await service.fault({ times: 1, answer: { body: refused } });
  writeFileSync(world.path('e.ndjson'), events(3));
  expect((await run('upload', 'e.ndjson')).code).toBe(3);
  expect((await run('upload', 'e.ndjson')).code).toBe(0);
  expect(service.requests()).toHaveLength(2);
});

describe('D a growing log', () => {
  it.each([
    ['e.ndjson', '', events],
    ['e.csv', 'identity,ts,n\n', eventCsv],
  ])('is sent once by --resume, day after day: %s', async (name, head, rows) => {
    const { service, world, run } = await stage();
    writeFileSync(world.path(name), head + rows(3));
    const argv = ['upload', name, ...asEvents, '--resume'];
    const days = [];
    for (let day = 0; day < 5; day += 1) {
      const { code, summary, stderr } = await run(...argv);
      expect(code, stderr).toBe(0);
      days.push([summary.alreadySent, summary.accepted]);
      if (day !== 2) appendFileSync(world.path(name), rows(2, 10 + 2 * day));
    }
    expect(days).toEqual([
      [0, 3],
      [3, 2],
      [5, 2],
      [7, 0],
      [7, 2],
    ]);
    const sent = written(service).flat();
    expect(new Set(sent.map((record) => JSON.stringify(record))).size).toBe(sent.length);
    expect(sent).toHaveLength(9);
  });

  it('is refused without --resume, and both choices are named', async () => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('e.ndjson'), events(3));
    await run('upload', 'e.ndjson');
    appendFileSync(world.path('e.ndjson'), events(1, 3));
    const { code, stderr } = await run('upload', 'e.ndjson');
    expect(code).toBe(8);
    expect(stderr).toContain('3 of the first 4 records of e.ndjson were already sent');
    expect(stderr).toMatch(/--resume.*--again/);
    expect(written(service)).toHaveLength(1);
  });

  it('reports added lines with their numbers in the file', async () => {
    const { world, run } = await stage();
    writeFileSync(world.path('e.csv'), `identity,ts,n\n${eventCsv(3)}`);
    await run('upload', 'e.csv', ...asEvents);
    appendFileSync(world.path('e.csv'), 'u9,never,1\n');
    expect((await run('upload', 'e.csv', ...asEvents, '--resume')).code).toBe(3);
    const rejects = readFileSync(world.path('e.csv.rejects.ndjson'), 'utf8');
    expect(JSON.parse(rejects)).toMatchObject({ line: 5 });
  });

  it('continues although files come and go', async () => {
    const { world, run } = await stage();
    const days = ['d1.ndjson', 'd2.ndjson', 'd3.ndjson'];
    const counts = [];
    for (const day of days.keys()) {
      writeFileSync(world.path(days[day]!), day === 1 ? '' : events(2, 10 * day));
      const { code, summary } = await run('upload', ...days.slice(0, day + 1), '--resume');
      expect(code).toBe(0);
      counts.push([summary.alreadySent, summary.accepted]);
    }
    appendFileSync(world.path('d3.ndjson'), events(1, 40));
    const { summary } = await run('upload', 'd3.ndjson', '--resume');
    expect([...counts, [summary.alreadySent, summary.accepted]]).toEqual([
      [0, 2],
      [2, 0],
      [2, 2],
      [2, 1],
    ]);
  });

  it.each([
    ['if another input of the same run has changed', [], events(3, 11), 6], // rotated: without its first line
    ['of which --limit sent a part behind a whole input', ['--limit', '4'], events(3, 10), 5],
  ])('sends no events twice %s', async (_, flags, then, total) => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('a.ndjson'), events(2));
    writeFileSync(world.path('b.ndjson'), events(3, 10));
    await run('upload', 'a.ndjson', 'b.ndjson', '--resume', ...flags);
    writeFileSync(world.path('b.ndjson'), then);
    const { code, summary } = await run('upload', 'a.ndjson', 'b.ndjson', '--resume');
    expect([code, summary.alreadySent, summary.accepted]).toEqual([0, 4, 1]);
    expect(written(service).flat()).toHaveLength(total);
  });

  it('refuses increments that were sent behind events that were not', async () => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('a.ndjson'), events(2));
    writeFileSync(world.path('b.ndjson'), increments(3));
    await run('upload', 'a.ndjson', '--resume');
    await run('upload', 'b.ndjson', '--resume');
    appendFileSync(world.path('a.ndjson'), events(1, 2));
    const refused = await run('upload', 'a.ndjson', 'b.ndjson', '--resume');
    expect([refused.code, refused.stderr]).toEqual([
      8,
      expect.stringContaining('b.ndjson was sent'),
    ]);
    const { code, summary } = await run('upload', 'b.ndjson', 'a.ndjson', '--resume');
    expect([code, summary.accepted]).toEqual([0, 1]);
    expect(written(service).flat()).toHaveLength(6);
  });

  it.each([
    ['demerges', 'ids.txt', ['demerge', '--yes'], 'ann\nbob', ['\ndan\n', '\r\ncid'], 1],
    ['operators', 'i.ndjson', ['upload'], increments(2).trim(), [`\n${increments(1)}`], 1],
  ] as const)(
    'goes on after a last line without a line end: %s',
    async (_, name, argv, text, appended, added) => {
      const { service, world, run } = await stage();
      const sent = () => written(service).flat().length;
      for (const more of appended) {
        writeFileSync(world.path(name), text);
        expect((await run(...argv, name, '--again')).code).toBe(0);
        const before = sent();
        writeFileSync(world.path(name), text + more);
        await service.fault({ times: 1, answer: { status: 401 } });
        expect((await run(...argv, name, '--resume')).code).toBe(4);
        const { code, summary, stderr } = await run(...argv, name, '--resume');
        expect([code, summary.accepted], stderr).toEqual([0, added]);
        expect(sent()).toBe(before + added);
      }
    },
  );

  it.each(['\n', '\r\n', '\r'])('is the same without its last line end (%j)', async (end) => {
    const { service, world, run } = await stage();
    const text = `ann${end}bob`;
    writeFileSync(world.path('ids.txt'), `${text}${end}`);
    await run('demerge', 'ids.txt', '--yes');
    writeFileSync(world.path('ids.txt'), text);
    const refused = await run('demerge', 'ids.txt', '--yes');
    expect([refused.code, refused.stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
    const same = await run('demerge', 'ids.txt', '--yes', '--resume');
    expect([same.code, same.summary.resumed]).toEqual([0, 2]);
    writeFileSync(world.path('ids.txt'), `${text}${end}cid`);
    const more = await run('demerge', 'ids.txt', '--yes', '--resume');
    expect([more.code, more.summary.accepted]).toEqual([0, 1]);
    expect(written(service).flat()).toHaveLength(3);
  });

  it('is refused if its last line grew, without advice to send it again', async () => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('ids.txt'), 'ann\nbob');
    await run('demerge', 'ids.txt', '--yes');
    writeFileSync(world.path('ids.txt'), 'ann\nbobby\n');
    const { code, stderr } = await run('demerge', 'ids.txt', '--yes', '--resume');
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-INPUT-CHANGED')]);
    expect(stderr).toContain('--again sends all of it');
    expect(stderr).not.toContain('--fresh');
    expect(written(service).flat()).toHaveLength(2);
  });

  it('has one event more if its last line grew', async () => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('e.csv'), `identity,ts,n\n${eventCsv(2)}u7,1700000000,1`);
    await run('upload', 'e.csv', ...asEvents);
    appendFileSync(world.path('e.csv'), '2\nu8,1700000000,1\n');
    const { code } = await run('upload', 'e.csv', ...asEvents, '--resume');
    expect(code).toBe(0);
    expect(written(service)[1]).toMatchObject([{ identity: 'u7' }, { identity: 'u8' }]);
  });
});

/** The same lines by a newer version, whose checksums are right. */
const newer = (text: string): string => changed(text, '"schemaVersion":1', '"schemaVersion":2');

describe('a ledger that is', () => {
  const sent = async () => {
    const staged = await stage();
    const { world, run } = staged;
    writeFileSync(world.path('e.ndjson'), increments(3));
    writeFileSync(world.path('u.csv'), 'identity,City\nu1,Oslo\n');
    await run('upload', 'e.ndjson');
    await run('upload', 'u.csv');
    const text = finishedText(ledgerText(world));
    const rewrite = (change: (text: string) => string) =>
      writeFileSync(ledgerFile(world), change(text));
    return { ...staged, rewrite };
  };

  it.each([
    [
      'damaged in one bit',
      (text: string) => text.replace('"accepted":3', '"accepted":2'),
      'line 1 is damaged',
    ],
    ['of a newer version', newer, 'line 1 has version 2, and this program supports 1'],
    ['no text at all', () => '{}\n', 'line 1 is damaged'],
  ])('%s accepts idempotent records, and refuses the others', async (_what, change, why) => {
    const { run, rewrite, service } = await sent();
    rewrite(change);
    const users = await run('upload', 'u.csv');
    expect([users.code, users.stderr]).toEqual([0, expect.stringContaining(why)]);
    const refused = await run('upload', 'e.ndjson', '--resume');
    expect([refused.code, refused.stderr]).toEqual([8, expect.stringContaining('E-LEDGER')]);
    expect(refused.stderr).toContain(why);
    expect(written(service)).toHaveLength(3);
    expect((await run('upload', 'e.ndjson', '--again')).code).toBe(0);
  });

  it('truncated in its last line, while the directory of that run exists, keeps its earlier lines', async () => {
    const { run, rewrite, world } = await sent();
    rewrite((text) => text.slice(0, -20));
    const users = ledgerText(world).split('\n')[1]!;
    const killed = path.join(world.stateDir, 'runs', /"run":"([^"]+)"/.exec(users)![1]!);
    mkdirSync(killed);
    expect((await run('upload', 'u.csv')).stderr).not.toContain('ledger');
    rmSync(killed, { recursive: true });
    expect((await run('upload', 'e.ndjson')).stderr).toContain('E-ALREADY-SENT');
    expect((await run('upload', 'e.ndjson', '--again')).code).toBe(0);
    expect(finishedText(ledgerText(world)).split('\n')).toHaveLength(5);
    expect((await run('upload', 'u.csv')).stderr).not.toContain('ledger');
  });

  it('torn in a line that follows again whole ignores the torn line', async () => {
    const { run, rewrite, service } = await sent();
    rewrite((text) => `${text.split('\n')[0]!.slice(0, -20)}\n${text}`);
    const users = await run('upload', 'u.csv');
    expect([users.code, users.stderr]).toEqual([0, expect.not.stringContaining('ledger')]);
    expect((await run('upload', 'e.ndjson')).stderr).toContain('E-ALREADY-SENT');
    const resumed = await run('upload', 'e.ndjson', '--resume');
    expect([resumed.code, resumed.summary.resumed]).toEqual([0, 3]);
    expect(written(service)).toHaveLength(3);
  });

  it.runIf(process.platform === 'linux')(
    'full before the end of a line warns, keeps the run, and is complete after --resume',
    async () => {
      const { service, world, run } = await stage({ passcode, accountId: 'ACCOUNT-1' });
      writeFileSync(world.path('u.csv'), 'identity,City\nu1,Oslo\n');
      writeFileSync(world.path('e.ndjson'), increments(3));
      await run('upload', 'u.csv');
      const line = ledgerText(world);
      // The limit on the size of a file is above the reserve of a journal, with room for some bytes of the next line.
      const limits = Array.from({ length: 1000 }, (_, n) => 192 + n);
      const roomIn = (kilobytes: number) => (1024 * kilobytes) % line.length;
      const limit = limits.find((kilobytes) => roomIn(kilobytes) > 0 && roomIn(kilobytes) < 200)!;
      const filled = line.repeat(Math.floor((1024 * limit) / line.length));
      writeFileSync(ledgerFile(world), filled);
      const child = start(world, {
        url: service.url,
        argv: ['upload', 'e.ndjson', '--json'],
        tracer: ['bash', '-c', `ulimit -f ${limit}; trap "" XFSZ; exec "$@"`, '-'],
      });
      const { code, stderr } = await outcomeOf(child);
      expect([code, stderr]).toEqual([0, expect.stringContaining('cannot be recorded')]);
      expect(ledgerText(world).length).toBe(1024 * limit);
      const env = accountAt(service.url, passcode);
      const again = async (...flags: string[]) =>
        world.run(['upload', 'e.ndjson', '--json', ...flags], { env });
      const resumed = await again('--resume');
      expect([resumed.code, JSON.parse(resumed.stdout)]).toMatchObject([0, { resumed: 3 }]);
      expect((await again()).stderr).toContain('E-ALREADY-SENT');
      expect(written(service)).toHaveLength(2);
    },
  );

  it('interrupted by a short write is complete all the same', async () => {
    const { service, world, run } = await stage();
    writeFileSync(world.path('u.csv'), 'identity,City\nu1,Oslo\n');
    writeFileSync(world.path('e.ndjson'), increments(3));
    await run('upload', 'u.csv');
    const { writevSync } = fs;
    let cutAt = 100;
    const takeSome = (descriptor: number, pieces: readonly NodeJS.ArrayBufferView[]): number => {
      const whole = Buffer.concat(pieces as readonly Buffer[]);
      const some = writevSync(descriptor, [whole.subarray(0, cutAt)]);
      cutAt = Infinity;
      return some;
    };
    Object.assign(fs, { writevSync: takeSome });
    syncBuiltinESMExports();
    onTestFinished(() => {
      Object.assign(fs, { writevSync });
      syncBuiltinESMExports();
    });
    const { code, stderr } = await run('upload', 'e.ndjson');
    expect([code, stderr, cutAt]).toEqual([0, expect.not.stringContaining('noted'), Infinity]);
    expect(ledgerLines(world)).toMatchObject([
      { sources: [{ name: 'u.csv' }] },
      { sources: [{ name: 'e.ndjson' }] },
    ]);
    expect((await run('upload', 'e.ndjson')).stderr).toContain('E-ALREADY-SENT');
    expect(written(service)).toHaveLength(2);
  });

  it('torn at its end by an unfinished run is complete after that run is resumed', async () => {
    const { world, run, service } = await stage();
    writeFileSync(world.path('e.ndjson'), events(30));
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    const first = await run('upload', 'e.ndjson', '--chunk-size', '10', '--concurrency', '1');
    expect(first.code).toBe(4);
    appendFileSync(ledgerFile(world), '\0'.repeat(100));
    const resumed = await run('upload', 'e.ndjson', '--resume');
    expect([resumed.code, resumed.stderr]).toEqual([0, expect.not.stringContaining('ledger')]);
    expect((await run('upload', 'e.ndjson')).stderr).toContain('E-ALREADY-SENT');
    writeFileSync(world.path('more.ndjson'), events(3, 100));
    expect((await run('upload', 'more.ndjson')).code).toBe(0);
  });

  it.each([
    ['cut', (text: string) => text.slice(0, -20)],
    ['cut to a few bytes', (text: string) => text.slice(0, 9)],
    ['cut to one byte', (text: string) => text.slice(0, 1)],
    [
      'zeros in part',
      (text: string) => text.replace(/"meaning":"[^"]{20}/, (it) => '\0'.repeat(it.length)),
    ],
    ['zeros', (text: string) => '\0'.repeat(text.length)],
  ])(
    '%s, of runs without a directory, refuses non-idempotent records, now and later',
    async (_, change) => {
      const { run, rewrite, service, world } = await sent();
      rewrite((text) => change(text.split('\n')[0]! + '\n'));
      const refused = await run('upload', 'e.ndjson', '--resume');
      expect([refused.code, refused.stderr]).toEqual([8, expect.stringContaining('E-LEDGER')]);
      writeFileSync(world.path('u.csv'), 'identity,City\nu2,Oslo\n');
      expect((await run('upload', 'u.csv')).code).toBe(0);
      const added = JSON.parse(ledgerText(world).trimEnd().split('\n').at(-1)!) as unknown;
      expect(added).toMatchObject({ sources: [{ name: 'u.csv' }] });
      expect((await run('upload', 'e.ndjson')).stderr).toContain('E-LEDGER');
      expect(written(service)).toHaveLength(3);
    },
  );

  it('not writable causes a warning, and keeps the directory of a run with non-idempotent records', async () => {
    const { service, world, run }: Awaited<ReturnType<typeof stage>> = await stage({
      onRequest: () => {
        rmSync(ledgerFile(world), { recursive: true, force: true });
        mkdirSync(ledgerFile(world));
      },
    });
    writeFileSync(world.path('e.ndjson'), increments(3));
    writeFileSync(world.path('u.csv'), 'identity,City\nu1,Oslo\n');
    const first = await run('upload', 'e.ndjson');
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('cannot be recorded')]);
    expect((await run('upload', 'u.csv')).code).toBe(0);
    expect(readdirSync(path.join(world.stateDir, 'runs'))).toEqual([first.summary.run]);
    rmSync(ledgerFile(world), { recursive: true });
    const resumed = await run('upload', 'e.ndjson', '--resume');
    expect([resumed.code, resumed.summary.resumed]).toEqual([0, 3]);
    expect(written(service)).toHaveLength(2);
    expect(ledgerLines(world)).toMatchObject([{ run: first.summary.run }]);
  });

  it('missing does not refuse any file', async () => {
    const { run, rewrite, world } = await sent();
    rewrite(() => '');
    expect((await run('upload', 'e.ndjson')).code).toBe(0);
    expect(existsSync(ledgerFile(world))).toBe(true);
  });
});

describe('runs', () => {
  it('lists and shows finished ones', async () => {
    const { world, run } = await stage();
    writeFileSync(world.path('e.ndjson'), events(3));
    writeFileSync(world.path('u.csv'), 'identity,City\nu1,Oslo\n');
    const first = await run('upload', 'e.ndjson');
    await run('upload', 'u.csv');
    const listed = await world.run(['runs', 'list', '--finished', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject({
      runs: [
        { run: first.summary.run, accepted: 3, harmfulTwice: true },
        { command: 'upload', sources: [{ name: 'u.csv', records: 1 }] },
      ],
    });
    expect((await world.run(['runs', 'list', '--finished'])).stdout).toContain('upload e.ndjson');
    const shown = await world.run(['runs', 'show', first.summary.run]);
    expect(shown.stdout).toMatch(/exit code +0\nsources +e\.ndjson, /);
    expect((await world.run(['runs', 'list', '--json'])).stdout).toContain('"runs":[]');
  });

  it('shows the progress of an unfinished run, and deletes it only on request', async () => {
    const { service, world, run } = await stage();
    await service.fault({ after: 2, answer: { status: 401 } });
    writeFileSync(world.path('e.csv'), `identity,ts,n\n${eventCsv(40)}`);
    const chunks = ['--chunk-size', '10', '--concurrency', '1'];
    const { summary } = await run('upload', 'e.csv', ...asEvents, ...chunks);
    const shown = await world.run(['runs', 'show', summary.run, '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ progress: { accepted: 20, rejected: 0 } });
    const text = (await world.run(['runs', 'show', summary.run])).stdout;
    expect(text).toMatch(/^files +\S+e\.csv\n[^]*^progress +20 accepted\n/m);
    const refused = await world.run(['runs', 'prune']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--older-than')]);
    const typed = await world.run(['runs', 'prune'], { tty: true, stdin: '1\n' });
    expect([typed.code, typed.stderr]).toEqual([0, expect.stringContaining(summary.run)]);
    expect((await world.run(['runs', 'prune'])).code).toBe(0);
  });

  it('are discarded by their ids, and a warning says whose operators go out again', async () => {
    const { service, world, run } = await stage();
    const ids: string[] = [];
    for (const [name, text] of [
      ['i.ndjson', increments(30)],
      ['u.ndjson', '{"identity":"u1","profileData":{"City":"Oslo"}}\n'.repeat(30)],
      ['other.ndjson', increments(31).replaceAll('"u', '"v')],
    ] as const) {
      writeFileSync(world.path(name), text);
      await service.fault({ after: 1, times: 1, answer: { status: 401 } });
      ids.push((await run('upload', name, ...inBatches)).summary.run);
    }
    const [operators = '', users = '', kept = ''] = ids;
    const unknown = await world.run(['runs', 'prune', operators, 'nobody', '--yes']);
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('there is no unfinished run nobody'),
    ]);
    const asked = await world.run(['runs', 'prune', operators], { tty: true, stdin: 'no\n' });
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringMatching(/operators.*again/)]);
    const { code, stderr } = await world.run(['runs', 'prune', operators, users, '--yes']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('forgot 2 of 3 unfinished runs')]);
    expect(stderr.match(/run (\S+) sent demerges or operators/)![1]).toBe(operators);
    expect(stderr.match(/sent demerges or operators/g)).toHaveLength(1);
    const left = JSON.parse((await world.run(['runs', 'list', '--json'])).stdout) as object;
    expect(left).toMatchObject({ runs: [{ run: kept }] });
  });

  it.each(['damaged', 'missing'])(
    'are discarded with a warning if their journal is %s: what they sent is not known',
    async (how) => {
      const { service, world, run } = await stage();
      writeFileSync(world.path('i.ndjson'), increments(30));
      await service.fault({ after: 1, times: 1, answer: { status: 401 } });
      const { summary } = await run('upload', 'i.ndjson', ...inBatches);
      const journal = path.join(world.stateDir, 'runs', summary.run, 'journal.ndjson');
      if (how === 'missing') rmSync(journal);
      else {
        const bytes = readFileSync(journal);
        bytes.fill('X', bytes.length - 40, bytes.length - 20);
        bytes.fill('X', 1040, 1060);
        writeFileSync(journal, bytes);
      }
      const asked = await world.run(['runs', 'prune'], { tty: true, stdin: 'no\n' });
      expect([asked.code, asked.stderr]).toEqual([2, expect.stringMatching(/operators.*again/)]);
      const { code, stderr } = await world.run(['runs', 'prune', '--yes']);
      expect([code, stderr]).toEqual([0, expect.stringContaining('sent demerges or operators')]);
      expect(stderr).toContain(`the journal of run ${summary.run} cannot be read`);
    },
  );

  it('stay if the disk is full when they are to be discarded', async () => {
    const { service, world, run } = await stage();
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    writeFileSync(world.path('i.ndjson'), increments(30));
    const { summary } = await run('upload', 'i.ndjson', ...inBatches);
    const { writevSync } = fs;
    const writeWith = (write: typeof writevSync) => {
      Object.assign(fs, { writevSync: write });
      syncBuiltinESMExports();
    };
    onTestFinished(() => writeWith(writevSync));
    writeWith(() => {
      throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    });
    const { code, stderr } = await world.run(['runs', 'prune', '--yes']);
    expect([code, stderr]).toEqual([9, expect.stringContaining('E-FILE-WRITE')]);
    writeWith(writevSync);
    expect((await run('runs', 'resume', summary.run)).code).toBe(0);
    expect(written(service).flat()).toHaveLength(30);
  });
});
