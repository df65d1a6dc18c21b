import type { Runtime } from '../../runtime.js';

/** Milliseconds without input after which what was read is not kept waiting. */
const momentMs = 1000;

/**
 * Waits for input. When it lets itself be waited for longer than a moment, `work` is called once;
 * its signal is aborted when the input is there, which is then given out as soon as work is done.
 */
export async function whileSilent<T>(
  input: Promise<T>,
  { sleep }: Pick<Runtime, 'sleep'>,
  work: (heard: AbortSignal) => Promise<void>,
): Promise<T> {
  const heard = new AbortController();
  const silent = sleep(momentMs, heard.signal).then(
    async () => work(heard.signal),
    () => undefined, // heard in time
  );
  try {
    return await input;
  } finally {
    heard.abort();
    await silent;
  }
}
