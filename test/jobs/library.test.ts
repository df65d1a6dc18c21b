import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, EngagectlError, type Account } from '../../src/index.js';
import { startService, type TestService } from '../../src/testing.js';
import { until } from '../support/until.js';

// The library against the local service: what it does is what the commands do, so here is what is its own.

const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-library-'));
const inFolder = (name: string): string => path.join(folder, name);
const credentials = { accountId: 'LIBRARY', passcode: 'passcode-of-the-library' };
let service: TestService;
let account: Account;

beforeAll(async () => {
  service = await startService(credentials);
  account = connect({ baseUrl: service.url, ...credentials, stateFolder: inFolder('state') });
});
afterAll(async () => {
  await account.close();
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

const csv = (count: number, from = 0): string =>
  `identity,City\n${Array.from({ length: count }, (_, n) => `user-${from + n},Oslo\n`).join('')}`;

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of items) taken.push(item);
  return taken;
}

/** As it is where nobody listens. */
async function quietly<T>(work: () => Promise<T>): Promise<T> {
  const listeners = (event: string) => process.listenerCount(event);
  const before = [listeners('SIGINT'), listeners('SIGTERM'), process.exitCode];
  const result = await work();
  expect([listeners('SIGINT'), listeners('SIGTERM'), process.exitCode]).toEqual(before);
  return result;
}

