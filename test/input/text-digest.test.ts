import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TextHasher } from '../../src/input/text-digest.js';

function hashOf(...parts: readonly Uint8Array[]): string {
  const text = new TextHasher();
  for (const part of parts) text.add(Buffer.from(part));
  return text.hash;
}

/** CRC-32 by its definition, bit by bit. */
function oracle(text: Uint8Array): string {
  let sum = -1;
  for (const byte of text) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (~sum >>> 0).toString(16).padStart(8, '0');
}

describe('the digest of a text', () => {
  const bytes = fc.uint8Array({ maxLength: 200 });

  it('does not depend on chunk boundaries', () => {
    fc.assert(
      fc.property(fc.array(bytes), (parts) => {
        expect(hashOf(...parts)).toBe(oracle(Buffer.concat(parts)));
      }),
    );
  });

  it('differs if one byte differs', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 100 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (text, place, change) => {
          const changed = Buffer.from(text);
          changed[place % text.length]! ^= change;
          expect(hashOf(changed)).not.toBe(hashOf(text));
        },
      ),
    );
  });
});
