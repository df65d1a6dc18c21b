import type { ReadLineOptions } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';

type AskRuntime = Pick<Runtime, 'stdin' | 'stderr' | 'signal'>;

/** The line typed; empty at the end of input. Ctrl-C ends the run. */
export const askLine = (question: string, { stdin, stderr, signal }: AskRuntime): Promise<string> =>
  ask(question, { input: stdin, output: stderr, terminal: false }, signal);

/** The same at a terminal, without showing what is typed. Ctrl-C is E-INTERRUPTED. */
export async function askSecret(question: string, runtime: AskRuntime): Promise<string> {
  const { stdin, stderr, signal } = runtime;
  // As a terminal, readline turns the echo off and writes each key to `output` itself.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  stderr.write(question);
  try {
    return await ask('', { input: stdin, output: nowhere, terminal: true, historySize: 0 }, signal);
  } finally {
    stderr.write('\n');
  }
}

async function ask(question: string, from: ReadLineOptions, signal: AbortSignal): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface(from);
  const stop = new AbortController();
  lines.once('SIGINT', () => stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by Ctrl-C')));
  lines.once('close', () => stop.abort());
  try {
    return await lines.question(question, { signal: AbortSignal.any([signal, stop.signal]) });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (stop.signal.reason instanceof EngagectlError) throw stop.signal.reason;
    if (stop.signal.aborted) return '';
    throw error;
  } finally {
    lines.close();
  }
}
