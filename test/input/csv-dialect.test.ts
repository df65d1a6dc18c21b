import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunkSizes, encode, encodings } from '../support/oracles/documents.js';
import { chunked, readText } from './read-rows.js';
import { runs } from '../support/property-runs.js';

interface Marks {
  readonly delimiter: string;
  readonly quote: string;
  readonly escape: string;
  readonly comment: string;
}

const marks: readonly Marks[] = [
  { delimiter: ',', quote: "'", escape: "'", comment: '#' },
  { delimiter: ';', quote: '"', escape: '\\', comment: '//' },
  { delimiter: '::', quote: '§', escape: '§', comment: '--' },
  { delimiter: '||;', quote: "'", escape: '^', comment: '--' },
  { delimiter: '\t', quote: '«', escape: '€', comment: '%' },
];

describe('a CSV of another dialect', () => {
  it('finds its header row above a quoted cell that looks like a table, in quotes that are not ASCII', async () => {
    const text = 'c0\n«x\na,b\nc,d\ne,f«\n';
    const options = { inputFormat: 'csv', delimiter: ',', quote: '«' } as const;
    const { headers, rows, error } = await readText([Buffer.from(text)], options);
    expect([error, headers]).toEqual([undefined, [['c0']]]);
    expect(rows.map(({ cells }) => cells)).toEqual([['x\na,b\nc,d\ne,f']]);
  });

  it('yields the rows of csv-parse, wherever chunks end', async () => {
    await fc.assert(
      fc.asyncProperty(
        documents(),
        encodings,
        chunkSizes,
        async ({ text, dialect }, encoding, sizes) => {
          const chunks = chunked(encode(text, encoding), sizes);
          const read = await readText(chunks, { inputFormat: 'csv', skipLines: 0, ...dialect });
          const [header, ...expected] = parse(text, {
            ...dialect,
            comment_no_infix: true,
            record_delimiter: ['\r\n', '\n', '\r'],
            skip_empty_lines: true,
            info: true,
          }) as unknown as { record: string[]; info: { lines: number } }[];
          expect(read.headers).toEqual([header?.record]);
          expect(read.rows.map(({ cells }) => cells)).toEqual(expected.map(({ record }) => record));
          expect(read.parseErrors).toEqual([]);
        },
      ),
      { numRuns: runs(300) },
    );
  });

  it('with standard delimiters follows the standard, errors and lines included', async () => {
    await fc.assert(
      fc.asyncProperty(wildTexts, chunkSizes, async (text, sizes) => {
        const standard = await readText(`c,d\n${text}`, { inputFormat: 'csv' });
        const comment = 'never there';
        const chunks = chunked(Buffer.from(`c,d\n${text}`), sizes);
        expect(await readText(chunks, { inputFormat: 'csv', comment })).toEqual(standard);
      }),
      { numRuns: runs(400) },
    );
  });

  it.each(["'", '§'])('with the quote %s yields the standard result', async (quote) => {
    await fc.assert(
      fc.asyncProperty(wildTexts, chunkSizes, async (text, sizes) => {
        const { rows, parseErrors } = await readText(`c,d\n${text}`, { inputFormat: 'csv' });
        const other = Buffer.from(`c,d\n${text}`.replaceAll('"', quote));
        const read = await readText(chunked(other, sizes), { inputFormat: 'csv', quote });
        expect(read.rows.map(({ line, cells }) => ({ line, cells }))).toEqual(
          rows.map(({ line, cells }) => ({
            line,
            cells: cells?.map((cell) => cell.replaceAll('"', quote)),
          })),
        );
        expect(read.parseErrors.map(({ line, error }) => ({ line, error }))).toEqual(
          parseErrors.map(({ line, error }) => ({ line, error })),
        );
      }),
      { numRuns: runs(200) },
    );
  });

  it.each([
    ['§', ','],
    ['"', '||;'],
  ])(
    'with the marks %s and %s stops before the same cell, wherever chunks end',
    async (...marks) => {
      const [quote, delimiter] = marks;
      const text = 'c,d\na"b,"1,2\n"""'.replaceAll(',', delimiter).replaceAll('"', quote);
      for (const size of [1, 2, 3, 5, 100]) {
        const chunks = chunked(Buffer.from(text), [size]);
        const read = await readText(chunks, { inputFormat: 'csv', quote, delimiter });
        expect([read.rows, read.parseErrors, read.error]).toMatchObject([
          [],
          [],
          { message: expect.stringContaining('a cell behind it may have several lines') as string },
        ]);
      }
    },
  );

  it('keeps lines and raw texts of records and errors between comments', async () => {
    const text = "# by hand\n#\na;b\n'1';x\n# 'not closed\n2;'y\n'z'\n3\n4;'it''s \"4\"'\n";
    const options = { inputFormat: 'csv', delimiter: ';', quote: "'", comment: '#' } as const;
    for (const sizes of [[1], [7], [100]]) {
      const { headers, rows, parseErrors } = await readText(
        chunked(Buffer.from(text), sizes),
        options,
      );
      expect(headers).toEqual([['a', 'b']]);
      expect(rows).toEqual([
        { line: 4, text: "'1';x", cells: ['1', 'x'] },
        { line: 9, text: "4;'it''s \"4\"'", cells: ['4', 'it\'s "4"'] },
      ]);
      expect(parseErrors).toEqual([
        {
          line: 6,
          column: undefined,
          error: 'text after a closing quote, on line 7: lines 6 to 7 are one rejected record',
          raw: "2;'y\n'z'",
        },
        { line: 8, column: undefined, error: '1 cell, but the header has 2', raw: '3' },
      ]);
    }
  });

  it('without quotes treats every quotation mark as data', async () => {
    const { rows } = await readText('a,b\n"x,5" pipe\n"",\\"\n', { inputFormat: 'csv', quote: '' });
    expect(rows.map(({ cells }) => cells)).toEqual([
      ['"x', '5" pipe'],
      ['""', '\\"'],
    ]);
  });

  it('skips an overlong record in flat memory, and continues', async () => {
    const long = `'1';${'x'.repeat(300_000)}`;
    const options = {
      inputFormat: 'csv',
      delimiter: ';',
      quote: "'",
      maxRecordBytes: 1000,
    } as const;
    const { rows, parseErrors } = await readText(`a;b\n${long}\n2;y\n`, options);
    expect(parseErrors.map(({ line }) => line)).toEqual([2]);
    expect(rows).toEqual([{ line: 3, text: '2;y', cells: ['2', 'y'] }]);
  });

  it.each([
    [{ quote: ',' }, '--delimiter "," cannot be used'],
    [{ delimiter: "-'-", quote: "'" }, '--delimiter'],
    [{ comment: '"x' }, '--comment'],
    [{ escape: ',' }, '--delimiter'],
    [{ delimiter: '|'.repeat(1025) }, '--delimiter'],
  ])('%j is refused as ambiguous', async (options, message) => {
    const reading = readText('a,b\n', { inputFormat: 'csv', ...options });
    await expect(reading).rejects.toMatchObject({
      id: 'E-USAGE',
      message: expect.stringContaining(message) as string,
    });
  });
});

