import type { Command } from 'commander';

/** The program, and so on down to the command. */
export const lineage = (command: Command): Command[] =>
  command.parent === null ? [command] : [...lineage(command.parent), command];
