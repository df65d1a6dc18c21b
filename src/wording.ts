/** What a command line of ours begins with; anything else behind the name is prose. */
const commandLine =
  /(?<![\w./-])(?<!npx )engagectl (?=(?:upload|subscribe|demerge|export-profiles|export-events|verify|get-profile|call|cuid|config|doctor|serve|runs|fleet|completion|version|help|<command>|--?[a-z][\w-]*)(?![\w-]))/g;

/** The command lines in a text of ours, by the name that the program was called by: `npx engagectl runs list`. */
export const asCalled = (text: string, program: string): string =>
  program === 'engagectl' ? text : text.replaceAll(commandLine, () => `${program} `);

/** A word as it can be pasted into a shell. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
