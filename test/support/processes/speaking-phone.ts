import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export const hasWrtc = (() => {
  try {
    createRequire(import.meta.url).resolve('@roamhq/wrtc');
    return true;
  } catch {
    return false;
  }
})();
if (!hasWrtc) process.stderr.write('SKIPPED: no @roamhq/wrtc; nobody hears voices\n');

const script = fileURLToPath(new URL('voice-process.mjs', import.meta.url));

/** A process with a cuid that says a tone. */
export function speaker(...args: readonly string[]) {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const qualities: string[] = [];
  return {
    /** The next line of what it prints, without the network quality. */
    line: async () => {
      for (;;) {
        const line = (await lines.next()).value as string | undefined;
        if (!line?.startsWith('quality ')) return line;
        qualities.push(line.slice('quality '.length));
      }
    },
    qualities,
    say: (line: string) => child.stdin.write(`${line}\n`),
    hangUp: () => child.stdin.write('\n'),
    exit: once(child, 'exit') as Promise<[number | null]>,
  };
}
