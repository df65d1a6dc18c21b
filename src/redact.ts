const mask = '[passcode]';
const masks = /(?:\[passcode\]){2,}/g;

/** Maximum characters shown of a text from the service. */
const maxLength = 2000;
/** Tolerance, so that a text that was truncated before is not truncated again. */
const slack = 200;
/** Maximum characters processed: the rest would be truncated in any case. */
const mostRead = 1 << 20;
/** Characters processed first; more only if masks and line ends leave less than half of them. */
const firstRead = 1 << 16;
/** Shorter texts occur in any base64 by chance. */
const shortestEncoded = 6;
/** V8 refuses large patterns, with an error that quotes them: longer secrets are searched in pieces, which also masks their beginning. */
const longestWhole = 50;
const pieceLength = 30;
/** Longest secret with escapes between its letters, which take time to compile. */
const longestEscaped = 100;
/** Most characters of a passcode (config/credentials.ts). Of longer texts that were typed, only plain pieces are removed. */
const longestSecret = 4096;

/**
 * Redacts text from the service for display: removes the passcode, which the service might echo, puts it
 * on one line, and truncates it. Decisions are taken on the original text.
 */
export type Redact = (words: string) => string;

/** Returns the redaction for a passcode. Every text that leaves the program passes through it. */
export function redactor(passcode: string): Redact {
  const replaced = replacer([passcode], mask, (piece, notation) =>
    separateWord(piece, spellingsOf(piece, notation)),
  );
  const masked = (words: string) => replaced(words).replaceAll(masks, mask);
  return (words) => {
    let text = onOneLine(masked(words.slice(0, firstRead)));
    if (words.length > firstRead && text.length < firstRead / 2) {
      const start = masked(words.slice(0, mostRead));
      // The end is left out, because a secret may be cut off there, and all of a short text is shown.
      text = onOneLine(words.length > mostRead ? start.slice(0, -firstRead) : start);
    }
    return cut(text, words.length);
  };
}

/**
 * Returns a test whether a word contains the passcode in any spelling. A short passcode may occur by
 * chance.
 */
export function containsSecret(passcode: string): (word: string) => boolean {
  if (passcode.length < shortestEncoded) return () => false;
  const patternsFor = compiler([passcode], spellingsOf);
  const shortest = Math.min(Array.from(passcode).length, pieceLength / 2); // each letter is one character or more, in any spelling
  return (word) =>
    word.length >= shortest && patternsFor(word).some((pattern) => word.search(pattern) >= 0);
}

/** Returns the files that environment variables name as a passcode or a key. */
export const secretFilesIn = (env: Readonly<Record<string, string>>): readonly string[] =>
  ['PASSCODE', 'CALL_API_KEY', 'CALL_TOKEN_KEY'].flatMap(
    (name) => env[`ENGAGECTL_${name}_FILE`] ?? [],
  );

/** Converts a value from the service to text: strings unchanged, others as JSON. */
export function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return undefined;
  try {
    return JSON.stringify(value);
  } catch {
    return 'JSON that is nested too deep to be shown'; // the stack overflows on deep nesting
  }
}

function cut(text: string, length: number): string {
  if (text.length <= maxLength + slack) return text;
  const start = text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '');
  return `${start}… (${Math.max(length, text.length) - start.length} more)`;
}

/** After a line end, the text could pass for one of our messages. */
const onOneLine = (text: string): string =>
  lineEnd.test(text)
    ? text.replaceAll(/[\s\u0085]+/g, (space) => (lineEnd.test(space) ? ' ' : space))
    : text;

const lineEnd = /[\n\v\f\r\u0085\u2028\u2029]/;

/** Masks a passcode short enough to be part of common words only as a separate word. */
const separateWord = (passcode: string, source: string): string =>
  passcode.length < shortestEncoded ? `(?<!${wordLetter})(?:${source})(?!${wordLetter})` : source;

const wordLetter = '[A-Za-z0-9\\u00C0-\\u024F]';

/** How a text may spell a secret: sources of patterns. */
interface Notation {
  readonly spellings: (letter: string) => string;
  /** Pattern of what a display ignores between two letters. */
  readonly between: string;
}

type Source = (secret: string, notation: Notation) => string;

/**
 * Returns a function that selects the patterns for a text. Those for escapes take up to 0.5 ms per letter to compile, so they
 * are compiled for the first text that may have one.
 */
