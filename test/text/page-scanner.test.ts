import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PageScanner, PageSyntaxError, type ScannedPage } from '../../src/text/page-scanner.js';
import { cutsOf, pagesOfAnyKind as page, piecesOf } from '../support/builders/json-pages.js';
import { PageOracle } from '../support/oracles/page-oracle.js';
import { runs } from '../support/property-runs.js';

type Page = Omit<ScannedPage, 'hash'>;

const recordsOf = ({ bytes, bounds, count }: Page): string[] =>
  Array.from({ length: count }, (_, i) => bytes.toString('utf8', bounds[2 * i], bounds[2 * i + 1]));

const cuts = cutsOf;
const kinds = [
  ['WebAssembly', () => new PageScanner()],
  ['JavaScript', () => new PageOracle()],
] as const;

describe.each(kinds)('PageScanner in %s', (_kind, openScanner) => {
  /** Scans `body` in pieces that end at `cuts`. */
  function scan(body: string | Buffer, cuts: readonly number[] = []): Page {
    const scanner = openScanner();
    scanner.reset();
    for (const piece of piecesOf(Buffer.from(body), cuts)) scanner.push(piece);
    return scanner.end();
  }

  it('finds the records and members that JSON.parse finds, however the body is split', () => {
    fc.assert(
      fc.property(page, cuts, ({ text, records }, at) => {
        const parsed = JSON.parse(text) as Record<string, unknown>;
        const scanned = scan(text, at);
        expect(recordsOf(scanned)).toEqual(records);
        expect(scanned.members.records).toBe('records' in parsed ? 'array' : undefined);
        for (const name of ['status', 'code', 'error', 'next_cursor'] as const) {
          expect(scanned.members[name]).toEqual(parsed[name]);
        }
      }),
      { numRuns: runs(500) },
    );
  });

  it('rejects exactly what JSON.parse rejects after a byte was changed, dropped or added', () => {
    const wrong = fc.constantFrom(...'{}[]:,"\\0123.eE+-tfnu /x\u0001\n'.split(''));
    const edit = fc.record({
      at: fc.nat(),
      drop: fc.nat(1),
      put: fc.oneof(fc.constant(''), wrong),
    });
    fc.assert(
      fc.property(page, edit, cuts, ({ text }, { at, drop, put }, pieces) => {
        const position = at % (text.length + 1);
        const broken = text.slice(0, position) + put + text.slice(position + drop);
        const bytes = Buffer.from(broken);
        const parsed = parseOrUndefined(bytes.toString());
        if (parsed === undefined) expect(() => scan(bytes, pieces)).toThrow(PageSyntaxError);
        else if (isPlainPage(parsed, bytes.toString()))
          expect(() => scan(bytes, pieces)).not.toThrow();
      }),
      { numRuns: runs(1000) },
    );
  });

  it('rejects a body that ends too early', () => {
    const text = '{"status":"success","records":[{"a":1,"b":"\\u00e9é"}],"next_cursor":"c"}';
    for (let end = 0; end < Buffer.byteLength(text); end += 1) {
      expect(() => scan(Buffer.from(text).subarray(0, end))).toThrow(PageSyntaxError);
    }
  });

  it.each([
    ['an array', '[]'],
    ['a number', '1'],
    ['nothing', ''],
    ['HTML', '<html></html>'],
    ['two objects', '{}{}'],
    ['a record that is no object', '{"records":[1]}'],
    ['a record that is an array', '{"records":[[]]}'],
    ['records that appear twice', '{"records":[{}],"records":[{}]}'],
    ['a cursor that appears twice', '{"next_cursor":"a","next\\u005fcursor":"b"}'],
    ['invalid UTF-8', Buffer.from('{"a":"\xff"}', 'latin1')],
    ['nesting without end', `{"a":${'['.repeat(70_000)}${']'.repeat(70_000)}}`],
  ])('rejects %s', (_what, body) => {
    expect(() => scan(body)).toThrow(PageSyntaxError);
  });

  it('accepts records as deep as can be uploaded', () => {
    const record = `{"a":${'['.repeat(200)}${']'.repeat(200)}}`;
    expect(recordsOf(scan(`{"records":[${record}]}`))).toEqual([record]);
  });

  it('finds the next cursor before the records have arrived', () => {
    const scanner = openScanner();
    scanner.reset();
    const record = `{"a":"${'x'.repeat(64)}"}`;
    scanner.push(Buffer.from(`{"next_cursor":"abc","records":[${record},`));
    expect(scanner.nextCursor).toBe('abc');
  });

  it('serves one page after the other', () => {
    const scanner = openScanner();
    for (const count of [3, 0, 2000, 1]) {
      scanner.reset();
      scanner.push(
        Buffer.from(`{"records":[${Array.from({ length: count }, () => '{}').join(',')}]}`),
      );
      expect(scanner.end().count).toBe(count);
    }
  });

  it('reports records that are not an array', () => {
    expect(scan('{"records":null}').members.records).toBe('other');
    expect(scan('{"records":{"a":[{}]}}')).toMatchObject({
      count: 0,
      members: { records: 'other' },
    });
  });
});

it('reads no record that is longer than any the service accepts', () => {
  const scanner = new PageScanner();
  for (const [length, isRead] of [
    [4 * 1024 * 1024 - 8, true],
    [4 * 1024 * 1024, false],
  ] as const) {
    scanner.reset();
    scanner.push(Buffer.from(`{"records":[{},{"a":"${'x'.repeat(length)}"}]}`));
    if (isRead) expect(scanner.end().count).toBe(2);
    else expect(() => scanner.end()).toThrow('a record of more than 4194304 bytes');
  }
});

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether nothing but broken JSON could be wrong with it: an object of objects, no key twice. */
function isPlainPage(parsed: unknown, text: string): boolean {
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return false;
  const { records = [] } = parsed as { records?: unknown };
  const twice = ['status', 'code', 'error', 'next_cursor', 'records'].some(
    (name) => text.split(`"${name}"`).length > 2,
  );
  if (twice || text.includes('\\u')) return false;
  return (
    !Array.isArray(records) ||
    records.every((r) => typeof r === 'object' && r !== null && !Array.isArray(r))
  );
}
