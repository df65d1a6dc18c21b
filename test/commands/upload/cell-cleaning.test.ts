import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { serve, written } from '../../support/serve.js';

const header = 'identity;Email;City\n';

it('rejects padded and missing identities, and keeps them as read in the rejects file', async () => {
  const { world, service } = await serve();
  writeFileSync(
    world.path('u.csv'),
    `identity,City\n" ann ",Oslo\nNULL,Rome\n1001.0,Bern\nbob,nan\n`,
  );
  const { code } = await world.run(['upload', 'u.csv']);
  expect(code).toBe(3);
  expect(written(service).flat()).toEqual([
    { identity: 'bob', type: 'profile', profileData: { City: 'nan' } },
  ]);
  const rejects = readFileSync(world.path('u.csv.rejects.ndjson'), 'utf8').trim().split('\n');
  expect(rejects.map((line) => (JSON.parse(line) as { record: object }).record)).toEqual([
    { identity: ' ann ', City: 'Oslo' },
    { identity: 'NULL', City: 'Rome' },
    { identity: '1001.0', City: 'Bern' },
  ]);
});

it('sends them with --trim and --null-values, and keeps the records of the rejects file', async () => {
  const { world, service } = await serve();
  writeFileSync(world.path('u.csv'), `${header} ann ; a@x.com ;NULL\n ; b@x.com ;Oslo\n`);
  const argv = ['upload', 'u.csv', '--delimiter', ';', '--trim', '--null-values', 'NULL,n/a'];
  expect((await world.run(argv)).code).toBe(3);
  expect(written(service).flat()).toEqual([
    { identity: 'ann', type: 'profile', profileData: { Email: 'a@x.com' } },
  ]);
  const reject = JSON.parse(readFileSync(world.path('u.csv.rejects.ndjson'), 'utf8')) as object;
  expect(reject).toMatchObject({ line: 3, record: { identity: ' ', Email: ' b@x.com ' } });
});

it.each([[], ['--trim'], ['--null-values', 'NULL'], ['--lowercase', 'City']])(
  'sends an escaped half of a surrogate pair as it is: %j',
  async (...flags) => {
    const { world, service } = await serve();
    const text = String.raw`{"identity":"u1","City":"a\ud800b"}`;
    writeFileSync(world.path('u.ndjson'), text);
    const { code, stderr } = await world.run(['upload', 'u.ndjson', ...flags]);
    expect(code, stderr).toBe(0);
    expect(JSON.stringify(written(service))).toContain(String.raw`"City":"a\ud800b"`);
  },
);
