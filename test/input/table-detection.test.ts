import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { EngagectlError } from '../../src/errors.js';
import { runs } from '../support/property-runs.js';
import { readText, type Read } from './read-rows.js';

// Whoever writes a cell must not choose the header: it is the true one, or the input is refused.

const key = 'identity';
const delimiters = [',', ';', '\t', '|'];
/** Delimiters that are not detected: such a table has one column, unless a row of it is taken for the header. */
const others = ['^', '\x01', '::', ' '];

const words = ['City', 'Email', 'u7', 'u8', 'x', '7', '', ' '];

/** What a visitor types in a form: anything that separates cells and lines. */
const wild = fc
  .array(fc.constantFrom(...words, key, '"', '\n', ...delimiters), { minLength: 1, maxLength: 9 })
  .map((parts) => parts.join(''));

/** Texts of several visitors that are together a table of its own, with another delimiter. */
const forged = fc
  .record({
    delimiter: fc.constantFrom(...delimiters),
    width: fc.integer({ min: 2, max: 3 }),
    names: fc.shuffledSubarray([key, 'City', 'Email'], { minLength: 3 }),
    rows: fc.array(fc.array(fc.constantFrom(...words), { minLength: 3, maxLength: 3 }), {
      minLength: 1,
      maxLength: 5,
    }),
  })
  .map(({ delimiter, width, names, rows }) =>
    [names, ...rows].map((row) => row.slice(0, width).join(delimiter)),
  );

const plain = fc.constantFrom('Oslo', '12', '', '3,5', 'a;b', 'a|b');
const texts = fc
  .tuple(fc.array(plain, { maxLength: 3 }), forged, fc.array(wild, { maxLength: 1 }))
  .map((parts) => parts.flat());

