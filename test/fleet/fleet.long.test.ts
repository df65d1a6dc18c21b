import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, type TestContext } from 'vitest';
import { RunIndex } from '../../src/fleet/account-queue.js';
import type { RunAccount } from '../../src/fleet/fleet-run.js';
import { openQueueStore, type QueueStore } from '../../src/fleet/queue-store.js';
import { FleetKey } from '../../src/fleet/signature.js';
import { findRun, runStatus, type FoundRun } from '../../src/fleet/run-status.js';
import { accountAt } from '../support/account-environment.js';
import { BinProcess } from '../support/processes/bin-process.js';
import {
  accepted,
  after,
  afterReading,
  answer,
  commit,
  startFaultServer,
  type FaultServer,
  type Received,
  type Step,
} from '../support/servers/fault-server.js';
import { cutProxy } from '../support/servers/cut-proxy.js';
import { recordsOf } from '../support/servers/record-outcomes.js';
import { recordsPage, startPageServer, type Page } from '../support/servers/page-server.js';
import {
  startPostgres,
  startRedis,
  stores,
  type TestStore,
} from '../support/processes/queue-stores.js';
import { makeWorld } from '../support/test-environment.js';
import { until } from '../support/until.js';
import { isOver, makeFleet, passcode, type Fleet, type Status } from './fleet.js';

// Whole fleets: stores, workers and commands are processes that are killed, stopped and started again. They mostly wait, so
// some of them run side by side. ENGAGECTL_FLEET_ROUNDS=10 is the long form: each worker in turn is killed so often,
// thirty days are exported, and every proof is given on every store; it says how much was sent again.

const rounds = Number(process.env['ENGAGECTL_FLEET_ROUNDS'] ?? 1);
const isLong = rounds > 1;
const perRequest = 20;
/** Prime, so that the records of a user are not in one part by their places alone. */
const users = 307;
const limit = 120_000 * rounds;

const upload = ['upload', 'users.csv', '--chunk-size', String(perRequest)];

function userOf(n: number): string {
  return `user-${n % users}`;
}

/** What was carried out, in that order. */
const sent = ({ executed }: FaultServer): number[] =>
  executed.flatMap(({ body }) =>
    recordsOf(body).map(({ profileData, evtData }) =>
      Number(((profileData ?? evtData) as { readonly n: string }).n),
    ),
  );

/**
 * Every record was carried out, the last one of a user last, and twice at most what so many requests held: those in flight when
 * something was killed, or when a worker of a busy machine lost a lease. Returns how many.
 */
function expectAll({ server, fleet, records }: Omit<Started, 'hold'>, killed: number): number {
  const all = sent(server);
  const twice = all.length - records;
  expect(new Set(all).size).toBe(records);
  expect(twice).toBeLessThanOrEqual(perRequest * (killed + fleet.leasesLost()));
  const last = new Map(all.map((n) => [userOf(n), n]));
  const wrong = [...last.values()].filter((n) => n < records - users);
  expect(wrong).toEqual([]);
  return twice;
}

interface Started {
  readonly server: FaultServer;
  readonly fleet: Fleet;
  readonly records: number;
  /** Once so many requests were carried out none is answered, so that what is done to a fleet is done in mid-run. */
  readonly hold: { at: number };
}

/** Of the long form, for people. */
function tell(text: string): void {
  if (isLong) process.stderr.write(`FLEET: ${text}\n`);
}

/** What a proof is given: a fleet, a service that takes a while for an answer, and records of so many users, in turn. */
async function start(
  store: TestStore,
  test: TestContext,
  { records = 800, holdAt = Infinity, inFlight = Infinity } = {},
): Promise<Started> {
  const hold = { at: holdAt };
  const answered: Step = async (exchange) => {
    await until(() => server.executed.length < hold.at || exchange.response.destroyed, {
      message: 'the test lets the requests go, or their worker is gone',
      deadline: limit,
    });
    await accepted()(exchange);
  };
  const server = await startFaultServer([after(20, commit(answered))], { inFlight });
  const fleet = await makeFleet(store, server.url, test);
  const lines = Array.from({ length: records }, (_, n) => `${userOf(n)},${n}`);
  writeFileSync(fleet.world.path('users.csv'), ['identity,n', ...lines, ''].join('\n'));
  return { server, fleet, records, hold };
}

