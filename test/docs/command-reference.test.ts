import type { Argument, Command, Option } from 'commander';
import { expect, it } from 'vitest';
import { referencePage } from '../support/oracles/reference-page.js';
import { buildProgram } from '../../src/program.js';
import { makeWorld } from '../support/test-environment.js';

// Commands and flags are what scripts rely on, and people read. A wanted change: npx vitest run test/docs/command-reference.test.ts -u
it('has the commands, arguments and flags of surface.json', async () => {
  const program = await buildProgram(makeWorld().runtime());
  const surface = { global: optionsOf(program), commands: commandsOf(program) };
  await expect(`${JSON.stringify(surface, null, 2)}\n`).toMatchFileSnapshot('../surface.json');
});

it('matches docs/reference.md', async () => {
  const program = await buildProgram(makeWorld().runtime());
  await expect(referencePage(program)).toMatchFileSnapshot('../../docs/reference.md');
});

function commandsOf(parent: Command): object {
  const entries = parent.commands.map((command) => [
    command.name(),
    {
      arguments: command.registeredArguments.map(argumentText),
      options: optionsOf(command),
      ...(command.commands.length > 0 ? { commands: commandsOf(command) } : {}),
    },
  ]);
  return Object.fromEntries(entries) as object;
}

const optionsOf = (command: Command): string[] =>
  command.options
    .filter(({ hidden }) => !hidden)
    .map(optionText)
    .sort();

function optionText({ flags, defaultValue }: Option): string {
  return defaultValue === undefined ? flags : `${flags} = ${String(defaultValue)}`;
}

function argumentText(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}
