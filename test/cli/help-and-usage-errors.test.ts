import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { buildProgram } from '../../src/program.js';
import { makeWorld } from '../support/test-environment.js';

// Contract §1: help, and how a wrong command line is answered. Nothing here reaches a network.

const opensWithExamples =
  /^Examples:\n(?:(?: {2}# .+\n)+ {2}.*engagectl .+\n(?: {6}.+\n)*){2,4}\nUsage: /;

it.each([[[]], [['-h']], [['--help']], [['help']], [['--json', '--help']]])(
  '%j prints help on stdout',
  async (argv) => {
    const { code, stdout, stderr } = await makeWorld().run(argv);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(opensWithExamples);
  },
);

it('prints the commands without their flags when no argument is given', async () => {
  const world = makeWorld();
  const [bare, help] = [await world.run([]), await world.run(['--help'])];
  expect(bare.stdout).toContain('\n  upload [file...] ');
  expect(bare.stdout).toContain(
    '\nFlags: engagectl <command> -h; all of them: engagectl <command> --help\n',
  );
  expect(bare.stdout).not.toContain('  --timeout');
  expect(help.stdout).toContain('  --timeout');
});

it.each([['config'], ['runs'], ['fleet'], ['cuid'], ['call'], ['config help'], ['config --json']])(
  '%s: prints the help of a group without a subcommand',
  async (line) => {
    const world = makeWorld();
    const [group = ''] = line.split(' ');
    expect(await world.run(line.split(' '))).toEqual(await world.run(['help', group]));
    expect((await world.run(['--region', 'local'])).stdout).toBe((await world.run(['-h'])).stdout);
  },
);

/** `__complete` is for scripts. */
const isVisible = (command: Command): boolean => !command.name().startsWith('__');

function namesOf(command: Command, path = ''): string[] {
  const names: string[] = [];
  for (const child of command.commands.filter(isVisible)) {
    const name = `${path}${child.name()}`;
    names.push(name, ...namesOf(child, `${name} `));
  }
  return names;
}

it('opens the help of every command with two to four examples, by flag and by help', async () => {
  const world = makeWorld();
  const names = namesOf(await buildProgram(world.runtime()));
  expect(names).toContain('config set');
  for (const name of names) {
    const byHelp = await world.run(['help', ...name.split(' ')]);
    const byFlag = await world.run([...name.split(' '), '--help']);
    expect(byHelp, name).toEqual({ code: 0, stdout: byFlag.stdout, stderr: '' });
    expect(byHelp.stdout, name).toMatch(opensWithExamples);
  }
});

it.each([
  ['export', 'engagectl export-profiles, engagectl export-events'],
  ['exprot-events', 'engagectl export-events'],
  ['uplod users.csv', 'engagectl upload'],
  ['exprot', 'engagectl export-profiles, engagectl export-events'],
  ['exort', 'engagectl export-profiles, engagectl export-events'],
  ['expport', 'engagectl export-profiles, engagectl export-events'],
  ['help resmue', 'engagectl help resume'],
  ['config s', 'engagectl config set, engagectl config show'],
  ['config lst', 'engagectl config list'],
  ['--json --region x config lst', 'engagectl config list'],
  ['help export', 'engagectl help export-profiles, engagectl help export-events'],
  ['help config sett', 'engagectl help config set'],
  ['config help sett', 'engagectl config set'],
  ['help env', 'engagectl help environment'],
  [
    'help e',
    'engagectl help export-profiles, engagectl help export-events, engagectl help environment',
  ],
  ['help securty', 'engagectl help security'],
  ['help errors E-HEADER-D', 'engagectl help errors E-HEADER-DUPLICATE'],
  ['help errors E-CURSER', 'engagectl help errors E-CURSOR'],
  ['export-events --evnt Charged --from 7d --to today', '--event'],
  ['upload --identty x', '--identity'],
  ['upload --conc 3', '--concurrency'],
  ['upload --head X', '--header-prefix'],
  ['upload --format csv', '--input-format, --log-format'],
  ['export-events --event A --from 7d --to today --output-file x', '--output'],
])('%s: suggests %s', async (line, names) => {
  const { code, stdout, stderr } = await makeWorld().run([...line.split(' '), '--quiet']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(`did you mean: ${names}`);
  expect(stderr).toContain('E-USAGE');
});

it.each([
  ['config zzz', 'command', 'set, use, remove, list, path, show, check', 'config --help'],
  ['help config zzz', 'command', 'set, use, remove, list, path, show, check', 'help config'],
  ['zzz', 'command', /upload, .*completion, version, help/, '--help'],
  ['help zzz', 'command or topic', /upload, .*help, .*exit-codes, errors, .*security/, 'help'],
])('%s: lists the valid names for a name that resembles none', async (line, what, names, fix) => {
  const { code, stderr } = await makeWorld().run(line.split(' '));
  const [error, why, ...rest] = stderr.split('\n');
  expect([code, error]).toEqual([2, `error E-USAGE: unknown ${what} 'zzz'`]);
  expect(why).toMatch(typeof names === 'string' ? `  why: known are ${names}` : names);
  expect(why).not.toContain('__');
  expect(rest).toEqual([`  fix: engagectl ${fix}`, '  more: engagectl help errors E-USAGE', '']);
  expect((await makeWorld().run(fix.split(' '))).code).toBe(0);
});

// The general sentence of E-USAGE says nothing about the case at hand.
it.each([
  ['upload --foo', 'engagectl upload has no such flag'],
  ['uplod', /^known are upload, subscribe, /],
  ['upload --passcode=x', 'others on this machine could read it off the command line'],
  ['upload u.csv --limit x', '--limit <n>: read only the first n records'],
  ['export-events --event E --to today', /^--from <date>: first day: YYYY-MM-DD, /],
  ['config use', 'it is used like this: engagectl config use [options] <profile>'],
  ['completion tcsh', 'it is used like this: engagectl completion [options] <shell>'],
  ['upload u.csv --shard 9/8', 'each part has to know which it is, and of how many'],
  ['upload u.csv --ts now', 'a profile has no time'],
  ['upload u.csv --encoding x', 'Node.js does not know this encoding'],
  ['upload u.csv --full', /^it refers to the baseline, /],
  ['upload u.csv --map x', /^expected a column of the input, =, /],
  ['upload u.csv --drop identity', 'a record needs an identity or an objectId'],
  ['get-profile', 'users are looked up by one kind of identifier at a time'],
  ['verify u.csv --type email', 'what an upload sent is of the type profile or event'],
  ['verify --settle', /^it settles records of an unknown outcome, /],
  ['cuid derive u.csv --from id --style slug --key-file k', 'a slug is readable and hides nothing'],
  ['help errors E-FOO', 'an error id begins with E-; engagectl help errors lists all of them'],
])('%s: reports the reason', async (line, why) => {
  const world = makeWorld();
  writeFileSync(world.path('u.csv'), 'identity,City\nu1,Oslo\n');
  const local = /^(?:upload|get|verify)/.test(line) ? ['--region', 'local'] : [];
  const { code, stderr } = await world.run([...line.split(' '), ...local]);
  expect(code).toBe(2);
  const said = /^ {2}why: (.*)$/m.exec(stderr)?.[1];
  expect(said).toEqual(typeof why === 'string' ? why : expect.stringMatching(why));
});

it('tells the user to correct or unset an invalid variable', async () => {
  const world = makeWorld({ env: { ENGAGECTL_TIMEOUT: 'abc' } });
  const { code, stderr } = await world.run(['upload', 'u.csv']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('it counts where its flag is not')]);
  expect(stderr).toContain('\n  fix: correct it, or unset it\n');
});

it.each(['upload --quiet=true', 'upload --help=x', 'config set --json=1'])(
  '%s: rejects a value for a flag that takes none',
  async (line) => {
    const { code, stderr } = await makeWorld().run(line.split(' '));
    const flag = /--\w+/.exec(line)?.[0];
    expect([code, stderr]).toEqual([2, expect.stringContaining(`option '${flag}' takes no value`)]);
  },
);

it('names all missing flags at once', async () => {
  const world = makeWorld();
  const { code, stderr } = await world.run(['export-events', '--evnt', 'Charged']);
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining(
      "missing: --event <name>, --from <date>, --to <date>; unknown option '--evnt'\n",
    ),
  ]);
  expect(stderr).toContain('did you mean: --event');
});

