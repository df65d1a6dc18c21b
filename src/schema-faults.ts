import { didYouMean } from './did-you-mean.js';
import type { ZodError } from 'zod';

/** What is wrong with JSON that people write, a fault each; `known` are the names of its members. */
export const schemaFaults = ({ issues }: ZodError, known: readonly string[]): string =>
  issues
    .flatMap((issue) => {
      const at = issue.path.map((name) => String(name)).join('.');
      if (issue.code !== 'unrecognized_keys') return `${at} ${inWords(issue.message)}`.trim();
      const has = at === '' ? '' : `${at} has an `;
      return issue.keys.map((key) => `${has}unknown member "${key}"${didYouMean(key, known)}`);
    })
    .join('; ');

const inWords = (message: string): string =>
  message
    .replace(/^Invalid input: /, '')
    .replace(/^expected .*, received undefined$/, 'is missing')
    .replace(/^expected (.*), received (.*)$/, 'has to be $1, not $2');
