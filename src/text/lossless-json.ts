/** A JSON value whose numbers keep every digit, and whose keys may be any text. */
export type LosslessJson =
  | string
  | boolean
  | null
  | LosslessNumber
  | readonly LosslessJson[]
  | ReadonlyMap<string, LosslessJson>;

/** A number as written. */
export class LosslessNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** One spelling for all numbers of equal value: `1`, `1.0` and `10e-1` are `1e0`. */
  get canonical(): string {
    const [, sign = '', whole = '', fraction = '', exponent = '0'] =
      /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(this.text) ?? [];
    const all = (whole + fraction).replace(/^0+/, '');
    if (all === '') return '0';
    let end = all.length;
    while (all[end - 1] === '0') end -= 1; // a pattern would take quadratic time
    const digits = all.slice(0, end);
    const power = BigInt(exponent) + BigInt(all.length - digits.length - fraction.length);
    return `${sign}${digits}e${power}`;
  }
}

export const isMap = (
  value: LosslessJson | undefined,
): value is ReadonlyMap<string, LosslessJson> => value instanceof Map;
export const isList = (value: LosslessJson | undefined): value is readonly LosslessJson[] =>
  Array.isArray(value);

const tokens = /[\s]*([-\d.eE+]+|true|false|null|[{}[\],:"])/y;

/** Parses a valid JSON text. The last of repeated keys counts. */
export function parseLossless(text: string): LosslessJson {
  tokens.lastIndex = 0;
  return readValue(text, nextToken(text));
}

function nextToken(text: string): string {
  const token = tokens.exec(text)?.[1];
  if (token === undefined) throw new SyntaxError('the text is no JSON');
  if (token !== '"') return token;
  const start = tokens.lastIndex - 1;
  tokens.lastIndex = endOfString(text, start + 1);
  return text.slice(start, tokens.lastIndex);
}

/** Returns the position behind the quote that ends a string. A regular expression would need a stack for long ones. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = at;
    while (text[escapes - 1] === '\\') escapes -= 1;
    if ((at - escapes) % 2 === 0) return at + 1;
  }
  throw new SyntaxError('the text is no JSON');
}

function readValue(text: string, token: string): LosslessJson {
  switch (token[0]) {
    case '"':
      return JSON.parse(token) as string;
    case '{':
      return readMembers(text);
    case '[':
      return readElements(text);
    case 't':
      return true;
    case 'f':
      return false;
    case 'n':
      return null;
    default:
      return new LosslessNumber(token);
  }
}

function readMembers(text: string): ReadonlyMap<string, LosslessJson> {
  const members = new Map<string, LosslessJson>();
  for (let token = nextToken(text); token !== '}'; token = nextToken(text)) {
    if (token === ',') continue;
    nextToken(text); // skip the colon
    members.set(JSON.parse(token) as string, readValue(text, nextToken(text)));
  }
  return members;
}

function readElements(text: string): readonly LosslessJson[] {
  const elements: LosslessJson[] = [];
  for (let token = nextToken(text); token !== ']'; token = nextToken(text)) {
    if (token !== ',') elements.push(readValue(text, token));
  }
  return elements;
}

/** Formats the value as JSON, with numbers as written. */
export function stringifyLossless(value: LosslessJson): string {
  if (value instanceof LosslessNumber) return value.text;
  if (isList(value)) return `[${value.map(stringifyLossless).join(',')}]`;
  if (!isMap(value)) return JSON.stringify(value);
  return `{${[...value].map(([key, one]) => `${JSON.stringify(key)}:${stringifyLossless(one)}`).join(',')}}`;
}

/** Returns the same text for equal values: members sorted by key, which `keyOf` may rewrite. */
export function canonicalJson(value: LosslessJson, keyOf: (key: string) => string): string {
  if (value instanceof LosslessNumber) return value.canonical;
  if (isList(value)) return `[${value.map((one) => canonicalJson(one, keyOf)).join(',')}]`;
  if (!isMap(value)) return JSON.stringify(value);
  const members = [...value].map(
    ([key, one]) => `${JSON.stringify(keyOf(key))}:${canonicalJson(one, keyOf)}`,
  );
  return `{${members.toSorted(byCodeUnit).join(',')}}`;
}

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
