import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { errorIds } from '../../src/errors.js';
import { topics } from '../../src/help/topics.js';
import { main } from '../../src/main.js';
import { buildProgram } from '../../src/program.js';
import { nodeRuntime } from '../../src/runtime.js';

/** The words of every `help …` there is: commands, topics, ids of errors. */
export async function helpPages(): Promise<string[][]> {
  return [
    [],
    ...namesOf(await buildProgram(nodeRuntime(new AbortController().signal))),
    ...Object.keys(topics).map((topic) => [topic]),
    ...Object.keys(errorIds).map((id) => ['errors', id]),
  ];
}

const namesOf = (command: Command, path: readonly string[] = []): string[][] =>
  command.commands.flatMap((child) => {
    const names = [...path, child.name()];
    return [names, ...namesOf(child, names)];
  });

/** Pages that were printed before: several test files look at each of them. */
const printed = new Map<string, Promise<string>>();

/** What `engagectl help …` prints on a terminal of so many columns. */
export function helpText(names: readonly string[], columns: number): Promise<string> {
  const key = [columns, ...names].join(' ');
  const page = printed.get(key) ?? printHelp(names, columns);
  printed.set(key, page);
  return page;
}

async function printHelp(names: readonly string[], columns: number): Promise<string> {
  const stdout = new PassThrough();
  const shown = text(stdout);
  const runtime = { ...nodeRuntime(new AbortController().signal), stdout, program: 'engagectl' };
  const code = await main(['help', ...names], { ...runtime, env: { COLUMNS: String(columns) } });
  stdout.end();
  if (code !== 0) throw new Error(`help ${names.join(' ')}: exit ${code}`);
  return shown;
}

/** The runnable lines of a help text, as a shell reads them. */
export function examplesIn(help: string): string[] {
  const [, block = ''] = /^Examples:\n((?: {2}.+\n)+)/.exec(help) ?? [];
  const lines = block.replaceAll(/ \\\n +/g, ' ').split('\n');
  return lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
}
