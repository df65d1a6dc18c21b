/** A JSON value whose numbers keep every digit, and whose keys may be any text. */
export type ExactJson =
  string | boolean | null | ExactNumber | readonly ExactJson[] | ReadonlyMap<string, ExactJson>;

/** A number as it was written. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** One spelling of all numbers of this value: `1`, `1.0` and `10e-1` are `1e0`. */
  get canonical(): string {
    const [, sign = '', whole = '', fraction = '', exponent = '0'] =
      /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(this.text) ?? [];
    const all = (whole + fraction).replace(/^0+/, '');
    if (all === '') return '0';
    const digits = all.replace(/0+$/, '');
    const power = BigInt(exponent) + BigInt(all.length - digits.length - fraction.length);
    return `${sign}${digits}e${power}`;
  }
}

export const isMap = (value: ExactJson | undefined): value is ReadonlyMap<string, ExactJson> =>
  value instanceof Map;
export const isList = (value: ExactJson | undefined): value is readonly ExactJson[] =>
  Array.isArray(value);

const tokens = /[\s]*("(?:[^"\\]|\\.)*"|[-\d.eE+]+|true|false|null|[{}[\],:])/y;

/** Reads a valid JSON text. Of a key that is repeated the last value counts. */
export function parseExact(text: string): ExactJson {
  tokens.lastIndex = 0;
  return readValue(text, nextToken(text));
}

function nextToken(text: string): string {
  const token = tokens.exec(text)?.[1];
  if (token === undefined) throw new SyntaxError('the text is no JSON');
  return token;
}

function readValue(text: string, token: string): ExactJson {
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
      return new ExactNumber(token);
  }
}

function readMembers(text: string): ReadonlyMap<string, ExactJson> {
  const members = new Map<string, ExactJson>();
  for (let token = nextToken(text); token !== '}'; token = nextToken(text)) {
    if (token === ',') continue;
    nextToken(text); // the colon
    members.set(JSON.parse(token) as string, readValue(text, nextToken(text)));
  }
  return members;
}

function readElements(text: string): readonly ExactJson[] {
  const elements: ExactJson[] = [];
  for (let token = nextToken(text); token !== ']'; token = nextToken(text)) {
    if (token !== ',') elements.push(readValue(text, token));
  }
  return elements;
}

/** The value's JSON text, numbers as they were written. */
export function exactText(value: ExactJson): string {
  if (value instanceof ExactNumber) return value.text;
  if (isList(value)) return `[${value.map(exactText).join(',')}]`;
  if (!isMap(value)) return JSON.stringify(value);
  return `{${[...value].map(([key, one]) => `${JSON.stringify(key)}:${exactText(one)}`).join(',')}}`;
}

/** The same text for equal values: members in the order of their keys, which `keyOf` may rewrite. */
export function canonicalText(value: ExactJson, keyOf: (key: string) => string): string {
  if (value instanceof ExactNumber) return value.canonical;
  if (isList(value)) return `[${value.map((one) => canonicalText(one, keyOf)).join(',')}]`;
  if (!isMap(value)) return JSON.stringify(value);
  const members = [...value].map(
    ([key, one]) => `${JSON.stringify(keyOf(key))}:${canonicalText(one, keyOf)}`,
  );
  return `{${members.toSorted(byCodeUnit).join(',')}}`;
}

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
