import { sanitizeJsonText } from '../wording.js';

export { sanitize, sanitizeJsonText } from '../wording.js';

/** Returns a value as one line of sanitized JSON. */
export const sanitizedJson = (value: unknown): string => sanitizeJsonText(JSON.stringify(value));

/**
 * Returns a line of stderr with its type, which is first in a log of JSON lines. With --json alone it is last: these lines
 * start as they did before they had a type.
 */
export const typedLine = (
  type: string,
  content: object,
  { logJson = false }: { readonly logJson?: boolean | undefined },
): string => `${sanitizedJson(logJson ? { type, ...content } : { ...content, type })}\n`;

/** Puts `schemaVersion` first, which identifies the format of the other members. */
export const versioned = <Answer extends object>(answer: Answer) => ({
  schemaVersion: 1,
  ...answer,
});

/** Returns the line of JSON that a command prints under `--json`. */
export const jsonAnswer = (answer: object): string => `${sanitizedJson(versioned(answer))}\n`;
