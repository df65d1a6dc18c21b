import * as fc from 'fast-check';

const surrogates = { first: 0xd800, count: 0x800 };
const codePoints = 0x110000;

/**
 * Any character but halves of surrogate pairs, as a unit of `fc.string`. The library's own `'binary'` takes a second
 * of each process, for a map of a million characters.
 */
export const anyCharacter = fc.nat(codePoints - surrogates.count - 1).map(
  (nth) => String.fromCodePoint(nth < surrogates.first ? nth : nth + surrogates.count),
  (text) => {
    const [character, ...others] = Array.from(String(text));
    const point = character?.codePointAt(0);
    if (point === undefined || others.length > 0) throw new Error('not a character');
    return point < surrogates.first ? point : point - surrogates.count;
  },
);
