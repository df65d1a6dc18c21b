import {
  createWriteStream,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { EventLog, eventState } from '../../src/bulk/event-memory/event-log.js';
import { lockRun } from '../../src/files/file-lock.js';
import { startLoopbackServer } from '../support/servers/loopback-server.js';
import { recordsPage, startPageServer, type Page } from '../support/servers/page-server.js';
import { makeWorld, type World } from '../support/test-environment.js';
import { until } from '../support/until.js';
import { outcomeOf, start } from '../chaos/bin.js';
import { runMeasured } from './peak-memory.js';

// "Memory stays flat (< 150 MB) however large the input, or a single line of it": the peak of the built program.

const mostBytes = 150_000_000;

/** Takes every record, and reads no more of it than its number; answers after so many milliseconds. */
const startCountingServer = (latency: number) =>
  startLoopbackServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const processed = Buffer.concat(chunks).toString('latin1').split('"type":').length - 1;
      response.setHeader('Content-Type', 'application/json');
      const answer = JSON.stringify({ status: 'success', processed, unprocessed: [] });
      setTimeout(() => response.end(answer), latency);
    });
  });

/** Runs the program to its end; its summary, and the most memory it had, in bytes. */
async function run(world: World, argv: readonly string[], latency = 0) {
  await using server = await startCountingServer(latency);
  return await runAgainst(server.url, world, argv);
}

async function runAgainst(
  url: string,
  world: World,
  argv: readonly string[],
  feed?: (stdin: Writable) => Promise<void>,
) {
  const peakFile = world.path('peak');
  // Of this program alone: maxRSS also counts what who starts a process held at that moment.
  const atExit = `process.on('exit', () => {
    const { readFileSync, writeFileSync } = process.getBuiltinModule('node:fs');
    const [, kilobytes] = /^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
    writeFileSync(${JSON.stringify(peakFile)}, String(1024 * kilobytes));
  })`;
  const measured = `NODE_OPTIONS=--import=data:text/javascript,${encodeURIComponent(atExit)}`;
  const child = start(world, {
    url,
    argv: [...argv, '--json'],
    tracer: ['env', measured],
  });
  const [{ stdout, stderr }] = await Promise.all([outcomeOf(child), feed?.(child.stdin)]);
  const summary = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  return { summary, stderr, peak: Number(readFileSync(peakFile, 'utf8')) };
}

/** A file of so many lines, made piece by piece. */
async function write(
  path: string,
  count: number,
  line: (n: number) => string,
  {
    head = '',
    pieces = 1000,
  }: Partial<Record<'head', string | undefined> & Record<'pieces', number | undefined>> = {},
) {
  const lines = function* () {
    yield head;
    for (let n = 0; n < count; n += pieces) {
      yield Array.from({ length: Math.min(pieces, count - n) }, (_, k) => line(n + k)).join('');
    }
  };
  await pipeline(lines, createWriteStream(path));
}

const columns = Array.from({ length: 9999 }, (_, n) => n);
const note = 'a note of some length, "quoted" and all, '.repeat(3);

it.each([
  {
    what: 'upload of CSV',
    argv: ['upload', 'in.csv'],
    head: 'identity,Name,City,Note\n',
    line: (n: number) => `user-${n},Zoë,Oslo,"${note.replaceAll('"', '""')}"\n`,
    count: 300_000,
  },
  {
    what: 'upload of NDJSON',
    argv: ['upload', 'in.ndjson'],
    line: (n: number) =>
      `${JSON.stringify({ identity: `user-${n}`, type: 'profile', profileData: { note } })}\n`,
    count: 200_000,
  },
  {
    what: 'demerge, which remembers every identity',
    argv: ['demerge', 'in.csv', '--yes'],
    head: 'identity\n',
    line: (n: number) => `user-${n}\n`,
    count: 100_000,
  },
  {
    what: 'upload of one identity over and over',
    argv: ['upload', 'in.csv'],
    head: 'identity,n\n',
    line: (n: number) => `same,${n}\n`,
    count: 1000,
  },
  {
    what: 'upload of 10,000 columns, of which the service takes its time',
    argv: ['upload', 'in.csv'],
    head: `identity,${columns.map((n) => `column_${n}`).join(',')}\n`,
    line: (n: number) => `user-${n},${columns.map((at) => (at % 7 ? '' : `v${at}`)).join(',')}\n`,
    count: 1000,
    latency: 300,
  },
  {
    what: 'upload of 10,000 columns that are nearly all empty',
    argv: ['upload', 'in.csv'],
    head: `identity,${columns.map((n) => `column_${n}`).join(',')}\n`,
    line: (n: number) => `user-${n},a,b${','.repeat(9997)}\n`,
    count: 10_000,
    pieces: 100,
    latency: 300,
  },
  {
    what: 'upload of a small part of large records',
    argv: ['upload', 'in.ndjson', '--identity', 'id', '--only', 'Name'],
    line: (n: number) => `{"id":"user-${n}","Name":"Ann","Text":"${'x'.repeat(30_000)}"}\n`,
    count: 10_000,
    pieces: 100,
    latency: 300,
  },
  {
    what: 'upload of records of nearly 1 MiB, of which the service takes its time',
    argv: ['upload', 'in.ndjson'],
    line: (n: number) =>
      `{"identity":"u${n}","type":"profile","profileData":{"text":"${'x'.repeat(1_048_000)}"}}\n`,
    count: 100,
    pieces: 10,
    latency: 100,
  },
])('keeps $what within 150 MB', async ({ argv, head, line, count, pieces, latency }) => {
  const world = makeWorld();
  await write(world.path(argv[1] ?? ''), count, line, { head, pieces });
  const { summary, peak } = await run(world, argv, latency);
  expect(summary).toMatchObject({ read: count, accepted: count });
  expect(peak).toBeLessThan(mostBytes);
});

