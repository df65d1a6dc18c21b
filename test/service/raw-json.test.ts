import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  parseElements,
  joinMembers,
  parseMembers,
  objectText,
} from '../../src/service/raw-json.js';

const anySpace = fc.stringMatching(/^[ \t\n\r]{0,2}$/);
/** A value as JSON text with whitespace between its tokens. */
const anyText = fc
  .tuple(fc.jsonValue({ maxDepth: 4 }), anySpace, anySpace)
  .map(([value, before, after]) =>
    JSON.stringify(value)
      .replaceAll(/"(?:[^"\\]|\\.)*"|[[\]{}:,]/g, (token) =>
        token.length > 1 || token === '""' ? token : before + token + after,
      )
      .trim(),
  );

it('finds the members of any object, as written', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), anyText)), anySpace, (entries, space) => {
      const members = entries.map(
        ([key, text]) => `${space}${JSON.stringify(key)}${space}:${space}${text}${space}`,
      );
      expect([...parseMembers(`{${members.join(',') || space}}`)]).toEqual([...new Map(entries)]);
    }),
  );
});

it('finds the elements of any array, as written', () => {
  fc.assert(
    fc.property(fc.array(anyText), anySpace, (texts, space) => {
      const elements = texts.map((text) => space + text + space);
      expect(parseElements(`[${elements.join(',') || space}]`)).toEqual(texts);
    }),
  );
});

it('joins the parts of a text unchanged', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      const text = objectText(parseMembers(JSON.stringify(object)));
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(object)));
    }),
  );
  expect(joinMembers([])).toBe('');
});

it.each(['{"a":["b\\""],"c":{}}', '[{"a":"b"},["c"],1]', '{', '[', '["', '{"a"'])(
  'ends on any beginning of %s, as a data directory may have',
  (text) => {
    for (let end = 0; end <= text.length; end += 1) {
      for (const read of [parseElements, parseMembers]) {
        try {
          read(text.slice(0, end));
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError);
        }
      }
    }
  },
);