describe('upload', () => {
  it.each([
    ['a path', () => inFolder('users.csv')],
    ['file URLs', () => [pathToFileURL(inFolder('users.csv'))]],
    ['a stream', () => Readable.from([csv(3)])],
    [
      'objects',
      () => Array.from({ length: 3 }, (_, n) => ({ identity: `user-${n}`, City: 'Oslo' })),
    ],
    [
      'an async iterable',
      // oxlint-disable-next-line typescript/require-await -- as a database gives them
      async function* records() {
        for (let n = 0; n < 3; n += 1) yield { identity: `user-${n}`, City: 'Oslo' };
      },
    ],
  ])('accepts %s', async (_, source) => {
    writeFileSync(inFolder('users.csv'), csv(3));
    const { error, ...result } = await quietly(() => account.upload(source()).result);
    expect(result).toMatchObject({ read: 3, accepted: 3, rejected: 0, exitCode: 0, done: true });
    expect([error, result.unfinished, result.rejectsFile]).toEqual([undefined, false, null]);
  });

  it.each(['{"identity":"u1"}', '5', 'null', 'true'])('takes %s for no source', (body) => {
    const sent = JSON.parse(body) as { identity: string }[];
    for (const use of ['upload', 'subscribe', 'demerge', 'verify', 'getProfiles'] as const)
      expect(() => account[use](sent)).toThrow(/^the source holds no records, found \w+$/);
  });

  it('takes no text of an array for a file, as a visitor may have sent it', () => {
    writeFileSync(inFolder('users.csv'), csv(3));
    const sent = JSON.parse(JSON.stringify([inFolder('users.csv')])) as { identity: string }[];
    for (const use of ['upload', 'subscribe', 'demerge', 'verify', 'getProfiles'] as const)
      expect(() => account[use](sent)).toThrow(/^an array of texts is not a source$/);
    const other = new URL('https://example.test/users.csv');
    expect(() => account.upload([other])).toThrow(/^https: is not the address of a file$/);
  });

  it('takes the objects that an array has now, and not those that it has later', async () => {
    const batch = [{ identity: 'user-1' }, { identity: 'user-2' }];
    const run = account.upload(batch);
    batch.length = 0;
    batch.push({ identity: 'user-3' });
    expect(await run.result).toMatchObject({ read: 2, accepted: 2 });
  });

  it('returns a partial failure as a value, and the rejects one by one', async () => {
    const run = account.upload([{ identity: 'user-1' }, { identity: 7 }, { City: 'Oslo' }]);
    const rejects = await all(run.rejects());
    const { accepted, rejected, exitCode, error } = await run.result;
    expect([accepted, rejected, exitCode, error?.id]).toEqual([1, 2, 3, 'E-REJECTED']);
    expect(rejects.map(({ line, stage }) => [line, stage])).toEqual([
      [2, 'validate'],
      [3, 'validate'],
    ]);
    expect(error?.details.fix).not.toContain('--');
    expect(existsSync('engagectl-upload.rejects.ndjson')).toBe(false);
  });

  it('keeps some rejects for a late reader, and reports if there are too many', async () => {
    const bad = (count: number) => Array.from({ length: count }, () => ({ identity: 7 }));
    const few = account.upload(bad(3));
    await few.result;
    expect(await all(few.rejects())).toHaveLength(3);
    await expect(all(few.rejects())).rejects.toMatchObject({ id: 'E-USAGE' });
    const many = account.upload(bad(10_001), { maxRejects: { percent: 100 } });
    await many.result;
    await expect(all(many.rejects())).rejects.toMatchObject({ id: 'E-TOO-MANY' });
  });

  it('waits for the reader of its rejects, and continues when that reader stops', async () => {
    let read = 0;
    // oxlint-disable-next-line typescript/require-await -- as a database gives them
    async function* records() {
      for (; read < 40_000; read += 1) yield { identity: 7 };
    }
    const run = account.upload(records(), { maxRejects: { percent: 100 } });
    for await (const { stage } of run.rejects()) {
      expect(stage).toBe('validate');
      // A run as long that nobody holds back comes to its end meanwhile.
      const other = Array.from({ length: 40_000 }, () => ({ identity: 7 }));
      expect(await account.upload(other, { maxRejects: { percent: 100 } }).result).toMatchObject({
        rejected: 40_000,
      });
      expect(read).toBeLessThan(40_000);
      break;
    }
    expect(await run.result).toMatchObject({ read: 40_000, rejected: 40_000 });
  });

  const circle: { identity: string; self?: unknown } = { identity: 'user-1' };
  circle.self = circle;
  it.each<[string, object]>([
    ['NaN', { identity: 'user-1', Score: Number.NaN }],
    ['Infinity in a typed record', { identity: 'a', type: 'profile', profileData: { n: 1 / 0 } }],
    [
      'Infinity beside text of a visitor that would go on as JSON',
      {
        identity: 'user-1',
        type: 'profile',
        profileData: {
          t: ['x"\0lost n', 1 / 0, '\0lost q"n'],
          a: '\0lost 1}',
          objectId: 'of-another-user',
          z: '\0lost {',
        },
      },
    ],
    ['an invalid date', { identity: 'user-1', Born: new Date('never') }],
    ['undefined in a list', { identity: 'user-1', Tags: ['a', undefined] }],
    ['a Map', { identity: 'user-1', Tags: new Map([['a', 1]]) }],
    [
      'an object of a class without a name',
      { identity: 'user-1', Tags: new (class extends Map {})() },
    ],
    ['a BigInt', { identity: 'user-1', Score: 10n }],
    ['itself', circle],
    [
      'toJSON that throws the text of a record',
      {
        toJSON: () => {
          throw new Error('{"identity":"other"}');
        },
      },
    ],
  ])('rejects a record with %s, which JSON would replace, and sends the others', async (_, bad) => {
    const { length } = service.requests();
    const run = account.upload([{ identity: 'user-1' }, bad, { identity: 'user-2', Left: null }]);
    const rejects = await all(run.rejects());
    expect(rejects.map(({ line, stage }) => [line, stage])).toEqual([[2, 'parse']]);
    expect(await run.result).toMatchObject({ read: 3, accepted: 2, rejected: 1, exitCode: 3 });
    expect(service.requests()).toHaveLength(length + 1);
  });

  it('accounts for every record that a failing source gave', async () => {
    // oxlint-disable-next-line typescript/require-await -- as a database gives them
    async function* records() {
      for (let n = 0; n < 5000; n += 1) yield { identity: `user-${n}`, City: 'Oslo'.repeat(20) };
      throw new Error('the connection was lost');
    }
    const run = account.upload(records());
    const rejects = await all(run.rejects());
    const { read, accepted, exitCode, error } = await run.result;
    expect([read, exitCode]).toEqual([5000, 9]);
    expect(rejects.length).toBe(5000 - accepted);
    const { message, details } = error!;
    expect([message, details.why]).toEqual([
      'the source cannot be read',
      'the connection was lost',
    ]);
  });

  it('reports a failing stream as the source, and not as standard input', async () => {
    const broken = new Readable({ read() {} });
    broken.push(csv(3));
    setImmediate(() => broken.destroy(new Error('the connection was lost')));
    const failed = {
      message: 'the source cannot be read',
      details: { why: 'the connection was lost' },
    };
    const outcome = await account.upload(broken).result.catch((error: unknown) => ({ error }));
    expect(outcome.error).toMatchObject({ id: 'E-FILE-READ', ...failed });
  });

  it.each([
    ['an object', { identity: 'user-1' }, 'an object'],
    ['a list', ['user-1'], 'an object'],
    ['a number', 7, 'a number'],
  ])('refuses a stream of records, and says how to pass them: %s', async (_, chunk, found) => {
    const sent = service.requests().length;
    for (const use of ['upload', 'subscribe', 'demerge', 'verify'] as const)
      await expect(account[use](Readable.from([chunk])).result).rejects.toMatchObject({
        id: 'E-USAGE',
        message: `a chunk of the stream is ${found}, not bytes`,
        details: { fix: expect.stringContaining('yield* stream') as string },
      });
    expect(service.requests()).toHaveLength(sent);
    const stream = Readable.from([{ identity: 'user-1' }, { identity: 'user-2' }]);
    const records = (async function* () {
      yield* stream;
    })();
    expect(await account.upload(records).result).toMatchObject({ read: 2, accepted: 2 });
  });

  it('joins a character that two texts of a stream share', async () => {
    const text = 'identity,City\nuser-of-halves,Oslo 😀\n';
    const halves = text.split(/(?<=\uD83D)(?!$)/);
    expect(halves).toHaveLength(2);
    expect(await account.upload(Readable.from(halves)).result).toMatchObject({ accepted: 1 });
    expect(await account.getProfile({ identity: 'user-of-halves' })).toMatchObject({
      profileData: { City: 'Oslo 😀' },
    });
  });

  it('closes the stream of a job that is refused, whose later error ends nothing', async () => {
    for (const use of ['upload', 'subscribe', 'demerge', 'verify'] as const) {
      const stream = new Readable({ read() {} });
      const refused = account[use](stream, { timezone: 'Nowhere' } as object).result;
      await expect(refused).rejects.toMatchObject({ id: 'E-USAGE' });
      expect(stream.destroyed).toBe(true);
    }
    const missing = createReadStream(path.join(tmpdir(), 'no such file'));
    const users = account.getProfiles(missing);
    await new Promise<void>((closed) => missing.once('close', closed)); // would end this process, if nobody listened to the error
    await expect(all(users)).rejects.toMatchObject({ id: 'E-FILE-READ' });
  });

  it('accounts for all records of a stream in which an object comes after bytes', async () => {
    const chunks = (function* () {
      yield csv(3000);
      yield new TextEncoder().encode(csv(3000, 3000).slice('identity,City\n'.length));
      yield { identity: 'user-9' };
    })();
    const run = account.upload(Readable.from(chunks), { chunkSize: 100 });
    const rejects = await all(run.rejects());
    const { read, accepted, error, exitCode } = await run.result;
    expect([read, error?.id, exitCode]).toEqual([6000, 'E-USAGE', 2]);
    expect(rejects.length).toBe(6000 - accepted);
  });

  it('writes a rejects file if one is named', async () => {
    const rejects = inFolder('rejects.ndjson');
    const { rejectsFile } = await account.upload([{ identity: 7 }], { rejects }).result;
    expect([rejectsFile, readFileSync(rejects, 'utf8').split('\n').length]).toEqual([rejects, 2]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('of log');
      },
    ],
    ['rejects', () => Promise.reject(new Error('of log'))],
  ])('returns its figures although log %s', async (_how, log: () => void) => {
    const kinds: string[] = [];
    const noting = (kind: string) => (kinds.push(kind), log());
    await using noisy = connect({ baseUrl: service.url, ...credentials, log: noting });
    const records = ['a', 'b', 'c'].map((identity) => ({ identity, City: 'Oslo' }));
    const result = await noisy.upload(records, { chunkSize: 1 }).result;
    expect(result).toMatchObject({ exitCode: 0, read: 3, accepted: 3 });
    expect(kinds).toContain('verbose');
  });

  it('reports its progress', async () => {
    const run = account.upload([{ identity: 'user-1' }]);
    expect(run.progress().read).toBe(0);
    await run.result;
    expect(run.progress()).toMatchObject({ read: 1, inFlight: 0 });
  });

  it('counts the bytes of finished records, not of a block in memory', async () => {
    const file = inFolder('short.csv');
    writeFileSync(file, csv(1000, 20));
    const run = account.upload(file, { chunkSize: 50, concurrency: 1 });
    const shares: number[] = [];
    const hasRead = () => {
      const { read, records, bytes, totalBytes = Infinity } = run.progress();
      shares.push(bytes / totalBytes - records / 1000);
      return read === 1000;
    };
    await until(hasRead, { message: 'all records were read' });
    await run.result;
    expect(shares.length).toBeGreaterThan(3);
    expect(Math.max(...shares)).toBeLessThan(0.1);
  });

  it.each([
    ['a string', 'enough', 'enough'],
    ['nothing', undefined, /aborted/],
    ['an error', new Error('no time'), 'no time'],
    [
      'the error of another job',
      new EngagectlError('E-ALREADY-SENT', 'sent by another job'),
      'sent by another job',
    ],
    ['an object without text', Object.create(null), /no text/],
    ['an object whose text throws', { toString: () => decodeURI('%') }, /no text/],
    [
      'a proxy that throws',
      new Proxy({}, { getPrototypeOf: () => JSON.parse('') as object }),
      /no text/,
    ],
    [
      'an error without a message',
      Object.assign(new Error(), { message: Symbol('s') }),
      'Symbol(s)',
    ],
  ])('stops on a signal whose reason is %s, and can be resumed', async (_, reason, why) => {
    const file = inFolder('long.csv');
    writeFileSync(file, csv(3000, 1000));
    const stop = new AbortController();
    const run = account.upload(file, { chunkSize: 100, concurrency: 1, signal: stop.signal });
    await until(() => run.progress().read >= 500);
    stop.abort(reason);
    const { error, exitCode, unfinished, accepted } = await run.result;
    expect([error?.id, exitCode, unfinished]).toEqual(['E-INTERRUPTED', 130, true]);
    expect(error?.details.why).toMatch(why);
    await expect(account.upload(file, { chunkSize: 100 }).result).rejects.toMatchObject({
      id: 'E-RUN-UNFINISHED',
      details: { fix: 'resume it with resume, or discard it and restart with fresh' },
    });
    const rest = await account.upload(file, { chunkSize: 100, resume: true }).result;
    expect([rest.resumed, rest.accepted]).toEqual([accepted, 3000 - accepted]);
  });

  it('ends by its signal although the source makes it wait', async () => {
    const stop = new AbortController();
    async function* slow() {
      yield { identity: 'slow' };
      stop.abort();
      await new Promise(() => {}); // such as a queue without messages
    }
    const { result } = account.upload(slow(), { signal: stop.signal });
    await expect(result).rejects.toMatchObject({ id: 'E-INTERRUPTED' });
  });

  it('takes no more records from its source when its signal has ended it', async () => {
    const stop = new AbortController();
    let taken = 0;
    let leave: (() => void) | undefined;
    const left = new Promise<void>((resolve) => (leave = resolve));
    async function* endless() {
      try {
        for (; ; taken += 1) {
          await new Promise(setImmediate);
          if (taken === 3) stop.abort();
          yield { identity: 'endless' };
        }
      } finally {
        leave?.();
      }
    }
    const { result } = account.upload(endless(), { signal: stop.signal });
    await expect(result).rejects.toMatchObject({ id: 'E-INTERRUPTED' });
    const before = taken;
    await left;
    expect(taken - before).toBeLessThan(3); // the one that was on its way
  });

  it('rejects if nothing could be started', async () => {
    const missing = account.upload(inFolder('none.csv'));
    await expect(missing.result).rejects.toMatchObject({ id: 'E-FILE-READ' });
    await expect(all(missing.rejects())).rejects.toMatchObject({ id: 'E-FILE-READ' });
    const nothing = account.upload([{}], { concurrency: 0 });
    await expect(nothing.result).rejects.toMatchObject({ id: 'E-USAGE' });
    const signal = AbortSignal.abort('too late');
    await expect(account.upload([{ identity: 'a' }], { signal }).result).rejects.toMatchObject({
      id: 'E-INTERRUPTED',
    });
  });

  it('finds a relative stateFolder again after the program changed its directory', async () => {
    const events = inFolder('once.ndjson');
    const event = { identity: 'u', type: 'event', evtName: 'Once', ts: 1_700_000_000, evtData: {} };
    writeFileSync(events, `${JSON.stringify(event)}\n`);
    const before = process.cwd();
    process.chdir(folder);
    try {
      const options = { baseUrl: service.url, ...credentials, stateFolder: 'relative' };
      await using moving = connect(options);
      expect(await moving.upload(events).result).toMatchObject({ accepted: 1 });
      mkdirSync(inFolder('elsewhere'));
      process.chdir('elsewhere');
      expect(await moving.upload(events).result).toMatchObject({ error: { id: 'E-ALREADY-SENT' } });
      expect(existsSync(inFolder('elsewhere/relative'))).toBe(false);
    } finally {
      process.chdir(before);
    }
  });

  it('lets only one of two runs of the same job work', async () => {
    const file = inFolder('both.csv');
    writeFileSync(file, csv(2000, 5000));
    const runs = await Promise.allSettled([
      account.upload(file).result,
      account.upload(file).result,
    ]);
    const [done, refused] = runs.toSorted((a) => (a.status === 'fulfilled' ? -1 : 1));
    expect(done).toMatchObject({ value: { accepted: 2000 } });
    expect(refused).toMatchObject({ reason: { id: 'E-RUN-LOCKED' } });
  });
});

