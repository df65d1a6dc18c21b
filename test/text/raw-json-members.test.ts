import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { rawMember, repeatedMember } from '../../src/text/raw-json.js';

const of = (json: string) => rawMember(Buffer.from(json), 'record')?.toString();

it('finds the text of the member that JSON.parse would return', () => {
  const name = fc.oneof(fc.constant('record'), fc.string());
  const object = fc.dictionary(name, fc.jsonValue());
  fc.assert(
    fc.property(object, fc.nat(2), (value, indent) => {
      const json = JSON.stringify(value, undefined, indent);
      const found = of(json);
      const member = Object.entries(value).find(([key]) => key === 'record');
      expect(found === undefined ? undefined : JSON.parse(found)).toEqual(
        member === undefined ? undefined : (JSON.parse(JSON.stringify(member[1])) as unknown),
      );
    }),
  );
});

it.each([
  ['{}', undefined],
  ['{"a":{"record":1}}', undefined],
  ['{"a":"record"}', undefined],
  ['{"record":1.00}', '1.00'],
  ['{ "x" : [ 1 , "record" ] , "record" :  [ 1 , 2 ]  }', '[ 1 , 2 ]'],
  ['{"record":"a\\\\\\",}","z":1}', '"a\\\\\\",}"'],
  ['{"record":1,"record":{"a":2}}', '{"a":2}'],
  ['{"\\u0072ecord":null}', 'null'],
])('finds for %s: %s', (json, expected) => {
  expect(of(json)).toBe(expected);
});

it.each([
  ['{"a":1,"b":{"c":1,"c":2}}', undefined],
  ['{"a":1,"\\u0061":2}', 'a'],
  ['{"outer":[ ]}', undefined],
  ['{"outer":[{"b":1},{"b":2},5,"b",[{"b":1,"b":2}]]}', undefined],
  ['{"outer" : [ {"b":1} , { "b":1 , "b":2 } ] }', 'b'],
  ['{"outer":{"b":1,"b":2}}', 'b'],
  ['{"outer":[{"inner":{"c":1,"c":2}}]}', 'c'],
  ['{"outer":[{"inner":{"outer":{"c":1,"c":2}}}]}', undefined],
  ['[{"b":1,"b":2}]', undefined],
])('finds the repeated member of %s: %s', (json, expected) => {
  expect(repeatedMember(Buffer.from(json), ['outer', 'inner'])).toBe(expected);
});
