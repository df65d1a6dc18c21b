import { canonicalText, ExactNumber, isList, type ExactJson } from '../../text/lossless-json.js';
import { limits } from '../../contract/limits.js';

/** Whether what was found means what was sent (service-facts, Upload and Reads). */
export function sameValue(key: string, sent: ExactJson, found: ExactJson): boolean {
  if (key.toLowerCase().startsWith('msg-') && typeof sent === 'boolean') {
    return flagOf(found) === sent;
  }
  const seconds = dateOf(sent);
  if (seconds !== undefined) return dateOf(found) === seconds || readDate(found) === seconds;
  if (isStrings(sent)) return sameStrings(sent, isList(found) ? found : [found]);
  return canonicalText(sent, asIs) === canonicalText(found, asIs);
}

const asIs = (key: string): string => key;

/** A flag of the user: the specification shows words, deployments booleans. */
function flagOf(value: ExactJson): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.toLowerCase() : '';
  const meaning: Readonly<Record<string, boolean>> = {
    subscribed: true,
    true: true,
    unsubscribed: false,
    false: false,
  };
  return meaning[word];
}

/** Epoch seconds of `$D_<epoch seconds>`. */
export function dateOf(value: ExactJson): string | undefined {
  const seconds = typeof value === 'string' ? /^\$D_(-?\d+)$/.exec(value)?.[1] : undefined;
  return seconds === undefined ? undefined : new ExactNumber(seconds).canonical;
}

/** A date may come back as bare seconds, or as ISO 8601. */
function readDate(value: ExactJson): string | undefined {
  if (value instanceof ExactNumber) return value.canonical;
  if (typeof value !== 'string') return undefined;
  if (/^-?\d+$/.test(value)) return new ExactNumber(value).canonical;
  const milliseconds = /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(milliseconds)
    ? undefined
    : new ExactNumber(String(Math.floor(milliseconds / 1000))).canonical;
}

const isStrings = (value: ExactJson): value is readonly string[] =>
  isList(value) && value.every((one) => typeof one === 'string');

/** A multi-value holds each string once, and the latest of too many; nothing says in which order. */
function sameStrings(sent: readonly string[], found: readonly ExactJson[]): boolean {
  const wanted = new Set([...new Set(sent)].slice(-limits.multiValueStrings));
  return found.length === wanted.size && found.every((one) => wanted.has(one as string));
}
