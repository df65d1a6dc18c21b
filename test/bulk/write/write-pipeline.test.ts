import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  accept,
  after,
  answer,
  commit,
  html,
  reset,
  startFaultServer,
  throttle,
  type FaultServer,
  type Script,
  type Step,
} from '../../support/servers/fault-server.js';
import { judge, recordsOf } from '../../support/servers/record-outcomes.js';
import { makeWorld, type World } from '../../support/test-environment.js';
import { accountAt } from '../../support/account-environment.js';
import { randomOf, seeds } from '../../chaos/random.js';

interface WriteSummary {
  readonly [figure: string]: unknown;
  readonly read: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly notSent: number;
  readonly resumed: number;
  readonly duplicates: number;
  readonly requests: number;
  readonly exitCode: number;
}

interface Reject {
  readonly source: string;
  readonly line: number;
  readonly stage: string;
  readonly code?: number;
  readonly error: string;
  readonly record: unknown;
}

/** A world whose account is a fault server. */
async function serve(script: Script, options?: { readonly inFlight: number }) {
  const server = await startFaultServer(script, options);
  const world = makeWorld({
    env: accountAt(server.url, 'seeded-secret-7f3a'),
  });
  return { server, world, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Runs a write command with --json, and checks what must hold after every run. */
async function run(world: World, argv: readonly string[], options = {}) {
  const { code, stdout, stderr } = await world.run([...argv, '--json'], options);
  expect(`${stdout}${stderr}`).not.toContain('seeded-secret-7f3a');
  const summary = JSON.parse(stdout) as WriteSummary;
  const { read, accepted, rejected, unknown, notSent, resumed, duplicates } = summary;
  expect(accepted + rejected + unknown + notSent + resumed + duplicates).toBe(read);
  expect(summary.exitCode).toBe(code);
  return { code, summary, stderr };
}

const rejectsOf = (world: World, file = 'users.csv.rejects.ndjson'): Reject[] =>
  readFileSync(world.path(file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Reject);

function profiles(world: World, count: number, identity = (n: number) => `user-${n}`): string {
  const rows = Array.from({ length: count }, (_, n) => `${identity(n)},${n}\n`);
  writeFileSync(world.path('users.csv'), `identity,Seq\n${rows.join('')}`);
  return 'users.csv';
}

const identitiesOf = ({ received }: Pick<FaultServer, 'received'>) =>
  received.flatMap(({ body }) => recordsOf(body).map(({ identity }) => String(identity)));

describe('order', () => {
  it('keeps the records of one identity in input order at full concurrency', async () => {
    const random = randomOf(seeds(1)[0]!);
    const open = new Set<string>();
    const clashes: string[] = [];
    const watched: Step = async (exchange) => {
      await exchange.read();
      const identities = recordsOf(exchange.received.body).map(({ identity }) => String(identity));
      for (const identity of identities) {
        if (open.has(identity)) clashes.push(identity);
        open.add(identity);
      }
      for (let turns = random.below(200); turns > 0; turns -= 1) await turn();
      for (const identity of identities) open.delete(identity);
      await accept()(exchange);
    };
    await using served = await serve([watched]);
    const { world, server } = served;
    const hot = (n: number) => (n % 2 === 0 ? `hot-${(n / 2) % 40}` : `user-${n}`);
    const file = profiles(world, 8000, hot);

    const { code, summary } = await run(world, ['upload', file, '--chunk-size', '100']);

    expect({ code, accepted: summary.accepted, clashes }).toEqual({
      code: 0,
      accepted: 8000,
      clashes: [],
    });
    const last = new Map<unknown, number>();
    for (const { identity, Seq } of server.executed.flatMap(({ body }) =>
      recordsOf(body).map(({ identity, profileData }) => ({
        identity,
        Seq: Number((profileData as { Seq: string }).Seq),
      })),
    )) {
      expect(Seq).toBeGreaterThan(last.get(identity) ?? -1);
      last.set(identity, Seq);
    }
  });

  it.each([
    ['email', 'ann@example.test', 'Ann@Example.test'],
    ['whatsapp', '4915112345678', '+4915112345678'],
  ])('sends two spellings of one %s address one after the other', async (type, first, second) => {
    await using served = await serve([accept()]);
    const file = served.world.path('s.csv');
    writeFileSync(
      file,
      `type,value,status\n${type},${first},Resubscribe\n${type},${second},Unsubscribe\n`,
    );
    await run(served.world, ['subscribe', file]);
    expect(served.server.mostInFlight).toBe(1);
    expect(served.server.received.map(({ body }) => recordsOf(body))).toMatchObject([
      [{ value: first }],
      [{ value: second }],
    ]);
  });

  it('sends one record at a time if all have the same identity', async () => {
    await using served = await serve([accept()]);
    const file = profiles(served.world, 50, () => 'only-one');
    const { summary } = await run(served.world, ['upload', file]);
    expect([summary.accepted, summary.requests, served.server.mostInFlight]).toEqual([50, 50, 1]);
  });

  it('sends full requests when no identity repeats', async () => {
    await using served = await serve([accept()]);
    const file = profiles(served.world, 2500);
    await run(served.world, ['upload', file]);
    const sizes = served.server.received.map(({ body }) => recordsOf(body).length);
    expect(sizes.toSorted((a, b) => a - b)).toEqual([500, 1000, 1000]);
  });

  it.each([
    [
      'typed.ndjson',
      [
        '{"type":"profile","identity":"ann","profileData":{"x":1}}',
        '{"type":"profile","objectId":"d","identity":"ann","profileData":{"City":"Old"}}',
        '{"type":"profile","objectId":"d","profileData":{"City":"New"}}',
      ],
      [],
    ],
    [
      'flat.ndjson',
      ['{"user":"ann"}', '{"user":"ann","device":"d","City":"Old"}', '{"device":"d","City":"New"}'],
      ['--identity', 'user', '--object-id', 'device'],
    ],
    [
      'users.csv',
      ['user,device,City', 'ann,,', 'ann,d,Old', ',d,New'],
      ['--identity', 'user', '--object-id', 'device'],
    ],
  ])('counts each key of a record with several (%s)', async (file, lines, options) => {
    await using served = await serve([accept()]);
    const { world, server } = served;
    writeFileSync(world.path(file), `${lines.join('\n')}\n`);
    const { summary } = await run(world, ['upload', file, ...options]);
    const cities = server.executed.map(({ body }) =>
      recordsOf(body).map(({ profileData }) => (profileData as { City?: string }).City),
    );
    expect({ accepted: summary.accepted, cities }).toEqual({
      accepted: 3,
      cities: [[undefined], ['Old'], ['New']],
    });
  });

  it('keeps the records of each of several keys in input order at full concurrency', async () => {
    const random = randomOf(seeds(1)[0]!);
    const keyed = (record: Readonly<Record<string, unknown>>) =>
      ['identity', 'objectId']
        .filter((part) => record[part] !== undefined)
        .map((part) => `${part} ${record[part] as string}`);
    const open = new Set<string>();
    const clashes: string[] = [];
    const watched: Step = async (exchange) => {
      await exchange.read();
      const keys = recordsOf(exchange.received.body).flatMap(keyed);
      clashes.push(...keys.filter((key, at) => open.has(key) || keys.indexOf(key) !== at));
      for (const key of keys) open.add(key);
      for (let turns = random.below(100); turns > 0; turns -= 1) await turn();
      for (const key of keys) open.delete(key);
      await accept()(exchange);
    };
    await using served = await serve([watched]);
    const { world, server } = served;
    const lines = Array.from({ length: 4000 }, (_, n) => {
      const keys = [{ identity: `u${random.below(900)}` }, { objectId: `d${random.below(900)}` }];
      const [one, other] = keys;
      const key = random.below(3) === 0 ? { ...one, ...other } : keys[random.below(2)];
      return JSON.stringify({ type: 'profile', ...key, profileData: { Seq: n } });
    });
    writeFileSync(world.path('users.ndjson'), lines.join('\n'));

    const { code, summary } = await run(world, ['upload', 'users.ndjson', '--chunk-size', '50']);

    expect({ code, accepted: summary.accepted, clashes }).toEqual({
      code: 0,
      accepted: 4000,
      clashes: [],
    });
    const last = new Map<string, number>();
    for (const record of server.executed.flatMap(({ body }) => recordsOf(body))) {
      const { Seq } = record['profileData'] as { Seq: number };
      for (const key of keyed(record)) {
        expect(Seq).toBeGreaterThan(last.get(key) ?? -1);
        last.set(key, Seq);
      }
    }
  });

  it('is not kept with --order none', async () => {
    await using served = await serve([accept()]);
    const file = profiles(served.world, 50, () => 'only-one');
    const { summary } = await run(served.world, ['upload', file, '--order', 'none']);
    expect([summary.accepted, summary.requests]).toEqual([50, 1]);
  });
});

describe('--chunk-bytes', () => {
  /** Bodies of the requests that an upload makes, in the order of its records. */
  async function bodiesOf(file: string, lines: readonly string[], argv: readonly string[]) {
    await using served = await serve([accept()]);
    writeFileSync(served.world.path(file), lines.join(''));
    const all = ['upload', file, '--concurrency', '1', ...argv];
    const { code } = await run(served.world, all);
    expect(code).toBe(0);
    return served.server.received.map(({ body }) => body);
  }
  const sizesOf = (bodies: readonly Buffer[]) => bodies.map((body) => recordsOf(body).length);
  const row = (n: number, length: number) => `user-${n},${'x'.repeat(length)}\n`;
  const header = 'identity,Note\n';

  it('includes records that fit to the byte, and no more', async () => {
    const lines = [header, ...Array.from({ length: 6 }, (_, n) => row(n, 40))];
    const [whole] = await bodiesOf('users.csv', lines, []);
    const limit = whole!.length;
    const sent = async (bytes: number) =>
      sizesOf(await bodiesOf('users.csv', lines, ['--chunk-bytes', `${bytes}`]));
    expect(await sent(limit)).toEqual([6]);
    expect(await sent(limit - 1)).toEqual([5, 1]);
  });

  it.each(['key', 'none'])(
    'is used up by every next record that fits, and never exceeded, with --order %s',
    async (order) => {
      const lengths = Array.from({ length: 400 }, (_, n) => (n * 37) % 150);
      const lines = [header, ...lengths.map((length, n) => row(n, length))];
      const bytes = 1000;
      const argv = ['--chunk-bytes', `${bytes}`, '--order', order];
      const bodies = await bodiesOf('users.csv', lines, argv);
      expect(bodies.flatMap((body) => recordsOf(body).map(({ identity }) => identity))).toEqual(
        lengths.map((_, n) => `user-${n}`),
      );
      for (const [index, body] of bodies.entries()) {
        expect(body.length).toBeLessThanOrEqual(bytes);
        const [next] = index + 1 < bodies.length ? recordsOf(bodies[index + 1]!) : [];
        if (!next) continue;
        const withNext = body.length + ','.length + Buffer.byteLength(JSON.stringify(next));
        expect(withNext).toBeGreaterThan(bytes);
      }
    },
  );

  it('limits requests of records that were held back', async () => {
    // All but the first ten records wait for these, and become ready together.
    const lines = [header, ...Array.from({ length: 60 }, (_, n) => row(n % 10, 100))];
    const bodies = await bodiesOf('users.csv', lines, ['--chunk-bytes', '700']);
    expect(sizesOf(bodies).reduce((sum, size) => sum + size)).toBe(60);
    for (const body of bodies) expect(body.length).toBeLessThanOrEqual(700);
  });

  it('does not change the record limit of requests with held records', async () => {
    const lines = [header, ...Array.from({ length: 60 }, (_, n) => row(n % 10, 10))];
    const sizes = sizesOf(await bodiesOf('users.csv', lines, ['--chunk-size', '7']));
    expect(sizes.reduce((sum, size) => sum + size)).toBe(60);
    expect(Math.max(...sizes)).toBe(7);
  });

  it('sends a longer record by itself', async () => {
    const lines = [header, row(0, 10), row(1, 2000), row(2, 10), row(3, 10)];
    const bodies = await bodiesOf('users.csv', lines, ['--chunk-bytes', '1000']);
    expect(sizesOf(bodies)).toEqual([1, 1, 2]);
  });
});

describe('a request', () => {
  it('contains either profiles or events, and only valid records', async () => {
    await using served = await serve([accept()]);
    const event = (id: string) =>
      `{"identity":"${id}","type":"event","evtName":"Visit","ts":1700000000}`;
    const profile = (id: string) => `{"identity":"${id}","type":"profile","profileData":{"A":"1"}}`;
    const invalid = '{"identity":"","type":"profile","profileData":{"A":"1"}}';
    const lines = [profile('a'), event('b'), event('c'), profile('d'), invalid, profile('e')];
    writeFileSync(served.world.path('in.ndjson'), `${lines.join('\n')}\n`);
    const { summary } = await run(served.world, ['upload', 'in.ndjson']);
    expect([summary.accepted, summary.rejected]).toEqual([5, 1]);
    const requests = served.server.received.map(({ body }) =>
      recordsOf(body).map(({ type, identity }) => `${String(type)} ${String(identity)}`),
    );
    const byFirst = (a: readonly string[], b: readonly string[]) => (a[0]! < b[0]! ? -1 : 1);
    expect(requests.toSorted(byFirst)).toEqual([
      ['event b', 'event c'],
      ['profile a', 'profile d', 'profile e'],
    ]);
  });
});

describe('a batch refused as a whole', () => {
  const poison =
    (status: number): Step =>
    async (exchange) => {
      await exchange.read();
      const guilty = recordsOf(exchange.received.body).some(
        ({ identity }) => identity === 'user-777',
      );
      const refusal = answer(status, { status: 'fail', error: 'Malformed request', code: status });
      await (guilty ? refusal : accept())(exchange);
    };

  it.each([400, 413])('by %i is bisected to find the invalid record', async (status) => {
    await using served = await serve([poison(status)]);
    const file = profiles(served.world, 1000);
    const { code, summary } = await run(served.world, ['upload', file]);
    expect({ code, accepted: summary.accepted, rejected: summary.rejected }).toEqual({
      code: 3,
      accepted: 999,
      rejected: 1,
    });
    expect(summary.requests).toBeLessThan(2 + 2 * 11);
    expect(rejectsOf(served.world)).toMatchObject([
      { source: 'users.csv', line: 779, stage: 'service', code: status },
    ]);
    const executed = served.server.executed.flatMap(({ body }) => recordsOf(body));
    expect(new Set(executed.map(({ identity }) => identity)).size).toBe(executed.length);
  });

  describe.each([400, 413])('by %i', (status) => {
    const refusal = answer(status, { status: 'fail', error: 'Malformed request', code: status });
    const unavailable = answer(503, { status: 'fail', error: 'unavailable', code: 503 });
    /** A 400 may pass, so the whole batch is sent twice before it is split. */
    const whole: readonly Step[] = status === 400 ? [refusal, refusal] : [refusal];
    const send = async (halves: readonly Step[]) => {
      const script = [...whole, ...halves] as [Step, ...Step[]];
      await using served = await serve(script);
      const file = profiles(served.world, 4);
      const { code, summary } = await run(served.world, ['upload', file, '--max-attempts', '3']);
      const { accepted, rejected } = summary;
      return { code, accepted, rejected, requests: summary.requests - whole.length };
    };

    it('counts one failed attempt for each half: one more failure is retried', async () => {
      const halves = [unavailable, accept(), unavailable, accept()];
      expect(await send(halves)).toEqual({ code: 0, accepted: 4, rejected: 0, requests: 4 });
    });

    it('counts one failed attempt for each half: the second failure of three is the last', async () => {
      const first = [unavailable, unavailable, accept()];
      expect(await send(first)).toMatchObject({ code: 5, accepted: 0, requests: 2 });
      const second = [accept(), unavailable, unavailable, accept()];
      expect(await send(second)).toMatchObject({ code: 5, accepted: 2, requests: 3 });
    });

    it('splits a refused half at once', async () => {
      const halves = [refusal, refusal, accept(), accept()];
      expect(await send(halves)).toEqual({ code: 3, accepted: 3, rejected: 1, requests: 4 });
    });
  });

  it('stops the run after two batches with only invalid records', async () => {
    await using served = await serve([answer(413, { status: 'fail', error: 'no', code: 413 })]);
    const file = profiles(served.world, 40);
    const argv = ['upload', file, '--chunk-size', '10', '--concurrency', '1'];
    const { code, summary } = await run(served.world, argv);
    expect({ code, notSent: summary.notSent }).toMatchObject({ code: 7 });
    expect(summary.rejected).toBeGreaterThanOrEqual(20);
  });
});

describe('D inconsistent responses', () => {
  const done = { status: 'success', processed: 2, unprocessed: [] };
  const lies: [string, object][] = [
    ['too few processed', { status: 'success', processed: 1, unprocessed: [] }],
    ['a success that processed none', { status: 'success', processed: 0, unprocessed: [] }],
    ['too many processed', { status: 'success', processed: 99, unprocessed: [] }],
    ['a failure that processed some and names no record', { status: 'fail', processed: 1 }],
    [
      'a failure that processed some, with an empty list',
      { status: 'fail', processed: 1, unprocessed: [] },
    ],
    ['a failure that processed all', { status: 'fail', processed: 2, unprocessed: [] }],
    ['a success with an error', { ...done, code: 500, error: 'nothing was done' }],
    ['a success with the code of an error', { ...done, code: 503 }],
    ['a success with the text of an error', { ...done, error: 'nothing was done' }],
    [
      'a partial success with an error that names no record',
      { ...done, status: 'partial', error: 'nothing was done' },
    ],
    ['a number beyond the request', lie('Skipped record number : 99')],
    ['the number behind the last', lie('Skipped record number : 3')],
    [
      'a number beyond the request in an entry that echoes a record of it',
      {
        status: 'partial',
        processed: 1,
        unprocessed: [
          {
            ...entry('Skipped record number : 99'),
            record: { identity: 'user-1', type: 'profile' },
          },
        ],
      },
    ],
    ['number 0', lie('Skipped record number : 0')],
    [
      'a number before text with another number',
      lie('Skipped record number : 1, identity "record number : 2"'),
    ],
    ['a number with a thousands separator', lie('Skipped record number : 1,000')],
    ['a number that is none of a record', lie('Skipped record number : 1e3')],
    ['an entry that names nothing', lie('Phone is not valid.')],
    [
      'the same record twice',
      {
        status: 'partial',
        processed: 0,
        unprocessed: [entry('Skipped record number : 1'), entry('Skipped record number : 1')],
      },
    ],
  ];
  function entry(error: string) {
    return { status: 'fail', code: 516, error, record: { identity: 'nobody' } };
  }
  function lie(error: string) {
    return { status: 'partial', processed: 1, unprocessed: [entry(error)] };
  }

  it.each(lies)('%s: idempotent records are resent in halves', async (_name, body) => {
    const honestAlone: Step = async (exchange) => {
      await exchange.read();
      const size = recordsOf(exchange.received.body).length;
      await (size > 1 ? commit(answer(200, body)) : accept())(exchange);
    };
    await using served = await serve([honestAlone]);
    const { code, summary } = await run(served.world, ['upload', profiles(served.world, 2)]);
    expect([code, summary.accepted, summary.requests]).toEqual([0, 2, 3]);
  });

  it.each([
    ['profiles', [], { code: 3, accepted: 2, rejected: 1, unknown: 0 }, [[3, 'service']]],
    [
      'events',
      ['--type', 'event', '--event-name', 'Visit'],
      { code: 6, accepted: 0, rejected: 0, unknown: 3 },
      [
        [2, 'unknown'],
        [3, 'unknown'],
        [4, 'unknown'],
      ],
    ],
  ])(
    'a number beside the record of another user of the request: no other of the %s is rejected',
    async (_name, flags, counts, rejects) => {
      const countsFromZero: Step = async (exchange) => {
        await exchange.read();
        const records = recordsOf(exchange.received.body) as { identity: string }[];
        const at = records.findIndex(({ identity }) => identity === 'bob');
        const error = `Email is not valid. Skipped record number : ${at === 0 ? 1 : at}`;
        const unprocessed = at < 0 ? [] : [{ ...entry(error), record: records[at] }];
        const processed = records.length - unprocessed.length;
        await commit(answer(200, { status: 'partial', processed, unprocessed }))(exchange);
      };
      await using served = await serve([countsFromZero]);
      const lines = [
        'identity,ts,Note',
        'ann,1700000000,a',
        'bob,1700000000,b',
        'cid,1700000000,c',
      ];
      writeFileSync(served.world.path('users.csv'), `${lines.join('\n')}\n`);
      const { code, summary } = await run(served.world, ['upload', 'users.csv', ...flags]);
      const { accepted, rejected, unknown } = summary;
      expect({ code, accepted, rejected, unknown }).toEqual(counts);
      expect(rejectsOf(served.world).map(({ line, stage }) => [line, stage])).toEqual(rejects);
    },
  );

  /** Uploads two events that the service answers so; none is known to be accepted. */
  async function expectUnknownEvents(body: string | object) {
    await using served = await serve([commit(answer(200, body))]);
    writeFileSync(served.world.path('users.csv'), 'identity,ts\na,1700000000\nb,1700000000\n');
    const argv = ['upload', 'users.csv', '--type', 'event', '--event-name', 'Visit'];
    const { code, summary } = await run(served.world, argv);
    expect({ code, unknown: summary.unknown, requests: summary.requests }).toEqual({
      code: 6,
      unknown: 2,
      requests: 1,
    });
    return served.world;
  }

  it.each(lies)('%s: events become unknown and are sent once', async (_name, body) => {
    const world = await expectUnknownEvents(body);
    expect(rejectsOf(world).map(({ stage, line }) => [stage, line])).toEqual([
      ['unknown', 2],
      ['unknown', 3],
    ]);
  });

  it.each([
    { code: 0, error: null },
    { code: 200, error: '' },
    { code: null, error: [] },
  ])('no error is in %j', async (members) => {
    await using served = await serve([commit(answer(200, { ...done, ...members }))]);
    const { code, summary } = await run(served.world, ['upload', profiles(served.world, 2)]);
    expect([code, summary.accepted, summary.requests]).toEqual([0, 2, 1]);
  });

  it('names the error beside a success in the rejects file, without the passcode', async () => {
    const error = 'seeded-secret-7f3a is locked';
    const world = await expectUnknownEvents({ ...done, code: 500, error });
    expect(rejectsOf(world)[0]?.error).toBe(
      `the service's answer does not add up: status "success", but code 500: [passcode] is locked`,
    );
  });

  it.each([
    ['', '{"status":"success","processed":1,"processed":2,"unprocessed":[]}'],
    [
      ' of an unprocessed record',
      '{"status":"partial","processed":1,"unprocessed":[{"code":515,"error":"Skipped record number : 1","error":"Skipped record number : 2"}]}',
    ],
  ])('that repeat a member%s prove nothing: events become unknown', async (_, body) => {
    await expectUnknownEvents(body);
  });

  it('with a record number beyond the batch accept no record', async () => {
    const behind = { status: 'fail', code: 515, error: 'Skipped record number : 4', record: {} };
    const body = { status: 'partial', processed: 2, unprocessed: [behind] };
    await using served = await serve([commit(answer(200, body))]);
    writeFileSync(
      served.world.path('e.csv'),
      'identity,ts\na,1700000000\nb,1700000000\nc,1700000000\n',
    );
    const argv = ['upload', 'e.csv', '--type', 'event', '--event-name', 'Visit'];
    const { code, summary } = await run(served.world, argv);
    expect([code, summary.accepted, summary.unknown, summary.requests]).toEqual([6, 0, 3, 1]);
  });

  // Contract §1: unknown outcomes (6) are more serious than what stopped the run, a broken answer (7) or a failure.
  it.each([
    ['answers that do not add up', answer(200, { status: 'success', processed: 77 }), []],
    ['no answers', commit(reset()), ['--type', 'event', '--event-name', 'Visit', '--ts', 'now']],
  ])(
    'stop the run after three consecutive unknown batches by %s, with exit 6',
    async (_why, step, events) => {
      await using served = await serve([step]);
      const one = ['--chunk-size', '1', '--concurrency', '1'];
      const argv = ['upload', profiles(served.world, 100), ...events, ...one];
      const { code, summary, stderr } = await run(served.world, argv);
      expect([code, stderr]).toEqual([6, expect.stringContaining('"id":"E-UNKNOWN"')]);
      expect(stderr).toContain('three consecutive batches ended with unknown outcomes');
      // also with --quiet, which prints the error only
      expect(stderr).toMatch(/"fix":"[^"]*; to send the rest: [^"]* runs resume /);
      // The next request may be on its way when the third answer is judged.
      expect([3, 4]).toContain(summary.unknown);
      expect(summary.notSent).toBe(100 - summary.unknown);
    },
  );

  it.each([
    ['no reason', {}, { error: 'the service rejected all records without a reason' }],
    ['a reason and a code', { code: 555, error: 'quota' }, { code: 555, error: 'quota' }],
  ])('reject the whole batch, with %s, if nothing was processed', async (_, reason, told) => {
    await using served = await serve([
      answer(200, { status: 'fail', processed: 0, unprocessed: [], ...reason }),
    ]);
    const { code, summary } = await run(served.world, ['upload', profiles(served.world, 3)]);
    expect([code, summary.rejected, summary.requests]).toEqual([3, 3, 1]);
    const place = { source: 'users.csv', stage: 'service' };
    expect(rejectsOf(served.world)).toMatchObject(
      [2, 3, 4].map((line) => ({ ...place, line, ...told })),
    );
  });

  it('that echo an identity of two records cause both to be resent', async () => {
    const entry = { status: 'fail', code: 516, error: 'refused', record: { identity: 'twice' } };
    const ambiguous = commit(
      answer(200, { status: 'partial', processed: 1, unprocessed: [entry] }),
    );
    await using served = await serve([ambiguous, accept()]);
    const argv = ['upload', profiles(served.world, 2, () => 'twice'), '--order', 'none'];
    const { code, summary } = await run(served.world, argv);
    expect([code, summary.accepted, summary.requests]).toEqual([0, 2, 3]);
  });

  it('that echo the identity of an event make all events unknown, because others may have it', async () => {
    const echo = { identity: 'a', type: 'event', evtName: 'Visit' };
    const entry = { status: 'fail', code: 516, error: 'refused', record: echo };
    const body = { status: 'partial', processed: 1, unprocessed: [entry] };
    await using served = await serve([commit(answer(200, body))]);
    writeFileSync(served.world.path('e.csv'), 'identity,ts\na,1700000000\nb,1700000000\n');
    const argv = ['upload', 'e.csv', '--type', 'event', '--event-name', 'Visit'];
    const { code, summary } = await run(served.world, argv);
    expect([code, summary.unknown, summary.rejected]).toEqual([6, 2, 0]);
  });
});

describe('a response to a demerge', () => {
  const entry = (members: object) => ({ status: 'fail', code: 404, error: 'no user', ...members });
  async function demerged(members: object) {
    await using served = await serve([commit(answer(200, { status: 'success', ...members }))]);
    writeFileSync(served.world.path('users.csv'), 'identity\na\nb\nc\n');
    const { code, summary } = await run(served.world, ['demerge', 'users.csv', '--yes']);
    expect(summary.requests).toBe(1);
    const rejects = code === 0 ? [] : rejectsOf(served.world);
    return { code, rejects: rejects.map(({ line, stage, error }) => [line, stage, error]) };
  }

  it.each([
    {},
    { processed: 3 },
    { processed: 3, unprocessed: [] },
    { processed: 0 },
    { processed: 4, unprocessed: [] },
    { processed: null, unprocessed: null, code: 200, error: null },
    { code: 0, error: '' },
  ])('accepts all identities by %j', async (members) => {
    expect(await demerged(members)).toEqual({ code: 0, rejects: [] });
  });

  it.each([
    ['the number of the record', entry({ error: 'no user. Skipped record number : 2' })],
    ['the identity', entry({ record: 'b' })],
    ['an echo', entry({ record: { identity: 'b' } })],
  ])('rejects an unprocessed one that it names by %s', async (_by, unprocessed) => {
    const { code, rejects } = await demerged({ processed: 2, unprocessed: [unprocessed] });
    expect({ code, rejects }).toEqual({
      code: 3,
      rejects: [[3, 'service', expect.stringContaining('no user')]],
    });
  });

  it.each([
    ['an unprocessed one without a count', { unprocessed: [entry({ record: 'b' })] }],
    [
      'processed that do not leave room for the unprocessed',
      { processed: 3, unprocessed: [entry({ record: 'b' })] },
    ],
    ['an unprocessed one that it does not name', { processed: 2, unprocessed: [entry({})] }],
    [
      'an unprocessed one that was not sent',
      { processed: 2, unprocessed: [entry({ record: 'd' })] },
    ],
    ['an unprocessed one without a form', { processed: 2, unprocessed: ['b'] }],
    [
      'more unprocessed than sent',
      { processed: 2, unprocessed: ['a', 'b', 'c', 'd'].map((record) => entry({ record })) },
    ],
    ['an error', { code: 500, error: 'nothing was done' }],
    ['the text of an error', { error: 'nothing was done' }],
  ])('proves nothing with %s: all are unknown and sent once', async (_what, members) => {
    const { code, rejects } = await demerged(members);
    expect(code).toBe(6);
    expect(rejects.map(([line, stage]) => [line, stage])).toEqual([
      [2, 'unknown'],
      [3, 'unknown'],
      [4, 'unknown'],
    ]);
  });
});

describe('rejected records', () => {
  it('are found by number, and listed with their input line', async () => {
    const odd = judge(({ identity }) =>
      /[13579]$/.test(String(identity)) ? { code: 515, error: 'Email is not valid.' } : undefined,
    );
    await using served = await serve([odd]);
    const { code, summary } = await run(served.world, ['upload', profiles(served.world, 20)]);
    expect({ code, rejected: summary.rejected, file: summary['rejectsFile'] }).toEqual({
      code: 3,
      rejected: 10,
      file: 'users.csv.rejects.ndjson',
    });
    const [first] = rejectsOf(served.world);
    expect(first).toMatchObject({ line: 3, stage: 'service', code: 515 });
    expect(first?.record).toEqual({ identity: 'user-1', Seq: '1' });
    expect(statSync(served.world.path('users.csv.rejects.ndjson')).mode & 0o777).toBe(0o600);
  });

  it('are found by identity if the message has no number', async () => {
    await using served = await serve([
      answer(200, {
        status: 'partial',
        processed: 2,
        unprocessed: [{ code: 516, error: 'Phone', record: { identity: 'user-1', Phone: 4 } }],
      }),
    ]);
    await run(served.world, ['upload', profiles(served.world, 3)]);
    expect(rejectsOf(served.world)).toMatchObject([{ line: 3, code: 516 }]);
  });

  describe('D of subscriptions, echoed differently', () => {
    const rows = [
      'email,447700900002,Unsubscribe',
      'phone,+447700900001,Unsubscribe',
      'phone,+447700900002,Unsubscribe',
      'email,ann+x@example.test,Unsubscribe',
      'email,annx@example.test,Unsubscribe',
    ];
    it.each([
      ['a phone without its plus', { type: 'phone', value: '447700900002' }, 4],
      ['a phone as a number', { type: 'phone', value: 447700900002 }, 4],
      ['a type in capitals', { type: 'PHONE', value: '+447700900002' }, 4],
      [
        'a type in capitals and a phone without its plus',
        { type: 'Phone', value: '447700900001' },
        3,
      ],
      ['an address with a plus', { type: 'email', value: 'ann+x@example.test' }, 5],
      ['an address that differs by a plus', { type: 'EMAIL', value: 'annx@example.test' }, 6],
    ])('are found by %s', async (_name, echo, line) => {
      const entry = { status: 'fail', code: 516, error: 'refused', record: echo };
      const body = { status: 'partial', processed: rows.length - 1, unprocessed: [entry] };
      await using served = await serve([commit(answer(200, body)), answer(500)]);
      writeFileSync(served.world.path('s.csv'), ['type,value,status', ...rows, ''].join('\n'));
      const { summary } = await run(served.world, ['subscribe', 's.csv']);
      expect([summary.accepted, summary.rejected, summary.requests]).toEqual([
        rows.length - 1,
        1,
        1,
      ]);
      expect(rejectsOf(served.world, 's.csv.rejects.ndjson')).toMatchObject([{ line, code: 516 }]);
    });
  });

  it('are found by another identifier if the echoed identity is null', async () => {
    const echo = { identity: null, objectId: 'object-2', type: 'profile' };
    const entry = { status: 'fail', code: 516, error: 'refused', record: echo };
    await using served = await serve([
      answer(200, { status: 'partial', processed: 2, unprocessed: [entry] }),
    ]);
    const lines = [1, 2, 3].map(
      (n) => `{"objectId":"object-${n}","type":"profile","profileData":{"A":"1"}}\n`,
    );
    writeFileSync(served.world.path('in.ndjson'), lines.join(''));
    const { summary } = await run(served.world, ['upload', 'in.ndjson']);
    expect([summary.rejected, summary.accepted, summary.requests]).toEqual([1, 2, 1]);
    expect(rejectsOf(served.world, 'in.ndjson.rejects.ndjson')).toMatchObject([{ line: 2 }]);
  });

  it.each([
    'Skipped record number : 2',
    'skipped Record Number:2.',
    'RECORD NUMBER: 2 was skipped',
    'no: record number   :   2',
    'Email "record number : 1" is not valid. Skipped record number : 2',
  ])('are found by number in an entry without other members: %s', async (error) => {
    const unprocessed = [{ error }];
    await using served = await serve([
      answer(200, { status: 'partial', processed: 2, unprocessed }),
    ]);
    const { summary } = await run(served.world, ['upload', profiles(served.world, 3)]);
    expect([summary.rejected, summary.accepted, summary.requests]).toEqual([1, 2, 1]);
    expect(rejectsOf(served.world)).toMatchObject([{ line: 3, stage: 'service' }]);
  });

  it.each([
    ['members in another order, from 0', (n: number) => `Skipped record number : ${n - 1}`],
    ['a number of the record', () => 'Email record number : 1 is not valid'],
    ['a number of the record behind a tab', () => 'Email record number\t: 1 is not valid'],
  ])('are in doubt if the entry has %s', async (name, errorOf) => {
    const isEvent = name.startsWith('members');
    const text = isEvent ? 'x' : errorOf(2).slice('Email '.length, -' is not valid'.length);
    const record = (n: number, value: string) =>
      isEvent
        ? { identity: 'ann', type: 'event', evtName: 'Seen', ts: n, evtData: { q: value } }
        : { identity: `u${n}`, type: 'profile', profileData: { Email: value } };
    const reversed = Object.fromEntries(Object.entries(record(2, text)).toReversed());
    const entry = { code: 512, error: errorOf(2), record: isEvent ? { ...reversed, ts: '2' } : {} };
    const body = { status: 'partial', processed: 1, unprocessed: [entry] };
    await using served = await serve([answer(200, body), accept()]);
    const lines = [record(1, 'ok'), record(2, text)].map((one) => `${JSON.stringify(one)}\n`);
    writeFileSync(served.world.path('in.ndjson'), lines.join(''));
    const { summary } = await run(served.world, ['upload', 'in.ndjson']);
    // Profiles are resent one by one.
    expect([summary.rejected, summary.unknown]).toEqual([0, isEvent ? 2 : 0]);
  });

  it('are found although another record has such words, if the entry names their user', async () => {
    const error = 'Email is not valid. Skipped record number : 2';
    const unprocessed = [{ error, record: { identity: 'u2', profileData: { Email: 7 } } }];
    await using served = await serve([
      answer(200, { status: 'partial', processed: 2, unprocessed }),
    ]);
    const text = 'identity,Email\nu1,record number : 2\nu2,x\nu3,y\n';
    writeFileSync(served.world.path('in.csv'), text);
    const { summary } = await run(served.world, ['upload', 'in.csv']);
    expect([summary.accepted, summary.rejected, summary.requests]).toEqual([2, 1, 1]);
  });

  it('are none if the list of them is null and the others add up', async () => {
    await using served = await serve([
      answer(200, { status: 'success', processed: 3, unprocessed: null }),
    ]);
    const { summary } = await run(served.world, ['upload', profiles(served.world, 3)]);
    expect([summary.accepted, summary.requests]).toEqual([3, 1]);
  });

  it('are in doubt if the number of the message is that of another event of the user', async () => {
    const event = (n: number, more = '') =>
      `{"identity":"ann","type":"event","evtName":"Seen","ts":${n},"evtData":{"q":"${more}"}}`;
    const text = 'record number : 1';
    const error = `Value is not allowed: ${text}`;
    const unprocessed = [{ code: 512, error, record: JSON.parse(event(2, text)) as unknown }];
    await using served = await serve([
      answer(200, { status: 'partial', processed: 1, unprocessed }),
    ]);
    writeFileSync(served.world.path('in.ndjson'), `${event(1)}\n${event(2, text)}\n`);
    const { summary } = await run(served.world, ['upload', 'in.ndjson', '--type', 'event']);
    expect([summary.accepted, summary.rejected, summary.unknown]).toEqual([0, 0, 2]);
  });

  it('with code 555 are resent', async () => {
    let asked = 0;
    const shaky = judge(({ identity }) => {
      if (identity !== 'user-5' || (asked += 1) > 2) return undefined;
      return { code: 555, error: 'server error' };
    });
    await using served = await serve([shaky]);
    const { code, summary } = await run(served.world, ['upload', profiles(served.world, 10)]);
    expect({ code, accepted: summary.accepted, requests: summary.requests }).toEqual({
      code: 0,
      accepted: 10,
      requests: 3,
    });
  });

  /** Answers 555 for the first `times` requests, so that a run that never gives up ends as well. */
  const refusesFirst = (times: number): Step => {
    let asked = 0;
    return async (exchange) => {
      asked += 1;
      const isRefused = asked <= times;
      await judge(() => (isRefused ? { code: 555, error: 'server error' } : undefined))(exchange);
    };
  };

  it.each([
    [1, 1],
    [2, 2],
    [3, 3],
  ])(
    'with code 555 are rejected after --max-attempts (%i): %i requests',
    async (most, requests) => {
      await using served = await serve([refusesFirst(8)]);
      const argv = ['upload', profiles(served.world, 1), '--max-attempts', `${most}`];
      const { code, summary } = await run(served.world, argv);
      expect([code, summary.rejected, summary.requests]).toEqual([3, 1, requests]);
      expect(rejectsOf(served.world)).toMatchObject([{ line: 2, stage: 'service', code: 555 }]);
    },
  );

  it('with code 555 count one failed attempt', async () => {
    const unavailable = answer(503, { status: 'fail', error: 'unavailable', code: 503 });
    for (const [script, expected] of [
      [
        [refusesFirst(1), unavailable, accept()],
        [0, 1, 3],
      ],
      [
        [refusesFirst(1), unavailable, unavailable, accept()],
        [5, 0, 3],
      ],
    ] as const) {
      await using served = await serve([...script]);
      const argv = ['upload', profiles(served.world, 1), '--max-attempts', '3'];
      const { code, summary } = await run(served.world, argv);
      expect([code, summary.accepted, summary.requests]).toEqual(expected);
    }
  });

  it('move older rejects files aside and replace none, since they may hold unknown outcomes', async () => {
    await using served = await serve([judge(() => ({ code: 515, error: 'no' }))]);
    const file = profiles(served.world, 1);
    const rejects = served.world.path('users.csv.rejects.ndjson');
    for (const older of ['first', 'second']) {
      writeFileSync(rejects, older);
      await run(served.world, ['upload', file]);
    }
    expect(readFileSync(`${rejects}.1`, 'utf8')).toBe('first');
    expect(readFileSync(`${rejects}.2`, 'utf8')).toBe('second');
    expect(rejectsOf(served.world)).toHaveLength(1);
  });

  it('can be uploaded from the rejects file after correction', async () => {
    const picky = judge(({ profileData }) =>
      (profileData as { Seq: string }).Seq === '3' ? { code: 515, error: 'no 3' } : undefined,
    );
    await using served = await serve([picky]);
    await run(served.world, ['upload', profiles(served.world, 5)]);
    const rejects = served.world.path('users.csv.rejects.ndjson');
    writeFileSync(rejects, readFileSync(rejects, 'utf8').replace('"Seq":"3"', '"Seq":"33"'));
    const { code, summary } = await run(served.world, ['upload', 'users.csv.rejects.ndjson']);
    expect({ code, accepted: summary.accepted }).toEqual({ code: 0, accepted: 1 });
    const last = recordsOf(served.server.executed.at(-1)?.body ?? Buffer.alloc(0));
    expect(last).toEqual([{ identity: 'user-3', type: 'profile', profileData: { Seq: '33' } }]);
  });

  it.each([
    [['--strict'], 3],
    [['--max-rejects', '1'], 3],
    [['--max-rejects', '50%'], 3],
  ])('stop the run with %j', async (flags, code) => {
    await using served = await serve([judge(() => ({ code: 515, error: 'no' }))]);
    const file = profiles(served.world, 3000);
    const argv = ['upload', file, '--concurrency', '1', '--chunk-size', '100', ...flags];
    const outcome = await run(served.world, argv);
    expect(outcome.code).toBe(code);
    expect(outcome.summary.notSent).toBeGreaterThan(0);
  });
});

describe('D a failing service', () => {
  const retry = ['--retry-base', '1ms', '--max-attempts', '3'];

  it.each<[string, Step]>([
    ['a reset after the commit', commit(reset())],
    ['an HTML page', commit(html())],
    ['503', commit(answer(503, { status: 'fail', error: 'An unknown error occurred', code: 503 }))],
    ['500 in the body of a 200', commit(answer(200, { status: 'fail', code: 500, error: 'x' }))],
  ])('%s: profiles are resent, events are not', async (_name, fault) => {
    await using served = await serve([fault, accept()]);
    const profile = await run(served.world, ['upload', profiles(served.world, 3), ...retry]);
    expect([profile.code, profile.summary.accepted, profile.summary.requests]).toEqual([0, 3, 2]);

    await using again = await serve([fault, accept()]);
    writeFileSync(again.world.path('e.csv'), 'identity,ts,evtName\na,1700000000,Visit\n');
    const event = await run(again.world, ['upload', 'e.csv', '--type', 'event', ...retry]);
    expect([event.code, event.summary.unknown, event.summary.requests]).toEqual([6, 1, 1]);
  });

  it('stops the run at a 401 in the body of a 200, also without a reason', async () => {
    await using served = await serve([answer(200, { status: 'fail', code: 401 })]);
    const { code, summary } = await run(served.world, ['upload', profiles(served.world, 3)]);
    expect([code, summary.requests]).toEqual([4, 1]);
  });

  it('counts no 429 as an attempt, and accepts all records', async () => {
    await using served = await serve([after(5, accept())], { inFlight: 2 });
    const file = profiles(served.world, 3000);
    const argv = ['upload', file, '--chunk-size', '100', '--concurrency', '8', ...retry];
    const { code, summary } = await run(served.world, argv, { sleep: 'real' });
    expect({ code, accepted: summary.accepted }).toEqual({ code: 0, accepted: 3000 });
    expect(new Set(identitiesOf({ received: served.server.executed })).size).toBe(3000);
  });

  it('stops the run at a 401, and accounts for every record', async () => {
    const refusal = answer(401, { status: 'fail', error: 'Passcode Invalid', code: 401 });
    await using served = await serve([refusal]);
    const file = profiles(served.world, 20_000);
    const { code, summary, stderr } = await run(served.world, ['upload', file]);
    expect({ code, read: summary.read, notSent: summary.notSent }).toEqual({
      code: 4,
      read: 20_000,
      notSent: 20_000,
    });
    expect(summary.requests).toBeLessThanOrEqual(8);
    expect(stderr).toContain('region');
  });

  it('is sent a bounded number of requests', async () => {
    await using served = await serve([throttle('0'), answer(503)]);
    const file = profiles(served.world, 50_000);
    const { code, summary } = await run(served.world, ['upload', file, ...retry]);
    expect({ code, notSent: summary.notSent }).toEqual({ code: 5, notSent: 50_000 });
    // 8 batches in flight and 2 ready to go, 3 attempts each; the first 429 does not count.
    expect(summary.requests).toBeLessThanOrEqual(10 * 3 + 1);
  });

  it('causes unsent records from stdin to be listed in the rejects file', async () => {
    const refusal = answer(403, { status: 'fail', error: 'no', code: 403 });
    await using served = await serve([refusal]);
    const lines = Array.from({ length: 2500 }, (_, n) => n + 1);
    const stdin = lines.map((n) => `{"identity":"u${n}","A":"1"}\n`).join('');
    const { code, summary, stderr } = await run(served.world, ['upload', '-'], { stdin });
    expect({ code, notSent: summary.notSent }).toEqual({ code: 4, notSent: lines.length });
    expect(stderr.split('\n').length, 'not a line for each').toBeLessThan(20);
    const rejects = rejectsOf(served.world, 'engagectl-upload.rejects.ndjson');
    expect(rejects.map(({ line }) => line).toSorted((a, b) => a - b)).toEqual(lines);
    expect(new Set(rejects.map(({ stage }) => stage))).toEqual(new Set(['notSent']));
  });
});

describe('an interrupt', () => {
  it('lets requests in flight finish, and stops sending', async () => {
    const stop = new AbortController();
    const { EngagectlError } = await import('../../../src/errors.js');
    const slow: Step = async (exchange) => {
      stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT'));
      await turn();
      await accept()(exchange);
    };
    await using served = await serve([slow]);
    const file = profiles(served.world, 5000);
    const argv = ['upload', file, '--concurrency', '1'];
    const { code, summary } = await run(served.world, argv, { signal: stop.signal, sleep: 'real' });
    expect([code, summary.accepted, summary.requests]).toEqual([130, 1000, 1]);
  });

  it('aborts requests after the grace period: the outcome of their events is unknown', async () => {
    const stop = new AbortController();
    const silent: Step = async (exchange) => {
      await exchange.read();
      stop.abort();
    };
    await using served = await serve([silent]);
    writeFileSync(served.world.path('e.csv'), 'identity,ts,n\na,1700000000,1\nb,1700000000,2\n');
    const argv = ['upload', 'e.csv', '--type', 'event', '--event-name', 'Visit'];
    const { code, summary } = await run(served.world, argv, { signal: stop.signal });
    expect([code, summary.unknown, summary.notSent]).toEqual([6, 2, 0]);
    expect(summary['bytesSent']).toBe(served.server.received[0]?.body.length);
  });
});

describe('the figures of a run', () => {
  it('count the bytes of every request, failed ones included', async () => {
    await using served = await serve([answer(500), accept()]);
    const argv = ['upload', profiles(served.world, 3), '-v'];
    const { summary, stderr } = await run(served.world, argv);
    expect(stderr).toMatch(/500.*; retrying in \d+ ms/);
    const bodies = served.server.received.map(({ body }) => body.length);
    expect([bodies.length, summary.requests, summary['retries']]).toEqual([2, 2, 1]);
    expect(summary['bytesSent']).toBe(bodies[0]! + bodies[1]!);
  });
});

describe('the journal', () => {
  it('contains events before they are sent, and their outcome after that', async () => {
    const journals: string[] = [];
    const readJournals = (world: World): string => {
      const runs = path.join(world.stateDir, 'runs');
      return readdirSync(runs, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.startsWith('journal'))
        .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), 'utf8'))
        .join('');
    };
    const watched: Step = async (exchange) => {
      await exchange.read();
      journals.push(readJournals(served.world));
      await accept()(exchange);
    };
    await using served = await serve([watched]);
    const rows = Array.from({ length: 4 }, (_, n) => `user-${n},1700000000,${n}\n`);
    writeFileSync(served.world.path('e.csv'), `identity,ts,n\n${rows.join('')}`);
    const argv = ['upload', 'e.csv', '--type', 'event', '--event-name', 'Visit'];
    const more = ['--chunk-size', '2', '--concurrency', '1'];
    const { code } = await run(served.world, [...argv, ...more]);
    expect([code, journals.length]).toEqual([0, 2]);
    const countOf = (kind: string, text = '') => text.split(`"kind":"${kind}"`).length - 1;
    expect(journals.map((text) => countOf('intent', text))).toEqual([1, 2]);
    expect(journals.map((text) => countOf('settlement', text))).toEqual([0, 1]);
    expect(journals[0]).toContain('"of":"event"');
  });
});

describe('--check, --dry-run and --limit', () => {
  it.each(['--check', '--dry-run'])('%s sends nothing and requires no account', async (flag) => {
    const world = makeWorld();
    writeFileSync(world.path('users.csv'), 'identity,A\na,1\n,2\n');
    const { code, summary } = await run(world, ['upload', 'users.csv', flag]);
    expect({ code, rejected: summary.rejected, notSent: summary.notSent }).toEqual({
      code: 3,
      rejected: 1,
      notSent: 1,
    });
  });

  it.each([
    ['--check', 'correct them in the input; users.csv.rejects.ndjson lists each with its error'],
    ['--strict', 'correct the input, or raise the limit with --max-rejects'],
  ])('a check with rejects (%s) does not suggest --resume', async (flag, fix) => {
    const world = makeWorld();
    writeFileSync(world.path('users.csv'), 'identity,A\na,1\n,2\n');
    const { stderr } = await run(world, ['upload', 'users.csv', '--dry-run', flag]);
    expect(stderr).toContain(`"fix":"${fix}"`);
  });

  it('--limit includes the first records, unparsable ones included', async () => {
    await using served = await serve([accept()]);
    writeFileSync(served.world.path('users.csv'), 'identity,A\na,1\nb\nc,1\nd,1\n');
    const { summary } = await run(served.world, ['upload', 'users.csv', '--limit', '3']);
    expect([summary.read, summary.accepted, summary.rejected]).toEqual([3, 2, 1]);
    expect(identitiesOf(served.server)).toEqual(['a', 'c']);
  });
});
