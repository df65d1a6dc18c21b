import * as fc from 'fast-check';
import { anyCharacter } from '../any-character.js';

const spaces = fc.stringMatching(/^[ \t\r\n]{0,2}$/);
const numbers = fc.constantFrom(
  '0',
  '-0',
  '1387.00',
  '1e400',
  '9007199254740993123',
  '1E+2',
  '-0.1e-7',
  '123',
);
const strings = fc.oneof(
  fc.string({ unit: anyCharacter }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '"\\ud83d\\ude00"',
    '"\\ud800"',
    '"\\u0000\\/\\b"',
    '"é😀"',
    '"[{\\"}],"',
    '"\\\\"',
    '""',
  ),
);
/** JSON texts with any whitespace between tokens, and keys that repeat. */
const { value, object } = fc.letrec<{ value: string; object: string; array: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(numbers, strings, fc.constantFrom('true', 'false', 'null')),
    tie('object'),
    tie('array'),
  ),
  object: members(fc.tuple(strings, tie('value'))),
  array: fc
    .tuple(spaces, fc.array(fc.tuple(tie('value'), spaces), { maxLength: 4 }))
    .map(([space, values]) => `[${space}${values.map(([v, s]) => `${v}${s}`).join(`,${space}`)}]`),
}));

function members(member: fc.Arbitrary<[string, string]>): fc.Arbitrary<string> {
  return fc
    .tuple(spaces, fc.array(fc.tuple(member, spaces), { maxLength: 4 }))
    .map(([space, list]) => {
      const texts = list.map(([[key, text], s]) => `${key}${s}:${s}${text}${s}`);
      return `{${space}${texts.join(`,${space}`)}}`;
    });
}

/** Pages in every spelling, with the text of their records. */
export const pagesOfAnyKind = fc
  .record({
    records: fc.option(fc.array(object, { maxLength: 5 }), { nil: undefined }),
    others: fc.uniqueArray(
      fc.constantFrom('status', 'code', 'error', 'next_cursor', 'previous_cursor', '\\u0065xtra'),
    ),
    values: fc.array(value, { minLength: 6, maxLength: 6 }),
    at: fc.nat(6),
    space: spaces,
  })
  .map(({ records, others, values, at, space }) => {
    const list = others.map((name, i) => `"${name}"${space}:${values[i]!}`);
    const text = records?.join(`${space},${space}`);
    if (text !== undefined)
      list.splice(at % (list.length + 1), 0, `"records":${space}[${space}${text}${space}]`);
    return {
      text: `${space}{${space}${list.join(`${space},`)}${space}}${space}`,
      records: records ?? [],
    };
  });

/** Offsets at which a body is cut, in any order and beyond its end. */
export const cutsOf = fc.array(fc.nat(), { maxLength: 12 });

/** The pieces of `bytes` that end at `cuts`. */
export function piecesOf(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = cuts.map((cut) => cut % (bytes.length + 1));
  const ends = [...places, bytes.length].toSorted((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}
