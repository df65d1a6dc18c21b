import type { Runtime } from '../runtime.js';

/** The line typed; empty at the end of input. Ctrl-C ends the run. */
export async function askLine(
  question: string,
  { stdin, stderr, signal }: Pick<Runtime, 'stdin' | 'stderr' | 'signal'>,
): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: stdin, output: stderr, terminal: false });
  const ended = new AbortController();
  lines.once('close', () => ended.abort());
  try {
    return await lines.question(question, { signal: AbortSignal.any([signal, ended.signal]) });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (ended.signal.aborted) return '';
    throw error;
  } finally {
    lines.close();
  }
}
