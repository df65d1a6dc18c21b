/** Characters that steer a terminal or reorder text: C0 except newline and tab, DEL, C1, bidi. */
const active =
  // oxlint-disable-next-line no-control-regex -- these are what it is for
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

/** A line that begins with `::`, and `##[` or `##vso[` anywhere: the runners of CI take them for commands. */
const runnerCommands = /\n(?=\s*::)|#(?=#(?:vso)?\[)/g;

/**
 * Text of a file or of the service made harmless for a terminal, and for the log of a job: such
 * characters become `\u{…}`.
 */
export function inert(text: string): string {
  return text.replace(active, visible).replace(runnerCommands, visible);
}

const visible = (character: string): string =>
  `\\u{${character.codePointAt(0)?.toString(16).toUpperCase()}}`;

/** A value as JSON on one line, equally harmless. */
export const inertJson = (value: unknown): string => inertJsonText(JSON.stringify(value));

/** In JSON, which can only have them in its strings. */
const commandsInJson = /#(?=#(?:vso)?\[)|:(?=:)/g;

/** JSON text with such characters, and what a runner takes for commands, in JSON's own escapes. */
export function inertJsonText(json: string): string {
  return json.replace(active, inJson).replace(commandsInJson, inJson);
}

const inJson = (character: string): string =>
  `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;

/** What a program reads: the first member says which form the others have. */
export const versioned = <Answer extends object>(answer: Answer) => ({
  schemaVersion: 1,
  ...answer,
});

/** The one line of JSON that a command answers with under `--json`. */
export const jsonAnswer = (answer: object): string => `${inertJson(versioned(answer))}\n`;
