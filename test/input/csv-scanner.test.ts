import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CsvProgram } from '../../src/text/csv-scanner.js';
import { CsvScanner, openQuote, type CsvDialect } from '../../src/text/csv-scanner.js';
import { chunked, readText } from './read-rows.js';
import {
  afterLineEnd,
  BEYOND,
  countLineEnds,
  FAULT,
  nextLine,
  SlowScanner,
} from '../support/oracles/csv-scanner-reference.js';
import { runs } from '../support/property-runs.js';

const program = new CsvProgram();

// The scanner in WebAssembly looks at 64 bytes at a time, the one for comparison at each byte by itself.

/** Both scanners of a CSV with these markers. */
function scannersOf(delimiter: string, quote = '"', escape = quote, comment = '') {
  const markers: CsvDialect = {
    delimiter: Buffer.from(delimiter),
    quote: Buffer.from(quote),
    escape: Buffer.from(escape),
    comment: Buffer.from(comment),
  };
  return { fast: new CsvScanner(program, markers), slow: new SlowScanner(markers) };
}

const standard = new Map(
  [',', ';', '\t', '\\', ' ', '\0', '~', ''].map((text) => [text, scannersOf(text)]),
);
const dialects = new Map(
  [
    [',', '~'],
    [',', '"', '\\'],
    [',', '!', '#', '['],
    [',', '', '', '!'],
    ['é', '"', '"', 'é#'],
    ['漢', '🙂', '\\'],
    ['é', 'è', 'ê', '#'],
    ['~!', '~;', '~#', '~['],
    ['""', '!', ';', '##'],
    [',,', '"'],
  ].map((texts) => [texts.join(' '), scannersOf(...(texts as [string]))]),
);
const columns = 2;