function compiler(secrets: readonly string[], source: Source): (text: string) => readonly RegExp[] {
  const compiled = new Map<boolean, readonly RegExp[]>();
  return (text) => {
    const hasEscapes = mayHaveEscapes.test(text);
    const patterns =
      compiled.get(hasEscapes) ??
      secrets.flatMap((secret) => {
        const pieces = piecesOf(secret);
        const notation = secret.length <= longestEscaped ? escaped : escapedPiece;
        return pieces.map(
          (piece) => new RegExp(source(piece, hasEscapes ? notation : unescaped), 'gi'),
        );
      });
    compiled.set(hasEscapes, patterns);
    return patterns;
  };
}

/** Cuts a long secret into pieces of about equal length. */
function piecesOf(secret: string): readonly string[] {
  const letters = Array.from(secret);
  if (letters.length <= longestWhole) return [secret];
  const count = Math.ceil(letters.length / pieceLength);
  const start = (piece: number) => Math.floor((piece * letters.length) / count);
  return Array.from({ length: count }, (_, at) => letters.slice(start(at), start(at + 1)).join(''));
}

/** Returns a function that replaces secrets, but not within an existing mask: `asscode` may be part of a passcode. */
function replacer(
  secrets: readonly string[],
  shown: string,
  source: Source,
): (text: string) => string {
  const patternsFor = compiler(secrets, source);
  const masked = new RegExp(literal(shown), 'g');
  return (text) => {
    const found = [masked, ...patternsFor(text)].flatMap((pattern) => rangesOf(pattern, text));
    let result = '';
    let end = 0;
    // Pieces overlap where they share a letter of base64, or a run of backslashes.
    for (const next of found.toSorted((a, b) => a.start - b.start)) {
      if (next.start >= end) result += text.slice(end, next.start) + shown;
      end = Math.max(end, next.end);
    }
    return result + text.slice(end);
  };
}

/** Returns where a pattern matches; matches that overlap are one, as of a secret that repeats itself. */
function rangesOf(pattern: RegExp, text: string): { readonly start: number; end: number }[] {
  const found: { readonly start: number; end: number }[] = [];
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const [start, end] = [match.index, pattern.lastIndex];
    const last = found.at(-1);
    if (last && start < last.end) last.end = Math.max(last.end, end);
    else found.push({ start, end });
    pattern.lastIndex = start + 1;
  }
  return found;
}

