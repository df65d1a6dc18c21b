import { shellPath, quoteForShell } from '../../wording.js';
import type { Command, Option } from 'commander';

/** What was typed. */
export interface TypedCommand {
  readonly command: Command;
  readonly argv: readonly string[];
  /** The words of another command that takes these flags. */
  readonly name?: string;
}

/** Flags that make a rehearsal of a command, or speak of this one run. */
export const dryRunFlags = ['check', 'dry-run', 'preview', 'report', 'json'];
/** Besides those, flags that speak of the input alone. */
export const inputFlags = [
  dryRunFlags,
  ['input-format', 'delimiter', 'quote', 'escape', 'comment', 'encoding', 'limit', 'rejects'],
  ['resume', 'fresh', 'run', 'run-name'],
  ['shard', 'shards'], // what is corrected may fall to any
].flat();

/** Flags of a write that `verify` has not, or that mean something else there. */
export const writeOnlyFlags = [
  dryRunFlags,
  ['yes', 'chunk-size', 'chunk-bytes', 'concurrency', 'order', 'overwrite', 'no-journal'],
  ['rejects', 'max-rejects', 'strict', 'retry-unknown', 'again', 'shard', 'shards'],
  ['changed', 'stream', 'full', 'gone', 'resume', 'fresh', 'run', 'run-name'],
].flat();

/** The command line that was typed, as a shell takes it, for these files and without some flags. */
export function suggestCommand(
  { command, argv, name = command.name() }: TypedCommand,
  files: readonly string[],
  without: readonly string[],
): string {
  const options = [...command.options, ...(command.parent?.options ?? [])];
  const kept = typedFlags(options, argv, new Set(without.map((name) => `--${name}`)));
  return `engagectl ${name} ${[...files.map(shellPath), ...kept.map(quoteForShell)].join(' ')}`.trimEnd();
}

/** The flags among the words, each with its value behind it, but for those `without`. */
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

/** The words but for the flags that stand among `others`, whatever their values. */
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
  /** Undefined for an operand, and for a flag of others. */
  readonly option: Option | undefined;
  readonly words: readonly string[];
}

/** Each flag with its value, each other word alone, up to `--`. */
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