/** Rows under a header of distinct names, quoted where need be, with blank lines and comments. */
function documents() {
  return fc
    .record({ dialect: fc.constantFrom(...marks), columns: fc.integer({ min: 2, max: 4 }) })
    .chain(({ dialect, columns }) =>
      fc
        .record({
          rows: fc.array(fc.array(cellOf(dialect), { minLength: columns, maxLength: columns }), {
            maxLength: 6,
          }),
          ends: fc.array(fc.constantFrom('\n', '\r\n', '\r', '\n\n'), {
            minLength: 8,
            maxLength: 8,
          }),
          comments: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
          final: fc.boolean(),
        })
        .map(({ rows, ends, comments, final }) => {
          const header = Array.from({ length: columns }, (_, i) => `c${i}`);
          const lines = [header, ...rows].map((row, i) => {
            const line = row.map((cell) => written(cell, dialect)).join(dialect.delimiter);
            const isLast = i === rows.length;
            const remark = comments[i] ? `${dialect.comment} ${dialect.quote}${ends[i]!}` : '';
            return `${remark}${line}${isLast && !final ? '' : ends[i]!}`;
          });
          return { text: lines.join(''), dialect };
        }),
    );
}

/** A cell that needs it is quoted, and so is one that could be taken for a comment. */
function written(cell: string, { delimiter, quote, escape, comment }: Marks): string {
  const special = [delimiter, quote, escape, comment, '\r', '\n'];
  if (cell !== '' && !special.some((mark) => cell.includes(mark[0]!))) return cell;
  const marked = escape === quote ? [quote] : [escape, quote];
  const content = marked.reduce((text, mark) => text.replaceAll(mark, escape + mark), cell);
  return `${quote}${content}${quote}`;
}

