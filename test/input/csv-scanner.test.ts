import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FAULT, type CellScanner } from '../../src/input/cell-scanner.js';
import { CsvScanner } from '../../src/input/csv-scanner.js';
import { DialectScanner } from '../../src/input/dialect-scanner.js';
import { afterLineEnd, BEYOND, nextLine } from '../../src/input/line-ends.js';
import { chunked, readText } from './read-rows.js';

// The scanner in WebAssembly looks at 64 bytes at a time, the one for other dialects at each byte by itself: what the
// one finds in RFC 4180, the other has to find too.

const quotes = Buffer.from('"');
const scanners = new Map(
  [',', ';', '\t', '\\', ' ', '\0', '~', ''].map((text) => {
    const delimiter = Buffer.from(text);
    const dialect = { delimiter, quote: quotes, escape: quotes, comment: Buffer.alloc(0) };
    return [text, { fast: new CsvScanner(delimiter), slow: new DialectScanner(dialect) }];
  }),
);
const columns = 2;

describe('the scanner of RFC 4180', () => {
  it('finds in any text what the scanner of dialects finds', () => {
    fc.assert(fc.property(texts, fc.constantFrom(...scanners.keys()), fc.boolean(), expectSame), {
      numRuns: 5000,
    });
  });

  it.each([
    ['in a plain cell', '', ''],
    ['in a quoted cell', '"', '"'],
    ['in the cell after it', 'a,', ''],
    ['behind a closing quote', '"a",b\n', '"'],
  ])('sees every byte at every offset %s', (_, before, after) => {
    for (let byte = 0; byte < 256; byte++) {
      for (const offset of offsets) {
        const start = Buffer.from(before + 'x'.repeat(offset));
        const text = Buffer.concat([start, Buffer.of(byte), Buffer.from(`${after},y\n1,2\n`)]);
        expectSame(text, ',', true);
      }
    }
  });

  it('sees the end of a text at every offset', () => {
    const text = Buffer.from('ab,"c\r\nd""e"\r\n'.repeat(12));
    for (let end = 0; end <= text.length; end++) {
      for (let start = 0; start <= 14; start++) {
        expectSame(text.subarray(start, end), ',', true);
        expectSame(text.subarray(start, end), ',', false);
      }
    }
  });

  it('has room for a record of 10 MB, and for short ones after it', async () => {
    const long = `${'x'.repeat(10_000_000)}\n`;
    const short = Array.from({ length: 10_000 }, (_, i) => `${i},b\n`);
    const text = Buffer.from(`a,b\n1,2\n3,"${long}"\n${short.join('')}`);
    const options = { format: 'csv', maxRecordBytes: 16 * 1024 * 1024 } as const;
    const { rows, faults } = await readText(chunked(text, [100_000]), options);
    expect(faults).toEqual([]);
    expect(rows).toHaveLength(2 + short.length);
    expect(rows[1]!.cells![1]).toHaveLength(long.length);
    expect(rows.at(-1)).toMatchObject({ line: 4 + short.length, text: '9999,b' });
  });
});

/** Around the ends of the words and blocks of bytes that are looked at together. */
const offsets = [0, 1, 6, 7, 8, 9, 15, 16, 30, 61, 62, 63, 64, 65, 127, 128, 129];

/** Texts of many blocks in which what matters may stand anywhere. */
const texts = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '"',
        '"',
        '""',
        ',',
        ',',
        '\n',
        '\r',
        '\r\n',
        '\\',
        '\t',
        '\0',
        ' ',
        '\u{1f}',
      ),
      fc.constantFrom(
        'a,b\n',
        '"a","b"\r\n',
        ';',
        '~',
        '!',
        '#',
        '[',
        ']',
        '\u{7f}',
        'é',
        '漢',
        '🙂',
      ),
      fc.integer({ min: 0, max: 70 }).map((length) => 'x'.repeat(length)),
    ),
    { maxLength: 40 },
  )
  .map((parts) => Buffer.from(parts.join('')));

function expectSame(text: Buffer, delimiter: string, last: boolean): void {
  const { fast, slow } = scanners.get(delimiter)!;
  const found = { ...foundBy(fast, text, last), plain: plainCells(fast) };
  const expected = { ...foundBy(slow, text, last), plain: jsonCells(slow, text) };
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    expect(found, JSON.stringify({ text: text.toString(), delimiter, last })).toEqual(expected);
  }
}

/** All that a scanner finds when it goes on after faults, and the first record of the text by itself. */
function foundBy(scanner: CellScanner, text: Buffer, last: boolean) {
  const faults: unknown[] = [];
  const nextOf = (end: number) => (end < 0 ? end : afterLineEnd(text, end, last));
  scanner.begin(text, columns, last);
  const first = nextOf(scanner.scan(0));
  const firstWidth = first < 0 ? 0 : scanner.width;
  let start = 0;
  let line = 1;
  for (;;) {
    const end = scanner.cut(start, line);
    ({ at: start, line } = scanner);
    if (end === BEYOND) break;
    const { fault, faultAt, width } = scanner;
    faults.push(end === FAULT ? { start, line, fault, faultAt } : { start, line, end, width });
    const next = end === FAULT ? nextLine(text, start, last) : nextOf(end);
    if (next === BEYOND) break;
    start = next;
  }
  const { count } = scanner;
  return {
    first,
    firstWidth,
    faults,
    start,
    line,
    bounds: scanner.bounds.slice(0, 2 * count),
    lines: scanner.lines.slice(0, count),
    cells: Array.from(scanner.cells.slice(0, 2 * columns * count), toPositive),
  };
}

const toPositive = (end: number): number => (end < 0 ? ~end : end);

const plainCells = ({ cells, count }: CellScanner): boolean[] =>
  Array.from({ length: columns * count }, (_, index) => cells[2 * index + 1]! >= 0);

/** Which cells can stand in a JSON string as they are: the scanner of dialects is cautious there. */
const jsonCells = ({ cells, count }: CellScanner, text: Buffer): boolean[] =>
  Array.from({ length: columns * count }, (_, index) =>
    text
      .subarray(cells[2 * index], toPositive(cells[2 * index + 1]!))
      .every((byte) => byte >= 0x20 && byte !== 0x22 && byte !== 0x5c),
  );
