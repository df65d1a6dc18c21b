import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { TextHasher } from '../../src/input/text-digest.js';
import { KnownTexts, matchKnownText } from '../../src/input/digest-check.js';
import type { TextDigest } from '../../src/input/row-block.js';

// Which of the texts that other runs read an input is, or begins with: held against comparing them all.

const digestOf = (text: string): TextDigest => {
  const { offset, hash, ended } = lengthAndDigests(text);
  const end = { input: 0, offset, line: 1, ordinal: 0 };
  return { input: 0, offset, hash, endsInLine: true, ended: { ...ended, end } };
};

function lengthAndDigests(text: string) {
  const read = new TextHasher();
  read.add(Buffer.from(text));
  const { length: offset, hash, head } = read;
  return { offset, hash, ended: { head } };
}

const sourceOf = (text: string, step: number) => ({
  name: 'in.csv',
  size: text.length,
  open: () => ({
    // oxlint-disable-next-line typescript/require-await -- as a file is read
    chunks: (async function* chunks() {
      for (let at = 0; at < text.length; at += step) yield Buffer.from(text.slice(at, at + step));
    })(),
    bytesRead: () => 0,
    close: () => undefined,
  }),
});

/** Texts that begin alike, around the length of their heads too. */
const text = fc
  .tuple(
    fc.constantFrom('a', 'b', 'ab', 'a\n'),
    fc.oneof(fc.nat(12), fc.nat(9000), fc.constant(4096)),
  )
  .map(([pattern, length]) => pattern.repeat(length).slice(0, length));

it('finds the longest known text at the start of an input, and whether its last line goes on or lacks its end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(text, { maxLength: 12 }),
      text,
      fc.nat(9000),
      fc.integer({ min: 1, max: 9000 }),
      async (known, input, cut, step) => {
        const texts = known.concat(input.slice(0, cut));
        const longest = texts
          .filter((each) => input.startsWith(each) || each === `${input}\n`)
          .toSorted((a, b) => b.length - a.length)[0];
        const found = await matchKnownText(
          sourceOf(input, step),
          new KnownTexts(texts.map((each) => digestOf(each))),
          { encoding: 'utf-8', isDetected: true },
        );
        // An empty input is given out in no pieces at all.
        if (input === '') return;
        expect(found?.known.offset).toBe(longest?.length);
        expect(found?.isWhole).toBe(
          longest === undefined ? undefined : longest.length >= input.length,
        );
        if (found?.isWhole) expect(found.text).toMatchObject(lengthAndDigests(input));
        const next = input.slice(longest?.length)[0];
        const extendsLine = next !== undefined && next !== '\n';
        expect(found?.extendsLine).toBe(longest === undefined ? undefined : extendsLine);
      },
    ),
    { numRuns: 300 },
  );
});
