import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { serve, written } from '../../support/serve.js';

// A run from a pipe that has a name: its producer is run again, and the part consumed before is passed over.

interface Figures {
  readonly read: number;
  readonly accepted: number;
  readonly resumed: number;
  readonly duplicates: number;
  readonly alreadySent: number;
}

/** `refused`: the number of the request that is, from 0. */
async function stage(refused?: number) {
  const { service, world } = await serve();
  if (refused !== undefined)
    await service.fault({ after: refused, times: 1, answer: { status: 401 } });
  const run = async (text: string | Buffer, ...argv: string[]) => {
    const bytes = Buffer.from(text);
    const pieces = [bytes.subarray(0, 5), bytes.subarray(5, 3000), bytes.subarray(3000)];
    const stdin = Readable.from(pieces.filter((piece) => piece.length > 0));
    const all = [...argv, '--run-name', 'crm', '--json'];
    const { code, stdout, stderr } = await world.run(all, { stdin });
    return { code, stderr, summary: (stdout ? JSON.parse(stdout) : {}) as Figures };
  };
  /** What each request wrote, by identities. */
  const sent = () =>
    written<string | { identity: string }>(service).map((records) =>
      records.map((one) => (typeof one === 'string' ? one : one.identity)),
    );
  return { service, world, run, sent };
}

/** A demerge of 40 users of a file or a pipe that stops at its third request. */
async function stageDemerge() {
  const staged = await stage(2);
  const text = `identity\n${rows(40)
    .map((n) => `u${n}\n`)
    .join('')}`;
  writeFileSync(staged.world.path('leavers.csv'), text);
  return { ...staged, text, argv: ['--yes', '--chunk-size', '10', '--concurrency', '1'] };
}

const small = ['--chunk-size', '10', '--concurrency', '2'];
const rows = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n);
const csv = (count: number): string =>
  `identity,Note\n${rows(count)
    .map((n) => `u${n},"a\n${'x'.repeat(n % 50)}"\n`)
    .join('')}`;
const ndjson = (count: number): string =>
  rows(count)
    .map((n) => `{"identity":"u${n}","n":${n}}\n`)
    .join('');
const json = (count: number): string =>
  `[${rows(count)
    .map((n) => `{"identity":"u${n}","n":${n}}`)
    .join(' ,\n')}]`;
const events = (count: number, from = 0): string =>
  rows(count, from)
    .map((n) => `{"identity":"u${n}","type":"event","evtName":"V","ts":1700000000,"evtData":{}}\n`)
    .join('');