it('subscribes and demerges', async () => {
  const opted = [{ type: 'email', value: 'a@example.test', status: 'Unsubscribe' }];
  expect(await account.subscribe(opted).result).toMatchObject({ accepted: 1, exitCode: 0 });
  const twice = [{ identity: 'user-1' }, { identity: 'user-1' }];
  expect(await account.demerge(twice).result).toMatchObject({ accepted: 1, duplicates: 1 });
});

describe('exports', () => {
  const query = { event: 'Charged', from: '2026-10-01', to: '2026-10-02' };

  beforeAll(async () => {
    const ts = Date.UTC(2026, 9, 1, 12) / 1000;
    const events = Array.from({ length: 100 }, (_, n) => ({
      identity: `buyer-${n}`,
      type: 'event',
      evtName: 'Charged',
      evtData: { Amount: n },
      ts,
    }));
    expect(await account.upload(events).result).toMatchObject({ accepted: 100 });
  });

  it('are records or their texts', async () => {
    const records = await all(account.exportEvents(query));
    expect(records).toHaveLength(100);
    const texts = await all(account.exportEvents(query).texts());
    expect(texts.map((text) => JSON.parse(text) as unknown)).toEqual(records);
    expect(await all(account.exportProfiles(query).records())).toHaveLength(100);
  });

  it('stop when their reader stops', async () => {
    let taken = 0;
    for await (const record of account.exportEvents({ ...query, batchSize: 23 })) {
      expect(record).toHaveProperty('profile');
      taken += 1;
      if (taken === 30) break;
    }
    expect(taken).toBe(30);
  });

  it('write a file, and do not replace an existing one by accident', async () => {
    const file = inFolder('charged.csv');
    rmSync(file, { force: true }); // of an earlier repeat
    const run = account.exportEvents(query).toFile(file);
    const { records, output, error } = await run.result;
    expect([records, output, error, run.progress().records]).toEqual([100, file, undefined, 100]);
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(102);
    const again = account.exportEvents(query).toFile(file);
    await expect(again.result).rejects.toMatchObject({ id: 'E-OUTPUT-EXISTS' });
    const over = account.exportEvents(query).toFile(file, { overwrite: true });
    expect(await over.result).toMatchObject({ records: 100 });
  });

  it('end by a signal of any reason: thrown to a reader, returned for a file', async () => {
    const signal = AbortSignal.abort('enough');
    const reading = all(account.exportEvents({ ...query, signal }));
    await expect(reading).rejects.toMatchObject({ id: 'E-INTERRUPTED' });
    const file = account.exportEvents({ ...query, signal }).toFile(inFolder('none.ndjson'));
    expect(await file.result).toMatchObject({ exitCode: 130, error: { id: 'E-INTERRUPTED' } });
  });

  it('end as aborted, and not as the job whose error is the reason', async () => {
    const reason = new EngagectlError('E-REJECTED', 'of another job', { fix: 'correct them' });
    const signal = AbortSignal.abort(reason);
    const aborted = { id: 'E-INTERRUPTED', exitCode: 130, details: { why: 'of another job' } };
    await expect(all(account.exportEvents({ ...query, signal }))).rejects.toMatchObject(aborted);
    const file = account.exportEvents({ ...query, signal }).toFile(inFolder('none.ndjson'));
    const { exitCode, error } = await file.result;
    expect([exitCode, error?.id, error?.details.fix]).toEqual([130, 'E-INTERRUPTED', undefined]);
    const lookUp = account.getProfile({ identity: 'a' }, { signal });
    await expect(lookUp).rejects.toMatchObject(aborted);
  });

  it('describe errors in the terms of the library', async () => {
    const reading = all(account.exportEvents({ ...query, from: 'never' }));
    await expect(reading).rejects.toMatchObject({ message: 'from "never" is not a date' });
  });
});

