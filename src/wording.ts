import { sep } from 'node:path';
import { writeEndpoints } from './contract/endpoints.js';

/** Characters that control a terminal or reorder text: C0 except newline and tab, DEL, C1, bidi. */
const active =
  // oxlint-disable-next-line no-control-regex -- matching them is the purpose
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

/** What follows `##` in commands that CI runners find anywhere in a line: `##[`, `##vso[` and `##teamcity[`. */
const afterHashes = String.raw`(?:vso|teamcity)?\[`;
/** Besides these, a line that starts with `::` is a command. */
const runnerCommands = new RegExp(String.raw`\n(?=[^\S\n]*::)|#(?=#${afterHashes})`, 'g');

/**
 * Sanitizes text of a file or of the service for terminals and CI logs: control characters become
 * `\u{…}`.
 */
export function sanitize(text: string): string {
  return text.replace(active, visible).replace(runnerCommands, visible);
}

/** Sanitizes text that must stay within its line, like a cell or a file name. */
export const sanitizeLine = (text: string): string => sanitize(text).replaceAll(/[\t\n]/g, visible);

/**
 * Returns a function that keeps the words of a command line that contain line ends within one line of a
 * sanitized message; undefined if there are none. Otherwise a file name could pretend to be a message.
 */
export function wordsInOneLine(argv: readonly string[]): ((text: string) => string) | undefined {
  const words = argv
    .flatMap((word) => [word, word.replace(/^--[\w-]+=/, '')])
    .filter((word) => word.includes('\n'))
    .toSorted((a, b) => b.length - a.length);
  if (words.length === 0) return undefined;
  return (text) => words.reduce(inOneLine, text);
}

/** Leaves the word as it is where it is quoted for a shell: a line to paste keeps its line ends. */
function inOneLine(text: string, word: string): string {
  const quoted = text.includes(shellPath(word)) ? shellPath(word) : quoteForShell(word);
  const parts = text.split(quoted);
  return parts
    .map((part) => part.replaceAll(sanitize(word), () => sanitizeLine(word)))
    .join(quoted);
}

const visible = (character: string): string =>
  `\\u{${character.codePointAt(0)?.toString(16).toUpperCase()}}`;

/** In JSON, commands can only occur inside strings. */
const commandsInJson = new RegExp(`#(?=#${afterHashes})|:(?=:)`, 'g');

/** Sanitizes JSON text by JSON's own escapes. */
export function sanitizeJsonText(json: string): string {
  return json.replace(active, inJson).replace(commandsInJson, inJson);
}

const inJson = (character: string): string =>
  `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;

const commandNames = [
  ...Object.keys(writeEndpoints),
  'export-profiles',
  'export-events',
  'verify',
  'get-profile',
  'call',
  'cuid',
  'config',
  'doctor',
  'serve',
  'runs',
  'fleet',
  'completion',
  'version',
  'help',
];

/** Start of one of our command lines; after any other word, the name is prose. */
const commandLine = new RegExp(
  `(?<![\\w./-])(?<!npx )engagectl (?=(?:${commandNames.join('|')}|<command>|--?[a-z][\\w-]*)(?![\\w-]))`,
  'g',
);

/** Replaces the program name in command lines by the name it was called by: `npx engagectl runs list`. */
export const withProgramName = (text: string, program: string): string =>
  program === 'engagectl' ? text : text.replaceAll(commandLine, () => `${program} `);

/**
 * Words that need no quotes in bash, zsh, fish and PowerShell. zsh expands a leading `=`, or one behind another if told to,
 * fish `%self`, PowerShell `@`; there, a comma makes a list, and a flag with one dash ends at a dot or colon.
 */
const plainWord = /^(?!-[^-].*[.:]|.*==)[\w+:./-][\w@%+=:./-]*$/;

/**
 * Quotes text as one word of a suggested command line: for bash, zsh and fish, which receive exactly
 * this text, and for PowerShell, except for rare texts that no spelling passes to all four (see
 * docs/security.md). There, too, nothing of the text is executed.
 */
export const quoteForShell = (text: string): string =>
  sep === '\\' ? powershellWord(text) : posixWord(text);

/**
 * Quotes a file name as an operand, so that a leading dash does not make it a flag. `-` stays standard
 * input.
 */
export const shellPath = (name: string): string =>
  quoteForShell(/^-./.test(name) ? `./${name}` : name);

/**
 * Doubles quotes, of which PowerShell knows several. Versions before 7.3 pass quotation marks on to
 * programs unescaped.
 */
export const powershellWord = (text: string): string =>
  plainInPowershell.test(text) ? text : `'${text.replaceAll(/['‘’‚‛]/g, '$&$&')}'`;

/** A comma makes a list, `@` a table, and a flag ends at a dot or colon. */
const plainInPowershell = /^(?!-.*[.:])[\w+:./\\-][\w@%+=:./\\-]*$/;

function posixWord(text: string): string {
  if (plainWord.test(text)) return text;
  // A command substitution drops trailing newlines, so they are appended to it.
  let end = text.length;
  while (text[end - 1] === '\n') end -= 1;
  const ending = text.slice(end);
  const content = text.slice(0, end);
  if (hidden.test(content))
    return `"$(printf '${printfFormat(content)}')"${ending && `'${ending}'`}`;
  if (!needsParts.test(text)) {
    if (!singleQuotes.test(text)) return `'${text}'`;
    if (!/[$`!"“”„]/.test(text)) return `"${text}"`;
  }
  // In PowerShell, a word that starts with a quote ends at the closing one.
  const start = unquotedStart.exec(text)?.[0] ?? '';
  const parts = text.slice(start.length).split(notInSingleQuotes);
  const quoted = parts.map((part, at) =>
    at % 2 === 0 ? part && `'${part}'` : `"${part.replaceAll(/\\(?=\\|$)/g, '\\\\')}"`,
  );
  return `${start}${quoted.join('')}`;
}

/** A start that no shell reads in another way than within quotes, also right before a quote. */
const unquotedStart = /^(?:\.{0,2}\/|\.?\w|[+-])/;

/**
 * Control, bidi and invisible characters, which are not printed on a terminal; except the joiners of
 * emoji.
 */
const hidden = /(?![\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const singleQuotes = /['‘’‚‛]/;

/** What sanitizing changes in every displayed text: the start of a CI command, and the space after our own name. */
const sanitized = String.raw`#(?=${afterHashes})|(?<=engagectl) `;

/** Besides that, a backslash that is an escape in fish or in double quotes: before another one, a line end or the end. */
const needsParts = new RegExp(String.raw`\\(?:[\\\n]|$)|${sanitized}`);

/** Besides these, PowerShell's quotes, and each backslash before a part in double quotes. */
const notInSingleQuotes = new RegExp(
  String.raw`((?:\\?['‘’‚‛]|\\(?=[\\\n]|$|#${afterHashes})|${sanitized})+)`,
);

/** Escapes the whole text: fish misreads a `$` in single quotes within a word that has a substitution. */
const printfFormat = (text: string): string =>
  text.replaceAll(/[^\p{L}\p{N}_./:,+@=]/gu, (character) =>
    Array.from(Buffer.from(character), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
  );
