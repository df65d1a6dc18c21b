import { asCalled } from '../wording.js';
import { lineage } from './lineage.js';
import { wrap } from './layout.js';
import type { Command } from 'commander';

/** What is done, and the command line that does it. */
export type Example = readonly [what: string, line: string];

const examplesByCommand = new WeakMap<Command, readonly Example[]>();

/** The examples with which a command's help opens; each is run by a test. */
export function addExamples(command: Command, examples: readonly Example[]): void {
  examplesByCommand.set(command, examples);
  command.addHelpText('before', () => {
    const [program] = lineage(command);
    const called = examples.map(([what, line]) => [what, asCalled(line, program!.name())] as const);
    return examplesText(called, command.createHelp().helpWidth ?? 80);
  });
}

/** From lines like the help shows them: `# what is done`, and below it the command line. */
export const examplesIn = (text: string): readonly Example[] =>
  [...text.matchAll(/^ *# (.+)\n *(.+)$/gm)].map(([, what = '', line = '']) => [what, line]);

export const examplesOf = (command: Command): readonly Example[] =>
  examplesByCommand.get(command) ?? [];

/** Wide ones go on in the next line, as a shell reads them. */
export function examplesText(examples: readonly Example[], width: number): string {
  const lines = examples.flatMap(([what, line]) => [
    ...wrap(what, width - 4).map((part) => `  # ${part}`),
    ...continued(`  ${line}`, width),
  ]);
  return ['Examples:', ...lines, ''].join('\n');
}

/** Breaks a command line before a flag or a pipe, else between words. */
function continued(line: string, width: number): string[] {
  if (line.length <= width) return [line];
  const at = Math.max(line.lastIndexOf(' -', width - 2), line.lastIndexOf(' | ', width - 2));
  const end = at < 6 ? line.lastIndexOf(' ', width - 2) : at;
  if (end < 6) return [line];
  return [`${line.slice(0, end)} \\`, ...continued(`     ${line.slice(end)}`, width)];
}
