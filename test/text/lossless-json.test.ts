import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalJson,
  LosslessNumber,
  stringifyLossless,
  parseLossless,
} from '../../src/text/lossless-json.js';

const same = (key: string) => key;
const canonical = (text: string) => canonicalJson(parseLossless(text), same);

describe('exact JSON', () => {
  it.each([
    ['1', '1.0'],
    ['1', '10e-1'],
    ['100', '1e2'],
    ['0', '-0'],
    ['0', '0.000e9'],
    ['-12.50', '-1.25e1'],
    ['12345678901234567890123', '12345678901234567890123.000'],
    ['{"a":1,"b":[2.0]}', ' { "b" : [ 2 ] , "a" : 1e0 } '],
    ['"\\u0041"', '"A"'],
  ])('%s equals %s', (a, b) => expect(canonical(a)).toBe(canonical(b)));

  it.each([
    ['12345678901234567890', '12345678901234567891'],
    ['0.1', '0.10000000000000001'],
    ['1e400', '1e401'],
    ['1', '"1"'],
    ['null', '"null"'],
    ['[1,2]', '[2,1]'],
    ['{"a":null}', '{}'],
  ])('%s differs from %s', (a, b) => expect(canonical(a)).not.toBe(canonical(b)));

  it('reads what JSON.parse reads, and writes it unchanged', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value = parseLossless(text);
        expect(JSON.parse(stringifyLossless(value))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('treats numbers as equal exactly if their values are', () => {
    const number = fc.tuple(fc.integer(), fc.integer({ min: -30, max: 30 }));
    fc.assert(
      fc.property(number, fc.integer({ min: 0, max: 20 }), ([digits, power], zeros) => {
        const one = new LosslessNumber(`${digits}e${power}`);
        const other = new LosslessNumber(`${digits}${'0'.repeat(zeros)}e${power - zeros}`);
        expect(other.canonical).toBe(one.canonical);
        expect(new LosslessNumber(`${digits + 1}e${power}`).canonical).not.toBe(one.canonical);
      }),
    );
  });
});
