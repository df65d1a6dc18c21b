import { withProgramName } from '../wording.js';
import type { Command } from 'commander';

/** Rows of a term and what it means, under a heading. */
export interface Table {
  readonly heading: string;
  readonly rows: readonly (readonly [term: string, meaning: string])[];
}

/** How far rows stand from the left, and the least between a term and what it means. */
const indent = 2;
const gap = 2;

/** What is not torn apart: a word; a default, if it is short. */
const pieces = /\(default: [^()\n]{1,18}\)|\S+/g;

/**
 * Text in lines of at most `width` columns, as few as can be and about equally long, so that no word is
 * left alone in the last one. A longer word has a line of its own.
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

/** Tables below each other, with their headings; what terms mean begins in the same column everywhere. */
export function renderTables(tables: readonly Table[], width: number): string[] {
  const terms = tables.flatMap(({ rows }) => rows.map(([term]) => term.length));
  // Longer terms have a line of their own: what they mean needs the room.
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

/** What is done, and the command line that does it. */
export type Example = readonly [what: string, line: string];

const examplesByCommand = new WeakMap<Command, readonly Example[]>();

/** The examples with which a command's help opens; each is run by a test. */
export function addExamples(command: Command, examples: readonly Example[]): void {
  examplesByCommand.set(command, examples);
  command.addHelpText('before', () => {
    const [program] = commandPath(command);
    const called = examples.map(
      ([what, line]) => [what, withProgramName(line, program!.name())] as const,
    );
    return renderExamples(called, command.createHelp().helpWidth ?? 80);
  });
}

/** From lines like the help shows them: `# what is done`, and below it the command line. */
export const parseExamples = (text: string): readonly Example[] =>
  [...text.matchAll(/^ *# (.+)\n *(.+)$/gm)].map(([, what = '', line = '']) => [what, line]);

export const examplesOf = (command: Command): readonly Example[] =>
  examplesByCommand.get(command) ?? [];

/** Wide ones go on in the next line, as a shell reads them. */
export function renderExamples(examples: readonly Example[], width: number): string {
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

/** The program, and so on down to the command. */
export const commandPath = (command: Command): Command[] =>
  command.parent === null ? [command] : [...commandPath(command.parent), command];
