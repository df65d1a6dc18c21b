import { setTimeout as pause } from 'node:timers/promises';

interface UntilOptions {
  /** Description of the condition, for the failure; a function is called when the deadline has passed. */
  readonly message?: string | (() => string);
  /** Milliseconds after which the wait fails. */
  readonly deadline?: number;
}

/** Waits until the condition is true. Throws an error with the message when it is not by the deadline. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  { message = condition.toString(), deadline = 30_000 }: UntilOptions = {},
): Promise<void> {
  const end = performance.now() + deadline;
  while (!(await condition())) {
    if (performance.now() > end) {
      const text = typeof message === 'string' ? message : message();
      throw new Error(`not true within ${deadline / 1000} s: ${text}`);
    }
    await pause(2);
  }
}
