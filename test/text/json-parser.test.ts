import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TextSlice } from '../../src/text/text-slice.js';
import { JsonParser } from '../../src/text/json-parser.js';
import { runs } from '../support/property-runs.js';
import { anyCharacter } from '../support/any-character.js';

const json = new JsonParser();
const content = new TextSlice();

/** What `find` wants to be given. */
const toFind = (name: string): string => Buffer.from(name).toString('latin1');

function read(text: string, into = json): boolean {
  const before = Buffer.from('{"x":[1');
  const bytes = Buffer.concat([before, Buffer.from(text), Buffer.from(']}"1')]);
  return into.read(bytes, before.length, before.length + Buffer.byteLength(text));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** As JSON.parse judges, but for repeated keys, which it allows. */
function expectSameVerdict(text: string): void {
  const isGood = read(text) || json.repeatsKey;
  expect({ text, isGood, failure: json.failure }).toMatchObject({ text, isGood: isJson(text) });
}

/** The texts one behind the other in one block, each read where it lies. */
function readAll(texts: readonly string[], pad = 0): boolean[] {
  const parts = texts.map((text) => Buffer.from(text));
  const block = Buffer.concat([
    Buffer.alloc(pad, '"'),
    ...parts.flatMap((part) => [part, lineEnd]),
  ]);
  let end = pad - 1;
  return parts.map(({ length }) => {
    const start = end + 1;
    end = start + length;
    return json.readFrom(block, start, end) || json.repeatsKey;
  });
}

const lineEnd = Buffer.from('\n');

/** A JSON text that was made, and whether an object in it repeats a key. */
interface Made {
  readonly text: string;
  readonly repeats: boolean;
}
const one: Made = { text: '1', repeats: false };

const literals = [
  ['1e400', true], ['-0', true], ['9007199254740993', true], ['0.10', true], ['1E+2', true],
  ['-1.5e-10', true], ['01', false], ['-', false], ['1.', false], ['.5', false], ['+1', false],
  ['1e', false], ['1e+', false], ['0x1F', false], ['NaN', false], ['-Infinity', false],
  ['true', true], ['tru', false], ['truee', false], ['null', true], ['nul', false], ['', false],
  ['"\\u00e9\\ud800\\n\\/"', true], ['"\\u00g9"', false], ['"\\x"', false], ['"\\u12', false],
  ['"a\tb"', false], ['"a\u007fb"', true], ['"a', false], ['\'a\'', false], ['"\\', false],
  ['{}', true], ['{"a":1,}', false], ['{"a" 1}', false], ['{a:1}', false], ['{"a":1', false],
  ['{,}', false], ['[1,]', false], ['[,1]', false], ['[1 2]', false], ['[]]', false], ['[', false],
  [' \t\r\n1 \t\r\n', true], ['1 2', false], ['\u00a01', false], ['\f1', false], ['{"":""}', true],
  ['{"a":1}x', false], ['/* c */ 1', false],
] as const; // prettier-ignore

describe('JsonText', () => {
  it.each(literals)('validates %j', (text, isGood) => {
    expect(read(text)).toBe(isGood);
    expect(isJson(text)).toBe(isGood);
  });

  it('agrees with JSON.parse on random values in any spelling', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: anyCharacter }), fc.nat(4), (text, indent) => {
        expectSameVerdict(JSON.stringify(JSON.parse(text), undefined, indent));
      }),
      { numRuns: runs(500) },
    );
  });

  it('agrees with JSON.parse on texts with a mutation', () => {
    const piece = fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', '0', '1', '-', '.', 'e', '\n', ' ', 'u', 't', 'é', '\u0001', ''); // prettier-ignore
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.nat(2), piece, (text, where, cut, put) => {
        const at = where % (text.length + 1);
        expectSameVerdict(text.slice(0, at) + put + text.slice(at + cut));
      }),
      { numRuns: runs(3000) },
    );
  });

  it('agrees with JSON.parse for any byte at any offset of a word of 8 bytes', () => {
    const pieces = ['"', '\\', '\\"', '\\u00e9', '\\u00g9', '\\x', '\n', '\0', '\u001f', ' ', '\u007f', 'é', '😀', '']; // prettier-ignore
    const lengths = Array.from({ length: 18 }, (_, length) => length);
    const texts = pieces.flatMap((piece) =>
      lengths.flatMap((length) => {
        const inner = `${'x'.repeat(length)}${piece}${'y'.repeat(17 - length)}`;
        return [`{"${inner}":1}`, `["${inner}"]`, `"${'x'.repeat(length)}${piece}`];
      }),
    );
    for (let pad = 0; pad < 8; pad++) {
      expect(readAll(texts, pad)).toEqual(texts.map(isJson));
    }
  });

  it('reads each text of a block independently of the others', () => {
    const text = fc.oneof(
      fc.json(),
      fc.constantFrom('', '{', '"', '[1', '{"a":1,"a":2}', '"\\', '"\\u1', '1', '-', 'tru', '1e'),
    );
    fc.assert(
      fc.property(fc.array(text, { maxLength: 8 }), fc.nat(8), (texts, pad) => {
        expect(readAll(texts, pad)).toEqual(texts.map(isJson));
      }),
      { numRuns: runs(500) },
    );
  });

  it('reads the texts of a block also after texts that are not in it', () => {
    const parser = new JsonParser();
    const texts = Array.from({ length: 9 }, (_, n) => `{"${'k'.repeat(n)}":"a\\n${n}"}`);
    const block = Buffer.from(`${'x'.repeat(100)}${texts.join('')}`);
    const other = Buffer.from('{"other":[1,2,3]}');
    let end = 100;
    const seen = texts.map((text, n) => {
      const start = end;
      end += text.length;
      if (n % 3 > 0) expect(parser.read(other, 0, other.length)).toBe(true);
      expect(parser.readFrom(block, start, end)).toBe(true);
      expect(parser.find('k'.repeat(n))).toBe(0);
      return parser.stringAt(0, content)?.toString();
    });
    expect(seen).toEqual(texts.map((_, n) => `a\n${n}`));
  });

  it('agrees with JSON.parse on numbers of any form', () => {
    const piece = fc.constantFrom('0', '1', '90', '-', '+', '.', 'e', 'E', '');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const number = pieces.join('');
        for (const text of [number, `[${number}]`, `{"a":${number} }`]) expectSameVerdict(text);
      }),
      { numRuns: runs(2000) },
    );
  });

  it('agrees with JSON.parse on soups of tokens', () => {
    const token = fc.constantFrom('{', '}', '[', ']', ',', ':', '"a"', '"b"', '1', '-0', 'null', ' ', '"\\u0061"'); // prettier-ignore
    fc.assert(
      fc.property(fc.array(token, { maxLength: 12 }), (tokens) => {
        expectSameVerdict(tokens.join(''));
      }),
      { numRuns: runs(3000) },
    );
  });

  it('returns the positions of the top-level members', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(3), (object, indent) => {
        const json = new JsonParser();
        const names = Object.keys(object).map(toFind);
        const missing = 'no such key';
        expect(read(JSON.stringify(object, undefined, indent), json)).toBe(true);
        const members = Array.from({ length: json.count }, (_, index) => [
          JSON.parse(json.bytes.toString('utf8', json.keyStart(index) - 1, json.keyEnd(index) + 1)),
          JSON.parse(json.bytes.toString('utf8', json.valueStart(index), json.valueEnd(index))),
        ]); // prettier-ignore
        expect(members).toEqual(Object.entries(JSON.parse(JSON.stringify(object)) as object));
        expect(names.map((name) => json.find(name))).toEqual([...names.keys()]);
        expect(json.find(missing)).toBe(-1);
      }),
    );
  });

  it('returns any number of members, also after its memory has grown', () => {
    const json = new JsonParser();
    const names = Array.from({ length: 3000 }, (_, index) => `key ${index}`);
    for (const count of [3000, 2, 65]) {
      const values = Array.from({ length: count }, (_, index) => 'x"'.repeat(index % 100));
      const object = Object.fromEntries(values.map((value, index) => [`key ${index}`, value]));
      expect(read(JSON.stringify(object), json)).toBe(true);
      expect(json.count).toBe(count);
      // Each stays as it is while the others are read.
      const texts = values.map((_, index) => json.stringAt(index, new TextSlice()));
      expect(texts.map(String)).toEqual(values);
      const found = Array.from(names, (_, index) => (index < count ? index : -1));
      expect(names.map((name) => json.find(name))).toEqual(found);
    }
  });

  it('reads a text of megabytes, and a short one after it', () => {
    const long = JSON.stringify({ a: 'é"'.repeat(3_000_000), b: 1 });
    expect(read(long)).toBe(true);
    expect(json.bytes.toString('utf8', json.keyStart(1), json.keyEnd(1))).toBe('b');
    expect(read('{"b":2}')).toBe(true);
    expect(json.count).toBe(1);
    expect(read(long.slice(0, -1))).toBe(false);
  });

  it('finds a member, however its key is escaped', () => {
    const escape = (character: string) =>
      Array.from({ length: character.length }, (_, unit) => character.charCodeAt(unit))
        .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
        .join('');
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter }),
        fc.array(fc.boolean(), { minLength: 1 }),
        (name, escaped) => {
          const spelled = Array.from(name, (character, index) =>
            escaped[index % escaped.length]
              ? escape(character)
              : JSON.stringify(character).slice(1, -1),
          );
          const json = new JsonParser();
          fc.pre(name !== 'no');
          expect(read(`{"no":0,"${spelled.join('')}":{"deep":1}}`, json)).toBe(true);
          expect(json.find(toFind(name))).toBe(1);
          expect(json.find('deep')).toBe(name === 'deep' ? 1 : -1);
        },
      ),
    );
  });

  it('finds a member with an escaped key after a value without escapes was read', () => {
    expect(read('{"\\u0061":"x","b":"\\u0079y"}')).toBe(true);
    expect(json.stringAt(1, content)?.toString()).toBe('yy');
    expect(json.find('a')).toBe(0);
  });

  it.each([
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"\\u0061":2}', '\\u0061'],
    ['{"x":{"b":{},"c":[],"b":1}}', 'b'],
    ['{"\\u006fnly here":1,"x":{"only here":1},"only here":2}', 'only here'],
    ['[{"a":1},{"":1,"":1}]', ''],
    ['{"😀":1,"\\ud83d\\ude00":2}', '\\ud83d\\ude00'],
    ['{"a\\/b":1,"a/b":2}', 'a/b'],
    [
      '{"\\b\\f\\n\\r\\t\\"\\\\":1,"\\u0008\\u000C\\u000a\\u000d\\u0009\\u0022\\u005c":2}',
      '\\u0008\\u000C\\u000a\\u000d\\u0009\\u0022\\u005c',
    ],
    [
      '{"a key of more than 16 bytes":1,"a key of more than 1\\u0036 bytes":2}',
      'a key of more than 1\\u0036 bytes',
    ],
  ])('rejects the repeated key of an object: %s', (text, key) => {
    expect(read(text)).toBe(false);
    expect(json).toMatchObject({ repeatsKey: true, failure: `repeats the key "${key}"` });
  });

  it.each([
    ['$add', true],
    ['$incr', true],
    ['$decr', true],
    ['$ad', false],
    ['$adds', false],
    ['$inc', false],
    ['$incs', false],
    ['$decry', false],
    ['add', false],
    ['$set', false],
  ])('detects at any depth whether a key is an operator: %s', (key, isOperator) => {
    for (const text of [
      `{"${key}":1}`,
      `[{"a":{"\\u00${key.charCodeAt(0).toString(16)}${key.slice(1)}":1}}]`,
    ]) {
      expect(read(text)).toBe(true);
      expect(json.hasOperator).toBe(isOperator);
    }
  });

  it.each(['{"a":{"a":[{"a":1},{"a":1}]}}', '{"\\ud800":1,"\\ud801":2}', '{"a":1,"A":1,"a ":1}'])(
    'allows equal keys in different objects, and similar keys in one: %s',
    (text) => expect(read(text)).toBe(true),
  );

  it('finds repeated keys among a great many', () => {
    const keys = Array.from({ length: 5000 }, (_, index) => `"k${index}":${index}`);
    expect(read(`{${keys.join(',')}}`)).toBe(true);
    expect(read(`{${[...keys, '"k2500":1'].join(',')}}`)).toBe(false);
    expect(json.failure).toBe('repeats the key "k2500"');
    expect(read('{"k1":1}')).toBe(true);
  });

  it('finds repeated keys at any depth and in any spelling, whatever keys came before', () => {
    const names = Array.from({ length: 300 }, (_, index) => `${index}`.padEnd(index % 90, 'x'));
    const name = fc.oneof(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.constantFrom(...names));
    const { value } = fc.letrec<{ value: Made; object: Made }>((tie) => ({
      value: fc.oneof({ maxDepth: 6, depthSize: 'large' }, fc.constant(one), tie('object')),
      object: fc
        .array(fc.tuple(name, fc.nat(9), tie('value')), { maxLength: 4 })
        .map((members): Made => {
          const texts = members.map(([name, how, { text }]) => {
            const first = how > 0 ? name[0]! : `\\u00${name.charCodeAt(0).toString(16)}`;
            return `"${first}${name.slice(1)}":${text}`;
          });
          const repeats = new Set(members.map(([name]) => name)).size < members.length;
          const areRepeated = repeats || members.some(([, , value]) => value.repeats);
          return { text: `{${texts.join(',')}}`, repeats: areRepeated };
        }),
    }));
    const used = new JsonParser();
    fc.assert(
      fc.property(value, fc.boolean(), ({ text, repeats }, isNew) => {
        const json = isNew ? new JsonParser() : used;
        expect({ text, isGood: read(text, json) }).toEqual({ text, isGood: !repeats });
        expect(json.repeatsKey).toBe(repeats);
      }),
      { numRuns: runs(3000) },
    );
  });

  it('finds a repeated key as a comparison of decoded keys does', () => {
    const key = fc.constantFrom('a', 'b', '\\u0061', '\\u0062', 'aa', '', '\\n');
    const object = fc.array(key, { maxLength: 5 });
    fc.assert(
      fc.property(fc.array(object, { maxLength: 5 }), (objects) => {
        const text = objects.map((keys) => `{${keys.map((name) => `"${name}":0`).join(',')}}`);
        const repeats = objects.some(
          (keys) =>
            new Set(keys.map((name) => JSON.parse(`"${name}"`) as string)).size < keys.length,
        );
        expect(read(`[${text.join(',')}]`)).toBe(!repeats);
      }),
    );
  });

  it.each([200, 201, 100_000])('accepts up to 200 levels of nesting: %i', (depth) => {
    const isGood = depth <= 200;
    expect(read('['.repeat(depth) + ']'.repeat(depth))).toBe(isGood);
    expect(read('{"a":'.repeat(depth) + '1' + '}'.repeat(depth))).toBe(isGood);
    if (!isGood) expect(json.failure).toBe('nests deeper than 200');
  });

  it.each([
    ['{"a":1,"b":x}', 11, 'has "x", not a value'],
    ['{"a":1', 6, 'ends where a comma or a closing brace should be'],
    ['["é" 1]', 6, 'has "1", not a comma or a closing bracket'],
    ['{"a":"\n"}', 6, 'has a control character within a string'],
    ['[😀]', 1, 'has "😀", not a value'],
    ['[1.x]', 3, 'has "x", not a digit'],
    ['"😀" 😀', 7, 'continues after its end, with "😀"'],
  ])('reports the error in %j, and its byte', (text, at, failure) => {
    expect(read(text)).toBe(false);
    expect(json.failure).toBe(failure);
    expect(json.failureAt - Buffer.byteLength('{"x":[1')).toBe(at);
  });

  it.each([
    ['{"profileData":{"Score":{"$incr":1}}}', true],
    ['{"a":{"\\u0024add":[]}}', true],
    ['{"a":{"$set":[1]},"$":1,"$increase":2}', false],
    ['{"a":"$incr"}', false],
  ])('detects whether %s has an operator that is not idempotent', (text, has) => {
    read(text);
    expect(json.hasOperator).toBe(has);
  });
});
