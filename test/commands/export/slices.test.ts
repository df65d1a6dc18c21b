import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { daysBetween } from '../../../src/contract/dates.js';
import {
  eachDay,
  inTurn,
  recordsPage,
  startPageServer,
  type Opening,
} from '../../support/servers/page-server.js';
import { serve } from '../../support/serve.js';
import { makeWorld, type World } from '../../support/test-environment.js';

const argv = ['export-events', '--event=A', '--from=2024-01-01', '--to=2024-03-30'];
const once = '--max-attempts=1';
const broken = { status: 500, body: 'broken' };

/** One page a day in the last month of the range, none before. */
const recent = eachDay(({ from: day }) =>
  day < 20240301 ? [] : [recordsPage(`{"ts":${day}120000,"${day}":1}`)],
);
/** Ranges without any page still answer. */
const skewed = (opening: Opening) => {
  const pages = recent(opening);
  return pages.length > 0 ? pages : [() => '{"status":"success","records":[]}'];
};

const files = (world: World) =>
  readdirSync(world.cwd).map((name) => {
    const bytes = readFileSync(world.path(name));
    return [name, (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()];
  });

/** Files of the same export with a single cursor. */
async function withOneCursor(file: string) {
  await using server = await startPageServer(skewed);
  const world = makeWorld({ env: server.env });
  expect((await world.run([...argv, '--no-split', '-o', file])).code).toBe(0);
  return files(world);
}

/** A clock by which every page takes equally long. */
function steadyClock() {
  let ms = 0;
  return { monotonic: () => (ms += 1) };
}

const spanOf = ({ from, to }: Opening) => daysBetween(from, to) + 1;

describe('D a large slice', () => {
  it.each(['out.ndjson', 'out.csv', 'out.json.gz'])(
    'is divided while other slots are idle, and the output stays the same: %s',
    async (file) => {
      await using server = await startPageServer(skewed);
      const world = makeWorld({ env: server.env });
      const { code, stdout, stderr } = await world.run([...argv, '-o', file, '--json'], {
        ...steadyClock(),
      });
      expect(code, stderr).toBe(0);
      expect(files(world)).toEqual(await withOneCursor(file));
      expect(JSON.parse(stdout)).toMatchObject({ records: 30, pages: 32 });
      expect(server.openings.length).toBeGreaterThan(4);
      expect(server.openings.map(spanOf).toSorted((a, b) => a - b)[0]).toBeLessThan(29);
      // What was read before the division is read again, and little else.
      expect(server.asked.length).toBeLessThan(50);
      expect(server.mostInFlight).toBeLessThanOrEqual(3);
    },
  );

  it.each([5, 15, 29])(
    'is divided in the same way by a resumed run, stopped at page %i from the end',
    async (page) => {
      let isBroken = true;
      await using server = await startPageServer((opening) =>
        skewed(opening).map((good, index, { length }) =>
          isBroken && length - index === Math.min(page, length) && opening.to === 20240330
            ? (next) => (isBroken ? inTurn([broken], good)(next) : good(next))
            : good,
        ),
      );
      const world = makeWorld({ env: server.env });
      const run = [...argv, '-o', 'out.csv', once];
      expect((await world.run(run, steadyClock())).code).toBe(5);
      isBroken = false;
      const asked = server.asked.length;
      const { code, stderr } = await world.run([...run, '--resume', '--concurrency=1']);
      expect(code, stderr).toBe(0);
      expect(files(world)).toEqual(await withOneCursor('out.csv'));
      expect(server.asked.length - asked).toBeLessThanOrEqual(32);
    },
  );

  it('is divided once, although the run stops before its first part is opened', async () => {
    const controller = new AbortController();
    await using server = await startPageServer((opening) => {
      // The first range of a division: it starts where the slice did, and ends sooner.
      const isFirst = server.openings.some(
        ({ from, to }) => from === opening.from && to > opening.to,
      );
      if (isFirst) controller.abort();
      return skewed(opening);
    });
    const world = makeWorld({ env: server.env });
    const run = [...argv, '-o', 'out.ndjson', '--json'];
    const { signal } = controller;
    expect((await world.run(run, { ...steadyClock(), signal })).code).toBe(130);
    const { code, stdout, stderr } = await world.run([...run, '--resume']);
    expect(code, stderr).toBe(0);
    expect(files(world)).toEqual(await withOneCursor('out.ndjson'));
    expect(JSON.parse(stdout)).toMatchObject({ records: 30 });
  });

  it('stays whole if most of its days were read', async () => {
    await using server = await startPageServer((opening) =>
      opening.to === 20240330
        ? [1, 2, 3].map((p) => recordsPage(`{"ts":2024033012000${p},"p":${p}}`))
        : skewed(opening),
    );
    const world = makeWorld({ env: server.env });
    expect((await world.run([...argv, '-o', 'out.ndjson'], steadyClock())).code).toBe(0);
    expect(server.openings).toHaveLength(3);
  });

  it.each(['"ts":"yesterday",', '', '"ts":17040672001234,'])(
    'stays whole if its records have no day: %j',
    async (ts) => {
      await using server = await startPageServer((opening) => {
        const pages = eachDay(({ from: day }) =>
          day < 20240301 ? [] : [recordsPage(`{${ts}"d":${day}}`)],
        )(opening);
        return pages.length > 0 ? pages : skewed(opening);
      });
      const world = makeWorld({ env: server.env });
      expect((await world.run([...argv, '-o', 'out.ndjson'], steadyClock())).code).toBe(0);
      expect(server.openings).toHaveLength(3);
    },
  );
});

describe('a year of a rare event', () => {
  it('takes two requests per slice and the polls of its cursor, and gives the bytes of one cursor', async () => {
    const { service, world } = await serve({ pendingPolls: 3 });
    const start = Date.UTC(2024, 0, 1) / 1000;
    const events = Array.from({ length: 1000 }, (_, n) => {
      const ts = start + n * 31_000;
      return JSON.stringify({ type: 'event', identity: `u${n % 9}`, evtName: 'E', ts });
    });
    writeFileSync(world.path('e.ndjson'), `${events.join('\n')}\n`);
    expect((await world.run(['upload', 'e.ndjson'])).code).toBe(0);
    const year = ['export-events', '--event=E', '--from=2024-01-01', '--to=2024-12-31'];
    const made = async (...flags: string[]) => {
      const since = service.requests().length;
      const { code, stderr } = await world.run([...year, ...flags, '--poll-interval=1ms']);
      expect(code, stderr).toBe(0);
      const all = service.requests().slice(since);
      const isPoll = ({ answer }: { answer: unknown }) => Object(answer).code === 2;
      return { requests: all.length, polls: all.filter(isPoll).length };
    };
    expect(await made('-o', 'parts.ndjson')).toEqual({ requests: 15, polls: 9 });
    expect(await made('--no-split', '-o', 'whole.ndjson')).toEqual({ requests: 5, polls: 3 });
    const bytes = (name: string) => readFileSync(world.path(name), 'utf8');
    expect(bytes('parts.ndjson')).toBe(bytes('whole.ndjson'));
    expect(bytes('parts.ndjson').split('\n')).toHaveLength(1001);
  });
});

describe('a resumed export', () => {
  it('keeps its slices at any concurrency', async () => {
    await using server = await startPageServer(({ from, to }) => [
      recordsPage(`{"from":${from}}`),
      inTurn([broken], recordsPage(`{"to":${to}}`)),
    ]);
    const world = makeWorld({ env: server.env });
    const run = [...argv, '-o', 'out.ndjson', once];
    for (
      let runs = 0;
      (await world.run([...run, '--resume', `--concurrency=${Math.max(1, 3 - runs)}`])).code;
      runs += 1
    )
      expect(runs).toBeLessThan(4); // one broken answer may stop the run before the others arrive
    // A slice of which no page was committed is opened again.
    const ends = new Set(server.openings.map(({ to }) => to));
    expect([...ends].toSorted((a, b) => a - b)).toEqual([20240130, 20240229, 20240330]);
    expect(readFileSync(world.path('out.ndjson'), 'utf8')).toBe(
      ['{"from":20240101}', '{"to":20240130}', '{"from":20240131}', '{"to":20240229}'].join('\n') +
        '\n{"from":20240301}\n{"to":20240330}\n',
    );
  });
});
