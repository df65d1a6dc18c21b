import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { prettyPrintJson } from '../../src/text/raw-json.js';

const pretty = (text: string) => prettyPrintJson(Buffer.from(text));

it('formats values as JSON.stringify does, whatever whitespace they had', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(3), (value, indent) => {
      const expected = JSON.stringify(value, undefined, 2);
      expect(pretty(JSON.stringify(value, undefined, indent))).toBe(expected);
    }),
  );
});

it.each([
  ['1.00', '1.00'],
  ['12345678901234567890', '12345678901234567890'],
  ['[1e400,-0]', '[\n  1e400,\n  -0\n]'],
  ['"\\u00e9\\/\\""', '"\\u00e9\\/\\""'],
  ['{"a":1,"a":2}', '{\n  "a": 1,\n  "a": 2\n}'],
  [' [ ] ', '[]'],
  ['{"a"\r\n:{ }}', '{\n  "a": {}\n}'],
  ['["}",",:[{"]', '[\n  "}",\n  ",:[{"\n]'],
])('changes only whitespace in %s', (text, expected) => {
  expect(pretty(text)).toBe(expected);
});