it('reports an unknown flag even if a required flag is missing', async () => {
  const range = ['export-events', '--event', 'Charged', '--since', '7d', '--to', 'today'];
  const { code, stderr } = await makeWorld().run(range);
  const told = "error E-USAGE: missing: --from <date>; unknown option '--since'\n";
  expect([code, stderr]).toEqual([2, expect.stringContaining(told)]);
});

const fromOne = 'Use a duration from 1ms on.';

it.each([
  ['a timeout of zero, at which it would send and give up', 'upload u.csv --timeout 0s', fromOne],
  ['a token that has expired when it is made', 'call token --cuid ann_1 --ttl 0s', fromOne],
  ['a rejects file that no advice could send', 'upload u.csv --rejects -', 'Name a file'],
])('refuses %s', async (_, command, rule) => {
  const { code, stderr } = await makeWorld().run(command.split(' '));
  expect([code, stderr]).toEqual([2, expect.stringContaining(rule)]);
});

it('does not repeat a passcode typed as a flag', async () => {
  const world = makeWorld();
  for (const flag of ['--passcode=s3cret', '--pass=s3cret', '--passcode-stdin=s3cret']) {
    for (const command of ['upload', 'config set']) {
      const { code, stderr } = await world.run([...command.split(' '), flag, '--verbose']);
      expect(code).toBe(2);
      expect(stderr).not.toContain('s3cret');
    }
  }
});

