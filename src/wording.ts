import { sep } from 'node:path';

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

/** In JSON, which can only have them in its strings. */
const commandsInJson = /#(?=#(?:vso)?\[)|:(?=:)/g;

/** JSON text with such characters, and what a runner takes for commands, in JSON's own escapes. */
export function inertJsonText(json: string): string {
  return json.replace(active, inJson).replace(commandsInJson, inJson);
}

const inJson = (character: string): string =>
  `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;

/** What a command line of ours begins with; anything else behind the name is prose. */
const commandLine =
  /(?<![\w./-])(?<!npx )engagectl (?=(?:upload|subscribe|demerge|export-profiles|export-events|verify|get-profile|call|cuid|config|doctor|serve|runs|fleet|completion|version|help|<command>|--?[a-z][\w-]*)(?![\w-]))/g;

/** The command lines in a text of ours, by the name that the program was called by: `npx engagectl runs list`. */
export const withProgramName = (text: string, program: string): string =>
  program === 'engagectl' ? text : text.replaceAll(commandLine, () => `${program} `);

/** Words that bash, zsh, fish and PowerShell take as they are. zsh expands a leading `=`, fish `%self`, PowerShell `@`. */
const plainWord = /^[\w+:,./-][\w@%+=:,./-]*$/;

/**
 * Quotes a text as one word of a command line that is printed to be pasted: for bash, zsh and fish, which
 * receive exactly this text, and on Windows for PowerShell. Pasted into another shell, it still runs nothing.
 */
export const quoteForShell = (text: string): string =>
  sep === '\\' ? powershellWord(text) : posixWord(text);

/** Quotes the name of a file as an operand: a leading dash would make it a flag. `-` stays standard input. */
export const shellPath = (name: string): string =>
  quoteForShell(/^-./.test(name) ? `./${name}` : name);

/**
 * Doubles the quotes, of which PowerShell knows several. Older than 7.3, it hands quotation marks in a word on
 * to programs without escaping them.
 */
export const powershellWord = (text: string): string =>
  plainInPowershell.test(text) ? text : `'${text.replaceAll(/['‘’‚‛]/g, '$&$&')}'`;

/** A comma makes a list, `@` a table, and a flag ends at a dot or colon. */
const plainInPowershell = /^(?!-.*[.:])[\w+:./\\-][\w@%+=:./\\-]*$/;

function posixWord(text: string): string {
  if (plainWord.test(text)) return text;
  // A substitution drops newlines at its end: they stand as they are, behind it.
  const ending = /\n*$/.exec(text)![0];
  const content = text.slice(0, text.length - ending.length);
  if (hidden.test(content))
    return `"$(printf '${printfFormat(content)}')"${ending && `'${ending}'`}`;
  const parts = text.split(notInSingleQuotes);
  const quoted = parts.map((part, at) =>
    at % 2 === 0 ? part && `'${part}'` : `"${part.replaceAll('\\', '\\\\')}"`,
  );
  return quoted.join('') || "''";
}

/** Control, bidi and invisible characters, which a terminal is not sent as they are; without the joiners of emoji. */
const hidden = /(?![\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/**
 * The quotes of PowerShell, and a backslash, which fish takes for an escape in single quotes. Besides them, what
 * is changed in all texts that are shown: the begin of a CI runner's command, and the space behind our own name.
 */
const notInSingleQuotes = /(['\\‘’‚‛]+|#(?=\[|vso\[)|(?<=engagectl) )/;

/** The whole text: fish misreads a `$` in single quotes that stand in a word beside a substitution. */
const printfFormat = (text: string): string =>
  text.replaceAll(/[^\p{L}\p{N}_./:,+@=]/gu, (character) =>
    Array.from(Buffer.from(character), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
  );
