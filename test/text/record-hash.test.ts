import { array, assert, oneof, property, string, tuple, uint8Array } from 'fast-check';
import { expect, it } from 'vitest';
import { RecordHasher, hashWords, keyNamespaces, recordKinds } from '../../src/text/record-hash.js';
import { runs } from '../support/property-runs.js';

const secret = [0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c] as const;
const hasher = new RecordHasher(secret);

const mask = 2n ** 64n - 1n;
const rotated = (word: bigint, by: bigint) => ((word << by) | (word >> (64n - by))) & mask;

/** SipHash as its authors describe it, with numbers of any size: `rounds` for each word, and at the end. */
function sipHash(text: Buffer, key: Buffer, [each, last]: readonly [number, number]): bigint {
  const [k0, k1] = [key.readBigUInt64LE(0), key.readBigUInt64LE(8)];
  let [v0, v1] = [k0 ^ 0x736f6d6570736575n, k1 ^ 0x646f72616e646f6dn];
  let [v2, v3] = [k0 ^ 0x6c7967656e657261n, k1 ^ 0x7465646279746573n];
  const round = () => {
    v0 = (v0 + v1) & mask;
    v1 = rotated(v1, 13n) ^ v0;
    v0 = rotated(v0, 32n);
    v2 = (v2 + v3) & mask;
    v3 = rotated(v3, 16n) ^ v2;
    v0 = (v0 + v3) & mask;
    v3 = rotated(v3, 21n) ^ v0;
    v2 = (v2 + v1) & mask;
    v1 = rotated(v1, 17n) ^ v2;
    v2 = rotated(v2, 32n);
  };
  const padded = Buffer.alloc(8 * (Math.floor(text.length / 8) + 1));
  text.copy(padded);
  padded[padded.length - 1] = text.length & 255;
  for (let at = 0; at < padded.length; at += 8) {
    const word = padded.readBigUInt64LE(at);
    v3 ^= word;
    for (let n = 0; n < each; n += 1) round();
    v0 ^= word;
  }
  v2 ^= 0xffn;
  for (let n = 0; n < last; n += 1) round();
  return v0 ^ v1 ^ v2 ^ v3;
}

/** The hash of a text behind the number of its namespace. */
function expected(space: number, text: Buffer): bigint {
  const word = Buffer.alloc(8);
  word.writeUInt32LE(space);
  const key = Buffer.from(Uint32Array.from(secret).buffer);
  return sipHash(Buffer.concat([word, text]), key, [1, 3]);
}

const hashAt = (words: Int32Array, at: number): bigint =>
  BigInt.asUintN(64, (BigInt(words[at + 1]!) << 32n) | BigInt(words[at]! >>> 0));

it('the oracle is SipHash: the first vectors of its authors', () => {
  const key = Buffer.from(Array.from({ length: 16 }, (_, n) => n));
  expect(sipHash(Buffer.of(), key, [2, 4])).toBe(0x726fdb47dd0e0e31n);
  expect(sipHash(Buffer.of(0), key, [2, 4])).toBe(0x74f839c593dc67fdn);
});

it('records and keys are hashed by SipHash-1-3 with the secret, whatever lies behind them', () => {
  const identity = oneof(string({ maxLength: 40 }), string({ minLength: 240, maxLength: 300 }));
  const plain = identity.filter((text) => !/["\\]/.test(text) && text === text.toWellFormed());
  assert(
    property(array(tuple(plain, uint8Array({ maxLength: 9 })), { minLength: 1 }), (records) => {
      const texts = records.map(([name]) => Buffer.from(`{"identity":"${name}"}`));
      const parts = texts.flatMap((text, index) => [text, Buffer.from(records[index]![1])]);
      const bounds = new Int32Array(2 * texts.length);
      for (let at = 0, index = 0; index < texts.length; index += 1) {
        bounds.set([at, at + texts[index]!.length], 2 * index);
        at += texts[index]!.length + records[index]![1].length;
      }
      const given = { count: texts.length, bounds, kinds: new Uint8Array(texts.length) };
      const found = hasher.ofRecords(Buffer.concat(parts), given).slice();
      for (const [index, [name]] of records.entries()) {
        const key = expected(keyNamespaces.identity, Buffer.from(name));
        expect(hashAt(found, hashWords * index)).toBe(key);
        expect(hashAt(found, hashWords * index + 2)).toBe(expected(0, texts[index]!));
        expect(hashAt(Int32Array.from(hasher.ofKey(name, keyNamespaces.identity)), 0)).toBe(key);
      }
    }),
    { numRuns: runs(200) },
  );
});

it('spellings of an address have one key, which is that of no identity', () => {
  const json = Buffer.from('{"type":"email","value":"+Ann@Example.test","status":"Subscribe"}');
  const bounds = Int32Array.of(0, json.length);
  const kinds = Uint8Array.of(recordKinds.subscription);
  const [low, high] = hasher.ofRecords(json, { count: 1, bounds, kinds });
  expect(hasher.ofKey('ann@example.test', keyNamespaces.email)).toEqual([low, high]);
  expect(hasher.ofKey('ann@example.test', keyNamespaces.identity)).not.toEqual([low, high]);
});