const cellOf = ({ delimiter, quote, escape, comment }: Marks) =>
  fc
    .array(
      fc.constantFrom(
        ...Array.from(delimiter),
        quote,
        escape,
        ...Array.from(comment),
        'a',
        'é',
        '🙂',
        '"',
        '""',
        '\n',
        '\r\n',
      ),
      { maxLength: 6 },
    )
    .map((parts) => parts.join(''));

/** Short texts in which every second byte matters. */
const wildTexts = fc
  .array(fc.constantFrom('a', 'b,', '"', '"', ',', '\n', '\n', '\r', '\r\n', '1,2\n', '""'), {
    maxLength: 25,
  })
  .map((parts) => parts.join(''));

/** A cell in the dialect of a program: all quoted, as where a program need not look into them. */
const writers = {
  doubled: (cell: string) => `"${cell.replaceAll('"', '""')}"`,
  // csv of Python with doublequote=False, escapechar='\\'; Spark; MySQL without line ends
  backslash: (cell: string) => `"${cell.replaceAll(/["\\]/g, String.raw`\$&`)}"`,
  mysql: (cell: string) => `"${cell.replaceAll(/["\\\n]/g, String.raw`\$&`)}"`,
  // fputcsv of PHP: a quote behind a backslash is not doubled
  php: (cell: string) => `"${cell.replaceAll(/\\.|"/gs, (one) => (one === '"' ? '""' : one))}"`,
  // older ones of Python do not escape the backslash
  quotesOnly: (cell: string) => `"${cell.replaceAll('"', String.raw`\"`)}"`,
  blank: (cell: string) => ` "${cell.replaceAll('"', '""')}"`,
  blanks: (cell: string) => ` "${cell.replaceAll('"', '""')}" `,
  tab: (cell: string) => `\t"${cell.replaceAll('"', '""')}"`,
  wideSpace: (cell: string) => `\u3000"${cell.replaceAll('"', '""')}"`,
  softHyphen: (cell: string) => `\u00AD"${cell.replaceAll('"', '""')}"`,
  spreadsheet: (cell: string) => `="${cell.replaceAll('"', '""')}"`,
  blankAndBackslash: (cell: string) => ` "${cell.replaceAll(/["\\]/g, String.raw`\$&`)}"`,
} as const;