/** Matches how each escape begins (but for `\"`, which any JSON has), and each character between two letters but line ends. */
const mayHaveEscapes = /\\(?![\\"])|%[\da-fA-F]|&[#\w]|[\x00-\x08\x0e-\x1f\x7f]|[^\x00-\x7f]/; // oxlint-disable-line no-control-regex -- the range of ASCII

/**
 * Source of a pattern that matches the passcode in plain text, escaped as in JSON, programs, URLs and HTML, in
 * hexadecimal and in base64; each letter in any spelling.
 */
function spellingsOf(passcode: string, notation: Notation): string {
  const letters = Array.from(passcode.replaceAll(/ {2,}/g, ' '));
  const plain = letters.map(notation.spellings).join(notation.between);
  return [plain, ...encodings(passcode, notation)].join('|');
}

/** Zero-width, blank and control characters, line ends included; a UTF-16 text has a NUL for each letter. */
const invisibleLetters =
  '\\x00-\\x08\\x0A-\\x1F\\x7F-\\x9F\\u00AD\\u034F\\u061C\\u115F\\u1160\\u17B4\\u17B5\\u180B-\\u180F\\u200B-\\u200F\\u202A-\\u202E\\u2060-\\u206F\\u3164\\uFE00-\\uFE0F\\uFEFF\\uFFA0';
const invisibleLetter = `[${invisibleLetters}]`;
/** These and terminal sequences between two letters, plain or escaped; bounded, since there may be a million. */
const invisible =
  `(?:(?:\\x1b|\\\\{1,8}u001b)\\[[0-9;?]{0,8}[A-Za-z]|${invisibleLetter}|\\uDB40[\\uDC00-\\uDFFF]` +
  '|\\\\{1,8}(?:[nr]|u(?:00[01][0-9a-f]|007f|00[89][0-9a-f]|00ad|034f|061c|180[b-f]|20[06][0-9a-f]|202[a-e]|fe0[0-9a-f]|feff))' +
  '|%(?:25){0,4}00|%E2%80%8[b-f]|%E2%81%a[0-9a-f]|%EF%BB%BF|&#(?:x200[b-f]|820[3-7]|xfeff|65279);){0,8}';

/** Backslashes of JSON within JSON; bounded, since there may be a million. */
const escapes = '\\\\{0,16}';

const percent = (hex: string): string => hex.replaceAll(/../g, '%(?:25){0,4}$&');

/** Spellings of one Latin-1 character. */
function letterSpellings(letter: string): string {
  const code = letter.charCodeAt(0);
  const bytes = Buffer.from(letter);
  const plain = letter === ' ' ? blank : literal(letter);
  const spellings = [
    letter === '\\' ? '\\\\{1,4}' : `${escapes}${plain}`,
    `\\\\${escapes}(?:u00|x)${code.toString(16).padStart(2, '0')}`,
    percent(code.toString(16).padStart(2, '0')),
    `&(?:amp;){0,4}#0{0,6}${code};`,
    `&(?:amp;){0,4}#x0{0,6}${code.toString(16)};`,
  ];
  // A name such as &lowbar; or &eacute;.
  if (!/[A-Za-z0-9]/.test(letter)) spellings.push('&(?:amp;){0,4}[A-Za-z]{2,8};');
  if (code > 0x7f)
    spellings.push(
      percent(bytes.toString('hex')),
      bytes.toString('hex').replaceAll(/../g, `\\\\${escapes}x$&`),
      bytes.toString('latin1'),
      '\uFFFD',
    );
  return `(?:${spellings.join('|')})${letter === ' ' ? run : ''}`;
}

/** A space of a passcode as a URL has it, or as lines are wrapped; several of them are one. */
const blank = `[\\s+${invisibleLetters}]`;
const run = '{1,64}?';

/** Between two bytes, as in `50:61`, `50 61` and `0x50, 0x61`. No byte of printable text begins with the digit zero. */
const hexSeparator = '[\\s:,x0-]{0,4}';

/**
 * Hexadecimal, and base64 for each offset in the encoded text, with the letters that the passcode shares with its
 * neighbors.
 */
function encodings(passcode: string, notation: Notation): string[] {
  if (passcode.length < shortestEncoded) return [];
  /** Plain, in the URL alphabet, or escaped: some libraries escape a plus sign in JSON. */
  const letters: Readonly<Record<string, string>> = {
    '+': `(?:-|${notation.spellings('+')})`,
    '/': `(?:_|${notation.spellings('/')})`,
  };
  const spelled = (letter: string): string => letters[letter] ?? letter;
  /** The letter behind the passcode, if some of its bits are of the passcode. */
  const sharedLetter = `(?:[A-Za-z0-9]|${letters['+']}|${letters['/']})?`;
  const all = [Buffer.from(passcode), Buffer.from(passcode, 'latin1')].flatMap((bytes) => [
    bytes.toString('hex').replaceAll(/..(?!$)/g, `$&${hexSeparator}`),
    ...[0, 1, 2].map((before) => {
      // Any four bits of the byte before the passcode change the letter that they share.
      const texts = Array.from({ length: 16 }, (_, byte) =>
        Buffer.concat([Buffer.alloc(before, byte), bytes]).toString('base64'),
      );
      const first = Math.ceil((8 * before) / 6);
      const end = Math.floor((8 * (before + bytes.length)) / 6);
      const starts = before === 0 ? [''] : new Set(texts.map((text) => spelled(text[first - 1]!)));
      const own = Array.from(texts[0]!.slice(first, end), spelled).join('');
      const rest = (before + bytes.length) % 3 === 0 ? '' : sharedLetter;
      return `(?:${[...starts].join('|')})${own}${rest}`;
    }),
  ]);
  return [...new Set(all)]; // ASCII is the same in both
}

const literal = (letter: string): string => letter.replace(/[.*+?^${}()|[\]\\/-]/, '\\$&');

const plainSpellings: Readonly<Record<string, string>> = {
  ' ': `${blank}${run}`,
  '"': `${escapes}"`,
  '\\': '\\\\{1,4}',
};
const escaped: Notation = { spellings: letterSpellings, between: invisible };
/** For pieces: escapes between two letters would take three quarters of the time to compile a pattern. */
const escapedPiece: Notation = { spellings: letterSpellings, between: `${invisibleLetter}{0,8}` };
const unescaped: Notation = {
  spellings: (letter) => plainSpellings[letter] ?? literal(letter),
  between: '[\\n\\r]{0,2}', // printed on one line
};

const redacted = '[redacted]';

/** Names of flags, variables and query members with secret values; names of secret files are not included. */
const secretName =
  /pass(?:[-_]?(?:code|word|wd|phrase)s?)?(?:[-_](?:command|stdin))?$|secret$|token$|(?:api|access|private)[-_]?key$|credentials?$|signature$|^sig$|^push-hook$/i;

/** Removes secrets from URLs in a text: user and password, and values of queries and fragments. */
export const withoutUrlSecrets = (text: string): string =>
  text
    .replaceAll(/\/\/[^\s"'<>]*/g, withoutUser)
    .replaceAll(/([?&#;\s]|^)([\w.-]+)=([^&#\s"'<>]+)/g, (whole, before: string, name: string) =>
      secretName.test(name) ? `${before}${name}=${redacted}` : whole,
    );

/**
 * Removes users and passwords, and what is between them: a password may have an `@` and a slash. An `@` behind a `?` or `#` is
 * in a password, or in a query that ends with a secret: nothing of such a URL is kept.
 */
function withoutUser(urls: string): string {
  const end = urls.lastIndexOf('@') + 1;
  if (end === 0) return urls;
  return `//${redacted}${/[?#]/.test(urls.slice(0, end)) ? '' : `@${urls.slice(end)}`}`;
}

/**
 * Removes secrets from the words of a command line, for a log: values of secret flags, and secrets in
 * URLs.
 */
export const withoutTypedSecrets = (argv: readonly string[]): string[] =>
  argv.map((word, at) => {
    if (isSecretOf(flagOf(argv[at - 1], /^--?([\w-]+)$/), word)) return redacted;
    const flag = flagOf(word, /^-{0,2}([\w-]+)=/);
    if (secretName.test(flag)) return `${word.slice(0, word.indexOf('='))}=${redacted}`;
    return withoutUrlSecrets(word).replace(/^(\S*:\/\/[^?#]*)([?#])[^]*$/, `$1$2${redacted}`);
  });

/** Whether a word behind a flag is a secret. `--passcode-stdin` has no value, but one might be typed. */
const isSecretOf = (flag: string, word: string): boolean =>
  secretName.test(flag) && !(flag.endsWith('stdin') && word.startsWith('-'));

/** Returns the name of the flag or variable in a word, by a pattern; empty if there is none. */
const flagOf = (word: string | undefined, pattern: RegExp): string =>
  pattern.exec(word ?? '')?.[1] ?? '';

/** Shorter secrets would match parts of words by chance. */
const shortestTyped = 6;
/** Words of our messages: a passcode "passcode" occurs there anyway, and hiding it would only damage them. */
const ownWord = /^(?:pass(?:code|word|phrase)|secret|api[-_]key|credentials?|signature)$/i;

/**
 * Returns a function that removes secrets typed as a flag, as a variable or in a URL from a text, in all
 * spellings. Undefined if there are none.
 */
export function typedSecretsRemover(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): ((text: string) => string) | undefined {
  // A variable may be typed behind the command's name instead of in front of it.
  const typedPairs = argv.map(
    (word) => [flagOf(word, /^(\w+)=/), word.slice(word.indexOf('=') + 1)] as const,
  );
  const variables = [...Object.entries(env), ...typedPairs].filter(([name]) =>
    /^ENGAGECTL_|_proxy$/i.test(name),
  );
  const flags = argv.flatMap((word, at) => {
    const [, name = '', value = argv[at + 1] ?? ''] = /^--?([\w-]+)(?:=([^]*))?$/.exec(word) ?? [];
    // A command that prints a passcode is not a secret; logs omit it anyway.
    return isSecretOf(name, value) && !name.endsWith('-command') ? [value] : [];
  });
  const values = variables.filter(([name]) => secretName.test(name)).map(([, value]) => value);
  const urls = [...variables.map(([, value]) => value), ...argv].flatMap(secretsOfUrl);
  const secrets = new Set([...flags, ...values, ...urls].map((secret) => secret.trim()));
  const typed = [...secrets]
    .filter((secret) => secret.length >= shortestTyped && !ownWord.test(secret))
    .toSorted((a, b) => b.length - a.length);
  if (typed.length === 0) return undefined;
  const pieces = typed.filter(({ length }) => length > longestSecret).flatMap(piecesOf);
  const replaced = replacer(
    typed.filter(({ length }) => length <= longestSecret),
    redacted,
    spellingsOf,
  );
  return (text) => replaced(pieces.reduce((rest, piece) => rest.replaceAll(piece, redacted), text));
}

/**
 * Returns the stream with a `write` that removes secrets. A library that replaces `write` (ora does, to
 * draw below other output) replaces that of the result.
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

/** Returns passwords and values of secret members of a URL, as written and decoded. */
function secretsOfUrl(text: string): string[] {
  const withScheme = /^[a-z][\w+.-]*:\/\/[^\s:/@]*:([^]*)@/i.exec(text);
  const [, password = ''] = withScheme ?? /^[^\s:/@]*:([^\s]*)@/i.exec(text) ?? [];
  const members = [...text.matchAll(/[?&#;]([\w.-]+)=([^&#\s]+)/g)]
    .filter(([, name = '']) => secretName.test(name))
    .map(([, , value = '']) => value);
  const parsed = URL.canParse(text) ? new URL(text).password : ''; // behind a user with an @
  return [password, parsed, ...members].flatMap((secret) => [secret, decoded(secret)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
