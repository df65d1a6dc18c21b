import { Writable } from 'node:stream';
import { EngagectlError } from '../errors.js';
import { inert } from './sanitize.js';
import { isOn } from './display-settings.js';
import type { ReadLineOptions } from 'node:readline/promises';
import type { Runtime } from '../runtime.js';

export type AskRuntime = Pick<Runtime, 'stdin' | 'stderr' | 'signal' | 'env'>;

/** Somebody sits at a terminal, and may be asked. */
export const mayAsk = ({ stdin, stderr, env }: Omit<AskRuntime, 'signal'>): boolean =>
  stdin.isTTY === true && stderr.isTTY === true && !isOn(env['ENGAGECTL_NO_INPUT']);

/** Returns when a number or a word was typed; E-CONFIRM otherwise. Ctrl-C ends the run. */
export async function confirm(
  { word, noun }: { readonly word: string; readonly noun: 'number' | 'region' },
  { stdin, stderr, signal }: AskRuntime,
): Promise<void> {
  const from = { input: stdin, output: stderr, terminal: false };
  const typed = (await ask(`Type ${inert(word)} to go on: `, from, signal)).trim();
  if (typed === word || (noun === 'number' && typed.replaceAll(',', '') === word)) return;
  throw new EngagectlError('E-CONFIRM', 'not confirmed: nothing was done', {
    why: `what was typed is not ${noun === 'number' ? word : `the ${noun}, ${word}`}`,
    fix: `run it again and type the ${noun}, or add --yes`,
  });
}

/** The line typed at a terminal, without showing it. Ctrl-C is E-INTERRUPTED. */
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

/** Whether `y` was typed. Throws the reason of `over` when the question is not to be answered any more. */
export async function askYesNo(
  question: string,
  { stdin, stderr, signal }: AskRuntime,
  over: AbortSignal,
): Promise<boolean> {
  const from = { input: stdin, output: stderr, terminal: false };
  const typed = await ask(inert(question), from, AbortSignal.any([signal, over]));
  return /^y(es)?$/i.test(typed.trim());
}

/** Empty at the end of input. */
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
