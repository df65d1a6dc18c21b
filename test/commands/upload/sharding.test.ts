import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../support/property-runs.js';
import { serve, written } from '../../support/serve.js';
import { makeWorld, type World } from '../../support/test-environment.js';
import { isValidIdentity } from '../../support/builders/upload-mapping.js';

/** FNV-1a as its authors define it. */
function fnv64(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) {
    hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  }
  return hash;
}

const shardOf = (key: string, count: number): number => Number(fnv64(key) % BigInt(count)) + 1;

interface Summary {
  readonly read: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly resumed: number;
  readonly otherShards?: number;
  readonly rejectsFile: string | null;
}

async function run(world: World, argv: readonly string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await world.run([...argv, '--json'], { env });
  return { code, stderr, summary: (stdout === '' ? {} : JSON.parse(stdout)) as Summary };
}

it('uses FNV-1a in the oracle', () => {
  expect(['', 'a', 'foobar'].map((text) => fnv64(text).toString(16))).toEqual([
    'cbf29ce484222325',
    'af63dc4c8601ec8c',
    '85944171f73967e8',
  ]);
});

describe('--shard', () => {
  it('sends the records whose key belongs to it: all of them once, those of a key in order', async () => {
    const key = fc.oneof(
      fc.constantFrom('A', 'user-1', 'Zoë', '日本', 'a"b\\c', 'tab\\u0041'),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
    );

    const inputs = fc.record({
      keys: fc.array(key.filter(isValidIdentity), { maxLength: 60 }),
      count: fc.integer({ min: 1, max: 5 }),
      form: fc.constantFrom(...Object.keys(forms)),
    });
    const { service, world } = await serve();
    await fc.assert(
      fc.asyncProperty(inputs, async ({ keys, count, form }) => {
        await service.reset();
        const { text, flags = [] } = forms[form]!;
        const file = world.path(`users.${form.startsWith('csv') ? 'csv' : 'ndjson'}`);
        writeFileSync(file, text(keys));
        const shards = Array.from({ length: count }, (_, index) => `${index + 1}/${count}`);
        for (const shard of shards) {
          const before = written(service).length;
          const upload = ['upload', file, '--again', '--shard', shard, ...flags];
          const { code, summary } = await run(world, upload);
          expect(code).toBe(0);
          const ours = written(service)
            .slice(before)
            .flatMap((records) => records.map(({ identity }) => String(identity)));
          const index = shards.indexOf(shard) + 1;
          expect(ours.filter((identity) => shardOf(identity, count) !== index)).toEqual([]);
          expect(summary).toMatchObject({
            read: ours.length,
            accepted: ours.length,
            otherShards: keys.length - ours.length,
          });
        }
        const order = (of: string) =>
          written(service)
            .flat()
            .flatMap(({ identity, profileData, evtData }) =>
              identity === of ? [Number(((profileData ?? evtData) as { n: unknown }).n)] : [],
            );
        for (const one of new Set(keys)) {
          expect(order(one)).toEqual(keys.flatMap((other, n) => (other === one ? [n] : [])));
        }
      }),
      { numRuns: runs(24) },
    );
  });

  it('hashes type, NUL and value of a subscription, and the identity of a demerge', async () => {
    const { service, world } = await serve();
    const values = Array.from({ length: 40 }, (_, n) => `+490000000${n}`);
    writeFileSync(world.path('phones.txt'), values.join('\n'));
    const flags = ['--type', 'phone', '--status', 'Resubscribe'];
    const { summary } = await run(world, ['subscribe', 'phones.txt', ...flags, '--shard', '2/3']);
    const expected = values.filter((value) => shardOf(`phone\0${value}`, 3) === 2);
    expect(
      written(service)
        .flat()
        .map(({ value }) => value),
    ).toEqual(expected);
    expect(summary).toMatchObject({ read: expected.length, otherShards: 40 - expected.length });

    const demerged = await run(world, ['demerge', 'phones.txt', '--yes', '--shard', '3/3']);
    const identities = values.filter((value) => shardOf(value, 3) === 3);
    expect(written(service).at(-1)).toEqual(identities);
    expect(demerged.summary).toMatchObject({ accepted: identities.length });
  });

  it('hashes the type as it is sent, from a cell, a member or a flag', async () => {
    const { service, world } = await serve();
    const types = ['phone', 'Email', 'WHATSAPP', ''];
    const rows = Array.from({ length: 40 }, (_, n) => ({ type: types[n % 4]!, value: `4"${n}` }));
    const ours = rows.filter(
      ({ type, value }) => shardOf(`${type.toLowerCase() || 'email'}\0${value}`, 3) === 2,
    );
    const cells = rows.map(({ type, value }) => `${type},"${value.replaceAll('"', '""')}"`);
    writeFileSync(world.path('s.csv'), ['type,value', ...cells].join('\n'));
    writeFileSync(world.path('s.ndjson'), rows.map((row) => JSON.stringify(row)).join('\n'));
    for (const file of ['s.csv', 's.ndjson']) {
      await service.reset();
      const flags = ['--type', 'email', '--status', 'Resubscribe', '--shard', '2/3'];
      // That these are no addresses is for the service to say.
      expect((await run(world, ['subscribe', file, ...flags])).code).toBe(3);
      const values = written(service)
        .flat()
        .map(({ value }) => value);
      expect(values).toEqual(ours.map(({ value }) => value));
    }
  });

  it('includes records without a key in the first shard, and names the rejects file after the shard', async () => {
    const { world } = await serve();
    writeFileSync(world.path('users.csv'), 'identity,n\nA,1\n,2\nB\nC,3\n');
    const first = await run(world, ['upload', 'users.csv', '--shard', '1/2']);
    const second = await run(world, ['upload', 'users.csv', '--shard', '2/2']);
    const ours = ['A', 'B', 'C'].filter((key) => key !== 'B' && shardOf(key, 2) === 1).length;
    expect(first.summary).toMatchObject({ rejected: 2, accepted: ours, otherShards: 2 - ours });
    expect(first.summary.rejectsFile).toBe('users.csv.1-of-2.rejects.ndjson');
    expect(second.summary).toMatchObject({ rejected: 0, rejectsFile: null, otherShards: 2 + ours });
    const named = ['--rejects', 'bad.ndjson', '--shard', '1/2'];
    expect((await run(world, ['upload', 'users.csv', ...named])).summary.rejectsFile).toBe(
      'bad.1-of-2.ndjson',
    );
  });

  it('resumes its own run, and counts the others as if it had not been interrupted', async () => {
    const { service, world } = await serve();
    await service.fault({ after: 2, times: 1, answer: { status: 401 } });
    const keys = Array.from({ length: 200 }, (_, n) => `user-${n}`);
    writeFileSync(world.path('users.csv'), asCsv(keys));
    const flags = ['--chunk-size', '5', '--concurrency', '4', '--shard', '1/4'];
    const command = ['upload', 'users.csv', ...flags];
    expect((await run(world, command)).code).toBe(4);
    expect((await run(world, command)).code).toBe(8);
    expect((await run(world, ['upload', 'users.csv', '--shard', '1/5', '--resume'])).code).toBe(8);
    const { code, summary } = await run(world, [...command, '--resume']);
    const ours = keys.filter((key) => shardOf(key, 4) === 1);
    expect(code).toBe(0);
    expect(summary).toMatchObject({ read: ours.length, otherShards: 200 - ours.length });
    expect(summary.resumed).toBeGreaterThan(0);
    const identities = written(service)
      .flat()
      .map(({ identity }) => String(identity));
    expect(new Set(identities)).toEqual(new Set(ours));
    expect(identities).toHaveLength(ours.length);
  });

  it.each([1, 2])(
    'counts unread records as not sent when it stops, and those of other shards apart: %i/2',
    async (index) => {
      const { service, world } = await serve();
      await service.fault({ times: 1, answer: { status: 401 } });
      const keys = Array.from({ length: 80 }, (_, n) => `user-${n}`);
      writeFileSync(world.path('a.csv'), asCsv(keys.slice(0, 60)));
      // In the second file one row has no key and one is no CSV record: both fall to the first shard.
      writeFileSync(world.path('b.csv'), `${asCsv(keys.slice(60))},2\nuser-x\n`);
      const one = ['--chunk-size', '1', '--concurrency', '2', '--shard', `${index}/2`];
      const { code, summary } = await run(world, ['upload', 'a.csv', 'b.csv', ...one]);
      const ours = keys.filter((key) => shardOf(key, 2) === index).length + (index === 1 ? 2 : 0);
      expect(code).toBe(4);
      expect(summary).toMatchObject({ read: ours, accepted: 0, otherShards: 82 - ours });
      expect(summary).toMatchObject({ notSent: ours, rejected: 0 });
    },
  );

  // As the recipes of docs/scale.md start all parts at once.
  it('starts with --resume, too, if another shard is unfinished', async () => {
    const { service, world } = await serve();
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    writeFileSync(world.path('users.csv'), asCsv(['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H']));
    const part = async (shard: string) =>
      run(world, ['upload', 'users.csv', '--chunk-size', '1', '--shard', shard, '--resume']);
    expect((await part('1/2')).code).toBe(4);
    const { code, stderr } = await part('2/2');
    expect(code, stderr).toBe(0);
  });

  it('sends no event in a second shard: neither with another count nor undivided', async () => {
    const { world } = await serve();
    writeFileSync(world.path('users.csv'), asCsv(['A', 'B', 'C', 'D']));
    const flags = ['--type', 'event', '--event-name', 'E', '--ts', 'now'];
    const send = async (...more: string[]) =>
      run(world, ['upload', 'users.csv', ...flags, ...more]);
    for (const shard of ['1/2', '2/2']) expect((await send('--shard', shard)).code).toBe(0);
    for (const more of [['--shard', '1/3'], []]) {
      const { code, stderr } = await send(...more);
      expect([code, stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
      const resumed = await send(...more, '--resume');
      expect([resumed.code, resumed.summary.accepted]).toEqual([0, 0]);
    }
    expect((await send('--shard', '1/2', '--resume')).summary.accepted).toBe(0);
    expect((await send('--again')).summary.accepted).toBe(4);
    expect((await send('--resume')).summary.accepted).toBe(0);
  });

  it('tells the user to send corrected records without --shard, because their shard may change', async () => {
    const { world } = await serve();
    writeFileSync(world.path('users.csv'), 'identity,n\n,2\n');
    const { stderr } = await run(world, ['upload', 'users.csv', '--shard', '1/2', '--drop', 'n']);
    const fix = 'engagectl upload users.csv.1-of-2.rejects.ndjson --drop n';
    expect(JSON.parse(stderr.split('\n').at(-2)!).error.fix).toMatch(new RegExp(`${fix}$`));
  });

  it('divides the requests in flight, and refuses more shards than there are', async () => {
    const { world } = await serve();
    writeFileSync(world.path('users.csv'), asCsv(['A']));
    for (const [command, most] of [
      ['upload', 15],
      ['demerge', 3],
    ] as const) {
      const shard = async (count: number, ...more: string[]) =>
        run(world, [command, 'users.csv', '--yes', '--shard', `1/${count}`, ...more]);
      expect((await shard(most)).code).toBe(0);
      const { code, stderr } = await shard(most + 1);
      expect(code).toBe(2);
      expect(stderr).toContain(`${most + 1} shards share ${most} requests in flight`);
      expect((await shard(3, '--concurrency', '2')).code).toBe(2);
    }
    for (const wrong of ['0/2', '3/2', '1/0', '2', 'x/2']) {
      expect((await run(world, ['upload', 'users.csv', '--shard', wrong])).code).toBe(2);
    }
    expect((await run(world, ['upload', 'users.csv', '--shards', '4'])).code).toBe(2);
  });

  it.each<[scheduler: string, env: Record<string, string>, flags: string[], shard: string]>([
    ['Kubernetes', { JOB_COMPLETION_INDEX: '2' }, ['--shards', '4'], '3-of-4'],
    ['AWS', { AWS_BATCH_JOB_ARRAY_INDEX: '0', AWS_BATCH_JOB_ARRAY_SIZE: '5' }, [], '1-of-5'],
    [
      'Slurm',
      { SLURM_ARRAY_TASK_ID: '7', SLURM_ARRAY_TASK_COUNT: '3', SLURM_ARRAY_TASK_MIN: '5' },
      [],
      '3-of-3',
    ],
    ['Cloud Run', { CLOUD_RUN_TASK_INDEX: '1', CLOUD_RUN_TASK_COUNT: '2' }, [], '2-of-2'],
  ])('auto reads the variables of %s', async (...[, env, flags, shard]) => {
    const { world } = await serve();
    const broken = Array.from({ length: 40 }, (_, n) => `user-${n}`);
    writeFileSync(world.path('users.csv'), asCsv(broken));
    const [index, count] = shard.split('-of-').map(Number);
    const { summary } = await run(
      world,
      ['upload', 'users.csv', '--shard', 'auto', ...flags, '--no-journal'],
      env,
    );
    expect(summary.read).toBe(broken.filter((key) => shardOf(key, count!) === index).length);
  });

  it('auto lists the possible variables, and the errors in those that are set', async () => {
    const world = makeWorld();
    const upload = ['upload', 'users.csv', '--shard', 'auto', '--region', 'local'];
    const text = async (env: Record<string, string>, ...more: string[]) => {
      const { code, stderr } = await world.run([...upload, ...more], { env });
      expect(code).toBe(2);
      return stderr;
    };
    expect(await text({})).toContain('SLURM_ARRAY_TASK_ID');
    expect(await text({ JOB_COMPLETION_INDEX: '2' })).toContain('add --shards');
    const rerun = {
      SLURM_ARRAY_TASK_ID: '3',
      SLURM_ARRAY_TASK_COUNT: '1',
      SLURM_ARRAY_TASK_MIN: '3',
    };
    expect(await text(rerun)).toContain('for a task that runs again, name its shard');
    expect(await text({ JOB_COMPLETION_INDEX: 'x' }, '--shards', '4')).toContain('not a number');
    expect(await text({ JOB_COMPLETION_INDEX: '4' }, '--shards', '4')).toContain('out of range');
  });
});

describe('export-events --shard', () => {
  const seed = [1, 2, 3, 4, 5].map((day) => ({
    type: 'event',
    identity: 'u',
    evtName: 'A',
    ts: Date.parse(`2024-01-0${day}T12:00:00Z`) / 1000,
  }));
  const command = ['export-events', '--event', 'A', '--from', '2024-01-01', '--to', '2024-01-05'];

  it('exports every n-th day, and needs a file per shard if the days have none', async () => {
    const { service, world } = await serve({ seed });
    const exported = async (output: string, shard: string) =>
      world.run([...command, '-o', output, '--shard', shard, '--json']);
    for (const shard of ['1/2', '2/2']) await exported('day-{day}.ndjson', shard);
    const days = readdirSync(world.cwd).toSorted();
    expect(days).toEqual([1, 2, 3, 4, 5].map((day) => `day-2024-01-0${day}.ndjson`));
    expect(service.requests({ endpoint: 'events-cursor' })).toHaveLength(5);

    const { stdout } = await exported('all.ndjson.gz', '2/2');
    expect(JSON.parse(stdout)).toMatchObject({ records: 2, output: 'all.2-of-2.ndjson.gz' });
    expect(existsSync(world.path('all.2-of-2.ndjson.gz'))).toBe(true);

    await exported('both.ndjson', '1/2');
    const text = readFileSync(world.path('both.1-of-2.ndjson'), 'utf8');
    const times = [1, 3, 5].map((day) => `2024010${day}120000`);
    expect(text.match(/(?<="ts":)\d+/g)).toEqual(times);
    expect((await exported('x.ndjson', '1/4')).code).toBe(2);
  });
});

const asCsv = (keys: readonly string[]): string =>
  ['identity,n', ...keys.map((key, n) => `"${key.replaceAll('"', '""')}",${n}`), ''].join('\n');

const asLines = (
  keys: readonly string[],
  record: (identity: string, n: number) => object,
  spelled: (record: object) => string = (one) => JSON.stringify(one),
): string => keys.map((identity, n) => `${spelled(record(identity, n))}\n`).join('');

/** As Python does it. */
const spaced = (record: object): string => JSON.stringify(record, null, 1).replaceAll(/\n */g, ' ');

/** Ways in which a key may stand in an input: those of other shards are found without reading the record. */
const forms: Readonly<
  Record<string, { text: (keys: readonly string[]) => string; flags?: readonly string[] }>
> = {
  csv: { text: asCsv },
  'csv, with other columns': {
    text: (keys) =>
      asCsv(keys)
        .replace('identity', 'uid')
        .replaceAll(/,(\d+)$/gm, ',"a ""b""",$1')
        .replace('n', 'x,n'),
    flags: ['--identity', 'uid'],
  },
  flat: { text: (keys) => asLines(keys, (identity, n) => ({ n: String(n), identity })) },
  'flat, by another name': {
    text: (keys) => asLines(keys, (uid, n) => ({ identity: 'none', uid, n: String(n) })),
    flags: ['--identity', 'uid', '--drop', 'identity'],
  },
  'typed, with spaces': {
    text: (keys) =>
      asLines(keys, (identity, n) => ({ type: 'profile', identity, profileData: { n } }), spaced),
  },
  'typed, behind nested members': {
    text: (keys) =>
      asLines(keys, (identity, n) => ({
        profileData: { n, list: [{ identity: '}"' }], '"identity":"x': 1 },
        type: 'profile',
        identity,
      })),
  },
  'typed, with escapes': { text: asEscaped },
  'an exported profile': {
    text: (keys) => asLines(keys, (identity, n) => ({ identity, events: {}, profileData: { n } })),
  },
  'an exported event': {
    text: (keys) =>
      asLines(keys, (identity, n) => ({
        profile: { identity },
        ts: 20240101000000,
        event_name: 'E',
        event_props: { n },
      })),
  },
};

/** Keys and their name spelled with escapes. */
function asEscaped(keys: readonly string[]): string {
  return keys
    .map((identity, n) => {
      const record = JSON.stringify({ type: 'profile', profileData: { n } });
      const escaped = Array.from(JSON.stringify(identity), (character) =>
        character > '~' ? escapes(character) : character,
      );
      return `${record.slice(0, -1)},"ident\\u0069ty":${escaped.join('')}}\n`;
    })
    .join('');
}

const escapes = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
