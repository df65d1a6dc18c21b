/**
 * Slices of JSON text. The service stores and returns values as they were written, so that a
 * 19-digit integer or `1.0` survives; it decodes only what it has to look at. Every text given
 * to these functions is known to be well-formed (the request's body went through JSON.parse).
 */

/** Members of an object: decoded key → the value's text as written. A repeated key keeps its last value. */
export type Members = Map<string, string>;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

export const isObject = (text: string | undefined): text is string => text?.[0] === '{';
export const isArray = (text: string | undefined): text is string => text?.[0] === '[';
export const isString = (text: string | undefined): text is string => text?.[0] === '"';
export const isNumber = (text: string | undefined): text is string =>
  text !== undefined && /^[-\d]/.test(text);

/** The decoded string, or undefined when the text is missing or no string. */
export function stringOf(text: string | undefined): string | undefined {
  if (!isString(text)) return undefined;
  return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1);
}

export function membersOf(object: string): Members {
  const members: Members = new Map();
  let at = skipSpace(object, 1);
  while (object.charCodeAt(at) !== closeBrace) {
    const keyEnd = endOfString(object, at);
    const key = stringOf(object.slice(at, keyEnd)) ?? '';
    const start = skipSpace(object, skipSpace(object, keyEnd) + 1);
    const end = endOfValue(object, start);
    members.set(key, object.slice(start, end));
    at = skipComma(object, end);
  }
  return members;
}

export function elementsOf(array: string): string[] {
  const elements: string[] = [];
  let at = skipSpace(array, 1);
  while (array.charCodeAt(at) !== closeBracket) {
    const end = endOfValue(array, at);
    elements.push(array.slice(at, end));
    at = skipComma(array, end);
  }
  return elements;
}

/** The members as JSON text without the braces around them. */
export function joinMembers(members: Iterable<readonly [string, string]>): string {
  let text = '';
  for (const [key, value] of members) {
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${value}`;
  }
  return text;
}

export const objectText = (members: Iterable<readonly [string, string]>): string =>
  `{${joinMembers(members)}}`;

function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === quote) return endOfString(text, start);
  if (first === openBrace || first === openBracket) return endOfNested(text, start);
  let at = start + 1;
  while (at < text.length && !endsScalar(text.charCodeAt(at))) at++;
  return at;
}

const endsScalar = (code: number): boolean =>
  code === comma || code === closeBrace || code === closeBracket || code <= 0x20;

function endOfString(text: string, start: number): number {
  let at = text.indexOf('"', start + 1);
  while (text.charCodeAt(at - 1) === backslash && isEscaped(text, at))
    at = text.indexOf('"', at + 1);
  return at + 1;
}

/** Whether an odd number of backslashes stands before the character. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === backslash) first--;
  return (at - first) % 2 === 1;
}

function endOfNested(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at);
      continue;
    }
    if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) depth--;
    at++;
  } while (depth > 0);
  return at;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) <= 0x20) at++;
  return at;
}

function skipComma(text: string, start: number): number {
  const at = skipSpace(text, start);
  return text.charCodeAt(at) === comma ? skipSpace(text, at + 1) : at;
}
