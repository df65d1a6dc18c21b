import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assemble, chunkSizes, encode, encodings } from '../support/oracles/documents.js';
import { chunked, readText } from './read-rows.js';

const space = fc.constantFrom('', ' ', '\t', '\r', ' \r \t');

/** JSON texts on lines of their own, between blank lines and white space. */
const documents = fc
  .array(fc.record({ value: fc.json(), before: space, after: space, blank: fc.boolean() }), {
    maxLength: 8,
  })
  .map((lines) =>
    assemble(
      lines.flatMap(({ value, before, after, blank }, i) => [
        { text: before, record: false },
        { text: value, record: true },
        { text: after, record: false },
        { text: i < lines.length - 1 || blank ? '\n' : '', record: false },
        { text: blank ? ` ${before}\n` : '', record: false },
      ]),
      /\n/g,
    ),
  );

describe('NDJSON', () => {
  it('yields a record for every line that is not blank, with its line number', async () => {
    await fc.assert(
      fc.asyncProperty(documents, encodings, chunkSizes, async (document, encoding, sizes) => {
        const bytes = encode(document.text, encoding);
        const read = await readText(chunked(bytes, sizes), { inputFormat: 'ndjson' });
        expect(read.rows.map(({ text, line }) => ({ text, line }))).toEqual(document.records);
        expect(read.parseErrors).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('passes on numbers, escapes, order and repeated keys exactly as written', async () => {
    const text = String.raw`{"b":1e400,"a":12345678901234567890,"a":1.00,"__proto__":"\u00e9"}`;
    expect((await readText(`${text}\r\n`)).rows).toEqual([{ line: 1, text, cells: undefined }]);
  });

  it('does not check whether a line is JSON', async () => {
    const { rows, parseErrors } = await readText('{"a":1}\nbroken }{\n{"a":2}\n');
    expect(rows.map(({ text }) => text)).toEqual(['{"a":1}', 'broken }{', '{"a":2}']);
    expect(parseErrors).toEqual([]);
  });

  it.each(['', '\n', ' \r\n\n'])('yields no records for %j', async (text) => {
    expect(await readText(text)).toMatchObject({ headers: [], rows: [], parseErrors: [] });
  });
});
