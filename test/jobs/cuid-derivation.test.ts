import { createHash, createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { allCuidsBy, cuidsBy } from '../support/cuids-by.js';

// Cuids are made in WebAssembly: the same by node:crypto and regular expressions must be the same.

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

function base32(digest: Buffer, length: number): string {
  const bits = Array.from(digest, (byte) => byte.toString(2).padStart(8, '0')).join('');
  const fives = Array.from({ length }, (_, n) => bits.slice(5 * n, 5 * n + 5));
  return fives.map((five) => alphabet[Number.parseInt(five, 2)]).join('');
}

const keyed = (value: string, device?: string) =>
  device === undefined ? value : `${value}\0${device}`;

const hashOf = (key: Buffer, value: string, device?: string) =>
  `u_${base32(createHmac('sha256', key).update(keyed(value, device)).digest(), 26)}`;

function slugOf(value: string, device?: string): string {
  const whole = device === undefined ? value : `${value}_${device}`;
  const plain = whole.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_|_$/g, '');
  const named = /[A-Za-z]/.test(plain) ? plain : `u_${plain}`;
  const joinsTwoWays = device !== undefined && `${value}${device}`.includes('_');
  if (plain === whole && !joinsTwoWays && named.length >= 5 && named.length <= 50) return named;
  const digest = createHash('sha256').update(keyed(value, device)).digest();
  return `${named.slice(0, 41).replace(/_$/, '')}_${base32(digest, 8)}`;
}

it('hashes texts of every length from 0 to 200', () => {
  const key = Buffer.from('a key of more than sixteen characters');
  const [hashed, slug] = [cuidsBy(key), cuidsBy()];
  for (let length = 0; length <= 200; length += 1) {
    const text = '-é'.repeat(length).slice(0, length);
    expect([length, hashed(text), slug(text)]).toEqual([length, hashOf(key, text), slugOf(text)]);
  }
});

it('creates cuids of long and short texts together', () => {
  const key = Buffer.from('a key of more than sixteen characters');
  const lengths = Array.from({ length: 203 }, (_, n) => (n * 67) % 211);
  const texts = lengths.map((length) => ['é-'.repeat(length), 'x'.repeat(length % 7)] as const);
  const slugs = texts.map(([value, device]) => slugOf(value, device));
  expect(allCuidsBy()(texts)).toEqual(slugs);
  expect(allCuidsBy(key)(texts)).toEqual(texts.map(([one, two]) => hashOf(key, one, two)));
});

const anything = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.string({ unit: fc.constantFrom('a', 'Z', '0', '9', '_', '-', '\0', '@'), maxLength: 70 }),
  fc.nat().map(String),
  fc.emailAddress(),
);
const devices = fc.option(anything, { nil: undefined });

it('creates readable cuids of any text', () => {
  const slug = cuidsBy();
  fc.assert(
    fc.property(anything, devices, (value, device) => {
      expect(slug(value, device)).toBe(slugOf(value, device));
    }),
    { numRuns: 2000 },
  );
});

it('hashes any text with any key', () => {
  const keys = fc.uint8Array({ minLength: 16, maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(keys, fc.array(fc.tuple(anything, devices)), (key, texts) => {
      const wanted = texts.map(([value, device]) => hashOf(key, value, device));
      expect(allCuidsBy(key)(texts)).toEqual(wanted);
    }),
    { numRuns: 200 },
  );
});

it('accepts texts that are longer than its memory', () => {
  const [hashed, slug] = [cuidsBy(Buffer.alloc(64, 'k')), cuidsBy()];
  const long = 'long text '.repeat(300_000);
  expect(hashed(long)).toBe(hashOf(Buffer.alloc(64, 'k'), long));
  expect(slug(long, long)).toBe(slugOf(long, long));
  expect(hashed('short')).toBe(hashOf(Buffer.alloc(64, 'k'), 'short'));
});
