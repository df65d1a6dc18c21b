import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { main } from '../../../src/main.js';
import { buildProgram } from '../../../src/program.js';
import { startService, type TestService } from '../../../src/testing.js';
import { makeWorld, type Outcome, type World } from '../../support/test-environment.js';

// Every command answers `--json` with one object that names its schema: on stdout, or on stderr where
// stdout carries records.

const files = {
  'users.csv': 'identity,City\nu1,Oslo\nu2,Bergen\n',
  'opt-outs.csv': 'type,value,status\nemail,u1@example.test,Unsubscribe\n',
  'cuids.csv': 'cuid\nann_1\n',
  'cuid.key': '0123456789abcdef0123456789abcdef\n',
  'calls.csv': 'caller,callee,context\nbob_1,ann_1,Order 25\n',
  'init.json': '{"accountId":"A","apiKey":"K","cuid":"ann_1","production":false}',
  passcode: 'passcode-of-the-answers\n',
};

const lines: Readonly<Record<string, string>> = {
  upload: 'users.csv',
  subscribe: 'opt-outs.csv',
  demerge: 'users.csv --yes',
  'export-profiles': '--event Charged --from yesterday --to today -o p.ndjson',
  'export-events': '--event Charged --from yesterday --to yesterday',
  verify: 'users.csv',
  'get-profile': 'u1',
  'call lint': 'init.json',
  'call run': 'calls.csv --region local',
  'call place': '--cuid bob_1 --to ann_1 --context x --region local',
  'call missed list': '--region local',
  'call log': '--region local -o log.ndjson',
  'call token': '--cuid ann_1',
  'cuid check': 'cuids.csv',
  'cuid derive': 'users.csv --from City --key-file cuid.key -o cuids-out.csv',
  'config set':
    '--region eu1 --base-url https://eu1.example.test --account-id A --passcode-file passcode',
  'config use': 'default --region eu1',
  'config list': '',
  'config path': '',
  'config show': '',
  'config check': '',
  'config remove': 'default --region eu1',
  doctor: '',
  'runs list': '',
  version: '',
};

/** Those that answer with something else, need more than a line, or a queue (test/fleet/examples.long.test.ts). */
const others =
  /^(?:help|completion|serve|call listen|call missed click|runs (?:show|resume|prune|repair)|fleet .*)$/;

let service: TestService;
beforeAll(async () => {
  service = await startService();
  return async () => service.close();
});
afterAll(() => service.close());

function worldThere(): World {
  const world = makeWorld({ env: service.env });
  for (const [name, text] of Object.entries(files)) writeFileSync(world.path(name), text);
  return world;
}

/** The one answer, and that there is no other. */
function answerOf({ code, stdout, stderr }: Outcome): object {
  const text = [...stdout.split('\n'), ...stderr.split('\n')];
  const answers = text.filter((line) => line.startsWith('{"schemaVersion":1,'));
  expect(answers, `exit ${code}\n${stdout}\n${stderr}`).toHaveLength(1);
  return JSON.parse(answers[0]!) as object;
}

const wordsIn = (line: string): string[] => line.split(' ').filter((word) => word !== '');

it.each(Object.entries(lines))(
  'prints one JSON object without other output: %s %s',
  async (name, line) => {
    const world = worldThere();
    await world.run(['upload', 'users.csv', '--quiet']);
    if (name.startsWith('config ') && name !== 'config set')
      await world.run(wordsIn(`config set ${lines['config set']}`));
    answerOf(await world.run([...name.split(' '), ...wordsIn(line), '--json']));
  },
);

it('covers every command', async () => {
  const known = pathsOf(await buildProgram(makeWorld().runtime()));
  expect(known.filter((name) => !others.test(name)).toSorted()).toEqual(
    Object.keys(lines).toSorted(),
  );
});

const pathsOf = (command: Command, path: readonly string[] = []): string[] =>
  command.commands.flatMap((child) => {
    const names = [...path, child.name()];
    if (child.name().startsWith('__')) return [];
    return child.commands.length > 0 ? pathsOf(child, names) : [names.join(' ')];
  });

it('covers unfinished and finished runs', async () => {
  await service.fault({ after: 1, times: 1, answer: { status: 401 } });
  const world = worldThere();
  const small = ['--chunk-size', '1', '--concurrency', '1'];
  const answered = async (...words: string[]) => answerOf(await world.run([...words, '--json']));
  const { run } = (await answered('upload', 'users.csv', ...small)) as { run: string };
  expect(await answered('runs', 'list')).toMatchObject({ runs: [{ run }] });
  expect(await answered('runs', 'show', run)).toMatchObject({ run, command: expect.any(String) });
  await answered('runs', 'resume', run);
  expect(await answered('runs', 'list', '--finished')).toMatchObject({ runs: [{ run }] });
  expect(await answered('runs', 'show', run)).toMatchObject({ run, accepted: 2 });
  await answered('runs', 'prune', '--yes');
});

it('covers the address of serve', async () => {
  const stop = new AbortController();
  const world = makeWorld();
  const runtime = world.runtime({ signal: stop.signal });
  const served = main(['serve', '--memory', '--port', '0', '--json'], runtime);
  await expect.poll(() => runtime.output().stdout).not.toBe('');
  stop.abort();
  const code = await served;
  expect(answerOf({ code, ...runtime.output() })).toMatchObject({ url: expect.any(String) });
});
