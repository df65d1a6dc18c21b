import type { Runtime } from '../../runtime.js';

/** Milliseconds without input after which what was read is not kept waiting. */
const momentMs = 1000;

/**
 * The items as they come. Each time the next one lets itself be waited for longer than a moment,
 * `whileSilent` is called once; its signal is aborted when the item is there, which is then given out as soon as it is done.
 */
export async function* withSilence<T>(
  items: AsyncIterable<T>,
  { sleep }: Pick<Runtime, 'sleep'>,
  whileSilent: (heard: AbortSignal) => Promise<void>,
): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  for (;;) {
    const heard = new AbortController();
    const silent = sleep(momentMs, heard.signal).then(
      async () => whileSilent(heard.signal),
      () => undefined, // heard in time
    );
    let step: IteratorResult<T>;
    try {
      step = await iterator.next();
    } finally {
      heard.abort();
      await silent;
    }
    if (step.done === true) return;
    yield step.value;
  }
}
