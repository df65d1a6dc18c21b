/**
 * Returns the position, in UTF-16 code units, of the first syntax error in a text that JSON.parse rejects. The errors of
 * JSON.parse do not always contain it, and quote the text.
 */
export function jsonErrorPosition(text: string): number {
  const token =
    // oxlint-disable-next-line no-control-regex -- JSON forbids control characters in strings
    /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/y;
  const open: string[] = [];
  let expected: readonly Kind[] = ['value', 'open'];
  for (let at = blanksEnd(text, 0); ; at = blanksEnd(text, token.lastIndex)) {
    token.lastIndex = at;
    const found = token.exec(text)?.[0];
    const kind = found === undefined ? undefined : kindOf(found, expected);
    if (found === undefined || kind === undefined || !expected.includes(kind)) return at;
    if (kind === 'open') open.push(found);
    if (kind === 'close' && (open.pop() === '{') !== (found === '}')) return at;
    expected = kindsAfter(kind, open);
  }
}

type Kind = 'value' | 'open' | 'close' | 'key' | 'colon' | 'comma';

function kindOf(token: string, expected: readonly Kind[]): Kind {
  if (token === '{' || token === '[') return 'open';
  if (token === '}' || token === ']') return 'close';
  if (token === ':') return 'colon';
  if (token === ',') return 'comma';
  return token.startsWith('"') && expected.includes('key') ? 'key' : 'value';
}

/** Kinds that may follow a token; `open` are the brackets that are open after it. */
function kindsAfter(kind: Kind, open: readonly string[]): readonly Kind[] {
  const isObject = open.at(-1) === '{';
  if (kind === 'open') return isObject ? ['key', 'close'] : ['value', 'open', 'close'];
  if (kind === 'key') return ['colon'];
  if (kind === 'colon' || (kind === 'comma' && !isObject)) return ['value', 'open'];
  if (kind === 'comma') return ['key'];
  return open.length === 0 ? [] : ['comma', 'close'];
}

function blanksEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && ' \t\n\r'.includes(text.charAt(at))) at++;
  return at;
}
