import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { expect, it } from 'vitest';
import { makeWorld } from '../../support/test-environment.js';
import { serve, written } from '../../support/serve.js';

// A file that a command line names twice: as two inputs, its records would be read twice; as an output, it would be replaced.

const noon = Date.parse('2026-11-29T12:00:00Z');
const stage = async () => {
  const { service, world } = await serve({}, { now: () => noon });
  writeFileSync(world.path('a.csv'), 'identity,ts,evtName\nu1,1700000000,Visit\n');
  writeFileSync(world.path('b.csv'), 'identity,ts,evtName\nu2,1700000000,Visit\n');
  writeFileSync(
    world.path('addresses.csv'),
    'type,value,status\nemail,a@example.com,Unsubscribe\n',
  );
  mkdirSync(world.path('sub'));
  symlinkSync('a.csv', world.path('latest.csv'));
  linkSync(world.path('b.csv'), world.path('hard.csv'));
  return { service, world };
};

it.each([
  ['upload a.csv b.csv a.csv --type event', 'a.csv is named twice'],
  ['upload a.csv ./a.csv', './a.csv and a.csv are the same file'],
  ['upload a.csv sub/../a.csv', 'sub/../a.csv and a.csv are the same file'],
  ['upload a.csv b.csv latest.csv', 'latest.csv and a.csv are the same file'],
  ['upload a.csv b.csv hard.csv --type event', 'hard.csv and b.csv are the same file'],
  ['upload a.csv b.csv latest.csv b.csv', 'latest.csv and a.csv are the same file; b.csv is named'],
  ['upload a.csv a.csv --preview', 'a.csv is named twice'],
  ['upload - -', 'standard input (-) is named twice'],
  ['upload - /dev/stdin', '/dev/stdin and standard input (-) are the same file'],
  ['subscribe addresses.csv addresses.csv', 'addresses.csv is named twice'],
  ['demerge a.csv a.csv --yes', 'a.csv is named twice'],
  ['verify a.csv a.csv', 'a.csv is named twice'],
  ['cuid check a.csv a.csv', 'a.csv is named twice'],
])('exits 2 and sends nothing: %s', async (line, message) => {
  const { service, world } = await stage();
  const { code, stderr } = await world.run(line.split(' '));
  expect(stderr).toContain(`error E-USAGE: ${message}`);
  expect(stderr).toContain('fix: name each input once');
  expect(code).toBe(2);
  expect(service.requests()).toEqual([]);
});

it('lists three of many inputs that are named twice', async () => {
  const { world } = await stage();
  const names = Array.from({ length: 30 }, (_, n) => `${n}.csv`);
  for (const name of names) writeFileSync(world.path(name), 'identity\nu1\n');
  const { code, stderr } = await world.run(['upload', ...names, ...names]);
  expect(code).toBe(2);
  expect(stderr).toContain(
    '0.csv is named twice; 1.csv is named twice; 2.csv is named twice; and 27 more',
  );
});

it('treats files with the same content as two inputs', async () => {
  const { service, world } = await stage();
  writeFileSync(world.path('copy.csv'), 'identity,ts,evtName\nu1,1700000000,Visit\n');
  const { code, stderr } = await world.run(['upload', 'a.csv', 'copy.csv', '--check']);
  expect(code, stderr).toBe(0);
  expect(written(service)).toEqual([]);
});

it.each([
  ['verify a.csv -o a.csv --overwrite', 'a.csv', '--output'],
  ['verify a.csv -o latest.csv --overwrite', 'latest.csv', '--output'],
  ['get-profile --input a.csv -o sub/../a.csv --overwrite', 'sub/../a.csv', '--output'],
  ['cuid derive a.csv --from identity -o a.csv --overwrite', 'a.csv', '--output'],
  ['cuid derive a.csv --from identity --key-file key -o key --overwrite', 'key', '--output'],
  ['cuid check a.csv --rejects a.csv', 'a.csv', '--rejects'],
  [
    'upload a.csv --preview --write-mapping latest.csv --overwrite',
    'latest.csv',
    '--write-mapping',
  ],
  ['upload a.csv --mapping m.json --rejects m.json', 'm.json', '--rejects'],
  ['upload a.csv --mapping m.json --changed --gone m.json', 'm.json', '--gone'],
  ['upload a.csv --report a.csv', 'a.csv', '--report'],
])('exits 2 and replaces no input: %s', async (line, name, option) => {
  const { service, world } = await stage();
  writeFileSync(world.path('key'), 'a key of thirty-two characters or more');
  writeFileSync(world.path('m.json'), '{"map":{"evtName":"Name"}}');
  const stderr = await refused({ service, world }, line);
  expect(stderr).toContain(`error E-USAGE: ${name} is an input of this run`);
  expect(stderr).toContain(`fix: name another file with ${option}`);
});

it.each([
  'cuid derive a.csv --from identity -o out.csv --rejects sub/../out.csv',
  'verify a.csv -o out.csv --report out.csv',
  'upload a.csv --rejects out.csv --report out.csv',
  'upload a.csv --changed --gone a.csv.rejects.ndjson',
  'upload a.csv --report sub/../a.csv.rejects.ndjson',
  'upload a.csv --report folder-link/a.csv.rejects.ndjson',
  'upload a.csv --rejects folder-link/out.csv --report out.csv',
  'get-profile --input a.csv -o a.csv.rejects.ndjson --overwrite',
])('exits 2 if one output would replace the other: %s', async (line) => {
  const { service, world } = await stage();
  symlinkSync('.', world.path('folder-link'));
  expect(await refused({ service, world }, line)).toMatch(
    /error E-USAGE: \S*(?:out.csv|rejects.ndjson) is the file of both --\w+ and --\w+/,
  );
});

