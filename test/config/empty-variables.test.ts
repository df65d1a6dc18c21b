import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { BinProcess } from '../support/processes/bin-process.js';
import { makeWorld } from '../support/test-environment.js';

it('treats every variable listed in help environment as unset if it is empty', async () => {
  const world = makeWorld();
  writeFileSync(world.path('users.csv'), 'identity,Name\nu1,Ann\n');
  const { stdout: help } = await world.run(['help', 'environment']);
  const names = help.match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? [];
  expect(names).toEqual(expect.arrayContaining(['ENGAGECTL_REGION', 'NO_COLOR', 'XDG_STATE_HOME']));
  const outcomeOf = async (env: Readonly<Record<string, string>>, ...argv: string[]) => {
    const run = new BinProcess(world, argv, { HOME: world.path('home'), ...env });
    const code = await run.ended();
    return { code, stdout: run.stdout.replace(/"(?:run|seconds)":[^,]+/g, ''), stderr: run.stderr };
  };
  const places = ['ENGAGECTL_CONFIG_DIR', 'ENGAGECTL_STATE_DIR', 'HOME', 'TMPDIR'];
  const empty = Object.fromEntries(names.map((name) => [name, '']));
  for (const name of places) delete empty[name];
  for (const argv of [
    ['upload', 'users.csv', '--check', '--json'],
    ['config', 'show'],
  ]) {
    expect(await outcomeOf(empty, ...argv)).toEqual(await outcomeOf({}, ...argv));
  }
});
