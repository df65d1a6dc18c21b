const mask = '[passcode]';

/** Most characters that are shown of what the service says at a time. */
const mostShown = 2000;
/** How much longer a text may be: one that was cut before must not be cut again. */
const slack = 200;
/** Characters that are looked at: what lies behind them would be cut in any case. */
const mostRead = 1 << 20;
/** Shorter ones stand by chance in any base64. */
const shortestEncoded = 6;

/**
 * Makes words of the service fit to be shown: without the passcode, which it might echo, on one
 * line, and cut. What they mean is judged before, from the words themselves.
 */
export type Shown = (words: string) => string;

/** The one place where the passcode is taken out of what leaves the program. */
export function shownWithout(passcode: string): Shown {
  const secret = spellingsOf(passcode);
  return (words) => cut(onOneLine(words.slice(0, mostRead).replaceAll(secret, mask)), words.length);
}

/** Whether a word that is kept holds the passcode, in any spelling. A short one may stand in it by chance. */
export function holdsSecret(passcode: string): (word: string) => boolean {
  if (passcode.length < shortestEncoded) return () => false;
  const secret = spellingsOf(passcode);
  return (word) => word.search(secret) >= 0;
}

/** What is at hand of the service's as text: its words, or the JSON of something else. */
export function wordsOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return undefined;
  try {
    return JSON.stringify(value);
  } catch {
    return 'JSON that is nested too deep to be shown'; // the stack ends before the nesting does
  }
}

function cut(text: string, length: number): string {
  if (text.length <= mostShown + slack) return text;
  const start = text.slice(0, mostShown).replace(/[\uD800-\uDBFF]$/, '');
  return `${start}… (${Math.max(length, text.length) - start.length} more)`;
}

/** Behind a line end, the words could pass for a message of ours. */
const onOneLine = (text: string): string =>
  text.replaceAll(/[\s\u0085]+/g, (space) =>
    /[\n\v\f\r\u0085\u2028\u2029]/.test(space) ? ' ' : space,
  );

/** The passcode in plain, escaped as in JSON, programs, URLs and HTML, in hexadecimal and in base64; each letter as it may be. */
function spellingsOf(passcode: string): RegExp {
  const plain = Array.from(passcode, letterSpellings).join('');
  return new RegExp([plain, ...encodings(passcode)].join('|'), 'gi');
}

/** Backslashes of JSON within JSON; with a bound, as there may be a million of them. */
const escapes = '\\\\{0,16}';

const percent = (hex: string): string => hex.replaceAll(/../g, '%(?:25){0,4}$&');

/** Of one character, which is Latin-1. */
function letterSpellings(letter: string): string {
  const code = letter.charCodeAt(0);
  const bytes = Buffer.from(letter);
  const spellings = [
    letter === '\\' ? '\\\\{1,4}' : `${escapes}${literal(letter)}`,
    `\\\\${escapes}(?:u00|x)${code.toString(16).padStart(2, '0')}`,
    percent(code.toString(16).padStart(2, '0')),
    `&(?:amp;){0,4}#0{0,6}${code};`,
    `&(?:amp;){0,4}#x0{0,6}${code.toString(16)};`,
    ...(entities[letter] ?? []),
  ];
  if (code > 0x7f)
    spellings.push(
      percent(bytes.toString('hex')),
      bytes.toString('hex').replaceAll(/../g, `\\\\${escapes}x$&`),
      bytes.toString('latin1'),
      '\uFFFD',
    );
  return `(?:${spellings.join('|')})`;
}

const entities: Readonly<Record<string, readonly string[]>> = {
  '&': ['&(?:amp;){1,4}'],
  '<': ['&(?:amp;){0,4}lt;'],
  '>': ['&(?:amp;){0,4}gt;'],
  '"': ['&(?:amp;){0,4}quot;'],
  "'": ['&(?:amp;){0,4}apos;'],
  ' ': ['\\+'],
};

/** Hexadecimal, and the letters of base64 that are the passcode's alone, wherever it begins in what was encoded. */
function encodings(passcode: string): string[] {
  if (passcode.length < shortestEncoded) return [];
  return [Buffer.from(passcode), Buffer.from(passcode, 'latin1')].flatMap((bytes) => [
    bytes.toString('hex'),
    ...[0, 1, 2].map((before) => {
      const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
      const first = Math.ceil((8 * before) / 6);
      const letters = text.slice(first, Math.floor((8 * (before + bytes.length)) / 6));
      return Array.from(letters, (letter) => base64Letters[letter] ?? letter).join('');
    }),
  ]);
}

const literal = (letter: string): string => letter.replace(/[.*+?^${}()|[\]\\/-]/, '\\$&');

/** As they are, in the form for URLs, or escaped: some libraries write a plus sign so in JSON. */
const base64Letters: Readonly<Record<string, string>> = {
  '+': `(?:-|${letterSpellings('+')})`,
  '/': `(?:_|${letterSpellings('/')})`,
};