/** A table as a program writes it, which quotes what has its own delimiter, a quote or a line end. */
const table = fc
  .record({
    delimiter: fc.constantFrom(...delimiters, ...others),
    quotesAll: fc.boolean(),
    others: fc.uniqueArray(fc.constantFrom<string>('City', 'Email', 'Note', 'Age'), {
      maxLength: 3,
    }),
    place: fc.nat(),
    column: fc.nat(),
    typed: texts,
    titles: fc.array(fc.constantFrom('Report', 'Customers 2026', ''), { maxLength: 2 }),
  })
  .map(({ delimiter, quotesAll, others, place, column, typed, titles }) => {
    const at = place % (others.length + 1);
    const header = others.toSpliced(at, 0, key);
    const cells = typed.map((text, n) =>
      header.map((name, i) =>
        i === column % header.length ? text : name === key ? `id${n}` : 'Oslo',
      ),
    );
    const written = (cell: string) =>
      (quotesAll && cell !== '') || cell.includes(delimiter) || /["\n]/.test(cell)
        ? `"${cell.replaceAll('"', '""')}"`
        : cell;
    const lines = [header, ...cells].map((row) => row.map(written).join(delimiter));
    return { header, cells, titles, delimiter, text: lines.join('\n') };
  });

/** Undefined if the input is refused: by the reader, or since its header has no key column. */
async function readOrRefused(text: string, options: object): Promise<Read | undefined> {
  try {
    const read = await readText(text, { keyColumns: [key], ...options });
    return read.headers[0]?.includes(key) ? read : undefined;
  } catch (error) {
    if (error instanceof EngagectlError) return undefined;
    throw error;
  }
}

/** Each row is read as it is, or is an error. */
function expectOnly({ rows, parseErrors, error }: Read, cells: readonly string[][]): void {
  const left = [...cells];
  for (const row of rows) {
    const at = left.findIndex((one) => one.join('\0') === row.cells?.join('\0'));
    expect(at, JSON.stringify(row.cells)).toBeGreaterThanOrEqual(0);
    left.splice(at, 1);
  }
  if (error === undefined) expect(parseErrors).toHaveLength(left.length);
}

it.each([
  ['of a table', { inputFormat: 'csv' as const }],
  ['of a table in a pipe', {}],
  ['of a table for a command that takes lists', { listColumn: key }],
])('takes no row %s for the header', async (_, options) => {
  await fc.assert(
    fc.asyncProperty(table, async ({ header, cells, titles, delimiter, text }) => {
      // Without a known delimiter in its first line, it is a list.
      fc.pre(!('listColumn' in options) || delimiters.includes(delimiter));
      // Below a line without delimiters, a table may also be a list.
      const above = header.length === 1 || 'listColumn' in options ? [] : titles;
      const read = await readOrRefused([...above, text].join('\n'), options);
      if (read === undefined) return;
      expect(read.headers[0]).toEqual(header);
      expectOnly(
        read,
        cells.filter((row) => row.some((cell) => cell !== '')),
      );
    }),
    { numRuns: runs(2000) },
  );
});

it('takes no value of a list for the header', async () => {
  const list = texts
    .map((values) => values.map((text) => text.replaceAll(/[\n"]/g, '')))
    .map((values) => values.filter((text) => text.trim() !== ''));
  const isHeader = (line: string) => delimiters.some((one) => line.split(one).includes(key));
  await fc.assert(
    fc.asyncProperty(list, async (values) => {
      fc.pre(values.length > 0 && (!isHeader(values[0]!) || values[0] === key));
      const read = await readOrRefused(values.join('\n'), { listColumn: key });
      if (read === undefined) return;
      const expected = values[0] === key ? values.slice(1) : values;
      expectOnly(
        read,
        expected.map((one) => [one]),
      );
    }),
    { numRuns: runs(2000) },
  );
});

/** The error of reading a text; each of them names a line of the file. */
async function errorOf(text: string, options: object): Promise<EngagectlError> {
  const failed = await readText(text, { keyColumns: [key], ...options }).catch((error) => error);
  expect(failed).toBeInstanceOf(EngagectlError);
  return failed;
}

it('counts the line of the header from the start of the file, and a suggested --skip-lines brings there', async () => {
  const text = 'sep=,\nCustomers\nidentity,name\nann,1\n';
  const doubt = await errorOf(text, { skipLines: 1 });
  expect(doubt).toMatchObject({ id: 'E-HEADER', details: { line: 2 } });
  const skipLines = Number(/--skip-lines (\d+) --delimiter/.exec(doubt.details.fix!)?.[1]);
  const read = await readText(text, { keyColumns: [key], skipLines, delimiter: ',' });
  expect(read.headers[0]).toEqual([key, 'name']);
  expect(read.rows.map(({ line }) => line)).toEqual([4]);
  // Above it may be the line of a delimiter, lines that are skipped, and nothing else.
  for (const skipped of [undefined, 1, 2])
    expect(await errorOf('sep=,\n\nidentity,a"b\nann,1\n', { skipLines: skipped })).toMatchObject({
      id: 'E-HEADER',
      details: { line: 3 },
    });
  expect(await errorOf('sep=,\nA title\n', { skipLines: 2 })).toMatchObject({
    details: { line: 3 },
  });
});

it.each([
  ['^', false],
  ['\x01', false],
  ['::', true],
  [' ', true],
])(
  'makes no header of the inside of a cell, if the delimiter %j is unknown',
  async (delimiter, quotesAll) => {
    const inside = `x\nidentity,Note\n${'victim,evil\n'.repeat(200)}z`;
    const rows = [
      [key, 'Note'],
      ['u1', 'hello'],
      ['u2', inside],
      ['u3', 'hello'],
    ];
    const written = (cell: string) => (quotesAll || cell.includes('\n') ? `"${cell}"` : cell);
    const text = rows.map((row) => `${row.map(written).join(delimiter)}\n`).join('');
    expect(await errorOf(text, {})).toMatchObject({ id: 'E-HEADER' });
  },
);

it('knows the header by a name with a byte order mark, above ragged rows', async () => {
  const inside = `x\nidentity,Note\n${'victim,evil\n'.repeat(200)}z`;
  const rows = ['"\uFEFFidentity";"Note"', 'u1;"hello"', 'u2;"hello";', `u3;"${inside}"`, 'u4;a;'];
  const read = await readOrRefused(`\n${rows.join('\n')}\n`, {});
  expect(read?.headers[0] ?? [key, 'Note']).toEqual([key, 'Note']);
  expect(read?.rows.map(({ text }) => text.slice(0, 2)) ?? []).not.toContain('vi');
});

/** Cells of a table with several columns, of which one has several lines, and no name of a key column. */
const severalLines = fc
  .record({
    names: fc.constantFrom(['Name', 'uid'], ['uid', 'Name', 'City']),
    delimiter: fc.constantFrom(...delimiters, ...others, ', ', '=', '~', '¦'),
    quotesAll: fc.boolean(),
    escape: fc.constantFrom('"', '\\'),
    before: fc.array(fc.constantFrom('Oslo', 'a "b" c', '5" x', '', "O'Neil"), { maxLength: 4 }),
    inside: fc.array(fc.constantFrom('x', '"', '""', ' ', ',', '.', "'"), { maxLength: 4 }),
    column: fc.nat(),
  })
  .map(({ names, delimiter, quotesAll, escape, before, inside, column }) => {
    const typed = [...before, `${inside.join('')}\nvictim\n${inside.join('')}`, 'Rome'];
    const at = column % names.length;
    const rows = typed.map((text) => names.map((_, i) => (i === at ? text : 'u1')));
    const written = (cell: string) =>
      quotesAll || cell.includes(delimiter) || /["\n]/.test(cell)
        ? `"${cell.replaceAll('"', `${escape}"`)}"`
        : cell;
    const lines = [names, ...rows].map((row) => row.map(written).join(delimiter));
    return { text: lines.join('\n'), escape };
  });

it.each(['My report\n', '# made by a program\n', ''])(
  'makes no value of a list of the inside of a cell, below %j',
  async (above) => {
    await fc.assert(
      fc.asyncProperty(severalLines, async ({ text, escape }) => {
        for (const options of escape === '"' ? [{}] : [{}, { escape }]) {
          const read = await readOrRefused(above + text, { listColumn: key, ...options });
          expect(JSON.stringify(read?.rows ?? [])).not.toContain('victim');
        }
      }),
      { numRuns: runs(2000) },
    );
  },
);

it.each([
  ['My report\nName,identity\n', 2],
  ['# made by a program\n\nTitle\r\n"Name";"Identity"\r\n', 4],
  ['My report\n\uFEFFEmail\tName\n', 2],
])(
  'asks whether a list is a table with a title, and what it suggests reads it: %j',
  async (text, line) => {
    const rows = '1;2\n3;4\n5;6\n'.replaceAll(';', /[,;\t]/.exec(text)![0]);
    const doubt = await errorOf(text + rows, { listColumn: key });
    expect(doubt).toMatchObject({ id: 'E-HEADER', details: { line } });
    const skipLines = Number(/csv --skip-lines (\d+) --delimiter/.exec(doubt.details.fix!)?.[1]);
    const table = { inputFormat: 'csv', skipLines, listColumn: key } as const;
    expect((await readText(text + rows, table)).rows).toHaveLength(3);
    const list = await readText(text + rows, { inputFormat: 'list', listColumn: key });
    expect([...list.rows, ...list.parseErrors]).toHaveLength(line === 4 ? 6 : 5);
  },
);

it('is in no doubt about lists of addresses, numbers and names', async () => {
  const name = fc.constantFrom(
    'Ann',
    "O'Neil",
    "'s-Gravenhage",
    "Rock 'n' Roll",
    'Łódź',
    '李',
    '7',
  );
  const value = fc.oneof(
    fc
      .tuple(name, fc.constantFrom(' ', ', ', '; ', '|', '\t', '-'), name)
      .map((parts) => parts.join('')),
    fc.tuple(name, name).map(([a, b]) => `${a} (${b}, jr.)`),
    fc.nat().map((n) => `+49 (30) ${n}`),
    fc.nat().map((n) => `user-${n}@example.com`),
    fc.uuid(),
    fc.constantFrom('Email', 'phone', key, '#1', 'x=1', '[1]', 'C:\\x'),
  );
  const line = fc.oneof(
    value.map((text) => [text, text] as const),
    value.map((text) => [`"${text}"`, text] as const),
    fc.constant(['"a, ""b"""', 'a, "b"'] as const),
    fc.constant(['"a,\nb"', 'a,\nb'] as const),
    fc.constant(['', ''] as const),
    fc.constantFrom('Ann "Bo" Smith', '5"', 'Ann said "yes."', '{"a":""}', '"a"b').map((text) => [text, undefined] as const), // prettier-ignore
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 8 }), async (lines) => {
      const text = ['first', ...lines.map(([written]) => written)].join('\n');
      const read = await readText(text, { keyColumns: [key], listColumn: key });
      expect(read.error).toBeUndefined();
      expect(read.rows.map(({ cells }) => cells![0])).toEqual([
        'first',
        ...lines.flatMap(([, value]) => value || []),
      ]);
    }),
    { numRuns: runs(2000) },
  );
});