describe('look-ups', () => {
  beforeAll(async () => {
    await account.upload([{ identity: 'known', City: 'Oslo' }]).result;
  });

  it('find one user, or none', async () => {
    expect(await account.getProfile({ identity: 'known' })).toMatchObject({
      profileData: { City: 'Oslo' },
    });
    expect(await account.getProfile({ email: 'nobody@example.test' })).toBeUndefined();
    await expect(account.getProfile({ identity: '' })).rejects.toMatchObject({ id: 'E-USAGE' });
  });

  it('find many in order', async () => {
    const users = await all(account.getProfiles([{ identity: 'none' }, { identity: 'known' }]));
    expect(users.map(({ value, profile }) => [value, profile !== undefined])).toEqual([
      ['none', false],
      ['known', true],
    ]);
  });

  it('throw at the end for records that match no user', async () => {
    const found: string[] = [];
    const reading = async () => {
      for await (const { value } of account.getProfiles([{ City: 'Oslo' }, { identity: 'known' }]))
        found.push(value);
    };
    await expect(reading()).rejects.toMatchObject({ id: 'E-REJECTED' });
    expect(found).toEqual(['known']);
  });
});

it.each([
  [{ dryRun: true }, 'dryRun is not an option'],
  [{ 'dry-run': true }, 'dry-run is not an option'],
  [{ '--check': true }, '--check is not an option'],
  [{ check: true }, 'check is not an option'],
  [{ rehearsal: true }, "rehearsal must be 'check' or 'dryRun', found true"],
  [{ rehearsal: 'dry-run' }, 'found "dry-run"'],
])(
  'sends nothing with %j, which a caller without types takes for a dry run',
  async (wrong, why) => {
    const options: object = wrong;
    const before = service.requests().length;
    const refused = { id: 'E-USAGE', message: expect.stringContaining(why) as string };
    const optOut = [{ type: 'email', value: 'a@example.test', status: 'Unsubscribe' }];
    await expect(account.subscribe(optOut, options).result).rejects.toMatchObject(refused);
    await expect(account.demerge([{ identity: 'user-1' }], options).result).rejects.toMatchObject(
      refused,
    );
    expect(service.requests().slice(before)).toEqual([]);
  },
);

