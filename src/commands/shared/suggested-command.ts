import { shellPath, quoteForShell } from '../../wording.js';
import type { Command, Option } from 'commander';

/** A command line as typed. */
export interface TypedCommand {
  readonly command: Command;
  readonly argv: readonly string[];
  /** Name of another command that accepts these flags. */
  readonly name?: string;
}

/** Flags that turn a command into a dry run, or that concern only this run. */
export const dryRunFlags = ['check', 'fail-on-warnings', 'dry-run', 'preview', 'report', 'json'];
/** Further flags that concern only the input. */
export const inputFlags = [
  dryRunFlags,
  [
    'input-format',
    'records',
    'delimiter',
    'quote',
    'escape',
    'comment',
    'encoding',
    'skip-lines',
    'limit',
    'rejects',
  ],
  ['resume', 'final', 'fresh', 'run', 'run-name'],
  ['shard', 'shards'], // a corrected record may belong to any shard
  ['gone'], // most users are missing from a rejects file
].flat();

/** Flags of a write that `verify` does not have, or that have another meaning there. */
export const writeOnlyFlags = [
  dryRunFlags,
  ['yes', 'chunk-size', 'chunk-bytes', 'concurrency', 'order', 'overwrite', 'no-journal'],
  ['rejects', 'max-rejects', 'strict', 'retry-unknown', 'again', 'shard', 'shards'],
  ['changed', 'stream', 'full', 'gone', 'resume', 'final', 'fresh', 'run', 'run-name'],
  ['wait-lock'],
].flat();

/** Returns the typed command line, quoted for a shell, with these files and without some flags. */
export function suggestCommand(
  { command, argv, name = command.name() }: TypedCommand,
  files: readonly string[],
  without: readonly string[],
): string {
  const options = [...command.options, ...(command.parent?.options ?? [])];
  const kept = typedFlags(options, argv, new Set(without.map((name) => `--${name}`)));
  return `engagectl ${name} ${[...files.map(shellPath), ...kept.map(quoteForShell)].join(' ')}`.trimEnd();
}

/** Returns the flags among the words, each followed by its value, except those in `without`. */
export function typedFlags(
  options: readonly Option[],
  words: readonly string[],
  without: ReadonlySet<string> = new Set(),
): string[] {
  const kept = partsOf(options, words).filter(
    ({ option }) => option && !without.has(option.long ?? ''),
  );
  return kept.flatMap((part) => part.words);
}

/** Removes flags and their values from the words. */
export function removeFlags(
  options: readonly Option[],
  words: readonly string[],
  others: readonly string[],
): string[] {
  const there = new Set(partsOf(options, others).map(({ option }) => option));
  const kept = partsOf(options, words).filter(({ option }) => !option || !there.has(option));
  const operands = words.indexOf('--');
  return [...kept.flatMap((part) => part.words), ...(operands < 0 ? [] : words.slice(operands))];
}

interface Part {
  /** Undefined for an operand, and for an unknown flag. */
  readonly option: Option | undefined;
  readonly words: readonly string[];
}

/** Splits the words up to `--` into flags with their values and single words. */
function partsOf(options: readonly Option[], words: readonly string[]): Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < words.length && words[at] !== '--'; at += 1) {
    const word = words[at]!;
    const isLong = word.startsWith('--');
    const [name = ''] = isLong ? word.split('=') : [word.slice(0, 2)]; // -pstaging, -vv
    const option = options.find(({ short, long }) => name === (isLong ? long : short));
    const isWhole = isLong ? word.includes('=') : word.length > 2;
    const value = option?.required && !isWhole ? [words[(at += 1)] ?? ''] : [];
    parts.push({ option, words: [word, ...value] });
  }
  return parts;
}