it('prints only JSON lines on stderr with --json, help included', async () => {
  const { code, stdout, stderr } = await makeWorld({ tty: true }).run(['upload', '--json']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  const error: unknown = JSON.parse(stderr);
  expect(error).toMatchObject({ type: 'error', error: { id: 'E-USAGE', exitCode: 2 } });
});

/** Flags that a plain `1` does not fit. */
const fitting: Readonly<Record<string, string>> = {
  '--timezone': 'UTC',
  '--timeout': '1s',
  '--retry-for': '1s',
  '--retry-base': '1s',
  '--poll-interval': '1s',
  '--pending-timeout': '1s',
  '--progress': 'never',
  '--log-format': 'json',
  '--input-format': 'csv',
  '--order': 'none',
  '--type': 'email',
  '--status': 'Unsubscribe',
  '--empty': 'null',
  '--ts': 'now',
  '--from': 'today',
  '--to': 'today',
  '--format': 'csv',
  '--batch-size': '23',
  '--csv-formulas': 'escape',
  '--by': 'email',
  '--max-concurrent': '1,1',
  '--shard': '1/2',
  '--connection': 'close',
  '--echo': 'changed',
  '--expired-cursor': 'text',
  '--key-style': 'folded',
  '--next-cursor': 'before',
  'serve --status': 'last',
  'upload --type': 'event',
  '--whitespace': 'spaced',
};
const repeatable = new Set([
  '--map',
  '--drop',
  '--only',
  '--types',
  '--set',
  '--lowercase',
  '--header-prefix',
  '--seed',
  '--allow-host',
]);

it('refuses every single-valued flag that is given twice', { timeout: 240_000 }, async () => {
  const world = makeWorld();
  const program = await buildProgram(world.runtime());
  for (const command of program.commands.filter(isVisible)) {
    for (const { long, required } of [...program.options, ...command.options]) {
      if (!required || typeof long !== 'string' || repeatable.has(long)) continue;
      if (`${command.name()} ${long}` === 'export-events --event') continue;
      const value = fitting[`${command.name()} ${long}`] ?? fitting[long] ?? '1';
      const flag = [long, value];
      const argv = [command.name(), ...flag, ...flag];
      const { code, stderr } = await world.run(argv);
      expect(stderr, argv.join(' ')).toContain('given twice');
      expect(code).toBe(2);
    }
  }
  const around = await world.run(['--region', 'local', 'upload', '--region', 'local']);
  expect(around.stderr).toContain('given twice');
});
