import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { withProgramName } from '../../src/wording.js';
import { EngagectlError, errorIds, type ErrorId } from '../../src/errors.js';
import { main } from '../../src/main.js';
import { buildProgram } from '../../src/program.js';
import { printError } from '../../src/ui/error-message.js';
import { accountAt } from '../support/account-environment.js';
import { makeWorld, type World } from '../support/test-environment.js';

// Whatever is said to be typed next begins with what was typed now: under npx nothing else is found.

const program = 'npx engagectl';
const commandsOf = async (world: World): Promise<string[]> => {
  const all = (command: Command, path: string): string[] => [
    path,
    ...command.commands.flatMap((child) => all(child, `${path} ${child.name()}`.trim())),
  ];
  const [, ...names] = all(await buildProgram(world.runtime()), '');
  return names.filter((name) => !name.startsWith('__'));
};

async function under(world: World, argv: readonly string[], env: Record<string, string> = {}) {
  const runtime = world.runtime({ env });
  const code = await main(argv, { ...runtime, program });
  const { stdout, stderr } = runtime.output();
  return { code, text: `${stdout}${stderr}` };
}

/** Of a text, the command lines that a shell would not find. */
async function lost(world: World, text: string): Promise<string[]> {
  const first = (await commandsOf(world)).filter((name) => !name.includes(' '));
  const line = new RegExp(
    `.{0,20}(?<!npx )\\bengagectl (?:(?:${first.join('|')})\\b|<command>|--?[a-z])`,
    'g',
  );
  return text.replaceAll(/(?:\s|\\\n)+/g, ' ').match(line) ?? []; // some are broken into two lines
}

it('recognizes every command in prose', async () => {
  for (const name of await commandsOf(makeWorld()))
    expect(withProgramName(`fix: engagectl ${name} x`, program)).toBe(
      `fix: npx engagectl ${name} x`,
    );
  const prose = 'a defect in engagectl, not; another engagectl holds it; install engagectl again';
  expect(withProgramName(prose, program)).toBe(prose);
  const done = 'npx engagectl upload x; node bin/engagectl.js runs list; /opt/engagectl upload x';
  expect(withProgramName(done, program)).toBe(done);
});

it.each(Object.keys(errorIds) as ErrorId[])(
  '%s: starts advice and help with the name that was typed',
  async (id) => {
    const world = makeWorld();
    for (const json of [false, true]) {
      const runtime = world.runtime();
      printError(new EngagectlError(id, 'x'), { ...runtime, program }, { json });
      expect(await lost(world, runtime.output().stderr)).toEqual([]);
    }
    const { code, text } = await under(world, ['help', 'errors', id]);
    expect([code, await lost(world, text)]).toEqual([0, []]);
  },
);

it('uses the typed name in every command, its help, and its errors', async () => {
  const world = makeWorld();
  writeFileSync(world.path('users.csv'), 'identity\nu1\n');
  const env = accountAt('http://127.0.0.1:9', 'p');
  for (const argv of [[], ['--help'], ['--colour', 'runs']])
    expect(await lost(world, (await under(world, argv)).text), argv.join(' ')).toEqual([]);
  for (const name of await commandsOf(world)) {
    if (/^(?:serve|completion|call (?:listen|place|run))\b/.test(name)) continue;
    for (const rest of [['--help'], ['users.csv', '--max-attempts=1']]) {
      const { text } = await under(world, [...name.split(' '), ...rest], env);
      expect(await lost(world, text), `${name} ${rest.join(' ')}`).toEqual([]);
    }
  }
});

it.each(['environment', 'exit-codes', 'errors', 'formats', 'resume', 'security'])(
  'help %s',
  async (topic) => {
    const world = makeWorld();
    const { text } = await under(world, ['help', topic]);
    expect(await lost(world, text)).toEqual([]);
    expect(text).toMatch(/npx\s+engagectl\s/);
  },
);
