import { EngagectlError, type QuotedText } from '../errors.js';
import type { FirstReject } from '../jobs/job-results.js';

/** Formats why a record was rejected, for a terminal or a page. */
export const rejectText = (
  { kind, error, personal }: Pick<FirstReject, 'kind' | 'error' | 'personal'>,
  settings: PiiSettings,
): string =>
  maskPersonalData(error, settings, { personal, isForeign: /^(?:service|unknown)/.test(kind) });

/** Settings that control the masking of personal data. */
export interface PiiSettings {
  /** `--show-pii`. */
  readonly showPii?: boolean;
  /** Words of the command line: what the user typed is not masked. */
  readonly argv?: readonly string[];
}

const shortest = 4;

/** Texts for a missing value, which identify nobody, and which the advice to use --null-values repeats. */
const missing = /^(?:undefined|unknown|#(?:REF|NAME|VALUE|NUM|NULL|DIV\/0)[!?])$/i;

/**
 * Masks an identity or address: keeps at most the first half, enough to recognize it beside its file and
 * line. Very short values are kept.
 */
export function mask(value: string): string {
  const isPhone = value.startsWith('+');
  const letters = Array.from(isPhone ? value.replace(/[ ()-]/g, '') : value.replace('%40', '@'));
  if (letters.length <= shortest || missing.test(value)) return value;
  const at = letters.indexOf('@');
  const most = at >= 0 ? Math.min(at, 3) : isPhone ? 5 : 4;
  return `${letters.slice(0, Math.min(most, Math.floor(letters.length / 2))).join('')}…`;
}

/** Not part of a path: `/home/ada@example.com/users.csv` is not an address. */
const email =
  /(?<![\p{L}\p{N}._%+'/\\-])[\p{L}\p{N}._%+'-]{1,64}(?:@|%40)[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu;
const phone = /(?<![\p{L}\p{N}_.:/+-])\+\d(?:[ ()-]{0,2}\d){6,14}(?!\d)/gu;
/** Numbers in our own messages are grouped or short. */
const bareNumber = /(?<![\p{L}\p{N}_.,:/+-])\d{10,15}(?![\p{L}\p{N}_.,:/-])/gu;

/**
 * Masks personal data in a text: the values in `personal`, and everything that looks like an email
 * address or a phone number. `isForeign`: the text is from the service, whose numbers may be phone
 * numbers; `foreign`: only this part of it.
 */
export function maskPersonalData(
  text: string,
  settings: PiiSettings,
  { personal = [], isForeign = false, foreign }: PersonalText = {},
): string {
  const { showPii, argv = [] } = settings;
  if (showPii) return text;
  if (foreign !== undefined) {
    const quote = maskPersonalData(foreign, settings, { personal, isForeign: true });
    return maskPersonalData(
      text.replace(foreign, () => quote),
      settings,
      { personal },
    );
  }
  const isTyped = (found: string) =>
    argv.some((word) => word.includes(found) || (word.includes('@') && found.startsWith(word)));
  const unlessTyped = (found: string) => (isTyped(found) ? found : mask(found));
  const known = personal.filter((value) => !argv.includes(value));
  const rest = withoutKnown(text, known).replace(email, unlessTyped).replace(phone, unlessTyped);
  return isForeign ? rest.replace(bareNumber, unlessTyped) : rest;
}

interface PersonalText extends QuotedText {
  readonly isForeign?: boolean;
}

const quoted = /"(?:[^"\\]|\\.)*"/g;
/** Shorter values occur in any sentence by chance. */
const shortestBare = 5;
/** A regular expression of a longer value may be too large for the engine, which throws. */
const longestPattern = 1024;

/** Longer texts are cut, because each value is searched in them: a record may have thousands. */
const longestText = 100_000;
/** Characters that a cut text loses at its end, where it may have cut a value, which is not found then. */
const cutEnd = 2000;

/** Masks known values in quotes, where they may be truncated, and as separate words. */
function withoutKnown(text: string, values: readonly string[]): string {
  if (values.length === 0) return text;
  if (text.length > longestText)
    return `${withoutKnown(text.slice(0, longestText), values).slice(0, -cutEnd)}…`;
  const spellings = new Set(values.flatMap((value) => [value, value.replace(/^\+/, '')]));
  const isKnown = (inner: string) =>
    spellings.has(inner) ||
    (inner.endsWith('…') && values.some((value) => value.startsWith(inner.slice(0, -1))));
  let masked = text.replace(quoted, (found) => {
    const inner = textIn(found);
    return inner !== undefined && isKnown(inner) ? JSON.stringify(mask(inner)) : found;
  });
  for (const value of spellings) {
    if (value.length < shortestBare || !masked.includes(value)) continue;
    const short = mask(value);
    if (value.length > longestPattern) {
      masked = masked.replaceAll(value, () => short);
      continue;
    }
    const literal = value.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
    const alone = new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'gu');
    masked = masked.replace(alone, () => short);
  }
  return masked;
}

function textIn(quotedText: string): string | undefined {
  try {
    return JSON.parse(quotedText) as string;
  } catch {
    return undefined;
  }
}

/** Masks the beginning of a record's JSON text. Little remains of a line that could not be parsed. */
export function maskRecord(
  record: string,
  settings: PiiSettings,
  personal: readonly string[],
): string {
  if (settings.showPii) return record;
  if (record.startsWith('"')) return JSON.stringify(mask(record.slice(1, -1)));
  const whole = record.replace(/"[^"]*…$/, '"…'); // a truncated value is unknown here
  return maskPersonalData(whole, settings, { personal });
}

/** Returns the error with personal data masked; the fix stays as it is, so that it can be typed. */
export function maskError<Thrown>(error: Thrown, settings: PiiSettings): Thrown {
  if (!(error instanceof EngagectlError) || settings.showPii) return error;
  const { message, details } = error;
  const { why, personal, foreign } = details;
  const maskedDetails = {
    ...details,
    foreign: undefined,
    why: why === undefined ? undefined : maskPersonalData(why, settings, { personal }),
  };
  const masked = maskPersonalData(message, settings, { personal, foreign });
  return new EngagectlError(error.id, masked, maskedDetails) as Thrown & EngagectlError;
}