it.each([
  ['concurrency', 0],
  ['concurrency', Number.NaN],
  ['concurrency', 'auto'],
  ['limit', Number.NaN],
  ['batchSize', 0],
  ['limit', -1],
  ['event', []],
  ['overwrite', true],
  ['fresh', true],
])(
  'refuses an export whose %s is %s, which would be empty, or replace a file',
  async (name, value) => {
    const query: object = { event: 'Charged', from: '2025-11-01', to: '2025-11-02', [name]: value };
    const exported = account.exportEvents(query as Parameters<Account['exportEvents']>[0]);
    const refused = { id: 'E-USAGE', message: expect.stringContaining(name) as string };
    await expect(all(exported)).rejects.toMatchObject(refused);
    await expect(exported.toFile(inFolder('empty.ndjson')).result).rejects.toMatchObject(refused);
  },
);

it('takes the options as they are when it is called, whatever becomes of them', async () => {
  const before = service.requests().length;
  const options: { rehearsal?: 'check' } = { rehearsal: 'check' };
  const checked = account.demerge([{ identity: 'user-of-a-check' }], options);
  delete options.rehearsal;
  expect(await checked.result).toMatchObject({ read: 1, requests: 0 });
  const event = { type: 'event', ts: 'now', eventName: 'First' } as const;
  const reused: { eventName: string } = { ...event };
  const first = account.upload([{ identity: 'user-of-a-reuse' }], reused);
  reused.eventName = 'Second';
  await first.result;
  const [only, ...others] = service.requests().slice(before);
  expect(only?.body).toMatchObject({ d: [{ evtName: 'First' }] });
  expect(others).toEqual([]);
  const drop = ['Secret'];
  const dropped = account.upload([{ identity: 'user-of-a-list', Secret: 1, City: 'Oslo' }], {
    drop,
  });
  drop[0] = 'City';
  await dropped.result;
  expect(service.requests().at(-1)?.body).toMatchObject({ d: [{ profileData: { City: 'Oslo' } }] });
  expect(JSON.stringify(service.requests().at(-1)?.body)).not.toContain('Secret');
  const query = { event: 'First', from: '2025-11-01', to: '2025-11-01' };
  const exported = account.exportEvents(query);
  query.event = 'Second';
  await all(exported);
  expect(service.requests().at(before + 2)?.body).toMatchObject({ event_name: 'First' });
});