describe('D a named pipe', () => {
  it.each([
    ['CSV', csv(300), []],
    ['NDJSON', ndjson(300), []],
    ['an array', json(300), ['--input-format', 'json']],
    ['gzip', gzipSync(ndjson(300)), []],
  ])('continues where it was interrupted: %s', async (_what, text, more) => {
    const { sent, run, world } = await stage(7);
    const first = await run(text, 'upload', '-', ...small, ...more);
    expect(first.code).toBe(4);
    expect(first.stderr).toContain('same command with --resume');
    expect(existsSync(world.path('engagectl-upload.rejects.ndjson'))).toBe(false);
    const second = await run(text, 'upload', '-', ...small, ...more, '--resume');
    expect([second.code, second.summary.read], second.stderr).toEqual([0, 300]);
    expect(second.summary.resumed + second.summary.accepted).toBe(300);
    expect(second.summary.resumed).toBeGreaterThanOrEqual(70);
    expect(new Set(sent().flat()).size).toBe(300);
    expect(sent().flat()).toHaveLength(300);
  });

  it('is refused before anything is sent if its text differs', async () => {
    const { service, run } = await stage(7);
    await run(ndjson(300), 'upload', '-', ...small);
    const before = service.requests().length;
    for (const other of [ndjson(300).replace('"u3"', '"w3"'), ndjson(40), '']) {
      const { code, stderr } = await run(other, 'upload', '-', ...small, '--resume');
      expect([code, stderr]).toEqual([8, expect.stringContaining('E-INPUT-CHANGED')]);
    }
    expect(service.requests()).toHaveLength(before);
    expect((await run(ndjson(300), 'upload', '-', ...small, '--resume')).code).toBe(0);
  });

  it('is refused without --resume while it is unfinished; --fresh deletes the run', async () => {
    const { run } = await stage(7);
    await run(ndjson(300), 'upload', '-', ...small);
    const { code, stderr } = await run(ndjson(300), 'upload', '-', ...small);
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-RUN-UNFINISHED')]);
    const fresh = await run(ndjson(300), 'upload', '-', ...small, '--fresh');
    expect([fresh.code, fresh.summary.accepted]).toEqual([0, 300]);
  });

  it('distinguishes duplicates of a demerge across its attempts', async () => {
    const { run, sent } = await stage(2);
    const text = `identity\n${rows(40)
      .map((n) => `u${n % 25}\n`)
      .join('')}`;
    const argv = ['demerge', '-', '--yes', '--chunk-size', '10'];
    expect((await run(text, ...argv)).code).toBe(4);
    const second = await run(text, ...argv, '--resume');
    expect([second.code, second.summary.duplicates], second.stderr).toEqual([0, 15]);
    expect(sent().flat()).toHaveLength(25);
  });

  it('of growing events is sent once, day after day', async () => {
    const { run, sent } = await stage();
    const counts = [];
    for (const count of [100, 150, 150, 151]) {
      const { code, summary, stderr } = await run(events(count), 'upload', '-', '--resume');
      expect(code, stderr).toBe(0);
      counts.push([summary.alreadySent, summary.accepted]);
    }
    expect(counts).toEqual([
      [0, 100],
      [100, 50],
      [150, 0],
      [150, 1],
    ]);
    expect(sent().flat()).toHaveLength(151);
    const other = await run(events(20, 1000), 'upload', '-', '--resume');
    expect([other.code, other.summary.accepted]).toEqual([0, 20]);
  });

  it('that starts like its last run and then differs sends only the new event', async () => {
    const { run, sent, world } = await stage();
    await run(events(100), 'upload', '-', '--resume');
    const text = events(100).replace('"u70"', '"w70"');
    const { code, summary } = await run(text, 'upload', '-', '--resume');
    expect([code, summary]).toMatchObject([0, { accepted: 1, alreadySent: 99 }]);
    expect(sent()[1]).toEqual(['w70']);
    expect((await run(text, 'upload', '-', '--resume', '--again')).code).toBe(0);
    expect(readFileSync(`${world.stateDir}/ledger.ndjson`, 'utf8')).toContain('stdin (crm)');
  });

  it('does not send again what a file with operators was sent from, or a pipe of another name', async () => {
    const { run, sent, world } = await stage();
    const increments = (count: number) => ndjson(count).replace(/"n":\d+/g, '"P":{"$incr":1}');
    writeFileSync(world.path('points.ndjson'), increments(300));
    expect((await world.run(['upload', 'points.ndjson'])).code).toBe(0);
    const same = await run(increments(300), 'upload', '-', '--resume');
    expect([same.code, same.summary], same.stderr).toMatchObject([0, { resumed: 300 }]);
    const grown = await run(increments(301), 'upload', '-', '--resume');
    expect([grown.code, grown.summary], grown.stderr).toMatchObject([0, { accepted: 1 }]);
    expect(sent().flat()).toEqual(rows(301).map((n) => `u${n}`));
    const argv = ['upload', '-', '--resume', '--run-name', 'other'];
    const stdin = Readable.from([increments(301).replace('u300', 'w300')]);
    const { code, stderr } = await world.run(argv, { stdin });
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-INPUT-CHANGED')]);
    expect(sent().flat()).toHaveLength(301);
  });

  it.each<[what: string, type: string, ...argv: string[]]>([
    ['operators', 'Visits:json'],
    ['events', 'n:integer', '--type', 'event', '--event-name', 'Visit'],
  ])('is refused with other options if it was sent with %s', async (_, type, ...argv) => {
    const { run, sent } = await stage();
    const text = `identity,ts,Visits,n,m\n${rows(3)
      .map((n) => `u${n},1700000000,"{""$incr"":1}",${n},${n}\n`)
      .join('')}`;
    const upload = ['upload', '-', ...argv, '--types', type];
    const typed = ['upload', '-', ...argv, '--types', `${type},m:integer`];
    expect((await run(text, ...upload, '--resume')).code).toBe(0);
    const { code, stderr } = await run(text, ...typed, '--resume');
    expect([code, stderr]).toEqual([8, expect.stringContaining('with other options: --types')]);
    expect(sent().flat()).toHaveLength(3);
    expect((await run(text, ...typed, '--again')).code).toBe(0);
    expect((await run(text, ...typed, '--resume')).code).toBe(0);
    expect(sent().flat()).toHaveLength(6);
  });

  it.each(['--limit', 'a wrong passcode'])(
    'is refused with other options if %s ended a file after a part of its operators',
    async (end) => {
      const { run, sent, service, world } = await stage();
      const text = ndjson(30).replace(/"n":\d+/g, '"P":{"$incr":1}');
      writeFileSync(world.path('points.ndjson'), text);
      const limit = end === '--limit' ? ['--limit', '5'] : [];
      const batches = ['--chunk-size', '5', '--concurrency', '1', ...limit];
      if (end !== '--limit') await service.fault({ after: 1, times: 1, answer: { status: 401 } });
      const first = await world.run(['upload', 'points.ndjson', '--trim', ...batches]);
      expect(first.code).toBe(end === '--limit' ? 0 : 4);
      const before = sent().flat().length;
      const { code, stderr } = await run(text, 'upload', '-', '--resume');
      expect([code, stderr]).toEqual([8, expect.stringContaining('with other options: --trim')]);
      expect(sent().flat()).toHaveLength(before);
    },
  );

  it('is refused if it begins like a demerge of a file that has not finished', async () => {
    const { run, sent, world, text, argv } = await stageDemerge();
    expect((await world.run(['demerge', 'leavers.csv', ...argv])).code).toBe(4);
    const { code, stderr } = await run(text, 'demerge', '-', ...argv, '--resume');
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
    expect(sent()).toHaveLength(2);
  });

  it('that has not finished a demerge lets no file with its beginning be sent', async () => {
    const { run, sent, world, text, argv } = await stageDemerge();
    expect((await run(text, 'demerge', '-', ...argv)).code).toBe(4);
    const { code, stderr } = await world.run(['demerge', 'leavers.csv', ...argv]);
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
    expect(sent()).toHaveLength(2);
  });
});

it('allows one pipe per name', async () => {
  const { world } = await stage();
  writeFileSync(world.path('u.csv'), 'identity\nu1\n');
  const { code, stderr } = await world.run(['upload', 'u.csv', '--run-name', 'crm']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('--run-name')]);
});
