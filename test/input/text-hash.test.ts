import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TextHash } from '../../src/input/text-hash.js';

function hashOf(...parts: readonly Buffer[]): string {
  const hash = new TextHash();
  for (const part of parts) hash.update(part);
  return hash.hash();
}

/** The same text in one of the buffers that files are read into. */
function lentBy(hash: TextHash, text: Buffer): Buffer {
  const place = hash.buffers[text.length % 2]!.subarray(text.length % 5);
  return place.subarray(0, text.copy(place));
}

const mask = (1n << 64n) - 1n;
const mixed = (hash: bigint, word: bigint): bigint =>
  ((((hash << 23n) | (hash >> 41n)) ^ word) * 0x9e3779b97f4a7c15n) & mask;

/** The same by its definition: a lane for each of four words of a block, and all of them mixed. */
function oracle(text: Uint8Array): string {
  const blocks = text.length >> 5;
  const words = new DataView(new Uint8Array([...text, ...new Uint8Array(40)]).buffer);
  const lanes = [0n, 0n, 0n, 0n];
  for (let word = 0; word < 4 * blocks; word += 1) {
    lanes[word % 4] = mixed(lanes[word % 4]!, words.getBigUint64(8 * word, true));
  }
  const rest = [0, 1, 2, 3].map((word) => words.getBigUint64(32 * blocks + 8 * word, true));
  const all = [...lanes, ...rest].reduce(mixed, BigInt(text.length));
  return mixed(all, all >> 32n)
    .toString(16)
    .padStart(16, '0');
}

describe('TextHash', () => {
  const bytes = fc.uint8Array({ maxLength: 200 }).map((numbers) => Buffer.from(numbers));

  it('is what its definition says', () => {
    fc.assert(
      fc.property(bytes, (text) => {
        expect(hashOf(text)).toBe(oracle(text));
      }),
    );
  });

  it('is the same wherever a text was cut, also while other texts are hashed', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(bytes, fc.boolean())), (cut) => {
        const other = new TextHash();
        const hash = new TextHash();
        for (const [part, inPlace] of cut) {
          if (inPlace) hash.update(lentBy(hash, part));
          else hash.update(part);
          other.update(Buffer.from('x'));
          hash.hash();
        }
        expect(hash.hash()).toBe(oracle(Buffer.concat(cut.map(([part]) => part))));
      }),
    );
  });

  it('is another one when a byte is, or zeros follow', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 100 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (text, place, change) => {
          const changed = Buffer.from(text);
          changed[place % text.length]! ^= change;
          expect(hashOf(changed)).not.toBe(hashOf(Buffer.from(text)));
          expect(hashOf(Buffer.from(text), Buffer.alloc(1 + (place % 40)))).not.toBe(
            hashOf(Buffer.from(text)),
          );
        },
      ),
    );
  });

  it('knows nothing of a text before the one that began last', () => {
    const hash = new TextHash();
    hash.update(Buffer.alloc(77, 'x'));
    hash.begin();
    hash.update(Buffer.from('Zürich'));
    expect(hash.hash()).toBe(hashOf(Buffer.from('Zürich')));
  });

  it('takes texts of any length at once', () => {
    const text = Buffer.alloc(1_000_003, 'Zürich,🏔\n');
    const parts = [
      text.subarray(0, 77_777),
      text.subarray(77_777, 500_000),
      text.subarray(500_000),
    ];
    expect(hashOf(text)).toBe(hashOf(...parts));
    expect(hashOf(text.subarray(0, 100_001))).toBe(oracle(text.subarray(0, 100_001)));
  });
});
