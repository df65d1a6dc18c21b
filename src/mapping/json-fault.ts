/** What `wasm/json-text.ts` says to be wrong: something is missing, or … */
const missing = [
  '',
  'a value',
  'a digit',
  'a key in double quotes',
  'a colon',
  'a comma or a closing brace',
  'a comma or a closing bracket',
];
const [inString, tooDeep, goesOn] = [7, 8, 9];
/** … the text is good JSON, and only repeats a key. */
export const repeatsKey = 10;

interface Place {
  readonly faultAt: number;
  /** Where the text ends. */
  readonly limit: number;
  /** Of a key that is repeated. */
  readonly keyEnd: number;
  readonly deepest: number;
}

/** What is wrong with a JSON text, to be read behind "JSON". */
export function explainFault(fault: number, bytes: Buffer, place: Place): string {
  const { faultAt, limit, keyEnd, deepest } = place;
  switch (fault) {
    case inString:
      if (faultAt >= limit) return 'ends within a string';
      if (bytes[faultAt]! < 0x20) return 'has a control character within a string';
      return 'has an escape that JSON does not know';
    case tooDeep:
      return `nests deeper than ${deepest}`;
    case goesOn:
      return `goes on after its end, with ${JSON.stringify(characterAt(bytes, faultAt))}`;
    case repeatsKey: {
      const key = bytes.toString('utf8', faultAt + 1, keyEnd);
      return `repeats the key "${key.slice(0, 100)}"`;
    }
    default:
      return unexpected(missing[fault]!, bytes, place);
  }
}

function unexpected(expected: string, bytes: Buffer, { faultAt, limit }: Place): string {
  if (faultAt >= limit) return `ends where ${expected} should be`;
  return `has ${JSON.stringify(characterAt(bytes, faultAt))}, not ${expected}`;
}

const characterAt = (bytes: Buffer, at: number): string =>
  String.fromCodePoint(bytes.toString('utf8', at, at + 4).codePointAt(0)!);
