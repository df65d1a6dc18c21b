/** What a text looks like; the first that fits. */
export type Look =
  | 'empty'
  | 'date'
  | 'day or time'
  | 'milliseconds'
  | 'integer'
  | 'number'
  | 'scientific'
  | 'phone'
  | 'email'
  | 'boolean'
  | 'placeholder'
  | 'text';

const booleans = new Set(['true', 'false', 'yes', 'no']);
/** Words that programs write where there is no value. */
const placeholders = new Set(['null', 'none', 'nil', 'nan', 'n/a', 'undefined', '#n/a']);
/** Longer ones are no word of these lists. */
const longestWord = 9;

const patterns: readonly (readonly [Look, RegExp])[] = [
  // 2001 to 2033, as epoch milliseconds
  ['milliseconds', /^1\d{12}$/],
  ['phone', /^\+[1-9]\d{5,14}$/],
  // a leading zero is a code's, not a number's
  ['integer', /^-?(0|[1-9]\d{0,17})$/],
  ['number', /^-?(0|[1-9]\d*)\.\d+$/],
  ['scientific', /^-?\d(\.\d+)?[eE][+-]?\d+$/],
  ['day or time', /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$/i],
  ['day or time', /^\d{1,2}[./]\d{1,2}[./]\d{4}( \d{1,2}:\d\d(:\d\d)?)?$/],
];

export function lookOf(text: string): Look {
  if (text === '') return 'empty';
  const first = text.charCodeAt(0);
  const mayBeNumber = first <= 0x39 && (first >= 0x30 || first === 0x2b || first === 0x2d);
  if (mayBeNumber) return patterns.find(([, pattern]) => pattern.test(text))?.[0] ?? 'text';
  if (text.startsWith('$D_')) return 'date';
  if (text.length <= longestWord) {
    const word = text.toLowerCase();
    if (booleans.has(word)) return 'boolean';
    if (placeholders.has(word)) return 'placeholder';
  }
  return text.includes('@') && /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(text) ? 'email' : 'text';
}
