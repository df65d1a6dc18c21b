import { sanitizeJsonText } from '../wording.js';

export { sanitize, sanitizeJsonText } from '../wording.js';

/** Returns a value as one line of sanitized JSON. */
export const sanitizedJson = (value: unknown): string => sanitizeJsonText(JSON.stringify(value));

/** Puts `schemaVersion` first, which identifies the format of the other members. */
export const versioned = <Answer extends object>(answer: Answer) => ({
  schemaVersion: 1,
  ...answer,
});

/** Returns the line of JSON that a command prints under `--json`. */
export const jsonAnswer = (answer: object): string => `${sanitizedJson(versioned(answer))}\n`;
