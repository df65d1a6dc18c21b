/** A fenced block of a page that holds commands. */
export interface CommandBlock {
  /** Line of the page on which the block starts, 1-based. */
  readonly line: number;
  /** Shell script. */
  readonly script: string;
  /** From a comment `<!-- exit n -->` before the block; 0 without one. */
  readonly exitCode: number;
}

/** Finds the commands of a block, by the word after the fence; other blocks have none. */
const commandsOf: Readonly<Record<string, (text: string) => string>> = {
  sh: (text) => text,
  console: (text) => matches(text, /^\$ (.*)$/gm),
  crontab: (text) => matches(text, /^(?:\S+ ){5}(.*)$/gm).replaceAll(String.raw`\%`, '%'),
  yaml: (text) =>
    matches(text, /^ *(?:- )?run: (engagectl .*)$/gm) ||
    matches(text, /^ *args: (\[.*\])$/gm).replace(/^.+$/gm, commandOf),
};

/** Every block of a Markdown page with commands in it, in order. */
export function commandBlocks(page: string): CommandBlock[] {
  const fences = page.matchAll(/(?:<!-- exit (\d+) -->\n+)?^```(\w+)\n([^]*?)^```$/gm);
  return [...fences].flatMap(([all, exitCode = '0', language = '', text = '']) => {
    const script = commandsOf[language]?.(text).trim() ?? '';
    if (script === '') return [];
    const line = page.slice(0, page.indexOf(all)).split('\n').length;
    return [{ line, script, exitCode: Number(exitCode) }];
  });
}

/** A container's arguments as a command line. */
function commandOf(args: string): string {
  const words = (JSON.parse(args) as string[]).map((word) => `'${word}'`);
  return ['engagectl', ...words].join(' ');
}

const matches = (text: string, pattern: RegExp): string =>
  [...text.matchAll(pattern)].map((match) => match[1] ?? '').join('\n');
