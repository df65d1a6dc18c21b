import type { Command } from 'commander';
import stringWidth from 'string-width';
import { expect, it } from 'vitest';
import { main } from '../../src/main.js';
import { buildProgram } from '../../src/program.js';
import { makeWorld } from '../support/test-environment.js';

const commandLines = (command: Command, path: readonly string[] = []): string[][] =>
  command.commands
    .filter((child) => !child.name().startsWith('__'))
    .flatMap((child) => {
      const words = [...path, child.name()];
      return [words, ...commandLines(child, words)];
    });

it.each(['engagectl', 'npx engagectl', 'node bin/engagectl.js'])(
  'fits %s … -h of every command into 40 lines of 80 columns',
  async (program) => {
    const world = makeWorld();
    const commands = commandLines(await buildProgram(world.runtime()));
    expect(commands.length).toBeGreaterThan(45);
    for (const words of [[], ...commands]) {
      const runtime = world.runtime();
      const code = await main([...words, '-h'], { ...runtime, program });
      const { stdout, stderr } = runtime.output();
      const name = `${program} ${words.join(' ')}`;
      expect({ code, stderr }, name).toEqual({ code: 0, stderr: '' });
      const lines = stdout.trimEnd().split('\n');
      expect(
        lines.filter((line) => stringWidth(line) > 80),
        name,
      ).toEqual([]);
      expect(lines.length, name).toBeLessThanOrEqual(40);
    }
  },
);

it('breaks usage and examples of a program that was called by a long path', async () => {
  const world = makeWorld();
  const program = `node ../../../${'x'.repeat(20)}/bin/engagectl.js`;
  for (const words of [['upload'], ['config', 'set'], ['fleet', 'submit'], []])
    for (const flag of ['-h', '--help']) {
      const runtime = world.runtime();
      await main([...words, flag], { ...runtime, program });
      const lines = runtime.output().stdout.split('\n');
      expect(lines.filter((line) => stringWidth(line) > 80)).toEqual([]);
    }
});

it.each([
  ['upload', ['--identity', '--preview', '--resume', '--json'], ['--chunk-bytes', '--retry-for']],
  ['export-events', ['--event', '--from', '--to', '--output'], ['--pending-timeout', '--bom']],
  // None of its flags is marked as common, so all of its own are listed.
  ['fleet submit', ['--shards', '--work-dir', '--budget', '--wait'], ['--log-format']],
])('%s -h lists the common flags; --help and help list all', async (line, common, rare) => {
  const world = makeWorld();
  const words = line.split(' ');
  const flags = async (...argv: string[]): Promise<string[]> =>
    (await world.run(argv)).stdout.match(/(?<=^ {2}(?:-\w, )?)--[\w-]+/gm) ?? [];
  const short = await flags(...words, '-h');
  expect(short).toEqual(expect.arrayContaining(common));
  for (const flag of rare) expect(short).not.toContain(flag);
  for (const full of [
    [...words, '--help'],
    ['help', ...words],
  ])
    expect(await flags(...full)).toEqual(expect.arrayContaining([...common, ...rare]));
  expect((await world.run([...words, '-h'])).stdout).toMatch(
    new RegExp(`\nAll flags: engagectl ${line} --help\n$`),
  );
});

it('prints the short help for a cluster of short flags with h', async () => {
  const world = makeWorld();
  expect(await world.run(['upload', '-vh'])).toEqual(await world.run(['upload', '-h']));
});

it('prints the error, then the short help, for upload without input on a terminal', async () => {
  const world = makeWorld();
  const { code, stdout, stderr } = await world.run(['upload'], { tty: true });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^\S*error\S* E-USAGE: upload needs input\n/);
  const { stdout: help } = await world.run(['upload', '-h']);
  expect(stderr.endsWith(`\n\n${help}`)).toBe(true);
});
