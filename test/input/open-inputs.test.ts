import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngagectlError, type ErrorDetails, type ErrorId } from '../../src/errors.js';
import { openInputs } from '../../src/input/inputs.js';
import type { InputOptions } from '../../src/input/input-format.js';
import { readFiles, readText } from './read-rows.js';

/** Nobody presses Ctrl-C here. */
const { signal } = new AbortController();

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'engagectl-input-'));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const maxRecordBytes = 1024 * 1024;
const write = (name: string, content: string | Buffer): Promise<void> =>
  writeFile(join(cwd, name), content);

describe('the format of an input', () => {
  const asCsv = { headers: [['a', 'b']], texts: ['1,2'] };
  const asNdjson = { headers: [], texts: ['{"a":1}'] };
  it.each([
    ['x.csv', 'a,b\n1,2\n', asCsv],
    ['x.CSV.gz', gzipSync('a,b\n1,2\n'), asCsv],
    ['x.tsv', 'a\tb\n1\t2\n', { headers: [['a', 'b']], texts: ['1\t2'] }],
    ['x.ndjson', '{"a":1}\n', asNdjson],
    ['x.jsonl', '{"a":1}\n', asNdjson],
    ['x.json', '[{"a":1}]\n', asNdjson],
    ['x', 'a,b\n1,2\n', asCsv],
    ['x.txt', 'a\tb\n1\t2\n', { headers: [['a', 'b']], texts: ['1\t2'] }],
    ['x.txt', 'a\tx,b\n1,2\n', { headers: [['a\tx', 'b']], texts: ['1,2'] }],
    ['x.txt', '\n {"a":1}\n', asNdjson],
    ['x.txt', '[{"a":1}]\n', asNdjson],
    ['x.txt', 'a\n1\n', { headers: [['a']], texts: ['1'] }],
    ['x.csv', gzipSync('a,b\n1,2\n'), asCsv],
    ['x.txt', '', { headers: [], texts: [] }],
  ])('is detected for %s', async (name, content, { headers, texts }) => {
    await write(name, content);
    const read = await readFiles({ files: [name] }, { cwd });
    expect(read.error).toBeUndefined();
    expect(read.headers).toEqual(headers);
    expect(read.rows.map(({ text }) => text)).toEqual(texts);
  });

  it('can be set, against the extension', async () => {
    await write('x.csv', '{"a":1}\n');
    const { rows } = await readFiles({ files: ['x.csv'], inputFormat: 'ndjson' }, { cwd });
    expect(rows).toEqual([{ line: 1, text: '{"a":1}', cells: undefined }]);
  });
});

describe('a bare list', () => {
  it.each([
    [
      'one value a line',
      '\nx\r\n\nI am\n',
      {},
      [
        [2, 'x'],
        [4, 'I am'],
      ],
    ],
    ['with the column as its first line', 'identity\nx\n', {}, [[2, 'x']]],
    [
      'with all values quoted',
      '"identity"\n"x"\n"a,""b"""\n',
      {},
      [
        [2, 'x'],
        [3, 'a,"b"'],
      ],
    ],
    [
      'with commas, when named',
      'Smith, J\nidentity\n',
      { inputFormat: 'list' },
      [
        [1, 'Smith, J'],
        [2, 'identity'],
      ],
    ],
    ['of nothing', '', { inputFormat: 'list' }, []],
  ] as const)('%s', async (_, text, options, expected) => {
    const { headers, rows, parseErrors } = await readText(text, {
      ...options,
      listColumn: 'identity',
    });
    expect(rows.map(({ line, cells }) => [line, cells?.join()])).toEqual(expected);
    expect(headers).toEqual([['identity']]);
    expect(parseErrors).toEqual([]);
  });

  it.each(['identity,Name\n1,2\n', 'identity;Name\n'])('is not detected in %j', async (text) => {
    const read = await readText(text, { listColumn: 'identity' }).catch((error: unknown) => error);
    expect(read).not.toMatchObject({ headers: [['identity']] });
  });

  it('is a CSV if the file name says so', async () => {
    await write('x.csv', 'identity\n1\n');
    const { headers } = await readFiles({ files: ['x.csv'], listColumn: 'value' }, { cwd });
    expect(headers).toEqual([['identity']]);
  });
});

