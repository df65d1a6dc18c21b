import { readFileSync } from 'node:fs';
import { outcomeOf, start } from '../chaos/bin.js';
import type { World } from '../support/test-environment.js';

/** Bytes that no input makes the program take. */
export const mostBytes = 150_000_000;

/** Writes its peak of memory to a file when it ends. */
const measured = (file: string): string => {
  const atExit = `process.on('exit', () => {
    const { readFileSync, writeFileSync } = process.getBuiltinModule('node:fs');
    const [, kilobytes] = /^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
    writeFileSync(${JSON.stringify(file)}, String(1024 * kilobytes));
  })`;
  return `NODE_OPTIONS=--import=data:text/javascript,${encodeURIComponent(atExit)}`;
};

/** Runs the program, and returns the peak of its memory in bytes, too. */
export async function runMeasured(
  world: World,
  argv: readonly string[],
  url = 'http://127.0.0.1:1',
) {
  const peakFile = world.path('peak');
  const child = start(world, { url, argv, tracer: ['env', measured(peakFile)] });
  return { ...(await outcomeOf(child)), peak: Number(readFileSync(peakFile, 'utf8')) };
}
