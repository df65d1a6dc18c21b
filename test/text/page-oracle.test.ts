import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PageScanner, PageSyntaxError } from '../../src/text/page-scanner.js';
import { cutsOf, pagesOfAnyKind, piecesOf } from '../support/builders/json-pages.js';
import { PageOracle } from '../support/oracles/page-oracle.js';
import { runs } from '../support/property-runs.js';

// Pages gone over in WebAssembly against pages looked at byte by byte in JavaScript, which `page-scanner.test.ts` holds
// against JSON.parse.

/** What the pieces of pages come to: records and members, or why they are no page. */
function found(scanner: PageScanner | PageOracle, pages: readonly Buffer[][]) {
  return pages.map((pieces) => {
    try {
      scanner.reset();
      for (const piece of pieces) scanner.push(piece);
      const { bytes, bounds, count, members } = scanner.end();
      return {
        bytes: bytes.toString('latin1'),
        bounds: [...bounds.subarray(0, 2 * count)],
        members,
      };
    } catch (error) {
      if (!(error instanceof PageSyntaxError)) throw error;
      return 'refused';
    }
  });
}

const scanner = new PageScanner();

function expectSame(...pages: readonly Buffer[][]): void {
  expect(found(scanner, pages)).toEqual(found(new PageOracle(), pages));
}

const bytes = fc.uint8Array({ maxLength: 4 }).map((array) => Buffer.from(array));
const wrong = fc.oneof(bytes, fc.constantFrom(...'{}[]:,"\\0123.eE+-tfnu /x\u0001\n'.split('')));
const edits = fc.array(fc.record({ at: fc.nat(), drop: fc.nat(3), put: wrong }), { maxLength: 2 });
type Edit = { at: number; drop: number; put: string | Buffer };

const edited = (page: Buffer, { at, drop, put }: Edit): Buffer => {
  const start = at % (page.length + 1);
  return Buffer.concat([page.subarray(0, start), Buffer.from(put), page.subarray(start + drop)]);
};

describe('D both scanners return the same', () => {
  it('for any valid or corrupted page, however it is split', () => {
    const one = fc
      .tuple(pagesOfAnyKind, edits, cutsOf)
      .map(([{ text }, list, cuts]) => piecesOf(list.reduce(edited, Buffer.from(text)), cuts));
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 3 }), (pages) => expectSame(...pages)),
      { numRuns: runs(1000) },
    );
  });

  it('for any bytes', () => {
    const tokens = fc.constantFrom(
      ...'{|}|[|]|:|,|"|\\|\n|"a"|1|-0|1.5e3|true|null|é| '.split('|'),
    );
    const text = fc.array(fc.oneof(tokens, bytes), { maxLength: 60 });
    fc.assert(
      fc.property(text, cutsOf, (parts, cuts) => {
        const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
        expectSame(piecesOf(Buffer.concat([Buffer.from('{"records":[{'), body]), cuts));
      }),
      { numRuns: runs(1000) },
    );
  });

  it('for a text or number of any length, closed, open or corrupted, split anywhere', () => {
    for (let length = 0; length < 36; length += 1) {
      const long = 'x'.repeat(length);
      const digits = '9'.repeat(length);
      for (const value of [
        `"${long}"`,
        `"${long}\\n"`,
        `"${long}\\u00e9${long}"`,
        `"${long}\\"`,
        `"${long}\\x"`,
        `"${long}\\u00g0"`,
        `"${long}\t"`,
        `"${long}`,
        digits,
        `-${digits}`,
        `0${digits}`,
        `${digits}.${digits}`,
        `1.${digits}e-${digits}`,
        `${digits}x`,
      ]) {
        const body = Buffer.from(`{"records":[{"a":${value},"b":[${value}]}]}`);
        expectSame([body], ...[...body.keys()].map((cut) => piecesOf(body, [cut])));
      }
    }
  });

  it('for anything on the border of two blocks of 64 bytes', () => {
    const around = (insides: readonly string[]) => insides.map((inside) => `{"a":[${inside}]}`);
    const values = [
      '{}',
      '[ ]',
      '{"k" : 1}',
      '[1,"\\\\\\"",2]',
      '-0.5e+7',
      'true',
      '"\\u00e9"',
      '0',
    ];
    const wrong = [
      '{"k"}',
      '{"k":1,}',
      '[1,]',
      '[,1]',
      '{1:2}',
      '[1:2]',
      '{"k":1]',
      '"a" "b"',
      '1 2',
    ];
    const more = [
      '01',
      '-',
      'nul',
      '"\\u00g9"',
      '"\\x"',
      '"\u0001"',
      '{} {}',
      '\\"',
      '{"k":"v":1}',
      '\u0001',
    ];
    for (const record of around([...values, ...wrong, ...more])) {
      for (let length = 0; length < 64; length += 1) {
        const start = `{"records":[{"${'x'.repeat(length)}":`;
        const body = Buffer.from(`${start}${record},"b":\n [\n  ${record}\n ]},{"c":${record}}]}`);
        expectSame([body], piecesOf(body, [start.length + (length % record.length)]));
      }
    }
  });

  it('for nesting up to the limit and beyond', () => {
    for (const depth of [199, 999, 65_533, 65_534, 65_535, 65_536, 65_537]) {
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
        ['[', '}'],
      ] as const) {
        expectSame([Buffer.from(`{"a":${open.repeat(depth)}1${close.repeat(depth)}}`)]);
      }
    }
  });
});
