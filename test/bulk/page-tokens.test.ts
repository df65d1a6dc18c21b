import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PageSyntaxError } from '../../src/bulk/export/page-envelope.js';
import type { PageEvents, PageTokens } from '../../src/bulk/export/page-tokens.js';
import { TokensInJs } from '../../src/bulk/export/tokens-in-js.js';
import { cutsOf, pagesOfAnyKind, piecesOf, tokensInWasm } from '../support/json-pages.js';

// The scanner in WebAssembly against the one in JavaScript, which `page-scanner.test.ts` holds against JSON.parse.

/** All that `tokens` tells of the pieces of a page, and how it ends. */
function told(openTokens: (events: PageEvents) => PageTokens, pages: readonly Buffer[][]) {
  let events: unknown[] = [];
  const note =
    (what: string) =>
    (...numbers: number[]) =>
      void events.push([what, ...numbers]);
  const tokens = openTokens({ key: note('key'), open: note('open'), close: note('close') });
  return pages.map((pieces) => {
    events = [];
    tokens.restart();
    return { events, end: endOf(tokens, pieces) };
  });
}

function endOf(tokens: PageTokens, pieces: readonly Buffer[]): string {
  let length = 0;
  try {
    for (const piece of pieces) {
      tokens.reserve(length + piece.length);
      length += piece.copy(tokens.bytes, length);
      tokens.scan(length);
    }
  } catch (error) {
    if (!(error instanceof PageSyntaxError)) throw error;
    return 'refused';
  }
  return tokens.finished ? 'finished' : 'refused';
}

function expectSame(...pages: readonly Buffer[][]): void {
  expect(told(tokensInWasm, pages)).toEqual(told((events) => new TokensInJs(events), pages));
}

const bytes = fc.uint8Array({ maxLength: 4 }).map((array) => Buffer.from(array));
const wrong = fc.oneof(bytes, fc.constantFrom(...'{}[]:,"\\0123.eE+-tfnu /x\u0001\n'.split('')));
const edits = fc.array(fc.record({ at: fc.nat(), drop: fc.nat(3), put: wrong }), { maxLength: 2 });
type Edit = { at: number; drop: number; put: string | Buffer };

const edited = (page: Buffer, { at, drop, put }: Edit): Buffer => {
  const start = at % (page.length + 1);
  return Buffer.concat([page.subarray(0, start), Buffer.from(put), page.subarray(start + drop)]);
};

describe('both scanners tell the same', () => {
  it('of any page, whole or spoilt, however it is cut, one after the other', () => {
    const one = fc
      .tuple(pagesOfAnyKind, edits, cutsOf)
      .map(([{ text }, list, cuts]) => piecesOf(list.reduce(edited, Buffer.from(text)), cuts));
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 3 }), (pages) => expectSame(...pages)),
      { numRuns: 1000 },
    );
  });

  it('of any bytes at all', () => {
    const tokens = fc.constantFrom(
      ...'{|}|[|]|:|,|"|\\|\n|"a"|1|-0|1.5e3|true|null|é| '.split('|'),
    );
    const text = fc.array(fc.oneof(tokens, bytes), { maxLength: 60 });
    fc.assert(
      fc.property(text, cutsOf, (parts, cuts) => {
        const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
        expectSame(piecesOf(Buffer.concat([Buffer.from('{"records":[{'), body]), cuts));
      }),
      { numRuns: 1000 },
    );
  });

  it('of a text or number of any length, closed, open or spoilt, cut anywhere', () => {
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

  it('of nesting to the limit and beyond', () => {
    for (const depth of [199, 997, 998, 999, 1000, 1001]) {
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