describe('several inputs', () => {
  it('are read in order, stdin included, and counted in bytes on disk', async () => {
    await write('1.csv', 'a,b\n1,2\n');
    await write('3.csv', 'a,b\n1,2\n');
    const packed = gzipSync('{"a":2}\n');
    await write('2.ndjson.gz', packed);
    const options = { files: ['1.csv', '2.ndjson.gz', '3.csv'], maxRecordBytes };
    const inputs = await openInputs(options, { stdin: Readable.from([]), cwd, signal });
    const sources: string[] = [];
    for await (const { source } of inputs.blocks()) sources.push(source);
    expect(sources).toEqual(['1.csv', '2.ndjson.gz', '3.csv']);
    expect(inputs.first).toBe('1.csv');
    expect(inputs.headers.map(({ source }) => source)).toEqual(['1.csv', '3.csv']);
    expect(inputs.totalBytes).toBe(16 + packed.length);
    expect(inputs.bytesRead()).toBe(16 + packed.length);
  });

  it('have no known size if one is stdin', async () => {
    await write('1.csv', 'a,b\n1,2\n');
    const stdin = Readable.from([Buffer.from('c\n3\n')]);
    const options = { files: ['1.csv', '-'], maxRecordBytes };
    const inputs = await openInputs(options, { stdin, cwd, signal });
    expect(inputs.totalBytes).toBeUndefined();
    expect(inputs.headers.map(({ source }) => source)).toEqual(['1.csv', 'stdin']);
    const sources: string[] = [];
    for await (const { source } of inputs.blocks()) sources.push(source);
    expect(sources).toEqual(['1.csv', 'stdin']);
  });

  it('are all checked before the first row is yielded', async () => {
    await write('1.csv', 'a,b\n1,2\n');
    await write('2.csv', 'a,a\n1,2\n');
    const opening = readFiles({ files: ['1.csv', '2.csv'] }, { cwd });
    await expect(opening).rejects.toMatchObject({ id: 'E-HEADER-DUPLICATE' });
  });

  it('end with an error if a later one changed in the meantime', async () => {
    await write('1.csv', 'a,b\n1,2\n');
    const options = { files: ['1.csv'], maxRecordBytes };
    const inputs = await openInputs(options, { stdin: Readable.from([]), cwd, signal });
    await write('1.csv', 'b,a\n1,2\n');
    await expect(inputs.blocks().next()).rejects.toMatchObject({ id: 'E-INPUT-CHANGED' });
  });
});

