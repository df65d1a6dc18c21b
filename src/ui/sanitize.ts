import { inertJsonText } from '../wording.js';

export { inert, inertJsonText } from '../wording.js';

/** A value as JSON on one line, equally harmless. */
export const sanitizedJson = (value: unknown): string => inertJsonText(JSON.stringify(value));

/** What a program reads: the first member says which form the others have. */
export const versioned = <Answer extends object>(answer: Answer) => ({
  schemaVersion: 1,
  ...answer,
});

/** The one line of JSON that a command answers with under `--json`. */
export const jsonAnswer = (answer: object): string => `${sanitizedJson(versioned(answer))}\n`;