it('holds small records of one key back within 150 MB', async () => {
  const world = makeWorld();
  await write(world.path('in.txt'), 400_000, () => 'a@b.co\n');
  let requests = 0;
  await using server = await startLoopbackServer((request, response) => {
    requests += 1;
    const isLast = requests === 200;
    const answer = { status: isLast ? 'fail' : 'success', processed: 1, unprocessed: [] };
    request.resume().on('end', () => {
      response.statusCode = isLast ? 401 : 200;
      setTimeout(() => response.end(JSON.stringify(answer)), 20);
    });
  });
  const argv = 'subscribe in.txt --type email --status Unsubscribe --input-format list';
  const { summary, peak } = await runAgainst(server.url, world, argv.split(' '));
  expect(summary).toMatchObject({ read: 400_000, accepted: 199, notSent: 399_801 });
  expect(peak).toBeLessThan(mostBytes);
});

it('stops a CSV export with ever more columns with a fix, within 200 MB of memory and 2 MB of disk', async () => {
  const perPage = 1000;
  const page = (from: number): Page =>
    recordsPage(
      ...Array.from({ length: perPage }, (_, n) => `{"identity":"u","key_${from + n}":${n}}`),
    );
  await using server = await startPageServer(() =>
    Array.from({ length: 12 }, (_, n) => page(n * perPage)),
  );
  const world = makeWorld();
  const asked = ['--event=Seen', '--from=2024-01-01', '--to=2024-01-01', '--no-split'];
  const { stderr, peak } = await runAgainst(server.env['ENGAGECTL_BASE_URL'] ?? '', world, [
    'export-events',
    ...asked,
    '-o=out.csv',
  ]);
  expect(stderr).toContain('E-COLUMNS');
  expect(stderr).toContain("--columns 'a,b.c'");
  expect(peak).toBeLessThan(200_000_000);
  const left = readdirSync(world.cwd).map((name) => statSync(world.path(name)).size);
  expect(left.reduce((sum, size) => sum + size, 0)).toBeLessThan(2_000_000);
});

it('stops a CSV export at a page with a million columns within 200 MB', async () => {
  const records = Array.from({ length: 5000 }, (_, n) => {
    const members = Array.from({ length: 200 }, (_unused, m) => `"${n * 200 + m}":1`);
    return `{"identity":"u${n}","profileData":{${members.join()}}}`;
  });
  await using server = await startPageServer(() => [recordsPage(...records)]);
  const { stderr, peak } = await runAgainst(server.env['ENGAGECTL_BASE_URL'] ?? '', makeWorld(), [
    'export-events',
    '--event=Seen',
    '--from=2024-01-01',
    '--to=2024-01-01',
    '-o=out.csv',
  ]);
  expect(stderr).toContain('E-COLUMNS');
  expect(peak).toBeLessThan(200_000_000);
});

it('rejects a single line of 200 MB within 150 MB', async () => {
  const world = makeWorld();
  await write(world.path('in.ndjson'), 200_000, () => 'x'.repeat(1000), { head: '{"identity":"' });
  writeFileSync(world.path('in.ndjson'), '\n{"identity":"a","type":"profile","profileData":{}}\n', {
    flag: 'a',
  });
  const { summary, peak } = await run(world, ['upload', 'in.ndjson']);
  expect(summary).toMatchObject({ read: 2, accepted: 1, rejected: 1 });
  expect(peak).toBeLessThan(mostBytes);
});

