const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;

/**
 * The text of a member's value in a JSON object, exactly as it is written there; undefined when
 * there is no such member. `json` must be one valid JSON object. Of two members of that name the
 * last counts, as for JSON.parse.
 */
export function memberText(json: Buffer, name: string): Buffer | undefined {
  let depth = 0;
  let keyStart = 0;
  let key: unknown;
  let valueStart = 0;
  let found: Buffer | undefined;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) {
      if (depth === 1 && valueStart === 0) keyStart = at;
      at = stringEnd(json, at);
      if (depth === 1 && valueStart === 0)
        key = JSON.parse(json.toString('utf8', keyStart, at + 1));
    } else if (byte === colon && depth === 1) {
      valueStart = at + 1;
    } else if (opens(byte)) {
      depth += 1;
    } else if (closes(byte) || (byte === comma && depth === 1)) {
      if (depth === 1 && valueStart > 0 && key === name) found = trimmed(json, valueStart, at);
      if (depth === 1) valueStart = 0;
      if (byte !== comma) depth -= 1;
    }
  }
  return found;
}

/** Of the string that begins at `at`, the place of its closing quote. */
function stringEnd(json: Buffer, at: number): number {
  for (at += 1; json[at] !== quote; at += 1) {
    if (json[at] === backslash) at += 1;
  }
  return at;
}

const opens = (byte: number | undefined): boolean => byte === 0x7b || byte === 0x5b;
const closes = (byte: number | undefined): boolean => byte === 0x7d || byte === 0x5d;
const isSpace = (byte: number | undefined): boolean => byte !== undefined && byte <= 0x20;

function trimmed(json: Buffer, start: number, end: number): Buffer {
  while (isSpace(json[start])) start += 1;
  while (isSpace(json[end - 1])) end -= 1;
  return json.subarray(start, end);
}