it('takes options that are undefined for options that are not given', async () => {
  const mapping = inFolder('undefined.json');
  writeFileSync(mapping, '{"nullValues":["NULL"],"trim":true}');
  const none = { inputFormat: undefined, nullValues: undefined, trim: undefined } as object;
  const users = [
    { identity: ' user-of-none ', City: 'NULL', n: 1n },
    { identity: ' u2 ', City: 'NULL' },
  ];
  const { result } = account.upload(users, { ...none, mapping });
  expect(await result).toMatchObject({ accepted: 1, rejected: 1 });
  expect(service.requests().at(-1)?.body).toMatchObject({
    d: [{ identity: 'u2', profileData: {} }],
  });
});

it.each([
  ['--check', 'the options must be a plain object, found "--check"'],
  [['--check'], 'the options must be a plain object, found ["--check"]'],
  [new Map([['rehearsal', 'check']]), 'the options must be a plain object'],
  [Object.create({ rehearsal: 'check' }), 'the options must be a plain object'],
  [{ types: 'Joined:date' }, 'types must be a list of texts, found "Joined:date"'],
  [{ drop: [1] }, 'drop must be a list of texts, found [1]'],
  [{ lowercase: { City: true } }, 'lowercase must be a list of texts'],
  [{ identity: 5 }, 'identity must be a text, found 5'],
  [{ signal: {} }, 'signal must be an AbortSignal, found {}'],
  [{ type: 'events' }, 'type must be one of profile, event, found "events"'],
  [{ inputFormat: 'xml' }, 'inputFormat must be one of csv, tsv, ndjson, json, list, found "xml"'],
  [{ order: 'None' }, 'order must be one of key, none, found "None"'],
  [{ maxRejects: 5 }, 'maxRejects must be { records: n } or { percent: n }, found 5'],
  [{ maxRejects: { records: Number.NaN } }, 'maxRejects must be'],
  [{ maxRejects: { records: 5, percent: 1 } }, 'maxRejects must be'],
  [{ again: 'no' }, 'again must be true or false, found "no"'],
  [{ resume: 0 }, 'resume must be true or false, found 0'],
  [{ delimiter: 5 }, 'delimiter must be a text, found 5'],
  [{ skipLines: -1 }, 'skipLines must be a whole number, at least 0, found -1'],
  [{ waitLock: '5s' }, 'waitLock must be a number of milliseconds, found "5s"'],
  [{ shard: '1/2' }, 'shard must be an object, found "1/2"'],
  [{ unknownOption: 1 }, 'unknownOption is not an option of the library'],
  [{ constructor: true }, 'constructor is not an option of the library'],
  [{ chunksize: 5 }, 'chunksize is not an option of the library; did you mean "chunkSize"?'],
])('sends nothing with the options %j', async (wrong, message) => {
  const options = wrong as object;
  const before = service.requests().length;
  const refused = { id: 'E-USAGE', message: expect.stringContaining(message) as string };
  const users = [{ identity: 'user-1', City: 'Oslo' }];
  await expect(account.upload(users, options).result).rejects.toMatchObject(refused);
  await expect(account.verify(users, options).result).rejects.toMatchObject(refused);
  expect(service.requests().slice(before)).toEqual([]);
});