/** Until so many requests were carried out. */
const executed = (server: FaultServer, requests: number): Promise<void> =>
  until(() => server.executed.length >= requests, {
    message: () => `${requests} requests were carried out, not ${server.executed.length}`,
    deadline: limit,
  });

/** The worker is known to have a shard. */
const works = ({ stderr }: BinProcess, { parts }: Status): boolean => {
  const name = /worker (\S+) takes/.exec(stderr)?.[1];
  return parts.some(({ state, worker }) => state === 'running' && worker === name);
};

describe.concurrent.each(stores)('a fleet on $name', ({ name, start: startStore }) => {
  it(
    'keeps the request budget, the order of each user and no credential, though workers are killed',
    async (test) => {
      await using store = await startStore();
      const size = isLong ? { records: 6000 * rounds } : {};
      const { server, fleet, records, hold } = await start(store, test, { ...size, holdAt: 4 });
      await using _ = server;
      const run = await fleet.submit(...upload, '--shards', '6', '--budget', '3');
      const worker = () => fleet.worker('--slots', '1');
      const workers = [worker(), worker(), worker()];
      let kills = 0;
      for (const at of isLong ? Array.from({ length: 3 * rounds }, (_, n) => n % 3) : [0]) {
        const isHeld = () => server.executed.length >= hold.at;
        await fleet.until(run, (found) => isHeld() && works(workers[at]!, found));
        workers[at]!.signal('SIGKILL');
        workers[at] = worker();
        kills += 1;
        hold.at = kills < 3 * rounds && isLong ? server.executed.length + 4 : Infinity;
      }
      const { code } = await fleet.run('budget', '2');
      expect(code).toBe(0);
      const status = await fleet.until(run, isOver);
      expect(status).toMatchObject({ state: 'done', exitCode: 0 });
      expect(status.figures).toMatchObject({ read: records, accepted: records });
      expect(server.mostInFlight).toBeLessThanOrEqual(3);
      const twice = expectAll({ server, fleet, records }, kills);
      await expectListedByNumber(store);
      await store.kill(); // while it lives, files come and go
      expect(filesWith(passcode, store.folder, fleet.workDir)).toEqual([]);
      expect(filesWith(run, store.folder, fleet.workDir)).not.toEqual([]);
      const lost = fleet.leasesLost();
      tell(
        `${name}: ${kills} kills, ${server.executed.length} requests, ${lost} leases lost, ${twice} records again`,
      );
    },
    limit,
  );

  it(
    'resumes after the store was killed and restarted',
    async (test) => {
      await using store = await startStore();
      const { server, fleet, records, hold } = await start(store, test, { holdAt: 10 });
      await using _ = server;
      const run = await fleet.submit(...upload, '--shards', '4', '--budget', '2');
      const workers = [fleet.worker(), fleet.worker()];
      await executed(server, 10);
      await store.kill();
      await until(() => workers.every(({ stderr }) => stderr.includes('waiting for the queue')), {
        message: () =>
          `the workers say that they wait: ${workers.map(({ stderr }) => stderr).join()}`,
      });
      hold.at = Infinity;
      await store.start();
      expect(await fleet.until(run, isOver)).toMatchObject({ state: 'done', exitCode: 0 });
      expect(server.mostInFlight).toBeLessThanOrEqual(2);
      const twice = expectAll({ server, fleet, records }, 2);
      tell(`${name}: the store was killed, ${twice} records again`);
    },
    limit,
  );
});