describe('quotes that another program wrote', () => {
  /** What a visitor may type, to make a record of a part of it. */
  const pieces = ['\\', '"', '\n', 'victim,x', ',', '""', String.raw`\"`, 'text', ' ', 'C:\\dir\\'];
  const cellOfPieces = (all: readonly string[]) =>
    fc.array(fc.constantFrom(...all), { maxLength: 8 }).map((some) => some.join(''));
  const cell = cellOfPieces(pieces);
  const rows = fc.array(cell, { minLength: 1, maxLength: 6 });

  const others = Object.keys(writers).filter(
    (name) => name !== 'doubled',
  ) as (keyof typeof writers)[];

  it.each(others)('do not make a record of the inside of a cell: %s', async (writer) => {
    const ends = fc.constantFrom(',Oslo', ',Oslo ', ',5" pipe');
    await fc.assert(
      fc.asyncProperty(rows, ends, chunkSizes, async (cells, end, sizes) => {
        // Such programs cannot read their own cell that ends with a backslash.
        const isReadable = (text: string) =>
          !['php', 'quotesOnly'].includes(writer) || !text.endsWith('\\');
        const lines = cells
          .filter(isReadable)
          .map((text, n) => `u${n},${writers[writer](text)}${n % 2 === 0 ? end : ',Rome'}\n`);
        const text = `identity,Note,City\n${lines.join('')}`;
        const options = { inputFormat: 'csv', delimiter: ',' } as const;
        const read = await readText(chunked(Buffer.from(text), sizes), options);
        const users = read.rows.map((row) => row.cells?.[0]);
        expect(users.filter((user) => !/^u\d$/.test(user ?? ''))).toEqual([]);
      }),
      { numRuns: runs(500) },
    );
  });

  /** Programs whose cells are errors for us, and cells of several lines behind them. */
  const lax = {
    'blanks behind quotes': (cell: string) => `"${cell.replaceAll('"', '""')}" `,
    'tabs around quotes': (cell: string) => `\t"${cell.replaceAll('"', '""')}"\t`,
    'blanks behind quotes, and backslashes': (cell: string) =>
      `"${cell.replaceAll(/["\\]/g, String.raw`\$&`)}" `,
    // Spark with escapeQuotes=false: a cell without line ends and delimiters is as it is
    'bare quotes': (cell: string) =>
      /[,\n]/.test(cell) || cell.startsWith('"')
        ? `"${cell.replaceAll(/["\\]/g, String.raw`\$&`)}"`
        : cell,
    // only line ends and delimiters need quotes: other text is as it is, also if it starts with one
    'quotes as they are': (cell: string) =>
      /[,\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell,
  } as const;
  const ownCell = '(?:"(?:[^"]|"")*"|[^",\\n][^",\\n]*)?';
  const standardRow = new RegExp(`${ownCell}(?:,${ownCell}){3}\\n`, 'y');
  /** Whether a row of the standard begins with a row and ends elsewhere: nothing shows that it is another one. */
  const isPlausible = (rows: readonly string[]) => {
    const text = rows.join('');
    let end = 0;
    const ends = rows.map((row) => (end += row.length));
    return ends.some((end, n) => {
      standardRow.lastIndex = end - rows[n]!.length;
      return standardRow.test(text) && !ends.includes(standardRow.lastIndex);
    });
  };
  const laxCases = Object.keys(lax).flatMap((writer) =>
    [undefined, '"', '\\'].map((escape) => ({ writer: writer as keyof typeof lax, escape })),
  );
  const isRightEscape = ({ writer, escape }: (typeof laxCases)[number]): boolean =>
    escape === undefined || (escape === '\\') === /bare|backslashes/.test(writer);

  it.each(laxCases.filter(isRightEscape))(
    'do not make a record of a cell behind an error: $writer, --escape $escape',
    async ({ writer, escape }) => {
      const size = fc.constantFrom('5" disk', ...(writer === 'quotes as they are' ? ['5'] : []));
      const wide = cellOfPieces([...pieces, '\nvictim,1,2,x\n']);
      const pairs = fc.array(fc.tuple(wide, size, wide), { minLength: 1, maxLength: 4 });
      const forms = fc.record({
        isTextFirst: fc.boolean(),
        delimiter: fc.constantFrom(',', ', ', '||'),
      });
      await fc.assert(
        fc.asyncProperty(pairs, forms, chunkSizes, async (cells, form, sizes) => {
          const { isTextFirst, delimiter } = form;
          const lines = cells.map(([one, size, other], n) => {
            const [user, note] = [`u${n}`, lax[writer](one)];
            const [first, second] = isTextFirst ? [note, user] : [user, note];
            return `${first},${second},${size},${lax[writer](other)}\n`;
          });
          fc.pre(writer !== 'quotes as they are' || !isPlausible(lines));
          const commas = `${isTextFirst ? 'Note,identity' : 'identity,Note'},Size,City\n${lines.join('')}`;
          const text = commas.replaceAll(',', delimiter);
          const options = { inputFormat: 'csv', delimiter } as const;
          const read = await readText(chunked(Buffer.from(text), sizes), {
            ...options,
            ...(escape !== undefined && { escape }),
          });
          const users = read.rows.map((row) => row.cells?.[isTextFirst ? 1 : 0]);
          expect(users.filter((user) => !/^u\d$/.test(user ?? ''))).toEqual([]);
        }),
        { numRuns: runs(500) },
      );
    },
  );

  it.each([
    ['a blank behind the quote before', '"ann" ,"x\nbob,1,2\ny",3', undefined],
    ['a quote in a bare cell before', 'ann,5" pipe,"x\nbob,1,2\ny"', undefined],
    ['a blank in front of it', 'ann, "x\nbob,1,2\ny",3', '\\'],
    ['a quote at the start of a bare cell before', 'ann,"5" pipe,"x\nbob,1,2\ny"', undefined],
    ['a quote at the start of a bare cell, and a comma', 'ann,x"5,"a,",\nbob,1,2\ny"', undefined],
    ['nothing but a quote before', 'ann,","x\nbob,1,2\ny"', undefined],
    ['a quote before, so that cells are missing', 'ann,"5,"\nbob,1,2\ny"', undefined],
    ['a quote before, so that there are more cells', 'ann,"5,",1,2\nbob,1,2\ny"', undefined],
  ])('stop before a cell of several lines with %s', async (_, row, escape) => {
    const options = { inputFormat: 'csv', delimiter: ',', ...(escape && { escape }) } as const;
    const read = await readText(`identity,a,b\n${row}\n`, options);
    expect(read.rows).toEqual([]);
    expect(read.error).toMatchObject({ id: 'E-CSV-QUOTE', details: { line: 2 } });
  });

  it.each([
    ['', '1,ann,"x\n"hi\nbob,1,2\ny",eve,3', 3],
    [', in CR', '1,ann,"x\r"hi\rbob,1,2\ry",eve,3', 3],
    [', and a blank', '1,ann,"x\n "hi\nbob,1,2\ny",eve,3', 3],
    [', and more cells', '1,ann,"x\n",\nbob,1,2\ny",eve,3', 2],
  ])('stop before a cell in front of which a quote takes the line end%s', async (_, row, line) => {
    const read = await readText(`a,identity,b\n${row}\n`, { inputFormat: 'csv', delimiter: ',' });
    expect(read.rows).toEqual([]);
    expect(read.error).toMatchObject({ id: 'E-CSV-QUOTE', details: { line } });
  });

  it.each([', ', '; ', '\t\t', ' | ', '='])(
    'stop before a cell of several lines behind the delimiter %j, wherever chunks end',
    async (delimiter) => {
      const rows = ['ann|say "hi" there|"x', 'bob|1|2', 'y"'].join('\n').replaceAll('|', delimiter);
      const text = `${['identity', 'a', 'b'].join(delimiter)}\n${rows}\n`;
      const long = text.replace('say', 'say'.repeat(1000));
      for (const [content, size] of [text, long].flatMap((one) =>
        [1, 7, 5000].map((n) => [one, n] as const),
      )) {
        const options = { inputFormat: 'csv', delimiter, maxRecordBytes: 1000 } as const;
        const read = await readText(chunked(Buffer.from(content), [size]), options);
        expect([size, read.rows]).toEqual([size, []]);
        expect(read.error).toMatchObject({ id: 'E-CSV-QUOTE', details: { line: 2 } });
      }
    },
  );

  it.each([
    // Spark does not escape backslashes in cells without quotes
    [String.raw`ann,\,"\"⏎bob,1,2⏎\"x\\",""`, undefined],
    [String.raw`ann,5" \,"\"⏎bob,1,2⏎\"x\\"`, '\\'],
    // with escapeQuotes=false it writes these quotes without others
    [String.raw`ann, ",\,"\⏎bob,1,2⏎"`, undefined],
    // in a row with more cells
    [String.raw`ann,5,"say \"",7⏎u1,"⏎bob,1,2⏎bye ",z`, undefined],
    // behind an error
    [String.raw`"ann" ,"","⏎bob,1,2⏎\" "`, undefined],
  ])('stop before a cell of several lines with backslashes: %s', async (row, escape) => {
    const options = { inputFormat: 'csv', delimiter: ',', ...(escape && { escape }) } as const;
    const text = `identity,a,b\n${row.replaceAll('⏎', '\n')}\n`;
    const read = await readText(text, options);
    expect(read.rows).toEqual([]);
    expect(read.error).toMatchObject({ id: 'E-CSV-QUOTE', details: { line: 2 } });
  });

  it.each(['||', ',,', '||||', ', '])(
    'stop before a cell with a backslash, where a chunk ends behind the delimiter %j',
    async (delimiter) => {
      const text = 'a|identity\nz|z\n"b\\"\nbob|1\n"|"u1"\nq|u2\n'.replaceAll('|', delimiter);
      for (let end = 1; end < text.length; end += 1) {
        const chunks = [text.slice(0, end), text.slice(end)].map((chunk) => Buffer.from(chunk));
        const read = await readText(chunks, { inputFormat: 'csv', delimiter });
        expect([end, read.rows.map(({ line }) => line)]).toEqual([end, [2]]);
        expect(read.error).toMatchObject({ id: 'E-CSV-QUOTE', details: { line: 3 } });
      }
    },
  );

  it('are found in a time that grows with the text, if quotes count as blanks', async () => {
    const text = `identity,Note\nann,${'='.repeat(400_000)}x\nbob,y\n`; // took half an hour
    const read = await readText(text, { inputFormat: 'csv', quote: '=' });
    expect([read.error, read.rows.map(({ line }) => line)]).toEqual([undefined, [3]]);
  });

  it('do not stop before JSON of several lines with a quote at the end of a text', async () => {
    const json = JSON.stringify({ size: '5"', n: ['"'] }, undefined, 2);
    const text = `identity,Note\nann,${writers.doubled(json)}\n`;
    const read = await readText(text, { inputFormat: 'csv', delimiter: ',' });
    expect([read.error, read.rows.map(({ cells }) => cells?.[1])]).toEqual([undefined, [json]]);
  });

  it('do not stop before an error whose line has no open cell', async () => {
    const errors = ['a,5" pipe,x', '"a" ,x,y', 'a,"5" pipe",x', 'a, "x", y'];
    const text = `identity,a,b\n${errors.join('\n')}\nlast,1,2\n`;
    const read = await readText(text, { inputFormat: 'csv', delimiter: ',' });
    expect([read.error, read.rows.map(({ text: row }) => row)]).toEqual([undefined, ['last,1,2']]);
  });

  describe('in a record that is longer than --max-record-bytes', () => {
    const long = 'A'.repeat(9000);
    const cell = 'x\nbob,1,2\nend"';
    const read = (row: string, size: number, recoverQuotes: boolean) => {
      const chunks = chunked(Buffer.from(`identity,a,b\nann,1,2\n${row}\nlast,1,2\n`), [size]);
      const options = { inputFormat: 'csv', delimiter: ',', maxRecordBytes: 1000 } as const;
      return readText(chunks, { ...options, recoverQuotes });
    };
    const sizes = [7, 100, 1003, 5000, 40_000];
    const cases = sizes.flatMap((size) =>
      [false, true].map((recovers) => [size, recovers] as const),
    );

    it.each([
      ['a blank in front of a long line', `eve, "${long}\n${cell}`, 'follows a blank', 6],
      ['an error in front of a long line', `eve,e"v,"${long}\n${cell}`, 'is an error', 6],
      ['an error far in front of a cell', `eve,e"v${long},"${cell}`, 'is an error', 6],
      ['an error far behind a quote', `eve,"a,",${long}x"y\n${cell}`, 'is an error', 9011],
      [
        'an error in front of many lines',
        `eve,e"v,"x\n${'bob,1,2\n'.repeat(900)}"`,
        'is an error',
        6,
      ],
    ])('stop before %s', async (_, row, what, column) => {
      for (const [size, recovers] of cases) {
        const { rows, error } = await read(row, size, recovers);
        expect(rows.map(({ line }) => line)).toEqual([2]);
        expect([size, String(error)]).toEqual([size, expect.stringContaining(what)]);
        expect(error).toMatchObject({ id: 'E-CSV-QUOTE', details: { line: 3, column } });
      }
    });

    it.each(['quotes as they are', 'blanks behind quotes', 'tabs around quotes'] as const)(
      'do not make a record of a cell behind an error: %s',
      async (writer) => {
        const parts = cellOfPieces([...pieces, '\nvictim,1,2,x\n', 'A'.repeat(1500)]);
        const pairs = fc.array(fc.tuple(parts, parts), { minLength: 1, maxLength: 4 });
        await fc.assert(
          fc.asyncProperty(pairs, fc.constantFrom(...sizes), async (cells, size) => {
            const lines = cells.map(
              ([one, other], n) => `u${n},${lax[writer](one)},5" disk,${lax[writer](other)}\n`,
            );
            const text = `identity,Note,Size,City\n${lines.join('')}`;
            const options = { inputFormat: 'csv', delimiter: ',', maxRecordBytes: 1000 } as const;
            const { rows } = await readText(chunked(Buffer.from(text), [size]), options);
            expect(rows.map(({ text }) => text).filter((text) => text.includes('victim'))).toEqual(
              [],
            );
          }),
          { numRuns: runs(500) },
        );
      },
    );

    it('stop before a long cell, also if a record behind it is in doubt', async () => {
      const before = `identity,a,b\nann,1,2\nlong,"${long}",2\n${'good,1,2\n'.repeat(9)}bad,x"y,"open\n`;
      const chunks = [before, 'carl,1,2\ndora,1,"z"z\n'].map((chunk) => Buffer.from(chunk));
      const options = { inputFormat: 'csv', delimiter: ',', maxRecordBytes: 1000 } as const;
      const { rows, error } = await readText(chunks, options);
      expect(rows.map(({ line }) => line)).toEqual([2]);
      expect(error).toMatchObject({ id: 'E-CSV-QUOTE', details: { line: 3, column: 6 } });
    });

    it('do not stop before a long row without quotes that start a cell', async () => {
      for (const [size, recovers] of cases) {
        const { rows, parseErrors, error } = await read(`eve,5" ${long}"y,x"`, size, recovers);
        expect([error, parseErrors.map(({ line }) => line)]).toEqual([undefined, [3]]);
        expect(rows.map(({ line }) => line)).toEqual([2, 4]);
      }
    });
  });

  it('do not stop before one wrong row in a table whose cells have one line', async () => {
    const texts = [
      'x',
      '',
      'a, b',
      'say "hi", you',
      '{"a":"b","c":[1]}',
      'end,',
      '"q"',
      'C:\\dir',
      '"',
    ];
    const table = fc.array(fc.array(fc.constantFrom(...texts), { minLength: 3, maxLength: 3 }));
    const wrong = fc.constantFrom(
      'w,"x"y","z","end,"',
      'w,x"y,"a, b","z"',
      'w,"a"',
      'w,"a,",x,"b","c"',
    );
    const writer = fc.constantFrom(writers.doubled, (cell: string) =>
      /[",]/.test(cell) ? writers.doubled(cell) : cell,
    );
    await fc.assert(
      fc.asyncProperty(
        table,
        table,
        wrong,
        writer,
        chunkSizes,
        async (above, below, row, write, sizes) => {
          const line = (cells: readonly string[]) => ['u', ...cells.map(write)].join(',');
          const lines = ['identity,a,b,c', ...above.map(line), row, ...below.map(line), ''];
          const options = { inputFormat: 'csv', delimiter: ',' } as const;
          const read = await readText(chunked(Buffer.from(lines.join('\n')), sizes), options);
          expect([read.error, read.parseErrors.map(({ raw }) => raw)]).toEqual([undefined, [row]]);
          expect(read.rows).toHaveLength(above.length + below.length);
        },
      ),
      { numRuns: runs(500) },
    );
  });

  it('do not stop a table of the standard, but for what could be a cell of another program', async () => {
    const json = fc
      .array(fc.constantFrom('say "hi", you', 'C:\\dir\\', 'a\nb', '"', 'x'), { maxLength: 4 })
      .map((values) => JSON.stringify({ values }));
    const paths = fc.constantFrom(
      'C:\\a dir, b\\',
      'D:\\',
      '"C:\\dir\\"',
      'see "x\\" there',
      'a\\\\"b',
    );
    const cells = fc.array(fc.oneof(json, paths), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(cells, chunkSizes, async (texts, sizes) => {
        const lines = texts.map((text, n) => `u${n},${writers.doubled(text)},end\n`);
        const text = `identity,Note,Last\n${lines.join('')}`;
        const read = await readText(chunked(Buffer.from(text), sizes), { inputFormat: 'csv' });
        expect([read.error, read.parseErrors]).toEqual([undefined, []]);
        expect(read.rows.map((row) => row.cells?.[1])).toEqual(texts);
      }),
      { numRuns: runs(1000) },
    );
  });
});

describe('TSV of a program that writes no quotes', () => {
  const rows = [
    ['ann', '"x'],
    ['bob', 'victim'],
    ['dave', 'victim'],
    ['carl', 'y"'],
    ['eve', 'z'],
  ];
  const text = ['c0\tc1', ...rows.map((row) => row.join('\t')), ''].join('\n');
  const read = async (content: string, options: object = {}) =>
    readText([Buffer.from(content)], { inputFormat: 'tsv', ...options });

  it.each([
    ['in the last column', text, 2],
    ['in the first column', 'c0\tc1\n"ann\tx\nbob\tvictim\ncarl"\ty\n', 2],
    ['in the only column', 'c0\nmax\n"ann\nbob\ncarl"\n', 3],
    ['with CR', text.replaceAll('\n', '\r'), 2],
  ])('stops before a cell that takes rows with it, %s', async (_where, content, line) => {
    const { rows: found, error } = await read(content);
    expect(String(error)).toContain(`quote on line ${line} may be text`);
    expect(found.length).toBe(line - 2);
  });

  it('is read as it is without quotes, and as one cell with them', async () => {
    const unquoted = await read(text, { quote: '' });
    expect(unquoted.rows.map(({ cells }) => cells)).toEqual(rows);
    const quoted = await read(text, { quote: '"' });
    expect(quoted.rows.map(({ cells }) => cells)).toEqual([
      ['ann', 'x\nbob\tvictim\ndave\tvictim\ncarl\ty'],
      ['eve', 'z'],
    ]);
  });

  it('does not stop at quoted cells of several lines, or with tabs', async () => {
    const { rows: found, error } = await read('c0\tc1\nann\t"x\ny"\n"b\tb"\tz\ncarl\t"p\r\n""q"\n');
    expect(error).toBeUndefined();
    expect(found.map(({ cells }) => cells)).toEqual([
      ['ann', 'x\ny'],
      ['b\tb', 'z'],
      ['carl', 'p\r\n"q'],
    ]);
  });

  it('never loses a row silently', async () => {
    const cells = fc.string({ unit: fc.constantFrom('a', '"', ' ', '\\', ','), maxLength: 4 });
    const table = fc.array(fc.tuple(cells, cells), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(table, chunkSizes, async (raw, sizes) => {
        const content = ['c0\tc1', ...raw.map((row) => row.join('\t')), ''].join('\n');
        const chunks = chunked(Buffer.from(content), sizes);
        const { rows: found, parseErrors, error } = await readText(chunks, { inputFormat: 'tsv' });
        if (error === undefined && parseErrors.length === 0) expect(found).toHaveLength(raw.length);
      }),
      { numRuns: runs(500) },
    );
  });
});
