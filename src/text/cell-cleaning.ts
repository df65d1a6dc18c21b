import { TextSlice } from './text-slice.js';

/** How cells are cleaned before they are mapped (`--trim`, `--null-values`). */
export interface CellCleaning {
  /** Remove whitespace and invisible characters at the ends. */
  readonly trim: boolean;
  /** Texts that count as empty; undefined if the user gave none. */
  readonly nullValues: ReadonlySet<string> | undefined;
  /** Whether placeholders and changed ids are identifiers: the list is empty, or has an empty text. */
  readonly acceptsPlaceholders: boolean;
  /** Bytes of the longest of them; -1 if there are none. */
  readonly longest: number;
}

interface CleaningOptions {
  readonly trim?: boolean;
  readonly nullValues?: readonly string[];
}

/** Returns the cleaning that the options ask for; undefined if they ask for none. */
export function cellCleaning({
  trim = false,
  nullValues,
}: CleaningOptions): CellCleaning | undefined {
  if (!trim && nullValues === undefined) return undefined;
  const texts = (nullValues ?? []).filter((text) => text !== '');
  const longest = Math.max(-1, ...texts.map((text) => Buffer.byteLength(text)));
  const acceptsPlaceholders = nullValues?.length === 0 || nullValues?.includes('') === true;
  return { trim, nullValues: nullValues && new Set(texts), acceptsPlaceholders, longest };
}

const slice = new TextSlice();

/** Returns the bounds of cells after cleaning; `bounds` are those of `Cells` and stay unchanged. */
export function cleanCells(
  bytes: Buffer,
  bounds: Int32Array,
  { trim, nullValues, longest }: CellCleaning,
): Int32Array {
  const cleaned = bounds.slice();
  for (let at = 0; at < cleaned.length; at += 2) {
    const start = cleaned[at]!;
    const end = cleaned[at + 1]!;
    if (start === end) continue;
    const isPlain = end >= 0;
    slice.of(bytes, start, isPlain ? end : ~end);
    if (trim) trimText(slice);
    const isNull = slice.end - slice.start <= longest && nullValues!.has(slice.toString());
    const isEmpty = slice.isEmpty || isNull;
    cleaned[at] = slice.start;
    cleaned[at + 1] = isEmpty ? slice.start : isPlain ? slice.end : ~slice.end;
  }
  return cleaned;
}

/** Cleans the content of a JSON string in place. */
export function cleanText(text: TextSlice, { trim, nullValues, longest }: CellCleaning): TextSlice {
  if (trim) trimText(text);
  const isNull = text.end - text.start <= longest && nullValues!.has(text.toString());
  return isNull ? text.of(text.bytes, text.start, text.start) : text;
}

/**
 * Invisible characters that are never meant in an identifier: zero-width, soft hyphen, bidi marks, no-break spaces, fillers,
 * control characters, and U+FE0E and U+FE0F where they choose no form of the sign before them.
 */
const invisible =
  /[\u034f\u0080-\u00a0\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202f\u2060-\u206f\u2800\u3164\ufeff\uffa0\u{e0000}-\u{e007f}]|(?<!\p{Extended_Pictographic})[\ufe0e\ufe0f](?!\u20e3)/u;
/** Whitespace and invisible characters at the start or the end, also joiners, which have a meaning inside a word. */
const leading = /^[\s\u0080-\u009f\p{Cf}\u115f\u1160\u2800\u3164\uffa0]+/u;
const trailing = /[\s\u0080-\u009f\p{Cf}\u115f\u1160\u2800\u3164\uffa0]$/u;

