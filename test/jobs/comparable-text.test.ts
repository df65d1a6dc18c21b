import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { comparableText } from '../../src/jobs/input-files.js';

it('compares texts without regard to line ends, wherever chunks end', async () => {
  const pieces = fc.array(fc.string({ unit: fc.constantFrom('a', '\r', '\n'), minLength: 1 }));
  await fc.assert(
    fc.asyncProperty(pieces, async (chunks) => {
      const buffers = async function* () {
        for (const chunk of chunks) yield Buffer.from(chunk);
      };
      const found: Buffer[] = [];
      for await (const part of comparableText(buffers(), 'a.ndjson')) found.push(Buffer.from(part));
      const expected = chunks.join('').replaceAll(/\r\n?/g, '\n').replace(/\n+$/, '');
      expect(Buffer.concat(found).toString()).toBe(expected);
    }),
    { numRuns: 500 },
  );
});
