import type { Command, Option } from 'commander';
import { shellQuoted } from '../config/private-file.js';

/** What was typed. */
export interface Typed {
  readonly command: Command;
  readonly argv: readonly string[];
}

/** Flags that make a rehearsal of a command, or speak of this one run. */
export const ofRehearsal = ['check', 'dry-run', 'preview', 'report', 'json'];
/** Besides those, flags that speak of the input alone. */
export const ofInput = [
  ofRehearsal,
  ['input-format', 'delimiter', 'quote', 'escape', 'comment', 'encoding', 'limit', 'rejects'],
  ['resume', 'fresh', 'run', 'run-name'],
].flat();

/** The command line that was typed, as a shell takes it, for these files and without some flags. */
export function commandLine(
  { command, argv }: Typed,
  files: readonly string[],
  without: readonly string[],
): string {
  const options = [...command.options, ...(command.parent?.options ?? [])];
  const kept = flagsOf(options, argv, new Set(without.map((name) => `--${name}`)));
  return `engagectl ${[command.name(), ...files, ...kept].map(shellQuoted).join(' ')}`;
}

/** The flags among the words that stay, each with its value behind it. */
function flagsOf(
  options: readonly Option[],
  words: readonly string[],
  without: ReadonlySet<string>,
): string[] {
  const kept: string[] = [];
  for (let at = 0; at < words.length && words[at] !== '--'; at += 1) {
    const word = words[at]!;
    const [name = ''] = word.split('=');
    const option = options.find(({ short, long }) => name === short || name === long);
    if (!option) continue; // an operand
    const flag = option.required && !word.includes('=') ? [word, words[(at += 1)]!] : [word];
    if (!without.has(option.long ?? '')) kept.push(...flag);
  }
  return kept;
}
