/**
 * Slices JSON text without decoding it. The service stores and returns values as they were written,
 * so 19-digit integers and `1.0` survive; it decodes only what it compares. All arguments must be
 * well-formed JSON without leading blanks (request bodies are checked by JSON.parse first). Of other texts, as in the data
 * directory of somebody else, the functions return anything, and end.
 */

/** Members of an object: decoded key → JSON text of the value. The last value of a duplicate key counts. */
export type Members = Map<string, string>;

export const isObject = (text: string | undefined): text is string => text?.[0] === '{';
export const isArray = (text: string | undefined): text is string => text?.[0] === '[';
export const isString = (text: string | undefined): text is string => text?.[0] === '"';
export const isNumber = (text: string | undefined): text is string =>
  text !== undefined && /^[-\d]/.test(text);

/** Decodes a JSON string; undefined if the text is missing or not a string. */
export function stringOf(text: string | undefined): string | undefined {
  return isString(text) ? unescaped(text.slice(1, -1)) : undefined;
}

/** Decodes a JSON number of any spelling (`10`, `1e1`, `10.0`); undefined if it is not a safe integer. */
export function integerOf(text: string | undefined): number | undefined {
  const value = isNumber(text) ? Number(text) : NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Decodes the characters between the quotes of a JSON string. */
const unescaped = (inside: string): string =>
  inside.includes('\\') ? String(JSON.parse(`"${inside}"`)) : inside;

export function parseMembers(object: string): Members {
  const members: Members = new Map();
  let at = skipSeparators(object, 1);
  while (!closes(object.charCodeAt(at))) {
    const keyEnd = endOfString(object, at);
    const start = skipSeparators(object, keyEnd);
    const end = endOfValue(object, start);
    members.set(unescaped(object.slice(at + 1, keyEnd - 1)), object.slice(start, end));
    at = skipSeparators(object, end);
  }
  return members;
}

/** Splits an array into the JSON texts of its values. */
export function parseElements(array: string): string[] {
  const elements: string[] = [];
  let at = skipSeparators(array, 1);
  while (!closes(array.charCodeAt(at))) {
    const end = endOfValue(array, at);
    elements.push(array.slice(at, end));
    at = skipSeparators(array, end);
  }
  return elements;
}

/** Whether the text exceeds `most` bytes of UTF-8; cheap for short texts. */
export const exceedsBytes = (text: string, most: number): boolean =>
  text.length > most || (text.length * 3 > most && Buffer.byteLength(text) > most);

/** Like `exceedsBytes`, for a string or number as JSON text. */
export const scalarExceedsBytes = (json: string, most: number): boolean =>
  json.length * 3 > most && exceedsBytes(stringOf(json) ?? json, most);

/** Returns the keys and scalar values of an array or object at any depth, as JSON texts. */
export const scalarsIn = (nested: string): readonly string[] =>
  nested.match(/"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,:[\]{}"]+/g) ?? [];

/** Serializes members without the enclosing braces. */
export function joinMembers(members: Iterable<readonly [string, string]>): string {
  let text = '';
  for (const [key, value] of members) {
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${value}`;
  }
  return text;
}

export const objectText = (members: Iterable<readonly [string, string]>): string =>
  `{${joinMembers(members)}}`;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;

const separates = (code: number): boolean => code <= 0x20 || code === comma || code === colon;
/** `[` or `{`; `]`, `}` or the end of the text. */
const opens = (code: number): boolean => code === 0x5b || code === 0x7b;
const closes = (code: number): boolean => code === 0x5d || code === 0x7d || Number.isNaN(code);

function skipSeparators(text: string, start: number): number {
  let at = start;
  while (separates(text.charCodeAt(at))) at++;
  return at;
}

function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === quote) return endOfString(text, start);
  let at = start + 1;
  let code = text.charCodeAt(at);
  if (!opens(first)) {
    while (at < text.length && !separates(code) && !closes(code)) code = text.charCodeAt(++at);
    return at;
  }
  for (let depth = 1; depth > 0;) {
    if (opens(code)) depth++;
    else if (closes(code)) depth--;
    at = code === quote ? endOfString(text, at) : at + 1;
    code = text.charCodeAt(at);
  }
  return at;
}

function endOfString(text: string, start: number): number {
  let at = text.indexOf('"', start + 1);
  while (at > 0 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at < 0 ? text.length : at + 1;
}

/** Whether an odd number of backslashes precedes the character. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === backslash) first--;
  return (at - first) % 2 === 1;
}
