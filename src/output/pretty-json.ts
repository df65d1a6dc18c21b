const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;

/**
 * One valid JSON text indented by two spaces, for people. Only whitespace between tokens
 * changes: numbers, escapes and the order of keys stay as they are written.
 */
export function prettyJson(json: Buffer): string {
  const parts: string[] = [];
  let depth = 0;
  const newLine = () => parts.push(`\n${'  '.repeat(depth)}`);
  for (let at = 0; at < json.length;) {
    const byte = json[at]!;
    const end = tokenEnd(json, at);
    const token = json.toString('utf8', at, end);
    at = end;
    if (byte <= 0x20) continue;
    if (isClose(byte)) {
      depth -= 1;
      newLine();
    }
    parts.push(token);
    if (byte === colon) parts.push(' ');
    if (byte === comma) newLine();
    if (!isOpen(byte)) continue;
    const next = firstToken(json, at);
    if (isClose(json[next]!)) {
      parts.push(json.toString('utf8', next, next + 1));
      at = next + 1;
      continue;
    }
    depth += 1;
    newLine();
  }
  return parts.join('');
}

/** After the string, punctuation, space or bare word that begins at `at`. */
function tokenEnd(json: Buffer, at: number): number {
  const byte = json[at]!;
  if (byte === quote) return stringEnd(json, at);
  let end = at + 1;
  if (byte > 0x20 && !isPunctuation(byte)) while (isBare(json[end])) end += 1;
  return end;
}

function stringEnd(json: Buffer, at: number): number {
  for (at += 1; json[at] !== quote; at += 1) if (json[at] === backslash) at += 1;
  return at + 1;
}

function firstToken(json: Buffer, at: number): number {
  while (json[at]! <= 0x20) at += 1;
  return at;
}

const isOpen = (byte: number): boolean => byte === 0x7b || byte === 0x5b;
const isClose = (byte: number): boolean => byte === 0x7d || byte === 0x5d;
const isPunctuation = (byte: number): boolean =>
  isOpen(byte) || isClose(byte) || byte === comma || byte === colon;
const isBare = (byte: number | undefined): boolean =>
  byte !== undefined && byte > 0x20 && byte !== quote && !isPunctuation(byte);
