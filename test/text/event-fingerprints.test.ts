import { assert, dictionary, infiniteStream, jsonValue, nat, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventFingerprints } from '../../src/text/record-hash.js';
import { runs } from '../support/property-runs.js';
import { anyCharacter } from '../support/any-character.js';

const prints = new EventFingerprints([1, 2, 3, 4]);

function fingerprint(text: string, { by = prints, hasUploadTime = false } = {}): string {
  const json = Buffer.from(`  ${text}\n`);
  const bounds = Int32Array.of(2, json.length - 1);
  return by.of({ json, count: 1, bounds, ...(hasUploadTime && { uploadTimes: marked }) }).join();
}
const marked = Uint8Array.of(1);

/** Writes a value with other white space, escapes, number spelling and order of members. */
function respelled(value: unknown, turn: () => number): string {
  const space = () => ['', ' ', '\t', ' \r\n '][turn() % 4]!;
  const inside = (text: string) => `${space()}${text}${space()}`;
  if (Array.isArray(value)) {
    return `[${space()}${value.map((one) => inside(respelled(one, turn))).join(',')}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(
      ([key, of]) => `${inside(respelledString(key, turn))}:${inside(respelled(of, turn))}`,
    );
    for (let index = members.length - 1; index > 0; index -= 1) {
      const other = turn() % (index + 1);
      [members[index], members[other]] = [members[other]!, members[index]!];
    }
    return `{${space()}${members.join(',')}}`;
  }
  if (typeof value === 'string') return respelledString(value, turn);
  return typeof value === 'number' ? respelledNumber(value, turn) : JSON.stringify(value);
}

function respelledString(value: string, turn: () => number): string {
  const units = value.split('').map((unit) => {
    const escaped = `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
    const isHalf = /[\ud800-\udfff]/.test(unit);
    return turn() % 2 === 0 || /["\\]/.test(unit) || unit < ' ' || isHalf ? escaped : unit;
  });
  return `"${units.join('')}"`;
}

function respelledNumber(value: number, turn: () => number): string {
  const plain = JSON.stringify(value);
  const way = turn() % 4;
  if (way === 0 || /e/.test(plain)) return plain.replace('e', 'E');
  if (way === 1) return /\./.test(plain) ? `${plain}00` : `${plain}.0`;
  if (way === 2) return `${plain}e0`;
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)\.?(\d*)$/.exec(plain)!;
  return `${sign}${BigInt(whole + fraction)}e-${fraction.length}`;
}

describe('fingerprint of an event', () => {
  it('is equal for any spelling of the same value', () => {
    const value = dictionary(string({ unit: anyCharacter }), jsonValue());
    assert(
      property(value, infiniteStream(nat(1000)), (object, numbers) => {
        const turn = () => numbers.next().value as number;
        expect(fingerprint(respelled(object, turn))).toBe(fingerprint(JSON.stringify(object)));
      }),
      { numRuns: runs(300) },
    );
  });

  it('differs for different values', () => {
    const seen = new Map<string, string>();
    const canonical = (value: unknown): string => {
      if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
      if (typeof value !== 'object' || value === null) return JSON.stringify(value);
      const members = Object.entries(value).map(
        ([k, of]) => `${JSON.stringify(k)}:${canonical(of)}`,
      );
      return `{${members.toSorted().join()}}`;
    };
    assert(
      property(dictionary(string(), jsonValue()), (object) => {
        const text = JSON.stringify(object); // -0 becomes 0
        const print = fingerprint(text);
        const known = canonical(JSON.parse(text));
        expect(seen.get(print) ?? known).toBe(known);
        seen.set(print, known);
      }),
      { numRuns: runs(1500) },
    );
  });

  it.each([
    ['{"a":1}', '{"a":"1"}'],
    ['{"a":1}', '{"a":10}'],
    ['{"a":1}', '{"a":-1}'],
    ['{"a":0.1}', '{"a":0.01}'],
    ['{"a":101}', '{"a":11}'],
    ['{"a":1e400}', '{"a":1e401}'],
    ['{"a":[1,2]}', '{"a":[2,1]}'],
    ['{"a":[[1],2]}', '{"a":[[1,2]]}'],
    ['{"a":{"b":1},"c":2}', '{"a":{"b":1,"c":2}}'],
    ['{"a":"b"}', '{"b":"a"}'],
    ['{"a":null}', '{}'],
    ['{"a":null}', '{"a":"null"}'],
    ['{"a":{}}', '{"a":[]}'],
    ['{"a":12345678901234567890}', '{"a":12345678901234567891}'],
    // Equal as polynomials of the digits with the first prime of XXH64.
    ['{"a":11112211113211112121121232211111}', '{"a":11111112121122211111213111132131}'],
    ['{"a":1e1}', '{"a":1e18446744073709551617}'],
    ['{"a":[[]],"b":[]}', '{"a":[],"b":[[]]}'],
    ['{"a":{}}', '{"b":{}}'],
    ['{"a":["b"]}', '{"a":{"b":""}}'],
    ['{"a":"x","b":"y"}', '{"a":"y","b":"x"}'],
  ])('%s differs from %s', (one, other) => {
    expect(fingerprint(one)).not.toBe(fingerprint(other));
  });

  it('leaves out the time of events that get the time of their upload', () => {
    const ofUpload = (text: string) => fingerprint(text, { hasUploadTime: true });
    const at = (ts: number) => `{"ts":${ts},"evtData":{"ts":1}}`;
    expect(ofUpload(at(1))).toBe(ofUpload(at(2)));
    expect(ofUpload('{"ts":1,"evtData":{"ts":2}}')).not.toBe(ofUpload(at(1)));
    expect(fingerprint(at(1))).not.toBe(fingerprint(at(2)));
  });

  it('depends on the secret', () => {
    const other = new EventFingerprints([1, 2, 3, 5]);
    expect(fingerprint('{"a":1}', { by: other })).not.toBe(fingerprint('{"a":1}'));
  });
});