describe('the scanner', () => {
  it('matches the slow scanner on any text of RFC 4180', () => {
    fc.assert(fc.property(texts, fc.constantFrom(...standard.keys()), fc.boolean(), expectSame), {
      numRuns: runs(5000),
    });
  });

  it('matches the slow scanner on any text, with any delimiters', () => {
    fc.assert(
      fc.property(texts, fc.constantFrom(...dialects.keys()), fc.boolean(), expectSameInDialect),
      { numRuns: runs(10_000) },
    );
  });

  it.each([
    ['in a plain cell', '', ''],
    ['in a quoted cell', '"', '"'],
    ['in the cell after it', 'a,', ''],
    ['behind a closing quote', '"a",b\n', '"'],
  ])('finds every byte at every offset %s', (_, before, after) => {
    for (let byte = 0; byte < 256; byte++) {
      for (const offset of offsets) {
        const start = Buffer.from(before + 'x'.repeat(offset));
        const text = Buffer.concat([start, Buffer.of(byte), Buffer.from(`${after},y\n1,2\n`)]);
        expectSame(text, ',', true);
      }
    }
  });

  it('finds the end of a text at every offset', () => {
    const text = Buffer.from('ab,"c\r\nd""e"\r\n'.repeat(12));
    for (let end = 0; end <= text.length; end++) {
      for (let start = 0; start <= 14; start++) {
        expectSame(text.subarray(start, end), ',', true);
        expectSame(text.subarray(start, end), ',', false);
      }
    }
  });

  it('reads a record of 10 MB, and short ones after it', async () => {
    const long = `${'x'.repeat(10_000_000)}\n`;
    const short = Array.from({ length: 10_000 }, (_, i) => `${i},b\n`);
    const text = Buffer.from(`a,b\n1,2\n3,"${long}"\n${short.join('')}`);
    const options = { inputFormat: 'csv', maxRecordBytes: 16 * 1024 * 1024 } as const;
    const { rows, parseErrors } = await readText(chunked(text, [100_000]), options);
    expect(parseErrors).toEqual([]);
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
        'è',
        'ê',
        '漢',
        '🙂',
      ),
      fc.integer({ min: 0, max: 70 }).map((length) => 'x'.repeat(length)),
    ),
    { maxLength: 40 },
  )
  .map((parts) => Buffer.from(parts.join('')));

function expectSame(text: Buffer, delimiter: string, last: boolean): void {
  const { fast, slow } = standard.get(delimiter)!;
  const found = foundBy(fast, text, last);
  expectOwnLines(fast, text, last);
  const expected = slowlyFound(slow, text, last);
  const plain = cellsOf(found.cells).map(([, end]) => end >= 0);
  const isPlain = cellsOf(expected.cells).map(([start, end]) => isJson(text, start, end));
  expectEqual({ ...found, plain }, { ...expected, plain: isPlain }, { text, delimiter, last });
}

/** But for what is marked as plain: here cells that need not be are looked at once more. */
function expectSameInDialect(text: Buffer, dialect: string, last: boolean): void {
  const { fast, slow } = dialects.get(dialect)!;
  const found = foundBy(fast, text, last);
  if (dialect.split(' ')[3] === undefined) expectOwnLines(fast, text, last); // without comments
  for (const [start, end] of cellsOf(found.cells)) {
    if (end >= 0) expect(isJson(text, start, end)).toBe(true);
  }
  expectEqual(found, slowlyFound(slow, text, last), { text, dialect, last });
}

/** If a record goes on behind the text, the line ends of its last cell are counted once that cell is whole. */
function expectOwnLines(scanner: CsvScanner, text: Buffer, last: boolean): void {
  scanner.begin(text, columns, last);
  const { next, failure, lineEnds, lastCell } = scanner.scan(0);
  if (failure || next !== BEYOND) return;
  if (lineEnds !== countLineEnds(text, 0, lastCell))
    expect(lineEnds, JSON.stringify(text.toString())).toBe(countLineEnds(text, 0, lastCell));
}

type Found = ReturnType<typeof foundBy>;
interface Said {
  readonly text: Buffer;
  readonly last: boolean;
  readonly delimiter?: string;
  readonly dialect?: string;
}
type Compared = Found & { readonly plain?: readonly boolean[] };

function expectEqual(found: Compared, expected: Compared, { text, ...said }: Said): void {
  const [one, other] = [found, expected].map((all) => ({
    ...all,
    cells: cellsOf(all.cells, true),
  }));
  if (JSON.stringify(one) === JSON.stringify(other)) return;
  expect(one, JSON.stringify({ text: text.toString(), ...said })).toEqual(other);
}

/** All that the scanner finds, and the first record of the text by itself. */
function foundBy(scanner: CsvScanner, text: Buffer, last: boolean) {
  scanner.begin(text, columns, last);
  const first = scanner.scan(0);
  const { used, line, bounds, lines, cells, parseErrors } = scanner.cut(1);
  return {
    first: first.failure ? FAULT : first.next,
    firstWidth: first.next < 0 ? 0 : first.width,
    parseErrors: parseErrors.map((failure) => ({ ...failure })),
    used,
    line,
    bounds: [...bounds],
    lines: [...lines],
    cells: [...cells],
  };
}

function slowlyFound(scanner: SlowScanner, text: Buffer, last: boolean): Found {
  const parseErrors: Found['parseErrors'] = [];
  const nextOf = (end: number) => (end < 0 ? end : afterLineEnd(text, end, last));
  scanner.begin(text, columns, last);
  const first = nextOf(scanner.scan(0));
  const firstWidth = first < 0 ? 0 : scanner.width;
  let at = 0;
  let line = 1;
  const quotingFailure = () => {
    const { failure: what, failureAt: where } = scanner;
    return { at, line, what, where, lineEnds: countLineEnds(text, at, where) };
  };
  for (;;) {
    const end = scanner.cut(at, line);
    ({ at, line } = scanner);
    if (end === BEYOND) break;
    if (end === FAULT && scanner.failure === openQuote) {
      parseErrors.push(quotingFailure());
      break;
    }
    const next = end === FAULT ? nextLine(text, scanner.failureAt, last) : nextOf(end);
    if (next === BEYOND) break;
    const lineEnds = countLineEnds(text, at, end);
    const failure =
      end === FAULT ? quotingFailure() : { at, line, what: scanner.width, where: end, lineEnds };
    parseErrors.push(failure);
    line += failure.lineEnds + 1;
    at = next;
  }
  const { count } = scanner;
  return {
    first,
    firstWidth,
    parseErrors,
    used: at,
    line,
    bounds: [...scanner.bounds.subarray(0, 2 * count)],
    lines: [...scanner.lines.subarray(0, count)],
    cells: [...scanner.cells.subarray(0, 2 * columns * count)],
  };
}

/** Start and end of each cell; `positive`: whether it is plain is not looked at. */
const cellsOf = (bounds: readonly number[], positive = false): [start: number, end: number][] =>
  Array.from({ length: bounds.length / 2 }, (_, index) => {
    const [start = 0, end = 0] = bounds.slice(2 * index, 2 * index + 2);
    return [start, positive && end < 0 ? ~end : end];
  });

/** Whether the bytes can stand in a JSON string as they are. */
const isJson = (text: Buffer, start: number, end: number): boolean =>
  text
    .subarray(start, end < 0 ? ~end : end)
    .every((byte) => byte >= 0x20 && byte !== 0x22 && byte !== 0x5c);
