import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assemble, chunkSizes, encode, encodings } from '../support/oracles/documents.js';
import { chunked, readText } from './read-rows.js';
import { runs } from '../support/property-runs.js';

const space = fc.array(fc.constantFrom(' ', '\n', '\r\n', '\t'), { maxLength: 3 });

/** An array with white space wherever it may stand. */
const documents = fc
  .record({
    elements: fc.array(fc.record({ value: fc.json(), before: space, after: space })),
    before: space,
    after: space,
  })
  .map(({ elements, before, after }) => {
    const inside = elements.flatMap(({ value, before, after }, i) => [
      { text: before.join(''), record: false },
      { text: value, record: true },
      { text: after.join('') + (i < elements.length - 1 ? ',' : ''), record: false },
    ]);
    const start = { text: `${before.join('')}[`, record: false };
    return assemble([start, ...inside, { text: `]${after.join('')}`, record: false }], /\n/g);
  });

describe('a JSON array', () => {
  it('yields its elements as records, byte for byte, with their lines', async () => {
    await fc.assert(
      fc.asyncProperty(documents, encodings, chunkSizes, async (document, encoding, sizes) => {
        const bytes = encode(document.text, encoding);
        const { rows, parseErrors } = await readText(chunked(bytes, sizes), {
          inputFormat: 'json',
        });
        expect(rows.map(({ text, line }) => ({ text, line }))).toEqual(document.records);
        expect(rows.map(({ text }) => JSON.parse(text))).toEqual(JSON.parse(document.text));
        expect(parseErrors).toEqual([]);
      }),
      { numRuns: runs(300) },
    );
  });

  it('yields an error or an invalid record where JSON.parse fails', async () => {
    const characters = fc.constantFrom(
      '[',
      ']',
      '{',
      '}',
      ',',
      '"',
      '"a"',
      ':',
      '1',
      ' ',
      '\n',
      '\\',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(characters, { maxLength: 12 }),
        chunkSizes,
        async (parts, sizes) => {
          const text = `[${parts.join('')}`;
          const { rows, parseErrors } = await readText(chunked(Buffer.from(text), sizes), {
            inputFormat: 'json',
          });
          const refused = parseErrors.length + rows.filter((row) => !isJson(row.text)).length;
          expect(parseErrors.length).toBeLessThanOrEqual(1);
          expect(refused === 0).toBe(isJson(text));
        },
      ),
      { numRuns: runs(800) },
    );
  });

  it('yields no records if it is empty', async () => {
    expect(await readText(' [ ]\n')).toMatchObject({ rows: [], parseErrors: [], error: undefined });
  });
});

describe('a broken JSON array', () => {
  const before = '[{"a":1},\n{"a":2}';
  it.each([
    [
      'a missing comma',
      '\n {"a":3}]',
      { line: 3, column: 2, error: 'expected a comma or ]', raw: '{"a":3}]' },
    ],
    [
      'two commas',
      ',,{"a":3}]',
      { line: 2, column: 9, error: 'expected a record', raw: ',{"a":3}]' },
    ],
    ['a comma before the end', ',]', { line: 2, column: 9, error: 'expected a record', raw: ']' }],
    ['no end', '\n', { line: 3, column: 1, error: 'the array is not closed', raw: '' }],
    [
      'a cut record',
      ',\n{"a":\n',
      { line: 3, error: 'the text ends here, on line 4', raw: '{"a":\n' },
    ],
    [
      'a lost quote',
      ',\n{"a":"3},\n{"a":4}]',
      {
        line: 3,
        column: 10,
        error: 'line break inside a string (is a quote missing?)',
        raw: '{"a":"3},\n{"a":4}]',
      },
    ],
    [
      'a wrong bracket',
      ',{"a":3]]',
      { line: 2, column: 15, error: 'wrong closing bracket', raw: '{"a":3]]' },
    ],
    ['a word', ',oops]', { line: 2, column: 9, error: 'expected a record', raw: 'oops]' }],
    [
      'text after the end',
      ']\n{"a":3}',
      { line: 3, column: 1, error: 'text after the end of the array', raw: '{"a":3}' },
    ],
  ])('with %s yields one error with its place, and ends the input', async (_, rest, failure) => {
    const bytes = Buffer.from(before + rest);
    for (const sizes of [[1000], [1]]) {
      const { rows, parseErrors } = await readText(chunked(bytes, sizes), { inputFormat: 'json' });
      expect(rows.map(({ text }) => text)).toEqual(['{"a":1}', '{"a":2}']);
      const { raw, ...place } = failure;
      expect(parseErrors).toMatchObject([place]);
      expect(raw.startsWith(parseErrors[0]!.raw)).toBe(true);
    }
  });
});

describe('text that is longer than a record may be', () => {
  const long = 'x'.repeat(300_000);
  it.each([
    [
      'behind an array in an object',
      `{"users":["ann"],"admin":["${long}"],"b":["bob"]}`,
      'users',
      'text after the array',
    ],
    [
      'behind an array, of many strings',
      `{"users":["ann"],${`"admin":"bob",`.repeat(500)}"c":1}`,
      'users',
      'text after the array',
    ],
    [
      'with a line break in a string',
      `["ann","${long}\n,","bob"]`,
      undefined,
      'line break inside a string',
    ],
    [
      'with a line break in an object',
      `["ann",{"a":"${long}\n"},"bob"]`,
      undefined,
      'line break inside a string',
    ],
  ])('is one error, and makes no records of what follows: %s', async (_, text, records, error) => {
    for (const size of [1001, 100_000, 1_000_000]) {
      const options = {
        inputFormat: 'json',
        maxRecordBytes: 1000,
        ...(records && { records }),
      } as const;
      const read = await readText(chunked(Buffer.from(text), [size]), options);
      expect(read.rows.map((row) => row.text)).toEqual(['"ann"']);
      expect(read.parseErrors).toMatchObject([
        { line: 1, error: expect.stringContaining(error) as string },
      ]);
    }
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
