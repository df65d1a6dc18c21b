import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { expect, it } from 'vitest';
import { startLoopbackServer } from '../support/loopback-server.js';
import { makeWorld, type World } from '../support/world.js';
import { outcomeOf, start } from './bin.js';

// "Memory stays flat (< 150 MB) however large the input, or a single line of it": the peak of the built program.

const mostBytes = 150_000_000;

/** Takes every record, and reads no more of it than its number. */
const startCountingServer = () =>
  startLoopbackServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const processed = Buffer.concat(chunks).toString('latin1').split('"type":').length - 1;
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ status: 'success', processed, unprocessed: [] }));
    });
  });

/** Runs the program to its end; its summary, and the most memory it had, in bytes. */
async function run(world: World, argv: readonly string[]) {
  await using server = await startCountingServer();
  const peakFile = world.path('peak');
  const atExit = `process.on('exit', () => process.getBuiltinModule('node:fs').writeFileSync(
    ${JSON.stringify(peakFile)}, String(1024 * process.resourceUsage().maxRSS)))`;
  const measured = `NODE_OPTIONS=--import=data:text/javascript,${encodeURIComponent(atExit)}`;
  const child = start(world, {
    url: server.url,
    argv: [...argv, '--json'],
    tracer: ['env', measured],
  });
  const { stdout } = await outcomeOf(child);
  const summary = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  return { summary, peak: Number(readFileSync(peakFile, 'utf8')) };
}

/** A file of so many lines, made piece by piece. */
async function write(path: string, count: number, line: (n: number) => string, head = '') {
  const lines = function* () {
    yield head;
    for (let n = 0; n < count; n += 1000) {
      yield Array.from({ length: Math.min(1000, count - n) }, (_, k) => line(n + k)).join('');
    }
  };
  await pipeline(lines, createWriteStream(path));
}

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
])('$what stays within 150 MB', async ({ argv, head, line, count }) => {
  const world = makeWorld();
  await write(world.path(argv[1] ?? ''), count, line, head);
  const { summary, peak } = await run(world, argv);
  expect(summary).toMatchObject({ read: count, accepted: count });
  expect(peak).toBeLessThan(mostBytes);
});

it('a single line of 200 MB is rejected within 150 MB', async () => {
  const world = makeWorld();
  await write(world.path('in.ndjson'), 200_000, () => 'x'.repeat(1000), '{"identity":"');
  writeFileSync(world.path('in.ndjson'), '\n{"identity":"a","type":"profile","profileData":{}}\n', {
    flag: 'a',
  });
  const { summary, peak } = await run(world, ['upload', 'in.ndjson']);
  expect(summary).toMatchObject({ read: 2, accepted: 1, rejected: 1 });
  expect(peak).toBeLessThan(mostBytes);
});