// BullMQ waits for a Redis that is not there; a PostgreSQL fails each question at once.
describe.concurrent.each(stores)('a fleet on $name', ({ start: startStore }) => {
  it(
    'does not take a store that is not there for one that is drained',
    async (test) => {
      await using store = await startStore();
      const { server, fleet, records } = await start(store, test);
      await using _ = server;
      const run = await fleet.submit(...upload, '--shards', '2');
      await store.kill();
      const worker = fleet.worker('--drain');
      await until(() => worker.stderr.includes('waiting for the queue'), {
        message: () => `the worker says that it waits: ${worker.stderr}`,
      });
      await store.start();
      expect(await fleet.until(run, isOver)).toMatchObject({ state: 'done', exitCode: 0 });
      expect(await worker.ended()).toBe(0);
      expectAll({ server, fleet, records }, 0);
    },
    limit,
  );
});

// Each queue and each worker has connections of its own, and one of them may be refused: by a PostgreSQL that starts again at
// that moment, or has no more to give. Without mercy, that queue would never connect again.
const connectionsOfWorker = 4;
describe.runIf(stores.some(({ name }) => name === 'PostgreSQL'))('a worker on PostgreSQL', () => {
  it(
    'works, and ends, though one of its connections was refused',
    async (test) => {
      await using store = await startPostgres();
      const { server, fleet, records } = await start(store, test, { records: 40 });
      await using _ = server;
      const address = new URL(store.url);
      for (let refused = 1; refused <= connectionsOfWorker; refused += 1) {
        const file = `users-${refused}.csv`;
        copyFileSync(fleet.world.path('users.csv'), fleet.world.path(file));
        await fleet.submit('upload', file, '--set', `refused=${refused}`, '--shards', '1');
        let refusals = 0;
        const proxy = await cutProxy(store.url, {
          refuses: (connection) => {
            if (connection === refused) refusals += 1;
            return connection === refused;
          },
        });
        address.port = new URL(proxy.url).port;
        const worker = fleet.worker('--drain', '--queue', address.href);
        const hasEnded = () => worker.child.exitCode !== null;
        await until(hasEnded, {
          message: `it ends without connection ${refused}`,
          deadline: 30_000,
        });
        expect([worker.child.exitCode, refusals]).toEqual([0, 1]);
        expect(sent(server)).toHaveLength(records * refused);
      }
    },
    limit,
  );

  it.each([1, 2, 3])(
    'waits for a store that ends behind its answer %i to the first question',
    async (answerOf) => {
      await using store = await startPostgres();
      const world = makeWorld();
      const env = { ENGAGECTL_QUEUE: store.url };
      expect((await world.run(['fleet', 'init'], { env })).code).toBe(0);
      let answers = 0;
      const proxy = await cutProxy(store.url, {
        lastWords: (data, connection) => {
          if (connection > 1 || !data.includes(readyForQuery)) return undefined;
          answers += 1;
          return answers === answerOf ? Buffer.concat([data, shutdownError]) : undefined;
        },
      });
      const address = new URL(store.url);
      address.port = new URL(proxy.url).port;
      const argv = ['fleet', 'work', '--work-dir', '.', '--drain', '--queue', address.href];
      const worker = new BinProcess(world, argv);
      expect([await worker.ended(), worker.stderr]).toEqual([
        0,
        expect.stringContaining('waiting for the queue: '),
      ]);
      expect(answers).toBeGreaterThanOrEqual(answerOf);
    },
    limit,
  );
});

describe.runIf(stores.some(({ name }) => name === 'Redis'))('on a Redis with 16 databases', () => {
  it.each(['/16', '?db=16', '/99999999999999999999999'])(
    'every command refuses %s, and none uses database 0',
    async (database) => {
      await using store = await startRedis();
      const env = { ...accountAt('http://127.0.0.1:1', passcode), ENGAGECTL_QUEUE: store.url };
      const world = makeWorld({ env, sleep: 'real' });
      writeFileSync(world.path('users.csv'), 'identity\nA\n');
      const submit = ['submit', 'upload', 'users.csv', '--shards', '1', '--work-dir', 'work'];
      const run = (await world.run(['fleet', ...submit])).stdout.trim();
      const other = { env: { ...env, ENGAGECTL_QUEUE: store.url + database } };
      for (const command of [['init'], ['status'], submit]) {
        const { code, stdout, stderr } = await world.run(['fleet', ...command], other);
        expect([command, code, stdout]).toEqual([command, 2, '']);
        expect(stderr).toMatch(/E-CONFIG: the queue at .* refuses database (16|1e\+23)/);
      }
      const argv = ['fleet', 'work', '--work-dir', 'work', '--drain'];
      const worker = new BinProcess(world, argv, other.env);
      await until(() => worker.stderr.includes('waiting for the queue: database'));
      worker.child.kill('SIGTERM');
      await worker.ended();
      const { stdout } = await world.run(['fleet', 'status', run, '--json']);
      expect(JSON.parse(stdout)).toMatchObject({ counts: { waiting: 1 } });
    },
    limit,
  );

  it('uses the database that the address names', async () => {
    await using store = await startRedis();
    const env = { ENGAGECTL_QUEUE: `${store.url}/15` };
    const { code, stdout, stderr } = await makeWorld({ env }).run(['fleet', 'init']);
    expect([code, stdout, stderr]).toEqual([0, '', expect.stringContaining('/15: version')]);
  });
});

