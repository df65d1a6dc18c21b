import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';

/** Asks for a line at the terminal without showing what is typed. Ctrl-C ends the run (E-INTERRUPTED). */
export async function askSecret(
  question: string,
  { stdin, stderr, signal }: Pick<Runtime, 'stdin' | 'stderr' | 'signal'>,
): Promise<string> {
  // As a terminal, readline turns the echo off and writes each key to `output` itself.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
  const stop = new AbortController();
  lines.once('SIGINT', () => stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by Ctrl-C')));
  lines.once('close', () => stop.abort());
  stderr.write(question);
  try {
    return await lines.question('', { signal: AbortSignal.any([signal, stop.signal]) });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (stop.signal.reason instanceof EngagectlError) throw stop.signal.reason;
    if (stop.signal.aborted) return '';
    throw error;
  } finally {
    lines.close();
    stderr.write('\n');
  }
}
