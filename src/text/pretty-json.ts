import { closes, opens, spaceEnd, tokenEnd } from './raw-json.js';

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
