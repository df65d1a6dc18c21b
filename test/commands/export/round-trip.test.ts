import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { makeWorld, type World } from '../../support/test-environment.js';

// What was exported goes back in: from one embedded service to another, each with data of its own.
const local = ['--region', 'local', '--quiet'];

/** A second account: the same command line, another folder of data. */
const other = (world: World) => ({ env: { ENGAGECTL_STATE_DIR: `${world.stateDir}-other` } });

async function succeed(world: World, argv: readonly string[], options = {}): Promise<string> {
  const { code, stdout, stderr } = await world.run([...local, ...argv], options);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return stdout;
}

const records = (world: World, file: string): Record<string, unknown>[] =>
  readFileSync(world.path(file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('profiles', () => {
  const range = ['--event', 'Charged', '--from', '2024-05-01', '--to', '2024-05-01'];
  const users = Array.from({ length: 50 }, (_, n) => ({
    type: 'profile',
    identity: `user-${n}`,
    profileData: {
      Email: `u${n}@example.com`,
      City: 'Zürich "X", 🏔',
      Score: n + 0.5,
      Tags: ['a', n],
    },
  }));
  const visit = ({ identity }: { identity: string }) => ({
    type: 'event',
    identity,
    ts: Date.UTC(2024, 4, 1, 12) / 1000,
    evtName: 'Charged',
    evtData: {},
  });
  const lines = (all: readonly object[]) => all.map((one) => `${JSON.stringify(one)}\n`).join('');

  it('are the same in another account', async () => {
    const world = makeWorld();
    writeFileSync(world.path('users.ndjson'), lines(users));
    writeFileSync(world.path('visits.ndjson'), lines(users.map(visit)));
    await succeed(world, ['upload', 'users.ndjson']);
    for (const options of [{}, other(world)]) {
      await succeed(world, ['upload', 'visits.ndjson', '--type', 'event'], options);
    }
    await succeed(world, ['export-profiles', ...range, '-o', 'first.ndjson']);
    await succeed(world, ['upload', 'first.ndjson'], other(world));
    await succeed(world, ['export-profiles', ...range, '-o', 'second.ndjson'], other(world));

    const dataOf = (file: string) =>
      new Map(records(world, file).map((one) => [identityOf(one), one['profileData']]));
    expect(dataOf('first.ndjson').size).toBe(users.length);
    expect(dataOf('second.ndjson')).toEqual(dataOf('first.ndjson'));
  });

  const identityOf = ({ identity, all_identities: all }: Record<string, unknown>): unknown =>
    identity ?? (all as unknown[])[0];
});

describe('events', () => {
  const range = ['--event', 'Charged', '--from', '2024-03-29', '--to', '2024-10-29', '--no-split'];
  const utc = (text: string) => Date.parse(`${text}Z`) / 1000;
  /** Around the hour that Berlin leaves out in spring, and the one that comes twice in autumn. */
  const times = [
    '2024-03-31T00:30:00',
    '2024-03-31T00:59:59',
    '2024-03-31T01:00:00',
    '2024-03-31T22:30:00',
    '2024-07-01T12:00:00',
    '2024-10-26T23:30:00',
    '2024-10-27T00:30:00',
    '2024-10-27T02:00:00',
    '2024-10-27T23:30:00',
  ];

  it.each([
    ['Europe/Berlin', 'Asia/Kolkata'],
    ['Asia/Kolkata', 'Europe/Berlin'],
    ['America/St_Johns', 'UTC'],
  ])('keep their instant from %s to an account in %s', async (from, to) => {
    const world = makeWorld();
    const rows = times.map((time, n) => `user-${n},${utc(time)},${n}\n`);
    writeFileSync(world.path('events.csv'), `identity,ts,Amount\n${rows.join('')}`);
    const asEvents = ['--type', 'event', '--event-name', 'Charged'];
    await succeed(world, ['upload', 'events.csv', ...asEvents]);

    const named = [...range, '--with-event-name'];
    await succeed(world, ['export-events', ...named, '--timezone', from, '-o', 'first.ndjson']);
    await succeed(world, ['export-events', ...named, '--timezone', from, '-o', 'first.csv']);
    for (const file of ['first.ndjson', 'first.csv']) {
      const wrong = ['upload', file, '--type', 'event', '--timezone', to];
      const { code, stderr } = await world.run([...wrong, '--region', 'local'], other(world));
      expect([code, stderr]).toEqual([3, expect.stringContaining(`0 of ${times.length} `)]);
      expect(stderr).toContain('add --timezone with the zone of the account it was exported from');
    }
    const changed = readFileSync(world.path('first.csv'), 'utf8').replaceAll(/T([\d:]+)Z/g, ' $1');
    writeFileSync(world.path('spreadsheet.csv'), changed);
    const check = ['upload', 'spreadsheet.csv', '--type', 'event', '--timezone', from, '--check'];
    await succeed(world, check, other(world));
    const upload = ['upload', 'first.ndjson', '--type', 'event', '--timezone', from];
    await succeed(world, upload, other(world));
    await succeed(
      world,
      ['export-events', ...named, '--timezone', to, '-o', 'second.ndjson'],
      other(world),
    );

    const instants = (file: string) =>
      new Map(records(world, file).map((one) => [identityOf(one), one['ts_utc']]));
    const expected = new Map(times.map((time, n) => [`user-${n}`, `${time}Z`]));
    expect(instants('first.ndjson')).toEqual(expected);
    expect(instants('second.ndjson')).toEqual(expected);
    const zoned = new Set(records(world, 'second.ndjson').map(({ ts }) => String(ts)));
    expect(zoned.has(records(world, 'first.ndjson').map(({ ts }) => String(ts))[0]!)).toBe(false);
  });

  it('of the repeated hour are read as the earlier one', async () => {
    const world = makeWorld();
    const later = utc('2024-10-27T01:30:00'); // 02:30 in Berlin, for the second time
    writeFileSync(world.path('events.csv'), `identity,ts\na,${later}\n`);
    await succeed(world, ['upload', 'events.csv', '--type', 'event', '--event-name', 'Charged']);
    const zone = ['--timezone', 'Europe/Berlin', '--with-event-name'];
    await succeed(world, ['export-events', ...range, ...zone, '-o', 'first.ndjson']);
    expect(records(world, 'first.ndjson')).toMatchObject([{ ts_utc: '2024-10-27T00:30:00Z' }]);
  });

  const identityOf = ({ profile }: Record<string, unknown>): unknown =>
    (profile as { identity: string }).identity;
});
