import type { Random } from '../../chaos/random.js';
import type { Encoding } from './documents.js';

/** The marks of a CSV; a comment is empty where there are none. */
export interface Marks {
  readonly delimiter: string;
  readonly quote: string;
  readonly escape: string;
  readonly comment: string;
}

export interface WildDocument {
  /** The header is on the first line that is not blank and no comment. */
  readonly text: string;
  readonly marks: Marks;
  readonly columns: number;
  readonly encoding: Encoding;
  /** Sizes of the chunks in which it arrives, repeated. */
  readonly sizes: readonly number[];
}

const standard: Marks = { delimiter: ',', quote: '"', escape: '"', comment: '' };
const dialects: readonly [Marks, ...Marks[]] = [
  { ...standard, delimiter: ';' },
  { ...standard, delimiter: '::' },
  { ...standard, quote: "'", escape: "'", comment: '#' },
  { ...standard, escape: '\\' },
  { delimiter: '§', quote: '«', escape: '«', comment: '//' },
  { delimiter: '||;', quote: "'", escape: '€', comment: '--' },
];

const lineEnds = ['\n', '\n', '\r\n', '\r'] as const;
const words = [
  'a',
  'B7',
  'é',
  '漢',
  '🙂',
  ' ',
  '\0',
  '\t',
  '\u{FEFF}',
  '\\',
  '"',
  "'",
  '{',
  '0',
] as const;

/** A CSV of any shape: whole rows, wrong cell counts, stray marks, mixed line ends, blank lines. */
export function wildCsv(random: Random): WildDocument {
  const marks = random.chance(0.6) ? standard : random.pick(dialects);
  const columns = 1 + random.below(4);
  const header = Array.from({ length: columns }, (_, n) => `c${n}`).join(marks.delimiter);
  const lines = Array.from({ length: random.below(7) }, () => lineOf(random, marks, columns));
  const text = [header, ...lines]
    .map((line) => line + random.pick(lineEnds) + (random.chance(0.1) ? random.pick(lineEnds) : ''))
    .join('');
  return {
    text: random.chance(0.3) ? text.replace(/(?:\r\n|\r|\n)+$/, '') : text,
    marks,
    columns,
    ...arrival(random),
  };
}

/** Cuts a document into chunks, mostly tiny ones, so that they end everywhere. */
export const arrival = (random: Random) => ({
  encoding: random.pick<Encoding>([
    'utf-8',
    'utf-8',
    'utf-8',
    'utf-8 with BOM',
    'utf-16le',
    'utf-16be',
  ]),
  sizes: Array.from({ length: 1 + random.below(3) }, () =>
    random.chance(0.2) ? 1 : 1 + random.below(80),
  ),
});

function lineOf(random: Random, marks: Marks, columns: number): string {
  if (marks.comment !== '' && random.chance(0.15)) {
    return `${marks.comment}${random.pick([' x', marks.quote, marks.delimiter])}`;
  }
  if (random.chance(0.12)) return soup(random, marks);
  const count = random.chance(0.12) ? 1 + random.below(6) : columns;
  const cells = Array.from({ length: count }, () => cellOf(random, marks));
  return cells.join(marks.delimiter);
}

function cellOf(random: Random, { delimiter, quote, escape, comment }: Marks): string {
  const parts = Array.from({ length: random.below(4) }, () => random.pick(words));
  const plain = parts.join('').replaceAll(quote, '').replaceAll(delimiter, '');
  if (random.chance(0.5)) return comment !== '' && plain.startsWith(comment[0]!) ? 'a' : plain;
  const special = [delimiter, quote, escape, '\n', '\r\n', '\r'] as const;
  const content = [...parts, random.pick(special), random.pick(words)].join('');
  const marked = escape === quote ? [quote] : [escape, quote];
  const escaped = marked.reduce((text, mark) => text.replaceAll(mark, escape + mark), content);
  return quote + escaped + quote;
}

/** A line in which every second character matters; it does not begin with a comment. */
function soup(random: Random, { delimiter, quote, escape }: Marks): string {
  const parts = ['a', 'a', delimiter, delimiter, quote, quote, quote + quote, escape, '1'] as const;
  return Array.from({ length: random.below(9) }, () => random.pick(parts)).join('');
}

const tokens = [
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  '"a"',
  '"b"',
  '"é🙂"',
  '1',
  '-0',
  '1.50',
  '1e400',
  '01',
  '.5',
  '12345678901234567890',
  'true',
  'null',
  'nul',
  ' ',
  '\t',
  '"\\u00e9"',
  '"\\x"',
  '"\\ud83d"',
  '\0',
  '"',
  '\u{FEFF}',
] as const;

/** Lines that are JSON, that nearly are, and blank ones. */
export function wildNdjson(random: Random): string {
  const lines = Array.from({ length: 1 + random.below(6) }, () => {
    if (random.chance(0.08)) return random.pick(['', ' ', '\t']);
    const text = random.chance(0.7)
      ? jsonOf(random, 3)
      : Array.from({ length: 1 + random.below(8) }, () => random.pick(tokens)).join('');
    return random.chance(0.2) ? mutated(random, text) : text;
  });
  const text = lines.map((line) => line + random.pick(['\n', '\n', '\r\n', ' \n'])).join('');
  // at the start it would be a byte order mark; half a surrogate pair has no encoding
  return text.replace(/^\u{FEFF}+/u, '').replaceAll(/\p{Surrogate}/gu, '?');
}

function jsonOf(random: Random, depth: number): string {
  const some = (write: () => string) => Array.from({ length: random.below(4) }, write).join(',');
  const kind = random.below(depth > 0 ? 6 : 4);
  if (kind === 4) return `[${some(() => jsonOf(random, depth - 1))}]`;
  if (kind === 5)
    return `{${some(() => `"${random.pick(['a', 'b', 'c', 'd', '\\u0061'])}":${jsonOf(random, depth - 1)}`)}}`;
  return random.pick([
    '1',
    '-0.0',
    '1E+2',
    '"x"',
    '"\\"\\\\\\n"',
    '"🙂"',
    'false',
    'null',
    '"\\ud83d\\ude42"',
  ]);
}

function mutated(random: Random, text: string): string {
  const at = random.below(text.length + 1);
  const changed = random.pick(['', random.pick(tokens), random.pick(tokens)]);
  return text.slice(0, at) + changed + text.slice(at + random.below(2));
}