/** The end of each answer of PostgreSQL, and what it says on each connection when it is stopped. */
const readyForQuery = Buffer.from('Z\0\0\0\x05I', 'latin1');
const shutdownError = ((fields: string) => {
  const head = Buffer.from('E\0\0\0\0', 'latin1');
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, Buffer.from(fields, 'latin1')]);
})('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');

// The same on whatever store: on one of them, or, in the long form, on each.
describe.concurrent.each(isLong ? stores : stores.slice(0, 1))(
  'with $name a fleet',
  ({ name, start: startStore }) => {
    it(
      'allows no action to a worker that was stopped for longer than its lease',
      async (test) => {
        await using store = await startStore();
        const { server, fleet, records, hold } = await start(store, test, { holdAt: 10 });
        await using _ = server;
        const run = await fleet.submit(...upload, '--shards', '1');
        const first = fleet.worker();
        await executed(server, 10);
        first.signal('SIGSTOP');
        hold.at = 20;
        fleet.worker();
        await executed(server, 20);
        first.signal('SIGCONT');
        const goesOn = () => server.mostInFlight > 1;
        await until(() => fleet.leasesLost() > 0 || goesOn(), {
          message: 'the first worker sends again, or has lost its lease',
          deadline: limit,
        });
        expect(server.mostInFlight).toBeLessThanOrEqual(Math.max(1, fleet.leasesLost()));
        hold.at = Infinity;
        const status = await fleet.until(run, isOver);
        expect(status).toMatchObject({ state: 'done', exitCode: 0 });
        expect(status.figures).toMatchObject({ read: records, accepted: records });
        const twice = expectAll({ server, fleet, records }, 1);
        tell(`${name}: a worker was stopped for longer than its lease, ${twice} records again`);
      },
      limit,
    );

    it(
      'sends only the missing records when the store was emptied and the run is submitted again',
      async (test) => {
        await using store = await startStore();
        const { server, fleet, records, hold } = await start(store, test, { holdAt: 30 });
        await using _ = server;
        const submit = [...upload, '--shards', '4', '--budget', '2'];
        const run = await fleet.submit(...submit);
        fleet.worker();
        await executed(server, 30);
        const before = await fleet.until(run, () => true);
        expect(before).toMatchObject({ state: 'running', counts: { running: 2 } });
        expect(before.counts['done']).toBeGreaterThan(0);
        await store.wipe();
        hold.at = Infinity;
        await store.start();
        expect((await fleet.run('init')).code).toBe(0); // a PostgreSQL has lost its tables, too
        expect(await fleet.submit(...submit)).toBe(run);
        expect(await fleet.until(run, isOver)).toMatchObject({ state: 'done', exitCode: 0 });
        const twice = expectAll({ server, fleet, records }, 2);
        tell(`${name}: the store was emptied, ${twice} records again`);
      },
      limit,
    );

    it(
      'sends nothing twice when a worker is stopped, and reports when none is left',
      async (test) => {
        await using store = await startStore();
        const { server, fleet, records, hold } = await start(store, test, { holdAt: 10 });
        await using _ = server;
        const run = await fleet.submit(...upload, '--shards', '4', '--budget', '4');
        const first = fleet.worker();
        await executed(server, 10);
        first.signal('SIGTERM');
        hold.at = Infinity;
        expect(await first.ended()).toBe(0);
        expect((await fleet.run('status', run)).code).toBe(5);
        const second = fleet.worker('--drain');
        await fleet.until(run, isOver);
        expect(await second.ended()).toBe(0);
        expectAll({ server, fleet, records }, 0);
        expect((await fleet.run('status', run)).code).toBe(0);
      },
      limit,
    );

    it(
      'sums requests, retries and bytes over all owners of a shard',
      async (test) => {
        await using store = await startStore();
        const hold = { at: 5 };
        const held: Step = async (exchange) => {
          await until(() => server.received.length < hold.at || exchange.response.destroyed, {
            message: 'the test lets the request go, or its worker is gone',
            deadline: limit,
          });
          await accepted()(exchange);
        };
        // The second request of the first two owners fails once, and is repeated before their last one.
        const script = (_: Received, index: number): Step =>
          [1, 6].includes(index) ? answer(503) : afterReading(after(50, held));
        await using server = await startFaultServer(script);
        const fleet = await makeFleet(store, server.url, test);
        const lines = Array.from({ length: 300 }, (_, n) => `${userOf(n)},${n}`);
        writeFileSync(fleet.world.path('users.csv'), ['identity,n', ...lines, ''].join('\n'));
        const run = await fleet.submit(...upload, '--shards', '1');
        const received = async (requests: number) =>
          until(() => server.received.length >= requests, {
            message: () => `${requests} requests arrive, not ${server.received.length}`,
            deadline: limit,
          });
        for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
          const worker = fleet.worker('--retry-base', '5ms');
          await received(hold.at);
          worker.signal(signal);
          if (signal === 'SIGTERM') hold.at = Infinity;
          await worker.ended();
          hold.at = signal === 'SIGKILL' ? 10 : Infinity;
        }
        fleet.worker('--retry-base', '5ms');
        const { figures } = await fleet.until(run, isOver);
        const all = {
          requests: server.received.length,
          retries: 2,
          bytesSent: server.received.reduce((sum, { body }) => sum + body.length, 0),
        };
        expect(figures).toMatchObject({ ...all, accepted: 300 });
        expect(all.requests).toBeGreaterThan(300 / perRequest + 2);
        const { stdout } = await fleet.run('collect', run, '--json');
        expect(JSON.parse(stdout)).toMatchObject({ ...all, accepted: 300 });
      },
      limit,
    );

    it.for([{ flags: [] }, { flags: ['--retry-unknown'] }])(
      'gives each event exactly one outcome, unknown rather than sent twice: $flags',
      { timeout: limit },
      async ({ flags }, test) => {
        await using store = await startStore();
        const { server, fleet, records, hold } = await start(store, test, { holdAt: 15 });
        await using _ = server;
        const events = ['--type', 'event', '--event-name', 'E', '--ts', 'now'];
        const submit = [...upload, ...events, ...flags, '--shards', '3', '--budget', '3'];
        const run = await fleet.submit(...submit);
        const first = fleet.worker();
        await executed(server, 15);
        first.signal('SIGKILL');
        hold.at = Infinity;
        fleet.worker();
        const { figures, exitCode } = await fleet.until(run, isOver);
        expect(new Set(sent(server)).size).toBe(sent(server).length);
        const other = [...upload, ...events, '--shards', '4', '--work-dir', fleet.workDir];
        expect((await fleet.run('submit', ...other)).code).toBe(8);
        const { accepted = 0, unknown = 0 } = figures;
        expect(accepted + unknown).toBe(records);
        expect(unknown).toBeLessThanOrEqual(perRequest * (3 + fleet.leasesLost()));
        tell(`${name}: events, ${accepted} accepted, ${unknown} unknown, none twice`);
        expect(unknown).toBeGreaterThan(0);
        expect(exitCode).toBe(6);
        const { stdout } = await fleet.run('collect', run, '--json');
        expect(JSON.parse(stdout)).toMatchObject({ read: records, accepted, unknown });
        expect(rejectedLines(fleet)).toHaveLength(unknown);
      },
    );

    it(
      'orders rejects like the input, and demerges each identity once',
      async (test) => {
        await using store = await startStore();
        const { server, fleet } = await start(store, test);
        await using _ = server;
        const lines = Array.from({ length: 300 }, (_, n) =>
          n % 7 === 0 ? `u"${n}` : `u${n % 100}`,
        );
        writeFileSync(fleet.world.path('users.csv'), ['identity', ...lines, ''].join('\n'));
        const demerge = ['demerge', 'users.csv', '--chunk-size', '10'];
        expect(
          (await fleet.run('submit', ...demerge, '--shards', '3', '--work-dir', 'w')).code,
        ).toBe(2);
        const noFolder = ['--yes', '--shards', '3', '--work-dir', 'users.csv'];
        expect((await fleet.run('submit', ...demerge, ...noFolder)).code).toBe(9);
        const run = await fleet.submit(...demerge, '--shards', '3', '--yes');
        expect((await fleet.run('work', '--drain')).code).toBe(0);
        const identities = server.executed.flatMap(
          ({ body }) => (JSON.parse(body.toString()) as { identities: string[] }).identities,
        );
        expect(new Set(identities).size).toBe(identities.length);
        const { code, stdout } = await fleet.run('collect', run, '--json', '--report', 'run.html');
        expect(code).toBe(3);
        const report = readFileSync(fleet.world.path('run.html'), 'utf8');
        expect(report).toContain('Shards at work');
        expect(report).toContain(hostname().slice(0, 16));
        const rate = /([\d,]+) records\/s/.exec(report)?.[1];
        expect(report).toMatch(new RegExp(`<dt>records/s</dt>\\s*<dd>${rate}</dd>`));
        const figures = JSON.parse(stdout) as Record<string, number>;
        expect(figures['accepted']! + figures['duplicates']! + figures['rejected']!).toBe(
          figures['read'],
        );
        const order = rejectedLines(fleet).map(({ line }) => line);
        expect(order.length).toBe(figures['rejected']);
        expect(order).toEqual(order.toSorted((a, b) => a - b));
        expect((await fleet.run('collect', run, '-o', 'bad.csv')).code).toBe(3);
        const alone = ['demerge', 'users.csv', '--check', '--rejects', 'alone.csv'];
        expect((await fleet.world.run(alone)).code).toBe(3);
        expect(textOf(fleet, 'bad.csv')).toBe(textOf(fleet, 'alone.csv'));
      },
      limit,
    );

    it(
      'exports the same bytes as one process, though a worker is killed',
      async (test) => {
        const pages = ({ from, to }: { readonly from: number; readonly to: number }) =>
          Array.from({ length: 12 * (to - from + 1) }, (_, at): Page => (next) => {
            const [day, page] = [from + Math.floor(at / 12), at % 12];
            const body = recordsPage(`{"d":${day},"p":${page}}`)(next) as string;
            return { body, ...(page === 6 && { until: () => isKilled }) };
          });
        let isKilled = false;
        await using store = await startStore();
        await using server = await startPageServer(pages);
        const fleet = await makeFleet(store, server.url, test);
        const days = ['--from', '2024-01-01', '--to', isLong ? '2024-01-30' : '2024-01-08'];
        const command = ['export-events', '--event', 'A', ...days, '-o', 'fleet.ndjson'];
        const run = await fleet.submit(...command, '--budget', '2');
        const first = fleet.worker();
        await until(() => server.asked.length > 8, {
          message: 'nine pages were asked for',
          deadline: limit,
        });
        first.signal('SIGKILL');
        isKilled = true;
        expect((await fleet.run('collect', run)).code).toBe(8);
        fleet.worker();
        await fleet.until(run, isOver);
        expect((await fleet.run('collect', run)).code).toBe(0);
        const alone = ['export-events', '--event', 'A', ...days, '-o', 'alone.ndjson'];
        expect((await fleet.world.run(alone)).code).toBe(0);
        const bytes = (name: string) => readFileSync(fleet.world.path(name), 'utf8');
        expect(bytes('fleet.ndjson')).toBe(bytes('alone.ndjson'));
        for (const name of ['all.csv', 'all.json.gz', 'all.ndjson.gz']) {
          const { code } = await fleet.run('collect', run, '-o', name);
          expect(code).toBe(0);
          const one = ['export-events', '--event', 'A', ...days, '-o', `one-${name}`];
          expect((await fleet.world.run(one)).code).toBe(0);
          expect(textOf(fleet, name)).toBe(textOf(fleet, `one-${name}`));
        }
        for (const name of ['all.xlsx', '-']) {
          expect((await fleet.run('collect', run, '-o', name)).code).toBe(2);
        }
        tell(`${name}: ${server.openings.length} cursors for two exports, the same bytes`);
        expect((await fleet.run('collect', run)).code).toBe(8);
      },
      limit,
    );

    it(
      'works for two accounts, each with its config profile, through many 429s',
      async (test) => {
        await using store = await startStore();
        const { server, fleet, records } = await start(store, test, { inFlight: 3 });
        await using _ = server;
        const { world } = fleet;
        for (const name of ['one', 'two']) {
          const at = ['--base-url', server.url, '--account-id', name, '--passcode-stdin'];
          const set = ['config', 'set', '--profile', name, '--region', 'r', ...at];
          await world.run(set, { stdin: `${passcode}\n` });
        }
        const runs = await Promise.all(
          ['one', 'two'].map(async (name) =>
            fleet.submit(...upload, '--shards', '3', '--budget', '2', '--profile', name),
          ),
        );
        expect(new Set(runs).size).toBe(2);
        fleet.worker('--retry-base', '5ms');
        fleet.worker('--retry-base', '5ms');
        for (const run of runs) {
          expect(await fleet.until(run, isOver)).toMatchObject({ state: 'done', exitCode: 0 });
        }
        for (const name of ['one', 'two']) {
          const own = server.executed.filter(
            ({ headers, url }) =>
              headers['x-service-account-id'] === name && url.startsWith('/1/upload'),
          );
          expectAll({ server: { ...server, executed: own }, fleet, records }, 0);
        }
      },
      limit,
    );

    it.for([
      ['that was refused', 'identity,n\nu1,1\n', /E-CREDENTIALS: .*: no ada…/],
      ['of a file without a header', 'ada.lovelace@mail.example,x\nu1,1\n', /has \\"ada…/],
    ] as const)(
      'prints no address in the error of a failed shard %s',
      { timeout: limit },
      async ([, text, shown], test) => {
        await using store = await startStore();
        const error = 'no ada.lovelace@mail.example';
        await using server = await startFaultServer([answer(401, { status: 'fail', error })]);
        const fleet = await makeFleet(store, server.url, test);
        writeFileSync(fleet.world.path('users.csv'), text);
        const run = await fleet.submit(...upload, '--shards', '1');
        await fleet.run('work', '--drain');
        const [part] = (await fleet.until(run, isOver)).parts;
        expect(part).toMatchObject({ state: 'failed' });
        expect(JSON.stringify(part)).toMatch(shown);
        expect(JSON.stringify(part)).not.toContain('lovelace');
      },
    );

    it('reports why a shard fails while its status is read', async (test) => {
      await using store = await startStore();
      const fleet = await makeFleet(store, 'http://127.0.0.1:1', test);
      writeFileSync(fleet.world.path('users.csv'), 'identity,n\nu1,1\n');
      const run = await fleet.submit(...upload, '--shards', '1');
      const queue = await openQueueStore(store.url, { waitForStore: false });
      const keyOf = async (of: RunAccount) => new FleetKey({ ...of, passcode });
      const known = await findRun(queue, run, {
        workDir: fleet.workDir,
        keyOf,
        runtime: fleet.world.runtime(),
      });
      for (const name of ['getJob', 'getJobState'] as const) {
        const look = known.lane[name].bind(known.lane) as (id: string) => Promise<never>;
        known.lane[name] = async (id: string) => {
          const found = await look(id);
          await failShard(queue, known);
          return found;
        };
      }
      const found = await runStatus(queue, known);
      const failed = { state: 'failed', error: 'E-CREDENTIALS: no', exitCode: 4 };
      if (found.state === 'failed') expect(found.parts).toMatchObject([failed]);
      expect(await runStatus(queue, known)).toMatchObject({ state: 'failed', parts: [failed] });
      await queue.close();
    });

    it(
      'cancels and retries',
      async (test) => {
        await using store = await startStore();
        const { server, fleet, records, hold } = await start(store, test, { holdAt: 5 });
        await using _ = server;
        const run = await fleet.submit(...upload, '--shards', '4', '--budget', '1');
        fleet.worker();
        await executed(server, 5);
        expect((await fleet.run('cancel', run)).code).toBe(0);
        hold.at = Infinity;
        expect(await fleet.until(run, isOver)).toMatchObject({ state: 'cancelled', exitCode: 130 });
        expect(server.executed.length).toBeLessThan(records / perRequest);
        expect((await fleet.run('retry', run)).code).toBe(0);
        expect(await fleet.until(run, isOver)).toMatchObject({ state: 'done', exitCode: 0 });
        expectAll({ server, fleet, records }, 0);
        const late = await fleet.run('cancel', run);
        expect([late.code, late.stderr]).toEqual([
          0,
          expect.stringContaining('nothing was canceled'),
        ]);
        expect(await fleet.until(run, isOver)).toMatchObject({ state: 'done', exitCode: 0 });
      },
      limit,
    );
  },
);

