import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { serve } from '../../support/serve.js';
import { makeWorld, type Outcome } from '../../support/test-environment.js';
import { BinProcess } from '../../support/processes/bin-process.js';
import { until } from '../../support/until.js';

// `--log-format json`: every line of stderr is one object with a type.

const format = ['--log-format', 'json'];

async function start() {
  const served = await serve({}, { env: { GITHUB_ACTIONS: 'true' } });
  writeFileSync(served.world.path('users.csv'), 'identity,Age\nu1,41\nu2,x\nu3,y\n');
  return served;
}

const upload = ['upload', 'users.csv', '--types', 'Age:integer'];

interface Line {
  readonly type: string;
  readonly [member: string]: unknown;
}
/** Throws for a line that does not parse. */
const linesOf = ({ stderr }: Outcome): Line[] =>
  stderr
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
const typesOf = (outcome: Outcome) => [...new Set(linesOf(outcome).map(({ type }) => type))];

it('writes progress, requests, rejects, figures and the error of a write', async () => {
  const { world } = await start();
  const outcome = await world.run([...upload, ...format, '--verbose', '--progress', 'always']);
  expect(outcome).toMatchObject({ code: 3, stdout: '' });
  const lines = linesOf(outcome);
  expect(typesOf(outcome)).toEqual(['verbose', 'progress', 'warning', 'summary', 'error']);
  const shown = lines.find(({ type }) => type === 'progress');
  expect(shown).toMatchObject({ label: 'upload users.csv', records: 0, totalBytes: 29 });
  expect(lines).toContainEqual({
    type: 'warning',
    message: 'users.csv:3: validate: column "Age": "x" is not an integer',
    file: 'users.csv',
    line: 3,
  });
  expect(lines.at(-2)).toMatchObject({ schemaVersion: 1, accepted: 1, rejected: 2, exitCode: 3 });
  expect(lines.at(-1)).toMatchObject({ error: { id: 'E-REJECTED', exitCode: 3 } });
});

it('writes the figures to stdout with --json', async () => {
  const { world } = await start();
  const outcome = await world.run([...upload, ...format, '--json']);
  expect(JSON.parse(outcome.stdout)).toMatchObject({ schemaVersion: 1, accepted: 1 });
  expect(typesOf(outcome)).toEqual(['warning', 'error']);
});

it('separates the log from records on stdout', async () => {
  const event = { type: 'event', identity: 'u1', evtName: 'A', ts: 1_700_000_000 };
  const { world } = await serve({ seed: [event] });
  const args = ['export-profiles', '--event', 'A', '--from', '2023-11-14', '--to', '2023-11-14'];
  for (const more of [[], ['--json']]) {
    const outcome = await world.run([...args, ...format, ...more]);
    expect(outcome.code).toBe(0);
    expect(JSON.parse(outcome.stdout)).toMatchObject({ identity: 'u1' });
    expect(typesOf(outcome)).toEqual(['note', 'summary']);
    expect(linesOf(outcome).at(-1)).toMatchObject({ command: 'export-profiles', records: 1 });
  }
});

it.each([
  ['an unknown flag', ['upload', '--nonsense', ...format]],
  ['the other spelling', ['upload', '--nonsense', '--log-format=json']],
  ['no account', ['get-profile', 'a', ...format, '--profile', 'nobody']],
  ['an unknown subcommand', ['config', 'sett', ...format]],
  ['no input at a terminal, which shows help', ['upload', ...format]],
])('formats %s as one object', async (_what, args) => {
  const outcome = await makeWorld().run(args, { tty: true });
  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(linesOf(outcome)).toHaveLength(1);
  expect(linesOf(outcome)[0]).toMatchObject({ type: 'error', error: { exitCode: 2 } });
});

it('writes only the error with --quiet, or nothing', async () => {
  const { service, world } = await start();
  await service.fault({ after: 1, answer: { status: 401, body: 'no' } });
  const quiet = [...format, '--quiet', '--progress', 'always'];
  expect(typesOf(await world.run([...upload, ...quiet]))).toEqual(['error']);
  writeFileSync(world.path('users.csv'), 'identity\nu1\n');
  const refused = await world.run(['upload', 'users.csv', ...quiet]);
  expect(refused.code).toBe(4);
  expect(typesOf(refused)).toEqual(['error']);
  const done = await world.run(['upload', 'users.csv', '--check', ...quiet]);
  expect(done).toEqual({ code: 0, stdout: '', stderr: '' });
});

it('writes empty lists as notes', async () => {
  const world = makeWorld();
  expect(linesOf(await world.run(['runs', 'list', ...format]))).toEqual([
    { type: 'note', message: 'no unfinished runs' },
  ]);
  expect(typesOf(await world.run(['runs', 'prune', '--yes', ...format]))).toEqual(['note']);
});

it('keeps control characters and line breaks within the string', async () => {
  const { world } = await start();
  writeFileSync(world.path('users.csv'), 'identity,Age\nu1,"\u001B[2J\n{}"\n');
  const outcome = await world.run([...upload, ...format]);
  expect(typesOf(outcome)).toEqual(['warning', 'summary', 'error']);
  expect(outcome.stderr).not.toContain('\u001B');
});

it('is used by the built program too, also when it is interrupted', async () => {
  const { service, world } = await start();
  await service.fault({ action: 'hang' });
  const argv = [...upload, ...format, '--progress', 'always'];
  const started = new BinProcess(world, argv, service.env);
  await until(() => started.stderr !== '', { message: 'it says something' });
  started.signal('SIGINT');
  started.signal('SIGINT');
  await started.ended();
  expect(typesOf({ code: 0, stdout: '', stderr: started.stderr })).toContain('progress');
});
