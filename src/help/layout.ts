import type { Command } from 'commander';

/** Rows of a term and its meaning, under a heading. */
export interface Table {
  readonly heading: string;
  readonly rows: readonly (readonly [term: string, meaning: string])[];
}

/** Indentation of rows, and minimum gap between a term and its meaning. */
const indent = 2;
const gap = 2;

/** Units that are not broken: a word, and a short default. */
const pieces = /\(default: [^()\n]{1,18}\)\S*|\S+/g;

/**
 * Wraps text into as few lines as possible of at most `width` columns and about equal length, so that no
 * word is alone on the last line. A longer word has a line of its own.
 */
export function wrap(text: string, width: number): string[] {
  const words = text.match(pieces) ?? [];
  const lines = filled(words, width);
  const length = lines.join(' ').length;
  for (let less = Math.ceil(length / lines.length); less < width; less += 1) {
    const even = filled(words, less);
    if (even.length === lines.length) return even;
  }
  return lines;
}

function filled(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width)
      lines.push(`${lines.pop()} ${word}`);
    else lines.push(word);
  }
  return lines;
}

/** Formats tables with headings; all meanings start in the same column. */
export function renderTables(tables: readonly Table[], width: number): string[] {
  const terms = tables.flatMap(({ rows }) => rows.map(([term]) => term.length));
  // Longer terms have a line of their own.
  const column = Math.min(Math.max(0, ...terms), Math.max(24, Math.floor(0.36 * width)));
  return tables
    .filter(({ rows }) => rows.length > 0)
    .map(({ heading, rows }) =>
      [heading, ...rows.flatMap((row) => rowLines(row, column, width)), ''].join('\n'),
    );
}

function rowLines([term, text]: Table['rows'][number], column: number, width: number) {
  const from = indent + column + gap;
  const [first = '', ...more] = wrap(text, width - from).map((line) => ' '.repeat(from) + line);
  const head = ' '.repeat(indent) + term;
  return term.length > column && first !== ''
    ? [head, first, ...more]
    : [head.padEnd(from) + first.slice(from), ...more].map((line) => line.trimEnd());
}

/** A description and a command line. */
export type Example = readonly [what: string, line: string];

const examplesByCommand = new WeakMap<Command, readonly Example[]>();

/** Sets the examples at the top of a command's help; a test runs each. */
export const setExamples = (command: Command, examples: readonly Example[]): void =>
  void examplesByCommand.set(command, examples);

/** Parses examples as help shows them: `# description`, and the command line below. */
export const parseExamples = (text: string): readonly Example[] =>
  [...text.matchAll(/^ *# (.+)\n *(.+)$/gm)].map(([, what = '', line = '']) => [what, line]);

export const examplesOf = (command: Command): readonly Example[] =>
  examplesByCommand.get(command) ?? [];

/** Formats examples; long lines are continued with a backslash. */
export function renderExamples(examples: readonly Example[], width: number): string {
  const lines = examples.flatMap(([what, line]) => [
    ...wrap(what, width - 4).map((part) => `  # ${part}`),
    ...continued(`  ${line}`, width),
  ]);
  return ['Examples:', ...lines, ''].join('\n');
}

/** Breaks a command line before a flag or a pipe, otherwise between words. */
function continued(line: string, width: number): string[] {
  if (line.length <= width) return [line];
  const at = Math.max(line.lastIndexOf(' -', width - 2), line.lastIndexOf(' | ', width - 2));
  const end = at < 6 ? line.lastIndexOf(' ', width - 2) : at;
  if (end < 6) return [line];
  return [`${line.slice(0, end)} \\`, ...continued(`     ${line.slice(end)}`, width)];
}

/** Returns the program and the subcommands down to the command. */
export const commandPath = (command: Command): Command[] =>
  command.parent === null ? [command] : [...commandPath(command.parent), command];