it.each([
  ['one line', 'seed.ndjson', '{"identity":"', 'x'.repeat(1000), 60_000, 'longer than'],
  ['an array of 10,000,000 values', 'seed.json', '[', '{},'.repeat(1000), 10_000, 'seed.json:1: '],
])('refuses a seed of %s within 150 MB', async (_, name, head, text, count, message) => {
  const world = makeWorld();
  await write(world.path(name), count, () => text, { head });
  const argv = ['serve', '--port', '0', '--memory', '--seed', name];
  const { code, stderr, peak } = await runMeasured(world, argv);
  expect([code, stderr]).toEqual([8, expect.stringContaining(message)]);
  expect(peak).toBeLessThan(mostBytes);
});

it.each([[[]], [['--resume']]])(
  'sends events %j after 100,000 runs that sent other events within 150 MB',
  async (more) => {
    await using server = await startCountingServer(0);
    const world = makeWorld();
    const upload = async (name: string) => {
      const event = { identity: name, type: 'event', evtName: 'A', ts: 1_700_000_000, evtData: {} };
      writeFileSync(world.path(name), `${JSON.stringify(event)}\n`);
      return runAgainst(server.url, world, ['upload', name, ...more]);
    };
    await upload('first.ndjson');
    const ledger = path.join(world.stateDir, 'ledger.ndjson');
    type Line = { run: string; checksum: string; sources: [{ digest: string }] };
    const runs = readFileSync(ledger, 'utf8').trimEnd().split('\n');
    expect(runs).toHaveLength(2);
    const [begun, ended] = runs.map((text) => JSON.parse(text) as Line);
    const lineOf = ({ checksum: _, ...line }: Line, n: number) => {
      const digest = crc32(String(n)).toString(16).padStart(8, '0');
      const sources = line.sources.map((one) => ({ ...one, digest }));
      const json = JSON.stringify({ ...line, run: `run-${n}`, sources });
      const sum = crc32(json).toString(16).padStart(8, '0');
      return `${json.slice(0, -1)},"checksum":"${sum}"}\n`;
    };
    await write(ledger, 100_000, (n) => lineOf(begun!, n) + lineOf(ended!, n));
    const { summary, peak } = await upload('next.ndjson');
    expect(summary).toMatchObject({ read: 1, accepted: 1 });
    expect(peak).toBeLessThan(mostBytes);
  },
);

it.each([
  ['has sent', 1],
  ['is sending', 99],
])('sends events beside another process, which %s 3,000,000, within 150 MB', async (_, run) => {
  await using server = await startCountingServer(0);
  const world = makeWorld();
  const upload = async (name: string) => {
    const event = { identity: name, type: 'event', evtName: 'A', ts: 1_700_000_000, evtData: {} };
    writeFileSync(world.path(name), `${JSON.stringify(event)}\n`);
    return runAgainst(server.url, world, ['upload', name]);
  };
  await upload('first.ndjson');
  const [account = ''] = readdirSync(path.join(world.stateDir, 'events'));
  const folder = path.join(world.stateDir, 'events', account);
  const log = new EventLog(path.join(folder, 'sent-1.log'));
  const sent = new Int32Array(2000);
  for (let n = 0; n < 3000; n += 1) {
    for (let at = 0; at < sent.length; at += 1) sent[at] = Math.imul(n * 2000 + at, 2654435761);
    for (const state of [eventState.intended, eventState.sent]) log.append(state, run, sent);
  }
  log.close();
  const live = await lockRun(path.join(folder, '.live-99.lock'));
  const { summary, peak } = await upload('next.ndjson');
  live.release();
  expect(summary).toMatchObject({ read: 1, accepted: 1 });
  expect(peak).toBeLessThan(mostBytes);
});

it('sends events of a pipe while another process sends 3,000,000, within 150 MB', async () => {
  await using server = await startCountingServer(0);
  const world = makeWorld();
  const event = (n: number) =>
    `{"identity":"u${n}","type":"event","evtName":"A","ts":1700000000,"evtData":{}}\n`;
  const memory = path.join(world.stateDir, 'events');
  const isLogged = () =>
    existsSync(memory) &&
    readdirSync(memory, { recursive: true }).some((name) => String(name).endsWith('.log'));
  const feed = async (stdin: Writable) => {
    stdin.write(event(1));
    await until(isLogged, { message: 'the pipe opened the event memory' });
    const [account = ''] = readdirSync(memory);
    const log = new EventLog(path.join(memory, account, 'sent-1.log'));
    const sent = new Int32Array(2000);
    let state = 1;
    for (let n = 0; n < 3000; n += 1) {
      for (let at = 0; at < sent.length; at += 1) {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        sent[at] = state;
      }
      for (const state of [eventState.intended, eventState.sent]) log.append(state, 99, sent);
    }
    log.close();
    stdin.end(event(2));
  };
  const argv = ['upload', '-', '--input-format', 'ndjson', '--resume'];
  const { summary, peak } = await runAgainst(server.url, world, argv, feed);
  expect(summary).toMatchObject({ read: 2, accepted: 2 });
  expect(peak).toBeLessThan(mostBytes);
});
