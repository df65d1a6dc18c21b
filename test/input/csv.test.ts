import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assemble, chunkSizes, encode, encodings } from '../support/oracles/documents.js';
import { chunked, readText } from './read-rows.js';
import { runs } from '../support/property-runs.js';

const lineEnds = /\r\n|\r|\n/g;

describe('a well-formed CSV', () => {
  it('yields the rows, cells and lines of csv-parse', async () => {
    await fc.assert(
      fc.asyncProperty(documents, encodings, chunkSizes, async (document, encoding, sizes) => {
        const bytes = encode(document.text, encoding);
        const { headers, rows, parseErrors } = await readText(chunked(bytes, sizes), {
          inputFormat: 'csv',
          delimiter: ',', // another one, or titles above the header, must not be detected
          escape: '"', // nor one that the quotes of another program need
          skipLines: 0,
        });
        const [header, ...expected] = parse(document.text, {
          record_delimiter: ['\r\n', '\n', '\r'],
          skip_empty_lines: true,
        });
        expect(headers).toEqual([header]);
        expect(rows.map(({ cells }) => cells)).toEqual(expected);
        expect(rows.map(({ text, line }) => ({ text, line }))).toEqual(document.records.slice(1));
        expect(parseErrors).toEqual([]);
      }),
      { numRuns: runs(400) },
    );
  });
});

describe('any text as CSV', () => {
  it('yields the rows and errors of a slow reader with the same rules', async () => {
    await fc.assert(
      fc.asyncProperty(wildTexts, async (text) => {
        const { rows, parseErrors } = await readText(`c,d\n${text}`, { inputFormat: 'csv' });
        expect([...rows.map(outcome), ...parseErrors.map(outcome)].toSorted()).toEqual(
          slowlyRead(text, 2).toSorted(),
        );
      }),
      { numRuns: runs(800) },
    );
  });

  it('does not depend on where chunks end', async () => {
    await fc.assert(
      fc.asyncProperty(wildTexts, chunkSizes, async (text, sizes) => {
        const bytes = Buffer.from(`c,d\n${text}`);
        const whole = await readText(bytes, { inputFormat: 'csv' });
        expect(await readText(chunked(bytes, sizes), { inputFormat: 'csv' })).toEqual(whole);
      }),
      { numRuns: runs(250) },
    );
  });
});

describe('a delimiter of several bytes', () => {
  it.each(['::', '§', '||;'])('%s yields the same as a comma', async (delimiter) => {
    await fc.assert(
      fc.asyncProperty(wildTexts, chunkSizes, async (text, sizes) => {
        const commas = await readText(`c,d\n${text}`, { inputFormat: 'csv' });
        const bytes = Buffer.from(`c,d\n${text}`.replaceAll(',', delimiter));
        const read = await readText(chunked(bytes, sizes), { inputFormat: 'csv', delimiter });
        const expected = commas.rows.map(({ line, cells }) => ({
          line,
          cells: cells?.map((cell) => cell.replaceAll(',', delimiter)),
        }));
        expect(read.rows.map(({ line, cells }) => ({ line, cells }))).toEqual(expected);
        expect(read.parseErrors.map(({ line, error }) => ({ line, error }))).toEqual(
          commas.parseErrors.map(({ line, error }) => ({ line, error })),
        );
      }),
      { numRuns: runs(200) },
    );
  });

  it('can start like the content of a cell', async () => {
    const options = { inputFormat: 'csv', delimiter: '::' } as const;
    for (const sizes of [[1], [100]]) {
      const bytes = Buffer.from('a::b\n1:2:::3\n":"::"x":\n');
      const { rows, parseErrors } = await readText(chunked(bytes, sizes), options);
      expect(rows.map(({ cells }) => cells)).toEqual([['1:2', ':3']]);
      expect(parseErrors).toMatchObject([{ line: 3, error: 'text after a closing quote' }]);
    }
  });
});