/** A run whose id is a number is found: BullMQ takes no such ids. */
async function expectListedByNumber({ url }: TestStore): Promise<void> {
  const queue = await openQueueStore(url, { waitForStore: false });
  const lists = new RunIndex(queue);
  const listed = { run: '123456789012', workDir: '/shared/fleet', lane: 'a-upload' };
  await lists.addRun(listed);
  expect(await lists.run(listed.run)).toEqual(listed);
  expect(await lists.runs()).toContainEqual(listed);
  await queue.close();
}

/** A worker comes, whose one shard fails; nothing where it has failed before. */
async function failShard(queue: QueueStore, { lane }: FoundRun): Promise<void> {
  if ((await queue.queue(lane.name).getFailedCount()) > 0) return;
  const no = () => undefined;
  const settings = { name: 'w', slots: 1, lease: 3000, renewed: no, refused: no };
  const monotonic = () => performance.now();
  const failing = async () => Promise.reject(queue.failure('E-CREDENTIALS: no'));
  const worker = queue.worker(lane.name, failing, { ...settings, monotonic });
  await new Promise<void>((resolve) => void worker.once('failed', () => resolve()));
  await worker.close();
}

it.each(['redis://127.0.0.1:1', 'postgres://fleet@127.0.0.1:1/fleet'])(
  'waits for an unavailable store, reports it once, and stops on request: %s',
  async (url) => {
    const worker = new BinProcess(makeWorld(), ['fleet', 'work', '--work-dir', '.'], {
      ENGAGECTL_QUEUE: url,
    });
    const waits = () => worker.stderr.match(/waiting for the queue: .*ECONNREFUSED/g) ?? [];
    await until(() => waits().length > 0, { message: 'it says that it waits', deadline: limit });
    worker.signal('SIGTERM');
    expect(await worker.ended()).toBe(0);
    expect(waits()).toHaveLength(1);
  },
);

/** The files that hold a text. */
function filesWith(text: string, ...folders: readonly string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => path.join(folder, name))
      .filter((name) => statSync(name).isFile())
      .filter((name) => readFileSync(name).includes(text)),
  );
}

/** Of a file that may be gzipped. */
function textOf({ world }: Fleet, name: string): string {
  const bytes = readFileSync(world.path(name));
  return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
}

/** None where nothing was rejected. */
function rejectedLines({ world }: Fleet): { line: number }[] {
  const file = world.path('users.csv.rejects.ndjson');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return lines.filter(Boolean).map((line) => JSON.parse(line) as { line: number });
}
