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
export type Redact = (words: string) => string;

/** The one place where the passcode is taken out of what leaves the program. */
export function redactor(passcode: string): Redact {
  const secret = maskedOrSecret(passcode);
  return (words) => cut(onOneLine(words.slice(0, mostRead).replaceAll(secret, mask)), words.length);
}

/** Whether a word that is kept holds the passcode, in any spelling. A short one may stand in it by chance. */
export function containsSecret(passcode: string): (word: string) => boolean {
  if (passcode.length < shortestEncoded) return () => false;
  const secret = spellingsOf(passcode);
  return (word) => word.search(secret) >= 0;
}

/** What is at hand of the service's as text: its words, or the JSON of something else. */
export function toText(value: unknown): string | undefined {
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

/**
 * The passcode, and a mask that stands there already: `asscode` may be a part of a passcode. One that is so short
 * that it is a part of common words is masked where it stands alone.
 */
function maskedOrSecret(passcode: string): RegExp {
  const { source } = spellingsOf(passcode);
  const alone =
    passcode.length < shortestEncoded ? `(?<!${wordLetter})(?:${source})(?!${wordLetter})` : source;
  return new RegExp(`${literal(mask)}|${alone}`, 'gi');
}

const wordLetter = '[A-Za-z0-9\\u00C0-\\u024F]';

/** The passcode in plain, escaped as in JSON, programs, URLs and HTML, in hexadecimal and in base64; each letter as it may be. */
function spellingsOf(passcode: string): RegExp {
  const plain = Array.from(passcode, letterSpellings).join(invisible);
  return new RegExp([plain, ...encodings(passcode)].join('|'), 'gi');
}

/** Zero-width characters between two letters, as they are or escaped; with a bound, as above. */
const invisible =
  '(?:[\\u00AD\\u034F\\u061C\\u180B-\\u180F\\u200B-\\u200F\\u202A-\\u202E\\u2060-\\u206F\\uFE00-\\uFE0F\\uFEFF]' +
  '|\\\\{1,8}u(?:00ad|034f|061c|180[b-f]|20[06][0-9a-f]|202[a-e]|fe0[0-9a-f]|feff)' +
  '|%E2%80%8[b-f]|%E2%81%a[0-9a-f]|%EF%BB%BF|&#(?:x200[b-f]|820[3-7]|xfeff|65279);){0,8}';

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

const redacted = '[redacted]';

/** Names of flags, of variables and of members of a query whose values are secret; not those of files that hold one. */
const secretName =
  /pass(?:code|word|wd|phrase)?(?:[-_]command)?$|secret$|token$|(?:api|access|private)[-_]?key$|credentials?$|signature$|^sig$|^push-hook$/i;

/** A text without what its URLs hold of secrets: user and password, and values of queries and fragments. */
export const withoutUrlSecrets = (text: string): string =>
  text
    .replaceAll(/\/\/[^\s"'<>@]*@(?:[^\s"'<>/@]*@)*/g, `//${redacted}@`)
    .replaceAll(/([?&#;\s]|^)([\w.-]+)=([^&#\s"'<>]+)/g, (whole, before: string, name: string) =>
      secretName.test(name) ? `${before}${name}=${redacted}` : whole,
    );

/** The words of a command line, fit for a log: without values of secret flags, and secrets in URLs. */
export const withoutTypedSecrets = (argv: readonly string[]): string[] =>
  argv.map((word, at) => {
    if (secretName.test(flagOf(argv[at - 1], /^--([\w-]+)$/))) return redacted;
    const flag = flagOf(word, /^--([\w-]+)=/);
    if (secretName.test(flag)) return `--${flag}=${redacted}`;
    return withoutUrlSecrets(word).replace(/^(\S*:\/\/[^?#]*)([?#])[^]*$/, `$1$2${redacted}`);
  });

const flagOf = (word: string | undefined, pattern: RegExp): string =>
  pattern.exec(word ?? '')?.[1] ?? '';

/** Shorter secrets would be found in words by chance. */
const shortestTyped = 6;

/**
 * Takes secrets that were typed, be it as a flag, as a variable or in a URL, out of texts that are shown; in all
 * spellings. Undefined where there are none.
 */
export function typedSecretsRemover(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): ((text: string) => string) | undefined {
  const variables = Object.entries(env).filter(([name]) => /^ENGAGECTL_|_proxy$/i.test(name));
  const flags = argv.flatMap((word, at) => {
    const [, name = '', value = argv[at + 1] ?? ''] = /^--([\w-]+)(?:=([^]*))?$/.exec(word) ?? [];
    // A command that prints a passcode is no secret; a log leaves it out all the same.
    return secretName.test(name) && !name.endsWith('-command') ? [value] : [];
  });
  const values = variables.filter(([name]) => secretName.test(name)).map(([, value]) => value);
  const urls = [...variables.map(([, value]) => value), ...argv].flatMap(secretsOfUrl);
  const secrets = new Set([...flags, ...values, ...urls].map((secret) => secret.trim()));
  const spellings = [...secrets]
    // A passcode "passcode" stands in messages anyway; hiding it there would only spoil them.
    .filter((secret) => secret.length >= shortestTyped && !secretName.test(secret))
    .toSorted((a, b) => b.length - a.length)
    .map((secret) => spellingsOf(secret).source);
  if (spellings.length === 0) return undefined;
  const all = new RegExp(spellings.join('|'), 'gi');
  return (text) => text.replaceAll(all, redacted);
}

/**
 * The same stream, to which texts are written without what `removed` takes out of them. A library
 * that replaces `write` (ora does, to draw below foreign output) replaces that of the result.
 */
export function redactedStream<Stream extends NodeJS.WritableStream>(
  stream: Stream,
  removed: (text: string) => string,
): Stream {
  const original = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  let write: unknown = (chunk: unknown, ...more: unknown[]) =>
    original(typeof chunk === 'string' ? removed(chunk) : chunk, ...more);
  return new Proxy(stream, {
    get(target, key) {
      if (key === 'write') return write;
      const value = Reflect.get(target, key, target) as unknown;
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
    set(target, key, value) {
      if (key !== 'write') return Reflect.set(target, key, value, target);
      write = value;
      return true;
    },
  });
}

/** Passwords and values of secret members, as they stand in a URL and decoded. */
function secretsOfUrl(text: string): string[] {
  const [, password = ''] = /^(?:[a-z][\w+.-]*:\/\/)?[^\s:/@]*:([^\s]*)@/i.exec(text) ?? [];
  const members = [...text.matchAll(/[?&#;]([\w.-]+)=([^&#\s]+)/g)]
    .filter(([, name = '']) => secretName.test(name))
    .map(([, , value = '']) => value);
  return [password, ...members].flatMap((secret) => [secret, decoded(secret)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