it.each([
  ['demerge', { lowercase: ['Mail'] }, 'lowercase is not an option of demerge'],
  ['demerge', { mapping: 'm.json' }, 'mapping is not an option of demerge'],
  ['subscribe', { identity: 'Mail' }, 'identity is not an option of subscribe'],
  ['upload', { by: 'email' }, 'by is not an option of upload'],
  ['subscribe', { type: 'event' }, 'type must be one of phone, whatsapp, email, found "event"'],
] as const)('%s refuses %j, which another job has', async (job, options, message) => {
  const before = service.requests().length;
  const { result } = account[job]([{ identity: 'user-1', Mail: 'A@x.de' }], options as object);
  await expect(result).rejects.toMatchObject({ id: 'E-USAGE', message });
  expect(service.requests().slice(before)).toEqual([]);
});

it('refuses a signal of reads that is none', async () => {
  const wrong = { signal: {} } as unknown as { signal: AbortSignal };
  const refused = { id: 'E-USAGE', message: 'signal must be an AbortSignal, found {}' };
  const range = { from: '2025-11-01', to: '2025-11-02' };
  const query = { event: 'Charged', ...range, ...wrong };
  await expect(all(account.exportEvents(query))).rejects.toMatchObject(refused);
  await expect(account.getProfile({ identity: 'a' }, wrong)).rejects.toMatchObject(refused);
  const written = account.exportEvents(query).toFile(inFolder('signal.ndjson'));
  await expect(written.result).rejects.toMatchObject(refused);
});

it('refuses unknown options of reads, too', async () => {
  const before = service.requests().length;
  const wrong: object = { unknownOption: 1 };
  const refused = { id: 'E-USAGE', message: 'unknownOption is not an option of the library' };
  const range = { from: '2025-11-01', to: '2025-11-02' };
  const query = { event: 'Charged', ...range, ...wrong };
  await expect(all(account.exportEvents(query))).rejects.toMatchObject(refused);
  await expect(all(account.exportProfiles(query))).rejects.toMatchObject(refused);
  const exported = account.exportEvents({ event: 'Charged', ...range });
  const written = exported.toFile(inFolder('unknown.ndjson'), wrong);
  await expect(written.result).rejects.toMatchObject(refused);
  await expect(account.getProfile({ identity: 'a' }, wrong)).rejects.toMatchObject(refused);
  await expect(all(account.getProfiles([{ identity: 'a' }], wrong))).rejects.toMatchObject(refused);
  const ofSubscribe = account.verify([{ value: 'a@example.test' }], { subscriptions: wrong });
  await expect(ofSubscribe.result).rejects.toMatchObject(refused);
  expect(service.requests().slice(before)).toEqual([]);
});

it('accepts options that are undefined, and those of other jobs', async () => {
  const options: object = {
    again: undefined,
    unknownOption: undefined,
    sample: 5,
    signal: undefined,
  };
  const users = [{ identity: 'user-of-undefined' }];
  const result = await account.upload(users, options).result;
  expect(result).toMatchObject({ accepted: 1, error: undefined });
});

it.each([{ concurrency: 0 }, { sample: Number.NaN }, { limit: Number.NaN }])(
  'refuses to verify or look up with %j, which would check nothing',
  async (options) => {
    const users = [{ identity: 'user-1' }];
    const refused = { id: 'E-USAGE' };
    await expect(account.verify(users, options).result).rejects.toMatchObject(refused);
    const lookUps = all(account.getProfiles(users, options));
    await expect(lookUps).rejects.toMatchObject(refused);
    await expect(account.upload(users, options).result).rejects.toMatchObject(refused);
  },
);

it.each([
  ['timeoutMs', Number.POSITIVE_INFINITY],
  ['timeoutMs', 2 ** 31],
  ['timeoutMs', 0],
  ['timeoutMs', Number.NaN],
  ['maxInFlight', 0],
  ['maxInFlight', Number.NaN],
])('refuses %s: %s, with which each request would fail', async (name, value) => {
  const limited = { baseUrl: service.url, ...credentials, fetchLimits: { [name]: value } };
  const event = { identity: 'u', type: 'event', evtName: 'Late', ts: 1_700_000_000, evtData: {} };
  const sent = service.requests().length;
  const refused = { id: 'E-USAGE', message: expect.stringContaining(name) as string };
  await expect(connect(limited).upload([event]).result).rejects.toMatchObject(refused);
  expect(service.requests()).toHaveLength(sent);
});

it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '365d'])(
  'refuses to remember events for %s ms',
  async (rememberMs) => {
    const options = { baseUrl: service.url, ...credentials, rememberMs: rememberMs as number };
    const refused = { id: 'E-USAGE', message: expect.stringContaining('rememberMs') as string };
    await expect(connect(options).getProfile({ identity: 'u' })).rejects.toMatchObject(refused);
  },
);

