import type { Command } from 'commander';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';

/** Without a file, input comes from stdin; from a terminal it never would: help instead, exit 2. */
export function needInput(
  files: readonly string[],
  command: Command,
  runtime: Pick<Runtime, 'stdin'>,
): void {
  if (files.length > 0 || runtime.stdin.isTTY !== true) return;
  command.outputHelp({ error: true });
  throw new EngagectlError('E-USAGE', `${command.name()} needs input`, {
    why: 'no file was named, and standard input is a terminal',
    fix: `engagectl ${command.name()} <file>, or pipe records into it`,
  });
}
