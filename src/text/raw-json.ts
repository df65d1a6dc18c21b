const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const openBracket = 0x5b;

/** A member of an object, as written. */
interface Member {
  /** With its quotes. */
  readonly key: Buffer;
  readonly value: Buffer;
}

/** Yields the members of a valid JSON object, for texts that are few or short. */
export function* rawMembers(json: Buffer): Generator<Member> {
  let at = spaceEnd(json, spaceEnd(json, 0) + 1);
  while (json[at] === quote) {
    const keyEnd = tokenEnd(json, at);
    const start = spaceEnd(json, spaceEnd(json, keyEnd) + 1);
    const end = valueEnd(json, start);
    yield { key: json.subarray(at, keyEnd), value: json.subarray(start, end) };
    at = spaceEnd(json, end);
    if (json[at] === comma) at = spaceEnd(json, at + 1);
  }
}

/** Yields a valid JSON object, or the elements of an array. */
function* rawElements(json: Buffer): Generator<Buffer> {
  if (json[spaceEnd(json, 0)] !== openBracket) {
    yield json;
    return;
  }
  let at = spaceEnd(json, spaceEnd(json, 0) + 1);
  while (!closes(json[at])) {
    const end = valueEnd(json, at);
    yield json.subarray(at, end);
    at = spaceEnd(json, end);
    if (json[at] === comma) at = spaceEnd(json, at + 1);
  }
}

/**
 * Returns the first name that a valid JSON object has more than once; undefined also for other values. Searches the
 * member `inside[0]`, or each element of it, as well, for which the rest of `inside` applies.
 */
export function repeatedMember(json: Buffer, [inner, ...inside]: readonly string[]): unknown {
  if (json[spaceEnd(json, 0)] !== openBrace) return undefined;
  const names = new Set<unknown>();
  for (const { key, value } of rawMembers(json)) {
    const name: unknown = JSON.parse(key.toString());
    if (names.has(name)) return name;
    names.add(name);
    for (const element of name === inner ? rawElements(value) : []) {
      const found = repeatedMember(element, inside);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/**
 * Returns the text of a member's value in a valid JSON object; undefined if it is missing. The last of
 * repeated members counts, as for JSON.parse.
 */
export function rawMember(json: Buffer, name: string): Buffer | undefined {
  let found: Buffer | undefined;
  for (const { key, value } of rawMembers(json)) {
    if (JSON.parse(key.toString()) === name) found = value;
  }
  return found;
}

/** Returns the end of the token or whitespace byte at `at`. */
function tokenEnd(json: Buffer, at: number): number {
  let end = at + 1;
  if (json[at] === quote) {
    for (; json[end] !== quote; end += 1) if (json[end] === backslash) end += 1;
    return end + 1;
  }
  if (isBare[json[at]!] === 1) while (isBare[json[end]!] === 1) end += 1;
  return end;
}

export function spaceEnd(json: Buffer, at: number): number {
  while (json[at]! <= 0x20) at += 1;
  return at;
}

export const opens = (byte: number | undefined): boolean => byte === 0x7b || byte === 0x5b;
export const closes = (byte: number | undefined): boolean => byte === 0x7d || byte === 0x5d;

function valueEnd(json: Buffer, at: number): number {
  let depth = 0;
  do {
    if (opens(json[at])) depth += 1;
    else if (closes(json[at])) depth -= 1;
    at = tokenEnd(json, at);
  } while (depth > 0);
  return at;
}

const isBare = new Uint8Array(256).fill(1, 0x21);
for (const byte of Buffer.from('"{}[],:')) isBare[byte] = 0;

/**
 * Indents a valid JSON text by two spaces. Only whitespace between tokens changes: numbers, escapes and
 * key order are kept.
 */
export function prettyPrintJson(json: Buffer): string {
  const parts: string[] = [];
  let depth = 0;
  const newLine = () => parts.push(`\n${'  '.repeat(depth)}`);
  for (let at = spaceEnd(json, 0); at < json.length; at = spaceEnd(json, at)) {
    const byte = json[at]!;
    let end = tokenEnd(json, at);
    const next = spaceEnd(json, end);
    const isEmpty = opens(byte) && closes(json[next]);
    if (isEmpty) {
      parts.push(String.fromCharCode(byte, json[next]!));
      end = next + 1;
    } else {
      if (closes(byte)) depth -= 1;
      if (closes(byte)) newLine();
      parts.push(json.toString('utf8', at, end));
      if (opens(byte)) depth += 1;
      if (opens(byte) || byte === comma) newLine();
      if (byte === colon) parts.push(' ');
    }
    at = end;
  }
  return parts.join('');
}