it.each([
  'upload a.csv --report a.csv.rejects.ndjson.1',
  'upload a.csv --rejects out.csv --report sub/../out.csv.12',
  'upload a.csv --changed --rejects r.txt --gone r.txt.1',
  'get-profile --input a.csv --rejects r.ndjson -o r.ndjson.2 --overwrite',
  'export-events --event A --from 1d --to today -o out.ndjson --report out.ndjson.partial',
  'export-events --event A --from 1d --to today -o out.ndjson --report out.ndjson.partial.1',
])('exits 2 if one output would replace what another one leaves there: %s', async (line) => {
  expect(await refused(await stage(), line)).toMatch(
    /error E-USAGE: \S+ may become a file of --\w+/,
  );
});

it.each([
  [
    'export-events --event A --from 1d --to today -o e-{day}.ndjson --report e-2026-11-28.ndjson',
    '--report',
  ],
  [
    'export-events --event A --from 1d --to today -o e-{day}.ndjson --report link/e-2026-11-28.ndjson',
    '--report',
  ],
  [
    'export-events --event A --from 1d --to yesterday -o e-{day}.ndjson --missing --log-file e-2026-11-28.ndjson',
    '--log-file',
  ],
  ['export-events --event A --from 1d --to today -o {event}.ndjson --report A.ndjson', '--report'],
  [
    'export-profiles --event A --from 1d --to today -o p-{date}.ndjson --report p-2026-11-29.ndjson',
    '--report',
  ],
  ['get-profile --input a.csv -o p-{date}.ndjson --rejects p-2026-11-29.ndjson', '--rejects'],
])('exits 2 if a name that a pattern makes is that of another output: %s', async (line, option) => {
  const { service, world } = await stage();
  symlinkSync('.', world.path('link'));
  const { code, stderr } = await world.run(line.split(' '));
  expect(stderr).toContain(`is the file of both ${option} and --output`);
  expect(code).toBe(2);
  expect(service.requests()).toEqual([]);
});

const events = 'export-events --event A --from 1d --to today';
it.each([
  ['upload a.csv --changed --gone secret.txt', '--gone'],
  ['upload a.csv --rejects sub/../secret.txt', '--rejects'],
  ['upload a.csv --report secret.txt', '--report'],
  ['upload a.csv --log-file link.txt', '--log-file'],
  [`${events} -o secret.txt --format ndjson --overwrite`, '--output'],
  [`${events} -o {event}.txt --event secret --format ndjson --overwrite`, '--output'],
])('exits 2 and keeps the file of the passcode: %s', async (line, option) => {
  const { service, world } = await stage();
  writeFileSync(world.path('secret.txt'), `${service.env['ENGAGECTL_PASSCODE']}\n`);
  symlinkSync('secret.txt', world.path('link.txt'));
  const before = contents(world.cwd);
  const { ENGAGECTL_PASSCODE: _, ...account } = service.env;
  for (const env of [
    { ...account, ENGAGECTL_PASSCODE_FILE: 'secret.txt' },
    { ...service.env, ENGAGECTL_CALL_API_KEY_FILE: 'secret.txt' },
    { ...service.env, ENGAGECTL_CALL_TOKEN_KEY_FILE: 'secret.txt' },
  ]) {
    const { code, stderr } = await makeWorld({ env, now: () => noon, cwd: world.cwd }).run(
      line.split(' '),
    );
    expect(stderr).toMatch(/(?:secret|link)\.txt is an input of this run/);
    expect(stderr).toContain(`fix: name another file with ${option}`);
    expect(code).toBe(2);
  }
  expect(contents(world.cwd)).toEqual(before);
  expect(service.requests()).toEqual([]);
});

it('exits 2 if a name that a pattern makes is that of the input', async () => {
  const { service, world } = await stage();
  writeFileSync(world.path('2026-11-29.csv'), 'identity\nu1\n');
  const line = 'get-profile --input 2026-11-29.csv -o {date}.csv --overwrite';
  const { code, stderr } = await world.run(line.split(' '));
  expect([code, stderr]).toEqual([2, expect.stringContaining('2026-11-29.csv is an input')]);
  expect(readFileSync(world.path('2026-11-29.csv'), 'utf8')).toBe('identity\nu1\n');
  expect(service.requests()).toEqual([]);
});

it('refuses a log file that is also the rejects file', async () => {
  const { service, world } = await stage();
  const line = 'upload a.csv --rejects run.log --log-file ./run.log';
  const { code, stderr } = await world.run(line.split(' '));
  expect([code, stderr]).toEqual([2, expect.stringContaining('of both --rejects and --log-file')]);
  expect(service.requests()).toEqual([]);
});

/** Text of each file in a folder. */
const contents = (folder: string): unknown =>
  readdirSync(folder)
    .filter((name) => !statSync(`${folder}/${name}`).isDirectory())
    .map((name) => [name, readFileSync(`${folder}/${name}`, 'utf8')]);

/** Runs a command that exits 2, sends nothing and changes no file. Returns what it says. */
async function refused({ service, world }: Awaited<ReturnType<typeof stage>>, line: string) {
  const before = contents(world.cwd);
  const { code, stderr } = await world.run(line.split(' '));
  expect(code, stderr).toBe(2);
  expect(contents(world.cwd)).toEqual(before);
  expect(service.requests()).toEqual([]);
  return stderr;
}
