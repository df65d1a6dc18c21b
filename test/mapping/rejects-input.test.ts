import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sourceRecord } from '../../src/mapping/rejects-input.js';
import { csvRows, jsonRows } from '../support/builders/row-blocks.js';
import { mapJson } from '../support/builders/upload-mapping.js';
import { anyCharacter } from '../support/any-character.js';

describe('D the record in a rejects file', () => {
  it('is an object by header for a CSV row, empty cells included', () => {
    const rows = csvRows(['identity', 'a"b', '__proto__'], [['1', '', ''], ['ü', 'x\n"y"', '0.10']]); // prettier-ignore
    expect(sourceRecord(rows, 1)).toBe('{"identity":"ü","a\\"b":"x\\n\\"y\\"","__proto__":"0.10"}');
    expect(sourceRecord(rows, 0)).toBe('{"identity":"1","a\\"b":"","__proto__":""}');
  });

  it('contains any cell unchanged', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: anyCharacter }), { minLength: 2, maxLength: 2 }),
        (cells) => {
          expect(JSON.parse(sourceRecord(csvRows(['a', 'b'], [cells]), 0))).toEqual({
            a: cells[0],
            b: cells[1],
          });
        },
      ),
    );
  });

  it.each([
    ['{"a":1387.00,"b":"\\u00e9\\/"}', '{"a":1387.00,"b":"\\u00e9\\/"}'],
    [' {"a": 1,\r\n "b":\n[ 1 ]} ', '{"a": 1, "b":[ 1 ]}'],
    ['{"a":1,"a":2}', '{"a":1,"a":2}'],
    ['"ada"', '"ada"'],
    ['{"a":1\n,', '"{\\"a\\":1\\n,"'],
  ])('is the text of the JSON row %j on one line', (text, expected) => {
    expect(sourceRecord(jsonRows(['0', text]), 1)).toBe(expected);
  });

  it('has at most 64 KiB of whole characters for a text that is not JSON', () => {
    const mark = '… [cut to 64 KiB]';
    const room = 65_536 - Buffer.byteLength(mark);
    const record = JSON.parse(sourceRecord(jsonRows([`"x${'é'.repeat(70_000)}`]), 0)) as string;
    expect(record).toBe(`"x${'é'.repeat(Math.floor((room - 2) / 2))}${mark}`);
    const deep = JSON.parse(
      sourceRecord(jsonRows(['['.repeat(1e5) + ']'.repeat(1e5)]), 0),
    ) as string;
    expect(deep).toBe('['.repeat(room) + mark);
  });

  it('can be uploaded again from the rejects file', () => {
    const rows = csvRows(['identity', 'City', 'MSG-sms'], [['ada', '', 'yes']]);
    const line = `{"source":"u.csv","line":2,"stage":"service","record":${sourceRecord(rows, 0)}}`;
    expect(mapJson(line)).toBe(
      '{"identity":"ada","type":"profile","profileData":{"MSG-sms":true}}',
    );
  });
});