describe('D an error in a CSV', () => {
  it.each([
    ['too few cells', '1\n2,b', { line: 2, error: '1 cell, but the header has 2', raw: '1' }],
    [
      'too many cells',
      '1,a,x\n2,b',
      { line: 2, error: '3 cells, but the header has 2', raw: '1,a,x' },
    ],
    [
      'a ragged row over two lines',
      '1,"x\ny",z\n2,b',
      { line: 2, error: '3 cells, but the header has 2', raw: '1,"x\ny",z' },
    ],
    [
      'text after a closing quote',
      '1,"a"x\n2,b',
      { line: 2, column: 6, error: 'text after a closing quote', raw: '1,"a"x' },
    ],
    [
      'a quote in an unquoted cell',
      '1,5" pipe\n2,b',
      { line: 2, column: 4, error: 'quote in an unquoted cell', raw: '1,5" pipe' },
    ],
    [
      'a lost quote, found at the next quote',
      '1,"a\n2,b\n3,"c"\n4,d',
      {
        line: 2,
        error: 'text after a closing quote, on line 4: lines 2 to 4 are one rejected record',
        raw: '1,"a\n2,b\n3,"c"',
      },
    ],
  ])('%s is one error, and reading resumes on the next line', async (_, text, failure) => {
    const { rows, parseErrors } = await readText(`id,name\n${text}`, { inputFormat: 'csv' });
    expect(parseErrors).toEqual([{ column: undefined, ...failure }]);
    const lines = text.split('\n').length;
    expect(rows.at(-1)).toMatchObject({ line: lines + 1 });
  });

  it('does not shift the numbers of later lines, blank ones included', async () => {
    const { rows, parseErrors } = await readText('a,b\r\n\r\n1\r2,"x\r\ny"\n\n3,"\n"z\n4,4\r\n', {
      inputFormat: 'csv',
    });
    expect(parseErrors.map(({ line }) => line)).toEqual([3, 7]);
    expect(rows.map(({ line }) => line)).toEqual([4, 9]);
  });
});

describe('D an unclosed quote', () => {
  const text = 'id,name\n1,a\n2,"b\nc","d\n3,e\n4,f\n';

  it('ends the input on its line: no record is made of the text after it', async () => {
    for (const sizes of [[1], [1000]]) {
      const { rows, parseErrors, error } = await readText(chunked(Buffer.from(text), sizes), {
        inputFormat: 'csv',
      });
      expect(rows.map(({ line }) => line)).toEqual([2]);
      expect(parseErrors).toEqual([]);
      expect(error).toMatchObject({ id: 'E-CSV-QUOTE', details: { line: 4, column: 4 } });
    }
  });

  it('is one error with --recover-quotes, and reading resumes on the next line', async () => {
    const { rows, parseErrors, error } = await readText(text, {
      inputFormat: 'csv',
      recoverQuotes: true,
    });
    expect(error).toBeUndefined();
    expect(rows.map(({ line }) => line)).toEqual([2, 5, 6]);
    expect(parseErrors).toMatchObject([{ line: 3, raw: '2,"b\nc","d' }]);
  });

  it('is reported at the maximum record length, however long the input is', async () => {
    const long = 'x,y\n'.repeat(1000);
    const options = { inputFormat: 'csv', maxRecordBytes: 1000 } as const;
    const whole = Buffer.from(`id,name\n1,a\n2,"${long}3,e\n`);
    const stopped = await readText(chunked(whole, [100]), options);
    expect(stopped.rows.map(({ line }) => line)).toEqual([2]);
    expect(stopped.error).toMatchObject({ id: 'E-CSV-QUOTE', details: { line: 3, column: 3 } });
    const recovered = await readText(chunked(whole, [100]), { ...options, recoverQuotes: true });
    expect(recovered.parseErrors).toMatchObject([{ line: 3 }]);
    expect(recovered.rows.map(({ line }) => line).slice(0, 2)).toEqual([2, 4]);
    expect(recovered.rows.at(-1)).toMatchObject({ text: '3,e' });
  });

  it('includes a quoted cell longer than a record, wherever chunks end', async () => {
    const text = Buffer.from(`id,name\n1,a\n2,"${'x\n'.repeat(2500)}"\n3,e\n`);
    for (const size of [100, 1003, 100_000]) {
      const { rows, error } = await readText(chunked(text, [size]), {
        inputFormat: 'csv',
        maxRecordBytes: 1000,
      });
      expect(rows.map(({ line }) => line)).toEqual([2]);
      expect(error).toMatchObject({ id: 'E-CSV-QUOTE', details: { line: 3, column: 3 } });
    }
  });

  it.each([',', '||'])(
    'does not shift line numbers behind a long record, wherever a chunk ends: %s',
    async (delimiter) => {
      const long = 'L'.repeat(1500);
      const text = `a|b|c\nz|z|z\nlong|"a\n\n\n${long}"|y\nlong|${long}|"c\n""\n"\nbad|x\nu|v|w\n`;
      const bytes = Buffer.from(text.replaceAll('|', delimiter));
      const options = {
        inputFormat: 'csv',
        delimiter,
        maxRecordBytes: 1000,
        recoverQuotes: true,
      } as const;
      for (let end = 1; end < bytes.length; end += 1) {
        if (bytes[end] === bytes[end - 1] && bytes[end] === long.charCodeAt(0)) continue;
        const read = await readText([bytes.subarray(0, end), bytes.subarray(end)], options);
        expect([end, read.error, read.rows.at(-1)?.line]).toEqual([end, undefined, 11]);
        expect([end, read.parseErrors.at(-1)?.line]).toEqual([end, 10]);
      }
    },
  );

  it('is not mistaken for a long record that starts with a quoted cell of several lines', async () => {
    const text = `id,name\n"a\nb,c\nd",${'x'.repeat(5000)}\n2,e\n`;
    const { rows, parseErrors, error } = await readText(chunked(Buffer.from(text), [100]), {
      inputFormat: 'csv',
      maxRecordBytes: 1000,
    });
    expect(error).toBeUndefined();
    expect(parseErrors).toMatchObject([{ line: 2 }]);
    expect(rows).toMatchObject([{ line: 5, text: '2,e' }]);
  });
});