/** Whether a character is whitespace, a control character or invisible, wherever it stands. */
export const isBlank = (character: string): boolean =>
  invisible.test(character) ||
  /^[\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(character);

/**
 * Describes whitespace at the ends of a text or invisible characters in it, to follow the quoted text in a message;
 * undefined if there are none.
 */
export function strayCharacters(text: TextSlice): string | undefined {
  if (isPlain(text)) return undefined;
  const value = text.toString();
  const found = invisible.exec(value)?.[0] ?? /^\p{Cf}|\p{Cf}$/u.exec(value)?.[0];
  if (found !== undefined) {
    const code = found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
    return `contains the invisible character U+${code}`;
  }
  return value === value.trim() ? undefined : 'has whitespace around it';
}

/** Whether a text has only visible ASCII characters at its ends and ASCII inside, as most have. */
function isPlain({ bytes, start, end }: TextSlice): boolean {
  if (start === end) return true;
  if (bytes[start]! <= 0x20 || bytes[end - 1]! <= 0x20) return false;
  for (let at = start; at < end; at++) if (bytes[at]! >= 0x80) return false;
  return true;
}

/** Removes whitespace and invisible characters from the ends of a text. */
function trimText(text: TextSlice): TextSlice {
  const { bytes } = text;
  let { start, end } = text;
  while (start < end && bytes[start]! <= 0x20) start += 1;
  while (start < end && bytes[end - 1]! <= 0x20) end -= 1;
  const isAscii = start === end || (bytes[start]! < 0x80 && bytes[end - 1]! < 0x80);
  if (!isAscii) {
    const value = bytes.toString('utf8', start, end);
    const from = leading.exec(value)?.[0].length ?? 0;
    let to = value.length;
    let last: string | undefined = '';
    // One by one: a pattern that repeats characters before the end would take quadratic time.
    do {
      to -= last.length;
      last = trailing.exec(value.slice(Math.max(from, to - 2), to))?.[0];
    } while (last !== undefined);
    start += Buffer.byteLength(value.slice(0, from));
    end = start + Buffer.byteLength(value.slice(from, to));
  }
  return text.of(bytes, start, end, text.broken);
}

/**
 * Sets a text to its lower case, except for the signs of Kelvin, Ohm, Angstrom and theta: they would become letters, and an
 * identity with one of them that of another user.
 */
export function lowercaseText(text: TextSlice): TextSlice {
  const given = text.toString();
  const lower = Buffer.from(
    signs.test(given)
      ? given.replaceAll(letters, (part) => part.toLowerCase())
      : given.toLowerCase(),
  );
  return text.of(lower, 0, lower.length, text.broken);
}

const signs = /[\u03f4\u2126\u212a\u212b]/;
const letters = /[^\u03f4\u2126\u212a\u212b]+/g;

/** Texts that programs write for missing values; `mayBePlaceholder` of `wasm/csv-record-writer.ts` has to notice each. */
const placeholders: ReadonlySet<string> = new Set([
  'nan',
  'NaN',
  'NULL',
  'null',
  'None',
  'none',
  '\\N',
  'N/A',
  'n/a',
  '<NA>',
  'NaT',
  '-',
  'undefined',
]);
const longestPlaceholder = 9;
/** Errors of spreadsheets in any language (#REF!, #BEZUG!, #NOM?, #N/A, #NV), and the ##### of a column that is too narrow. */
const spreadsheetError = /^#(?:\S{2,12}[!?]|N\/[A-Z]|NV|#+)$/;

/** Identifiers that a program has changed, and what it did; `mayBePlaceholder` of `wasm/csv-record-writer.ts` has to notice each. */
const changed: readonly (readonly [RegExp, string])[] = [
  [/^\d+\.0$/, 'is an id that a program converted to a decimal'],
  // 9.17E+11 of spreadsheets, and 1e+05 of R
  [/^\d(?:[.,]\d+)?E\+\d{2,3}$/i, 'is a number that a program has rounded'],
  // '007 and ="007", by which spreadsheets keep digits as text, and '=x of --csv-formulas escape
  [/^(?:'(?: *[=+\-@＝＋－＠]|\d)|="[^"]*"$)/, 'has the mark of a spreadsheet for text'],
];

/** End of the error of a CSV cell that cannot be an identifier although its text could. */
export const placeholderAdvice = "(--null-values '' accepts it)";

/**
 * Describes why a CSV cell cannot be an identifier although its text could, to follow the quoted text in a message: it
 * is a placeholder, or a program has changed it. Other null values, as in a drafted mapping, leave this check as it is.
 */
export function placeholderReason(
  text: TextSlice,
  cleaning: CellCleaning | undefined,
): string | undefined {
  if (cleaning?.acceptsPlaceholders) return undefined;
  const { bytes, start, end } = text;
  const first = bytes[start]!;
  const isPlaceholder =
    first === 0x23
      ? spreadsheetError.test(text.toString())
      : end - start <= longestPlaceholder && placeholders.has(text.toString());
  const mayBeRounded =
    bytes[end - 2] === 0x2e || bytes[end - 3] === 0x2b || bytes[end - 4] === 0x2b;
  const mayBeChanged = first === 0x27 || first === 0x3d || mayBeRounded;
  const reason = isPlaceholder
    ? 'is a placeholder for a missing value'
    : mayBeChanged && changed.find(([pattern]) => pattern.test(text.toString()))?.[1];
  return reason ? `${reason} ${placeholderAdvice}` : undefined;
}

export const noBoolean = 'is not true, false, 1, 0, yes or no';

/** Words of booleans, with their JSON texts. */
export const booleanWords = ['true', 'false', '1', '0', 'yes', 'no'].map((word, index) => ({
  word,
  bytes: Buffer.from(word),
  json: Buffer.from(String(index % 2 === 0)),
}));

/** Returns the JSON text of a boolean; undefined for another text. */
export const booleanOf = (text: string): string | undefined =>
  booleanWords.find(({ word }) => word === text.toLowerCase())?.json.toString();