describe('D an unusable input', () => {
  interface Refusal {
    readonly id: ErrorId;
    readonly message: string | RegExp;
    readonly details?: ErrorDetails;
  }
  const refusals: [string, string, string | Buffer, Partial<InputOptions>, Refusal][] = [
    [
      'an empty CSV',
      'x.csv',
      '',
      {},
      { id: 'E-HEADER', message: /no header line/, details: { line: 1 } },
    ],
    ['a CSV of blank lines', 'x.csv', '\n\r\n', {}, { id: 'E-HEADER', message: /no header line/ }],
    [
      'a repeated column',
      'x.csv',
      'id,Email,Name,Email\n',
      {},
      {
        id: 'E-HEADER-DUPLICATE',
        message: 'x.csv: column "Email" appears twice',
        details: { line: 1 },
      },
    ],
    [
      'a column without name',
      'x.csv',
      '\nid,,Name\n',
      {},
      { id: 'E-HEADER-EMPTY', message: 'x.csv: column 2 of 3 has no name', details: { line: 2 } },
    ],
    [
      'a delimiter at the end',
      'x.csv',
      'id,Name,\n',
      {},
      { id: 'E-HEADER-EMPTY', message: /column 3 of 3/ },
    ],
    [
      'two delimiters that fit equally well',
      'x.csv',
      'id;a,b\n1;2,3\n',
      {},
      {
        id: 'E-HEADER',
        message: /delimiter is ambiguous/,
        details: { fix: "choose one: --delimiter ',' or --delimiter ';'" },
      },
    ],
    [
      'a lost quote in the header',
      'x.csv',
      'id,"Name\n1,2\n',
      {},
      { id: 'E-HEADER', message: /never closed/, details: { line: 1, column: 4 } },
    ],
    [
      'a quote in the header',
      'x.csv',
      'id,Na"me\n1,2\n',
      {},
      { id: 'E-HEADER', message: /quote in an unquoted cell/, details: { line: 1, column: 6 } },
    ],
    [
      'a header in Latin-1',
      'x.csv',
      Buffer.from('id,Größe\n', 'latin1'),
      { encoding: 'utf-8' },
      {
        id: 'E-HEADER',
        message: /not valid UTF-8/,
        details: { fix: /--encoding/ as unknown as string },
      },
    ],
    [
      'a header beyond the limit',
      'x.csv',
      `id,${'x'.repeat(70_000)}`,
      { maxRecordBytes: 1000 },
      { id: 'E-HEADER', message: /longer than 1000 bytes/ },
    ],
    [
      'a workbook',
      'x.xlsx',
      Buffer.from('PK\x03\x04\x14\0\x06\0', 'latin1'),
      {},
      { id: 'E-FORMAT', message: /spreadsheet/ },
    ],
    [
      'an old workbook named .csv',
      'x.csv',
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      {},
      { id: 'E-FORMAT', message: /spreadsheet/, details: { fix: /as CSV/ as unknown as string } },
    ],
    [
      'an archive of zstd named .csv',
      'x.csv',
      Buffer.from('28b52ffd2413', 'hex'),
      {},
      { id: 'E-FORMAT', message: /archive/, details: { fix: /unpack/ as unknown as string } },
    ],
    [
      'an archive of xz named .csv',
      'x.csv',
      Buffer.from('fd377a585a000004', 'hex'),
      {},
      { id: 'E-FORMAT', message: /archive/, details: { fix: /unpack/ as unknown as string } },
    ],
    [
      'an archive of bzip2 named .csv',
      'x.csv',
      Buffer.from('425a683931415926535953', 'hex'),
      {},
      { id: 'E-FORMAT', message: /archive/, details: { fix: /unpack/ as unknown as string } },
    ],
    [
      'NDJSON named .json',
      'x.json',
      '{"a":1}\n{"a":2}\n',
      {},
      {
        id: 'E-FORMAT',
        message: /not a JSON array/,
        details: { fix: /--input-format ndjson/ as unknown as string },
      },
    ],
    ['an empty .json', 'x.json', ' \n', {}, { id: 'E-FORMAT', message: /not a JSON array/ }],
    [
      'a damaged gzip header',
      'x.csv.gz',
      Buffer.from([0x1f, 0x8b, 9, 9, 9, 9]),
      {},
      { id: 'E-FILE-READ', message: /gzip/ },
    ],
    ['an empty file called .gz', 'x.csv.gz', '', {}, { id: 'E-HEADER', message: /no header line/ }],
    [
      'an unknown encoding',
      'x.csv',
      'a\n1\n',
      { encoding: 'klingon' },
      { id: 'E-USAGE', message: /klingon/ },
    ],
    [
      'an encoding with escape sequences under another of its names',
      'x.csv',
      'a\n1\n',
      { encoding: 'csISO2022JP' },
      { id: 'E-USAGE', message: /csISO2022JP/ },
    ],
    [
      'a quote as delimiter',
      'x.csv',
      'a\n1\n',
      { delimiter: '"' },
      { id: 'E-USAGE', message: /--delimiter/ },
    ],
    [
      'a list where none is taken',
      'x.csv',
      'a\n1\n',
      { inputFormat: 'list' },
      { id: 'E-USAGE', message: /list/ },
    ],
    [
      'standard input twice',
      'x.csv',
      '',
      { files: ['-', '-'] },
      { id: 'E-USAGE', message: /twice/ },
    ],
  ];
  it.each(refusals)('refuses %s', async (_, name, content, options, refusal) => {
    await write(name, content);
    const error = await failure(readFiles({ files: [name], ...options }, { cwd }));
    expect(error.id).toBe(refusal.id);
    expect(error.message).toMatch(refusal.message);
    expect(error.details.fix).toBeTruthy();
    if (refusal.id !== 'E-USAGE') expect(error.details.file).toBe(name);
    for (const [key, value] of Object.entries(refusal.details ?? {})) {
      const actual = String(error.details[key as keyof ErrorDetails]);
      if (value instanceof RegExp) expect(actual).toMatch(value);
      else expect(actual).toBe(String(value));
    }
  });

  it('refuses a missing file', async () => {
    const error = await failure(readFiles({ files: ['nope.csv'] }, { cwd }));
    expect(error).toMatchObject({ id: 'E-FILE-READ', exitCode: 9, details: { file: 'nope.csv' } });
    expect([error.message, error.details.why]).toEqual([
      'nope.csv cannot be read',
      'there is no such file',
    ]);
  });

  it('refuses a directory', async () => {
    await mkdir(join(cwd, 'folder.csv'));
    const error = await failure(readFiles({ files: ['folder.csv'] }, { cwd }));
    expect(error).toMatchObject({
      id: 'E-FILE-READ',
      message: 'folder.csv is a directory, not a file',
    });
  });

  it.skipIf(process.getuid?.() === 0)('refuses a file without read permission', async () => {
    await write('secret.csv', 'a\n');
    await chmod(join(cwd, 'secret.csv'), 0);
    const error = await failure(readFiles({ files: ['secret.csv'] }, { cwd }));
    expect(error).toMatchObject({
      id: 'E-FILE-READ',
      message: 'secret.csv cannot be read',
      details: { why: 'permission denied' },
    });
  });
});

