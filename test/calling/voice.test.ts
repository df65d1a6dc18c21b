import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { runRouter } from '../service/calls/raw-client.js';

// §8.12 of the calling contract: two processes hear each other's tone, by WebRTC on loopback.

const hasWrtc = (() => {
  try {
    createRequire(import.meta.url).resolve('@roamhq/wrtc');
    return true;
  } catch {
    return false;
  }
})();
if (!hasWrtc) process.stderr.write('SKIPPED: no @roamhq/wrtc; nobody hears voices\n');

const script = fileURLToPath(new URL('../support/voice-process.mjs', import.meta.url));

/** A process with a cuid that says a tone. */
function speaker(...args: readonly string[]) {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    line: async () => (await lines.next()).value as string | undefined,
    hangUp: () => child.stdin.write('\n'),
    exit: once(child, 'exit') as Promise<[number | null]>,
  };
}

it.skipIf(!hasWrtc)('each of two processes hears the tone of the other', async () => {
  const { url } = await runRouter();
  const bob = speaker(url, 'bob_1', '880');
  expect(await bob.line()).toBe('ready');
  const ann = speaker(url, 'ann_1', '440', 'bob_1');
  expect(await ann.line()).toBe('ready');
  expect(Number(await ann.line())).toBeCloseTo(880, -1);
  expect(Number(await bob.line())).toBeCloseTo(440, -1);
  ann.hangUp();
  expect([(await ann.exit)[0], (await bob.exit)[0]]).toEqual([0, 0]);
});
