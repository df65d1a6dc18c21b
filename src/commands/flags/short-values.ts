import type { Command } from 'commander';

/**
 * The words of a command line with `-o=file` as `-ofile`, as most programs read it: commander would
 * take `=file` for the value.
 */
export function withShortValues(argv: readonly string[], program: Command): string[] {
  const letters = new Set(valued(program));
  const end = argv.indexOf('--');
  return argv.map((word, at) => {
    const isValue = letters.has(word.slice(0, 2)) && word[2] === '=';
    return isValue && (end < 0 || at < end) ? word.slice(0, 2) + word.slice(3) : word;
  });
}

/** Like `-o`: all that take a value, of all commands. */
const valued = (command: Command): string[] => [
  ...command.options.flatMap(({ short, required }) => (short && required ? [short] : [])),
  ...command.commands.flatMap(valued),
];
