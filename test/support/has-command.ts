import { spawnSync } from 'node:child_process';

/** Whether a program is installed; says so on stderr when tests have to go without it. */
export function hasCommand(name: string, without: string): boolean {
  const found = spawnSync('sh', ['-c', 'command -v "$1"', 'sh', name]).status === 0;
  if (!found) process.stderr.write(`SKIPPED: ${name} is missing; ${without}\n`);
  return found;
}
