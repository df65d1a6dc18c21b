import { inertJson } from './inert.js';

/** What a program reads: the first member says which form the others have. */
export const versioned = <Answer extends object>(answer: Answer) => ({
  schemaVersion: 1,
  ...answer,
});

/** The one line of JSON that a command answers with under `--json`. */
export const jsonAnswer = (answer: object): string => `${inertJson(versioned(answer))}\n`;
