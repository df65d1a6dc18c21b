import type { ZodError } from 'zod';

/**
 * Returns the known name that was probably meant: the only one with this prefix, or one with few
 * differing letters.
 */
export function closestName(typed: string, known: Iterable<string>): string | undefined {
  const names = [...known];
  const matches = names.filter((name) => name.toLowerCase().startsWith(typed.toLowerCase()));
  if (typed.length > 2 && matches.length === 1) return matches[0];
  let found: string | undefined;
  let least = Math.max(1, Math.floor(typed.length / 3)) + 1;
  if (typed.length > most.letters) return undefined;
  const isNear = ({ length }: string) =>
    length <= most.letters && Math.abs(length - typed.length) < least;
  for (const name of names.filter(isNear).slice(0, most.names)) {
    const edits = distance(typed.toLowerCase(), name.toLowerCase());
    if (edits < least) [found, least] = [name, edits];
  }
  return found;
}

/** Limits of what is compared: names of an input may be long and many, and each pair takes the product of their lengths. */
const most = { letters: 100, names: 1000 };

/** Returns `; did you mean "Email"?`, or an empty string. */
export function didYouMean(typed: string, known: Iterable<string>): string {
  const name = closestName(typed, known);
  return name === undefined ? '' : `; did you mean ${JSON.stringify(name)}?`;
}

/** Edit distance: letters to insert, delete, replace or swap with their neighbor. */
function distance(one: string, other: string): number {
  let [before, row] = [[] as number[], Array.from({ length: other.length + 1 }, (_, n) => n)];
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped =
        i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      next[j] = Math.min(
        next[j - 1]! + 1,
        row[j]! + 1,
        row[j - 1]! + (isSame ? 0 : 1),
        isSwapped ? before[j - 2]! + 1 : Infinity,
      );
    }
    [before, row] = [row, next];
  }
  return row.at(-1)!;
}

/**
 * Describes the errors of JSON written by people, one per issue; `known` are the names of its members. With `names`,
 * which describes the names that its maps may have, the file has secrets: a name that resembles no known one is not
 * shown, because it may be one.
 */
export const describeSchemaIssues = (
  { issues }: ZodError,
  known: readonly string[],
  names?: string,
): string =>
  issues
    .flatMap((issue) => {
      const isName = names !== undefined && issue.code === 'invalid_key';
      const at = issue.path
        .slice(0, isName ? -1 : undefined)
        .map(String)
        .join('.');
      if (isName) return `${at} has a name that is not of ${names}`;
      if (issue.code !== 'unrecognized_keys') return `${at} ${inWords(issue.message)}`.trim();
      const has = at === '' ? '' : `${at} has an `;
      return issue.keys.map((key) => {
        const others = known.filter((name) => name !== key); // a member of another object
        const meant = didYouMean(key, others);
        const isShown = names === undefined || meant !== '' || known.includes(key);
        return `${has}unknown member${isShown ? ` "${key}"${meant}` : ', whose name is not shown'}`;
      });
    })
    .join('; ');

const inWords = (message: string): string =>
  message
    .replace(/^Invalid input: /, '')
    .replace(/^expected .*, received undefined$/, 'is missing')
    .replace(/^expected (.*), received (.*)$/, 'has to be $1, not $2');