describe('a CSV', () => {
  it('keeps NUL, control characters and names such as __proto__ as data', async () => {
    const { headers, rows } = await readText('__proto__,b\n\0x\u{1b},\t\n', { inputFormat: 'csv' });
    expect(headers).toEqual([['__proto__', 'b']]);
    expect(rows[0]?.cells).toEqual(['\0x\u{1b}', '\t']);
  });

  it('can have quotes and line breaks in its header', async () => {
    const { headers, rows } = await readText('\n"a\n""x""",b\r\n1,2\n', { inputFormat: 'csv' });
    expect(headers).toEqual([['a\n"x"', 'b']]);
    expect(rows).toEqual([{ line: 4, text: '1,2', cells: ['1', '2'] }]);
  });

  it('loses a byte order mark only at the start, wherever chunks end', async () => {
    const bytes = Buffer.from('\u{FEFF}abc\n\u{FEFF}\n');
    for (const size of [1, 7, 100]) {
      const { headers, rows } = await readText(chunked(bytes, [size]), { inputFormat: 'csv' });
      expect(headers).toEqual([['abc']]);
      expect(rows[0]?.cells).toEqual(['\u{FEFF}']);
    }
  });

  it('keeps a byte order mark in the middle', async () => {
    const { headers, rows } = await readText('\u{FEFF}a\n\u{FEFF}1\n', { inputFormat: 'csv' });
    expect(headers).toEqual([['a']]);
    expect(rows[0]?.cells).toEqual(['\u{FEFF}1']);
  });

  it.each(['a,b', 'a,b\n', 'a,b\r\n\r\n\n'])('with only a header has no rows: %j', async (text) => {
    expect(await readText(text, { inputFormat: 'csv' })).toMatchObject({
      rows: [],
      parseErrors: [],
    });
  });

  it('of one column has no row for a blank line, but one for a quoted empty cell', async () => {
    const { rows } = await readText('a\n\n""\n', { inputFormat: 'csv' });
    expect(rows).toEqual([{ line: 3, text: '""', cells: [''] }]);
  });

  it.each([
    ['tsv', undefined, 'a\tb\n1,1\t2\n', ['1,1', '2']],
    ['csv', ';', 'a;b\n1,1;2\n', ['1,1', '2']],
    ['csv', '|', 'a|b\n"1|1"|2\n', ['1|1', '2']],
  ] as const)('as %s with delimiter %s', async (format, delimiter, text, cells) => {
    const options = { inputFormat: format, ...(delimiter && { delimiter }) };
    expect((await readText(text, options)).rows[0]?.cells).toEqual(cells);
  });
});

const cell = fc.oneof(
  fc.string({ maxLength: 5 }),
  fc
    .array(fc.constantFrom('a', 'é', '漢', '🙂', ' ', ',', '"', '\n', '\r', '\r\n', '\0', '\t'), {
      maxLength: 6,
    })
    .map((parts) => parts.join('')),
);
const lineEnd = fc.constantFrom('\n', '\r\n', '\r');