it('accepts one signal for fifteen concurrent runs with many requests, without a warning of Node', async () => {
  const warnings: string[] = [];
  const warned = ({ message }: Error) => void warnings.push(message);
  process.on('warning', warned);
  await using busy = await startService({
    ...credentials,
    maxConcurrent: { upload: 225, other: 3 },
  });
  // So that there are waits as well.
  await busy.fault({ times: 100, answer: { status: 503 } });
  const retry = { retryBaseMs: 1 };
  const shared = connect({ baseUrl: busy.url, ...credentials, retry });
  const { signal } = new AbortController();
  const runs = Array.from({ length: 15 }, async (_, run) => {
    const records = Array.from({ length: 12 }, (_each, n) => ({ identity: `${run}-${n}` }));
    return shared.upload(records, { signal, chunkSize: 1, concurrency: 15 }).result;
  });
  const accepted = (await Promise.all(runs)).map((result) => result.accepted);
  await shared.close();
  await new Promise(setImmediate); // Node warns on the next turn
  process.off('warning', warned);
  expect(accepted).toEqual(accepted.map(() => 12));
  expect(warnings).toEqual([]);
});

it.each([
  ['accountId', 5, 'number'],
  ['passcode', null, 'object'],
])('refuses the wrong type of %s', async (name, value, type) => {
  const options = { baseUrl: service.url, ...credentials, [name]: value };
  const wrong = connect(options);
  await expect(wrong.getProfile({ identity: 'a' })).rejects.toMatchObject({
    id: 'E-CONFIG',
    message: `${name} must be a string, found ${type}`,
  });
});

it.each([
  [{ timeZone: 'Europe/Berlin' }, 'timeZone is not an option of connect; did you mean "timezone"?'],
  [
    { retry: { maxattempts: 2 } },
    'maxattempts is not an option of retry; did you mean "maxAttempts"?',
  ],
  [{ fetchLimits: { timeout: 2 } }, 'timeout is not an option of fetchLimits'],
  [{ retry: null }, 'retry must be an object, found null'],
  [{ fetchLimits: 5 }, 'fetchLimits must be an object, found number'],
])('connects with no unknown options: %j', (wrong, message) => {
  const options = { baseUrl: service.url, ...credentials, ...(wrong as object) };
  const refused = { id: 'E-USAGE', message: expect.stringContaining(message) as string };
  expect(() => connect(options)).toThrow(expect.objectContaining(refused));
});

it.each([null, 5])('refuses a stateFolder that is %j', (stateFolder) => {
  const options = { baseUrl: service.url, ...credentials, stateFolder: stateFolder as never };
  const message = `stateFolder must be a string, found ${typeof stateFolder}`;
  expect(() => connect(options)).toThrow(expect.objectContaining({ id: 'E-CONFIG', message }));
});

it('refuses an address that is not set', () => {
  const baseUrl = undefined as unknown as string;
  expect(() => connect({ ...credentials, baseUrl })).toThrow('base URL "undefined"');
  const nothing = null as unknown as Parameters<typeof connect>[0];
  expect(() => connect(nothing)).toThrow(expect.objectContaining({ id: 'E-BASE-URL' }));
});

it.each([
  [{ identity: 'ann', email: 'bob@example.test' }, 'identity, email'],
  [{ phone: '+4930123456' }, 'phone'],
])('refuses to look up %j', async (user, found) => {
  const refused = { id: 'E-USAGE', message: expect.stringContaining(`found ${found}`) as string };
  await expect(account.getProfile(user as { identity: string })).rejects.toMatchObject(refused);
});

it('refuses to look up users by an unknown kind of identifier', () => {
  const options = { by: 'phone' } as object;
  expect(() => account.getProfiles([{ phone: '+4930123456' }], options)).toThrow(/found "phone"/);
});

it.each([undefined, null, ''])('refuses to write an export to %j', async (output) => {
  const exported = account.exportEvents({
    event: 'Seen',
    from: '2024-01-01',
    to: '2024-01-01',
  });
  const refused = { id: 'E-USAGE', message: expect.stringContaining('toFile') as string };
  await expect(exported.toFile(output as string).result).rejects.toMatchObject(refused);
});

it('refuses to look up nobody', async () => {
  const nobody = null as unknown as { identity: string };
  await expect(account.getProfile(nobody)).rejects.toMatchObject({ id: 'E-USAGE' });
});

it('refuses addresses that must not receive a passcode', () => {
  const open = () => connect({ ...credentials, baseUrl: 'http://example.test' });
  expect(open).toThrow(expect.objectContaining({ id: 'E-BASE-URL' }));
});

it('returns a wrong passcode as a value', async () => {
  await using wrong = connect({ baseUrl: service.url, ...credentials, passcode: 'wrong' });
  const { error, exitCode, notSent } = await wrong.upload([{ identity: 'a' }]).result;
  expect([error?.id, exitCode, notSent]).toEqual(['E-CREDENTIALS', 4, 1]);
  await expect(wrong.getProfile({ identity: 'a' })).rejects.toMatchObject({ id: 'E-CREDENTIALS' });
});
