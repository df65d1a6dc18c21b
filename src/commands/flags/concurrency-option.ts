import { integer } from './value-parsers.js';

/** Of whatever sends several requests at once: the most it may, and how many it does. */
export const concurrencyOption = (most: number, usual = most) =>
  [
    '--concurrency <n>',
    `most requests in flight, at most ${most}`,
    { parse: integer({ min: 1, max: most }), default: usual },
  ] as const;
