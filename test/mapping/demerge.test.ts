import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { demergeMapper } from '../../src/mapping/demerge-mapper.js';
import type { RowBlock } from '../../src/input/row-block.js';
import { isValidIdentity } from '../support/builders/upload-mapping.js';
import { csvRows, jsonRows, recordTexts } from '../support/builders/row-blocks.js';
import { anyCharacter } from '../support/any-character.js';

function map(rows: RowBlock, { identity = 'identity', retryUnknown = false } = {}) {
  const block = demergeMapper({ identity, retryUnknown }).map(rows);
  return { ...block, records: recordTexts(block) };
}

function outcome(rows: RowBlock, options = {}): unknown {
  const { records, rejects } = map(rows, options);
  return records[0] ?? [rejects[0]!.stage, rejects[0]!.error];
}

describe('a row to demerge', () => {
  it('is the identity of a column, an object or a string', () => {
    expect(outcome(csvRows(['x', 'identity'], [['1', 'a"b']]))).toBe('"a\\"b"');
    expect(outcome(jsonRows(['{"x":1,"identity":"a\\u0022b"}']))).toBe('"a\\"b"');
    expect(outcome(jsonRows([' "a\\"b" ']))).toBe('"a\\"b"');
  });

  it('takes the identity from another column', () => {
    const options = { identity: 'a\\"b' };
    expect(outcome(csvRows(['identity', 'a\\"b'], [['1', 'ada']]), options)).toBe('"ada"');
    expect(outcome(jsonRows(['{"identity":"1","a\\\\\\u0022b":"ada"}']), options)).toBe('"ada"');
    expect(() => map(csvRows(['identity'], []), options)).toThrow(/column "a\\\\\\"b" missing/);
  });

  it('has the same bytes and hash in every spelling of the identity', () => {
    const identities = fc
      .string({ unit: anyCharacter, minLength: 1, maxLength: 20 })
      .filter(isValidIdentity);
    fc.assert(
      fc.property(identities, (identity) => {
        const units = Array.from(
          { length: identity.length },
          (_, at) => `\\u${identity.charCodeAt(at).toString(16).padStart(4, '0')}`,
        ).join('');
        const csv = map(csvRows(['identity'], [[identity]]));
        const json = map(jsonRows([`"${units}"`, JSON.stringify({ identity })]));
        expect(csv.records).toEqual([JSON.stringify(identity)]);
        expect(json.records).toEqual([csv.records[0], csv.records[0]]);
        expect([...json.keys]).toEqual([csv.keys[0], csv.keys[0]]);
        expect([...csv.idempotent]).toEqual([0]);
      }),
    );
  });

  it('is the identity, whatever list of identities is beside it', () => {
    const text = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 9 });
    const pairs = fc.record({ identity: text.filter(isValidIdentity), all_identities: text });
    fc.assert(
      fc.property(pairs, ({ identity, all_identities }) => {
        const row = JSON.stringify({
          identity: `"${identity}`,
          all_identities: `"${all_identities}`,
        });
        expect(outcome(jsonRows([row]))).toBe(JSON.stringify(`"${identity}`));
      }),
    );
  });

  it.each([
    ['12', 'a record must be a JSON object or string'],
    ['["a"]', 'a record must be a JSON object or string'],
    ['{"identity":12}', 'column "identity": the value must be a string'],
    ['{"id":"a"}', 'column "identity": the value is missing'],
    ['""', 'column "identity": the value is empty'],
    ['"a\\n"', 'column "identity": "a\\n" contains a control character'],
  ])('is rejected: %s', (text, error) => {
    expect(outcome(jsonRows([text]))).toEqual(['validate', error]);
  });

  it('is unwrapped from a rejects file, as an object or a string', () => {
    const line = (stage: string, record: string) =>
      `{"source":"s","line":1,"stage":"${stage}","error":"","record":${record}}`;
    expect(outcome(jsonRows([line('notSent', '"ada"')]))).toBe('"ada"');
    expect(outcome(jsonRows([line('service', '{"identity":"ada"}')]))).toBe('"ada"');
    expect(outcome(jsonRows([line('parse', '"\\"ada"')]))).toEqual([
      'parse',
      expect.stringContaining('JSON'),
    ]);
    expect(outcome(jsonRows([line('parse', '"\\"ada\\""')]))).toBe('"ada"'); // corrected
    expect(outcome(jsonRows([line('unknown', '"ada"')]))).toEqual([
      'unknown',
      expect.stringContaining('--retry-unknown'),
    ]);
    expect(outcome(jsonRows([line('unknown', '"ada"')]), { retryUnknown: true })).toBe('"ada"');
  });
});
