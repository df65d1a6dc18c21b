import { once } from 'node:events';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import { checkedPasscode } from './credentials.js';

/** Somebody may have to unlock the secret store first. */
const patienceMs = 60_000;
/** No passcode is longer. */
const mostBytes = 64 * 1024;

/**
 * The passcode that a shell command prints on its first line of standard output. Standard input is
 * empty, as records may stand on ours; what the command says on standard error is not shown, as
 * nobody knows what is in it. E-CONFIG when it fails, says nothing or takes longer than a minute.
 */
export async function passcodeFromCommand(
  command: string,
  source: string,
  runtime: Pick<Runtime, 'env' | 'cwd' | 'sleep' | 'signal'>,
): Promise<string> {
  const { spawn } = await import('node:child_process'); // few commands need it
  const child = spawn(command, {
    shell: true,
    cwd: runtime.cwd,
    env: withoutSecrets(runtime.env),
    stdio: ['ignore', 'pipe', 'ignore'],
    windowsHide: true,
  });
  const done = new AbortController();
  try {
    const stop = AbortSignal.any([runtime.signal, done.signal]);
    const tooLong = runtime.sleep(patienceMs, stop).then(() => {
      throw failed(source, `it was not done within ${patienceMs / 1000} s`);
    });
    const ended = once(child, 'close').catch((error: unknown) => {
      throw failed(source, `it cannot be started (${(error as NodeJS.ErrnoException).code})`);
    });
    const output = firstLine(child.stdout);
    const [code, killedBy] = (await Promise.race([ended, tooLong])) as [number | null, string];
    if (code !== 0) throw failed(source, code === null ? `${killedBy} ended it` : `exit ${code}`);
    const passcode = await output;
    if (passcode === '') throw failed(source, 'its first line of output is empty');
    return checkedPasscode(passcode, source);
  } finally {
    done.abort();
    child.kill();
    child.stdout.destroy();
  }
}

/** It is another program: what it does not need, it does not get. */
const withoutSecrets = (env: Runtime['env']): Runtime['env'] =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !secretVariables.has(name)));

const secretVariables = new Set(['ENGAGECTL_PASSCODE', 'ENGAGECTL_CALL_API_KEY']);

/** Without its line end. Reads on behind it, as the command would wait for a reader. */
async function firstLine(output: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  try {
    for await (const chunk of output.setEncoding('utf8')) {
      if (text.length < mostBytes) text += String(chunk);
    }
  } catch {
    // Given up: nobody waits for it.
  }
  return /^[^\r\n]*/.exec(text)?.[0] ?? '';
}

const failed = (source: string, why: string): EngagectlError =>
  new EngagectlError('E-CONFIG', `the passcode cannot be had from the ${source}`, {
    why,
    fix: 'run the command in a shell to see what is wrong; config set --passcode-command changes it',
  });