describe('D stdin', () => {
  it('yields rows as they arrive', async () => {
    const stdin = new PassThrough();
    const line = `{"a":"${'x'.repeat(80)}"}`;
    stdin.write(`${line}\n${line}\n{"a"`);
    const inputs = await openInputs({ files: [], maxRecordBytes }, { stdin, cwd, signal });
    const blocks = inputs.blocks();
    expect((await blocks.next()).value).toMatchObject({ source: 'stdin', count: 2 });
    stdin.end(':3}');
    expect((await blocks.next()).value).toMatchObject({ count: 1 });
    expect((await blocks.next()).done).toBe(true);
  });

  it('is released by close() while it waits', async () => {
    const stdin = new PassThrough();
    stdin.write('{"a":1}\n'.repeat(20));
    const inputs = await openInputs({ files: [], maxRecordBytes }, { stdin, cwd, signal });
    const blocks = inputs.blocks();
    await blocks.next();
    const waiting = expect(blocks.next()).rejects.toMatchObject({ id: 'E-FILE-READ' });
    await inputs.close();
    await waiting;
    expect(stdin.destroyed).toBe(true);
  });

  it('reports a failure after the rows before it', async () => {
    const stdin = new PassThrough();
    stdin.write(`${'{"a":1}\n'.repeat(20)}{"b"`);
    setImmediate(() => stdin.destroy(new Error('the pipe broke')));
    const { rows, error } = await readFiles({ files: ['-'] }, { stdin });
    expect(rows).toHaveLength(20);
    expect(error).toMatchObject({
      id: 'E-FILE-READ',
      message: 'stdin cannot be read',
      details: { why: 'the pipe broke' },
    });
  });

  it('is closed when a consumer stops early', async () => {
    const stdin = Readable.from(
      Array.from({ length: 100 }, () => Buffer.from('{"a":1}\n'.repeat(20))),
    );
    const inputs = await openInputs({ files: [], maxRecordBytes }, { stdin, cwd, signal });
    for await (const block of inputs.blocks()) {
      expect(block.count).toBeGreaterThan(0);
      break;
    }
    expect(stdin.destroyed).toBe(true);
  });
});

it('yields no rows of an input that is closed while it is opened, and closes the file', async () => {
  await write('x.csv', 'a,b\n1,2\n');
  const options = { files: ['x.csv'], maxRecordBytes };
  const inputs = await openInputs(options, { stdin: Readable.from([]), cwd, signal });
  const opening = inputs.blocks().next();
  await inputs.close();
  expect(await opening).toEqual({ done: true, value: undefined });
});

async function failure(work: Promise<unknown>): Promise<EngagectlError> {
  const error = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (error instanceof EngagectlError) return error;
  throw new Error('expected an EngagectlError', { cause: error });
}