/** Rows under a header of distinct names, quoted where need be, with blank lines in between. */
const documents = fc.integer({ min: 1, max: 4 }).chain((columns) =>
  fc
    .record({
      rows: fc.array(
        fc.record({
          cells: fc.array(cell, { minLength: columns, maxLength: columns }),
          quoteAll: fc.boolean(),
          end: lineEnd,
          blank: fc.array(lineEnd, { maxLength: 2 }),
        }),
        { maxLength: 8 },
      ),
      headerEnd: lineEnd,
      finalEnd: fc.boolean(),
    })
    .map(({ rows, headerEnd, finalEnd }) => {
      const header = Array.from({ length: columns }, (_, i) => `c${i}`).join(',');
      const pieces = rows.flatMap(({ cells, quoteAll, end, blank }, i) => [
        { text: toCsv(cells, quoteAll), record: true },
        { text: i < rows.length - 1 || finalEnd ? end + blank.join('') : '', record: false },
      ]);
      const start = [
        { text: header, record: true },
        { text: headerEnd, record: false },
      ];
      return assemble([...start, ...pieces], lineEnds);
    }),
);

function toCsv(cells: readonly string[], quoteAll: boolean): string {
  const row = cells.map((text) =>
    quoteAll || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text,
  );
  return row.join(',') || '""'; // a row of one empty cell would be a blank line
}

/** Short texts in which every second byte matters. */
const wildTexts = fc
  .array(fc.constantFrom('a', 'b,', '"', '"', ',', '\n', '\n', '\r', '\r\n', '1,2\n', '""'), {
    maxLength: 25,
  })
  .map((parts) => parts.join(''));

const outcome = ({
  line,
  error,
  text,
  cells,
}: {
  line: number;
  error?: string;
  text?: string;
  cells?: readonly string[] | undefined;
}): string => JSON.stringify({ line, failure: error !== undefined, text, cells });

/** Where the cell at `start` breaks the rules of quoting; undefined where its quote is never closed. */
function quotingErrorIn(text: string, start: number): number | undefined {
  const rest = text.slice(start);
  if (!rest.startsWith('"')) return start + rest.indexOf('"');
  const quoted = /^"(?:[^"]|"")*"(?!")/.exec(rest);
  return quoted ? start + quoted[0].length : undefined;
}

/** Whether a row with an error has a quoted cell that is closed on a later line than the error, if the text in front of it, line ends included, has none. */
function mayGoOn(text: string, start: number, errorAt: number): boolean {
  const lines = text.slice(start, errorAt + text.slice(errorAt).search(/[\r\n]|$/));
  const quoted = /"(?:[^"]|"")*"(?!")(?=,|\r|\n|$)/y;
  return [...lines.matchAll(/(?<=^|[,\r\n])"/g)].some(({ index }) => {
    quoted.lastIndex = start + index;
    return quoted.test(text) && quoted.lastIndex - 1 > start + lines.length;
  });
}

/** The rules of CsvCutter with regular expressions on a string; the header is on line 1. */
function slowlyRead(text: string, columns: number): string[] {
  const outcomes: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(?=(,|\r|\n|$))/y;
  for (let start = 0; start < text.length;) {
    const line = 2 + (text.slice(0, start).match(lineEnds)?.length ?? 0);
    const cells: string[] = [];
    let end = start;
    let cellAt = start;
    for (let after: string | undefined = ','; after === ',';) {
      cellAt = cells.length === 0 ? start : end + 1;
      field.lastIndex = cellAt;
      const match = field.exec(text);
      if (match) cells.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
      if (match) end = field.lastIndex;
      after = match?.[3] ?? 'failure';
      if (after === 'failure') cells.length = 0;
    }
    const broken = cells.length === 0;
    const record = text.slice(start, end);
    const errorAt = broken ? quotingErrorIn(text, cellAt) : end;
    if (errorAt === undefined) break; // an open quote ends the input
    const isWrong = broken || (record !== '' && cells.length !== columns);
    if (isWrong && mayGoOn(text, start, errorAt)) break; // so does a row that may have more lines
    if (isWrong) outcomes.push(outcome({ line, error: '' }));
    else if (record !== '') outcomes.push(outcome({ line, text: record, cells }));
    const lineEnd = /\r\n|\r|\n|$/g;
    lineEnd.lastIndex = errorAt;
    lineEnd.exec(text);
    start = Math.max(lineEnd.lastIndex, start + 1);
  }
  return outcomes;
}
