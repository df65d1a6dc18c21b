import { InvalidArgumentError } from 'commander';

/** Parses `60s`, `500ms`, `10m` or `4h` into milliseconds. */
export function duration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
  const unit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[match?.[2] ?? ''];
  if (unit === undefined)
    throw new InvalidArgumentError('Use a duration like 500ms, 60s, 10m or 4h.');
  const milliseconds = Math.round(Number(match?.[1]) * unit);
  if (milliseconds > 2_147_483_647) throw new InvalidArgumentError('At most 24 days (576h).');
  return milliseconds;
}

/** Parses a duration or days, like `30d`, into milliseconds. */
export function age(text: string): number {
  const days = /^(\d+)d$/.exec(text)?.[1];
  if (days !== undefined) return Number(days) * 86_400_000;
  try {
    return duration(text);
  } catch {
    throw new InvalidArgumentError('Use an age like 12h or 30d.');
  }
}

/** Checks an age longer than zero, and returns its text. */
export function positiveAge(text: string): string {
  if (age(text) > 0) return text;
  throw new InvalidArgumentError('Use an age longer than zero, like 90d.');
}

/** Parses a duration longer than zero. */
export function positiveDuration(text: string): number {
  const milliseconds = duration(text);
  if (milliseconds > 0) return milliseconds;
  throw new InvalidArgumentError('Use a duration from 1ms on.');
}

/** Parses `4MiB`, `512KiB` or `1000` into bytes. */
export function byteCount(text: string): number {
  const match = /^(\d+)(B|KiB|MiB|GiB)?$/i.exec(text);
  const unit = { b: 1, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3 }[
    (match?.[2] ?? 'b').toLowerCase()
  ];
  if (!match || unit === undefined)
    throw new InvalidArgumentError('Use bytes like 1000, 512KiB or 4MiB.');
  return Number(match[1]) * unit;
}

/** Parses a host as written in a URL; an IPv6 address is in brackets. */
export function hostName(text: string): string {
  if (/^(?:[\w.-]+|\[[\da-f:.]+\])$/i.test(text)) return text;
  throw new InvalidArgumentError('Use a name alone, like engage, without http:// and port.');
}

/** Returns a parser of whole numbers within inclusive bounds. */
export function integer({
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
}: {
  min?: number;
  max?: number;
}) {
  return (text: string): number => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`Use a whole number ${range}.`);
  };
}

/**
 * Returns a parser of one of the words. commander's `choices()` would not check environment variables.
 * Completion offers the words.
 */
export const choice = <const T extends string>(...words: readonly T[]) =>
  oneOf(words, (text) => text);

/** Returns a parser of one of the words in any case; the result has the spelling given here. */
export const choiceInAnyCase = <const T extends string>(...words: readonly T[]) =>
  oneOf(words, (text) => text.toLowerCase());

function oneOf<T extends string>(words: readonly T[], folded: (text: string) => string) {
  const parse = (text: string): T => {
    const found = words.find((word) => folded(word) === folded(text));
    if (found === undefined) throw new InvalidArgumentError(`Use one of: ${words.join(', ')}.`);
    return found;
  };
  return Object.assign(parse, { words });
}

/** Returns a parser that accepts any text. Completion offers the words. */
export const suggesting = (...words: readonly string[]) =>
  Object.assign((text: string): string => text, { words });

/** Returns a parser of text that matches a pattern; `rule` states the pattern in words. */
export const matching =
  (form: RegExp, rule: string) =>
  (text: string): string => {
    if (form.test(text)) return text;
    throw new InvalidArgumentError(rule);
  };

export const profileName = matching(/^[A-Za-z0-9_-]{1,64}$/, 'Use 1 to 64 of A-Z a-z 0-9 _ and -.');

/** Parses an IANA time zone name known to this Node.js. */
export function timezone(text: string): string {
  try {
    Intl.DateTimeFormat('en-US', { timeZone: text });
    return text;
  } catch {
    throw new InvalidArgumentError('Use an IANA name like Europe/Berlin or UTC.');
  }
}

/** Rejects empty text, which an unset variable of a script often leaves. */
export const nonEmpty = matching(/[^]/, 'It is empty.');

/** Rejects `-` for a rejects file: as an input, it is standard input, so that what is advised would not send the file. */
export const rejectsFile = matching(/^(?!-$)/, 'Name a file; one named "-" is ./-.');

/** Parses a number from 0 to 1. */
export function fraction(text: string): number {
  const value = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('Use a number from 0 to 1.');
}
