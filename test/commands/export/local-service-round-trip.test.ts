import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { makeWorld } from '../../support/test-environment.js';

const local = ['--region', 'local'];
const range = ['--from', '2024-05-01', '--to', '2024-05-03'];
const charged = [...local, '--event', 'Charged', ...range, '--batch-size', '23'];

it('exports from the local service what was uploaded to it', async () => {
  const world = makeWorld();
  const users = Array.from({ length: 60 }, (_, n) => `user-${n}`);
  const profiles = users.map((identity) =>
    JSON.stringify({ type: 'profile', identity, profileData: { City: `C, "${identity}"` } }),
  );
  const events = users.flatMap((identity, n) =>
    [0, 1, 2].map((day) => {
      const ts = Date.UTC(2024, 4, 1 + day, 10) / 1000 + n;
      const evtData = { Amount: n };
      return JSON.stringify({ type: 'event', identity, ts, evtName: 'Charged', evtData });
    }),
  );
  writeFileSync(world.path('profiles.ndjson'), profiles.join('\n'));
  writeFileSync(world.path('events.ndjson'), events.join('\n'));
  for (const [file, type] of [
    ['profiles.ndjson', 'profile'],
    ['events.ndjson', 'event'],
  ] as const) {
    const { code, stderr } = await world.run([...local, 'upload', file, '--type', type]);
    expect(stderr).toContain('uploaded ');
    expect(code).toBe(0);
  }

  const exported = await world.run([
    'export-events',
    ...charged,
    '--with-event-name',
    '--json',
    '--output=out.ndjson',
  ]);
  expect(exported.stderr).not.toContain('error');
  expect(JSON.parse(exported.stdout)).toMatchObject({ region: 'local', records: 180, pages: 9 });
  const records = readFileSync(world.path('out.ndjson'), 'utf8').trim().split('\n');
  const days = records.map((line) => (JSON.parse(line) as { ts_utc: string }).ts_utc.slice(0, 10));
  expect(days).toEqual(days.toSorted());
  expect(new Set(days)).toEqual(new Set(['2024-05-01', '2024-05-02', '2024-05-03']));

  const csv = await world.run([
    'export-profiles',
    ...charged,
    '--format=csv',
    '--columns=identity,profileData.City',
  ]);
  const rows: string[][] = parse(csv.stdout);
  expect(rows[0]).toEqual(['identity', 'profileData.City']);
  expect(
    rows
      .slice(1)
      .map(([identity]) => String(identity))
      .toSorted(),
  ).toEqual(users.toSorted());
  expect(rows.slice(1).every(([identity, city]) => city === `C, "${identity}"`)).toBe(true);
});
