import { EngagectlError } from '../errors.js';
import type { FirstReject } from '../jobs/job-results.js';

/** Why a record was rejected, for a screen or a page. */
export const rejectText = (
  { kind, error, personal }: Pick<FirstReject, 'kind' | 'error' | 'personal'>,
  settings: PiiSettings,
): string =>
  maskPersonalData(error, settings, { personal, isForeign: /^(?:service|unknown)/.test(kind) });

/** What decides whether personal data is shown whole. */
export interface PiiSettings {
  /** `--show-pii`. */
  readonly showPii?: boolean;
  /** The words that were typed: what a person typed is shown as it was typed. */
  readonly argv?: readonly string[];
}

const shortest = 4;

/**
 * An identity or address as it is shown: its beginning, by which it is recognised beside the file and
 * line it stands in. At most half of it; what is very short stays.
 */
export function mask(value: string): string {
  const isPhone = value.startsWith('+');
  const letters = Array.from(isPhone ? value.replace(/[ ()-]/g, '') : value.replace('%40', '@'));
  if (letters.length <= shortest) return value;
  const at = letters.indexOf('@');
  const most = at >= 0 ? Math.min(at, 3) : isPhone ? 5 : 4;
  return `${letters.slice(0, Math.min(most, Math.floor(letters.length / 2))).join('')}…`;
}

/** Not a part of a path: `/home/ada@example.com/users.csv` is none. */
const email =
  /(?<![\p{L}\p{N}._%+'/\\-])[\p{L}\p{N}._%+'-]{1,64}(?:@|%40)[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu;
const phone = /(?<![\p{L}\p{N}_.:/+-])\+\d(?:[ ()-]{0,2}\d){6,14}(?!\d)/gu;
/** Numbers of ours are grouped or short. */
const bareNumber = /(?<![\p{L}\p{N}_.,:/+-])\d{10,15}(?![\p{L}\p{N}_.,:/-])/gu;

/**
 * A text for a screen or log without whole identities and addresses: those in `personal`, and what
 * looks like an email address or a phone number. `isForeign`: the words are the service's, whose
 * numbers may be phones.
 */
export function maskPersonalData(
  text: string,
  { showPii, argv = [] }: PiiSettings,
  { personal = [], isForeign = false }: PersonalText = {},
): string {
  if (showPii) return text;
  const isTyped = (found: string) =>
    argv.some((word) => word.includes(found) || (word.includes('@') && found.startsWith(word)));
  const unlessTyped = (found: string) => (isTyped(found) ? found : mask(found));
  const known = personal.filter((value) => !argv.includes(value));
  const rest = withoutKnown(text, known).replace(email, unlessTyped).replace(phone, unlessTyped);
  return isForeign ? rest.replace(bareNumber, unlessTyped) : rest;
}

interface PersonalText {
  /** Values of the record that the text is about, the longest first. */
  readonly personal?: readonly string[] | undefined;
  readonly isForeign?: boolean;
}

const quoted = /"(?:[^"\\]|\\.)*"/g;
/** Shorter ones stand by chance in any sentence. */
const shortestBare = 5;

/** Known values in quotes, where they may be cut, and as words by themselves. */
function withoutKnown(text: string, values: readonly string[]): string {
  if (values.length === 0) return text;
  const spellings = new Set(values.flatMap((value) => [value, value.replace(/^\+/, '')]));
  const isKnown = (inner: string) =>
    spellings.has(inner) ||
    (inner.endsWith('…') && values.some((value) => value.startsWith(inner.slice(0, -1))));
  let shown = text.replace(quoted, (found) => {
    const inner = textIn(found);
    return inner !== undefined && isKnown(inner) ? JSON.stringify(mask(inner)) : found;
  });
  for (const value of spellings) {
    if (value.length < shortestBare) continue;
    const literal = value.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
    const alone = new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'gu');
    shown = shown.replace(alone, mask(value));
  }
  return shown;
}

function textIn(quotedText: string): string | undefined {
  try {
    return JSON.parse(quotedText) as string;
  } catch {
    return undefined;
  }
}

/** The beginning of a record's JSON text, likewise. Of a line that could not be read, little is left. */
export function maskRecord(
  record: string,
  settings: PiiSettings,
  personal: readonly string[],
): string {
  if (settings.showPii) return record;
  if (record.startsWith('"')) return JSON.stringify(mask(record.slice(1, -1)));
  const whole = record.replace(/"[^"]*…$/, '"…'); // a value may be cut, and is not known then
  return maskPersonalData(whole, settings, { personal });
}

/** The same error with its words shortened; advice stays as it is, so that it can be typed. */
export function maskError<Thrown>(error: Thrown, settings: PiiSettings): Thrown {
  if (!(error instanceof EngagectlError) || settings.showPii) return error;
  const { message, details } = error;
  const { why, personal } = details;
  const brief = (words: string) => maskPersonalData(words, settings, { personal });
  const shown = { ...details, why: why === undefined ? undefined : brief(why) };
  return new EngagectlError(error.id, brief(message), shown) as Thrown & EngagectlError;
}
