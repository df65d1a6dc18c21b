import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const wrapper = fileURLToPath(new URL('measure.py', import.meta.url));

/**
 * Runs a command to its end and returns { start, wall, cpu, peakBytes }: seconds of the monotonic
 * clock, which all processes share; seconds, seconds, bytes.
 * Its standard output goes to the file `stdout`. Throws with the end of its standard error when
 * it exits with anything but 0: a run that failed has no speed.
 */
export async function measure({ command, env = {}, stdout = '/dev/null', folder }) {
  const result = join(folder, 'usage.json');
  const output = openSync(stdout, 'w');
  const child = spawn('python3', [wrapper, result, ...command], {
    env: { ...process.env, ...env },
    stdio: ['ignore', output, 'pipe'],
  });
  closeSync(output);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr = (stderr + text).slice(-2000)));
  const wrapperExit = await new Promise((resolve, reject) => {
    child.on('error', () => reject(new Error('the benchmarks need python3 in the PATH')));
    child.on('close', resolve);
  });
  if (wrapperExit !== 0) throw new Error(`${command.join(' ')}\n${stderr}`);
  const { exitCode, ...usage } = JSON.parse(readFileSync(result, 'utf8'));
  if (exitCode !== 0) throw new Error(`${command.join(' ')} exited with ${exitCode}\n${stderr}`);
  return usage;
}
