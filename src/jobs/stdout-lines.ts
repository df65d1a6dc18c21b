import { openStdout } from '../output/stream-sink.js';
import type { World } from './world.js';

/** Writes lines to stdout, at the pace of its reader. A reader that left is E-STDOUT-CLOSED. */
export function openLines(
  runtime: Pick<World['runtime'], 'stdout'>,
  { option }: World['words'],
): (lines: string) => Promise<void> {
  const { file } = openStdout(runtime.stdout, option);
  return (lines) => file.write(Buffer.from(lines));
}
