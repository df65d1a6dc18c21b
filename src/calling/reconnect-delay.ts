const firstDelay = 1500;
const longestDelay = 5000;

/**
 * Milliseconds before the next attempt to reconnect, after so many that failed: 1.5 s doubling to 5 s, each
 * up to a half shorter or longer, so that clients of a router that was down do not return at once.
 */
export function reconnectDelay(failed: number, random: () => number): number {
  const delay = Math.min(firstDelay * 2 ** failed, longestDelay);
  return delay * (0.5 + random());
}
