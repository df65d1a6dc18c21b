import { type InputFormat } from '../../src/contract/file-formats.js';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openInputs } from '../../src/input/inputs.js';
import type { InputOptions } from '../../src/input/input-format.js';
import type { RowBlock } from '../../src/input/row-block.js';
import { readFiles, rowsOf } from './read-rows.js';

/** Nobody presses Ctrl-C here. */
const { signal } = new AbortController();

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'engagectl-blocks-'));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const maxRecordBytes = 1024 * 1024;
const stdin = Readable.from([]);

describe('a file of many blocks', () => {
  /** Every 50th row spans two lines, every 70th has a cell too many, every 9000th is Latin-1. */
  const row = (i: number): string => {
    if (i % 50 === 0) return `${i},"two\r\nlines",ü`;
    if (i % 70 === 0) return `${i},x,y,z`;
    if (i % 9000 === 0) return `${i},\xff,y`;
    return `${i},"say ""${i}""",${'漢'.repeat(i % 20)}`;
  };
  const count = 30_000;

  it('yields every row and error once, at its line, in blocks that do not change', async () => {
    const rows = Array.from({ length: count }, (_, i) => row(i + 1));
    const bytes = rows.map((text) =>
      Buffer.from(`${text}\r\n`, text.includes('\xff') ? 'latin1' : 'utf8'),
    );
    await writeFile(join(cwd, 'x.csv'), Buffer.concat([Buffer.from('a,b,c\r\n'), ...bytes]));
    const inputs = await openInputs({ files: ['x.csv'], maxRecordBytes }, { stdin, cwd, signal });
    const blocks: RowBlock[] = [];
    for await (const block of inputs.blocks()) blocks.push(block);
    let line = 2;
    const expected: unknown[] = [];
    const faulty: number[] = [];
    for (const [i, text] of rows.entries()) {
      if ((i + 1) % 50 !== 0 && ((i + 1) % 70 === 0 || (i + 1) % 9000 === 0)) faulty.push(line);
      else expected.push({ line, text });
      line += (i + 1) % 50 === 0 ? 2 : 1;
    }
    const read = blocks.flatMap(rowsOf);
    expect(read.map(({ line, text }) => ({ line, text }))).toEqual(expected);
    expect(read.map(({ cells }) => cells?.[0])).toEqual(read.map(({ text }) => text.split(',')[0]));
    expect(blocks.flatMap(({ parseErrors }) => parseErrors.map(({ line }) => line))).toEqual(
      faulty,
    );
    expect(Math.max(...blocks.map((block) => block.bytes.length))).toBeLessThan(300 * 1024);
    expect(blocks.length).toBeGreaterThan(5);
  });

  it.each([
    ['csv', 'a\n', '1\n', ''],
    ['ndjson', '', '1\n', ''],
    ['json', '[', '1,\n', '1]'],
  ] as const)(
    'with tiny %s records has at most a few thousand per block',
    async (format, start, record, end) => {
      await writeFile(join(cwd, 'x'), start + record.repeat(count) + end);
      const options = { files: ['x'], inputFormat: format, maxRecordBytes };
      const inputs = await openInputs(options, { stdin, cwd, signal });
      const counts: number[] = [];
      for await (const block of inputs.blocks()) counts.push(block.count);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(count + (end === '' ? 0 : 1));
      expect(Math.max(...counts)).toBeLessThanOrEqual(4096);
    },
  );

  it.skipIf(process.platform === 'win32')('can be a named pipe', async () => {
    execFileSync('mkfifo', [join(cwd, 'pipe')]);
    const text = Array.from({ length: count }, (_, i) => `{"n":${i}}\n`).join('');
    const [{ rows }] = await Promise.all([
      readFiles({ files: ['pipe'] }, { cwd }),
      writeFile(join(cwd, 'pipe'), text),
    ]);
    expect(rows).toHaveLength(count);
  });
});

describe('memory', () => {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  const chunks = 1600; // 100 MB

  async function* line(start: string, end: string): AsyncGenerator<Buffer> {
    yield Buffer.from(start);
    for (let i = 0; i < chunks; i++) yield chunk;
    yield Buffer.from(end);
  }

  it.each<[InputFormat, string, string, number]>([
    ['csv', 'a,b\n1,2\n3,', '\n5,6\n', 4],
    ['csv', 'a,b\n1,2\n3,x"', '\n5,6\n', 4],
    ['ndjson', '{"a":1}\n{"a":"', '"}\n\n{"a":2}\n', 4],
    ['json', '[{"a":1}\n,{"a":"', '"},\n{"a":2}]\n', 3],
    ['list', 'a\n', '\nb\n', 3],
  ])('stays flat for a line of 100 MB in %s', async (format, start, end, lastLine) => {
    const { peak, lines, parseErrors } = await readAll(Readable.from(line(start, end)), format);
    expect(lines).toEqual([expect.any(Number), lastLine]);
    expect(parseErrors).toEqual([lastLine === 4 && format === 'ndjson' ? 2 : lastLine - 1]);
    expect(peak).toBeLessThan(100e6);
  });

  it.each([false, true])(
    'stays flat for an unclosed quote of 100 MB, recovered: %s',
    async (recoverQuotes) => {
      const stdin = Readable.from(line('a,b\n1,2\n3,"', '"\n5,6\n'));
      const read = readAll(stdin, 'csv', { recoverQuotes });
      if (recoverQuotes) {
        const { peak, lines, parseErrors } = await read;
        expect({ lines, parseErrors }).toEqual({ lines: [2, 4], parseErrors: [3] });
        expect(peak).toBeLessThan(100e6);
      } else {
        await expect(read).rejects.toMatchObject({ id: 'E-CSV-QUOTE', details: { line: 3 } });
      }
    },
  );

  it('stays flat for such a line in gzip', async () => {
    const source = Readable.from(line('{"a":1}\n{"a":"', '"}\n{"a":2}\n')).pipe(
      createGzip({ level: 1 }),
    );
    const { peak, lines, parseErrors } = await readAll(source, 'ndjson');
    expect(lines).toEqual([1, 3]);
    expect(parseErrors).toEqual([2]);
    expect(peak).toBeLessThan(100e6);
  });

  interface Measured {
    /** Most bytes of the process beyond those at the start. */
    readonly peak: number;
    readonly lines: readonly number[];
    readonly parseErrors: readonly number[];
  }
  async function readAll(
    stdin: Readable,
    format: InputFormat,
    more: Partial<InputOptions> = {},
  ): Promise<Measured> {
    const before = process.memoryUsage.rss();
    let peak = 0;
    stdin.on('data', () => {
      peak = Math.max(peak, process.memoryUsage.rss() - before);
    });
    stdin.pause();
    const options = {
      files: [],
      inputFormat: format,
      listColumn: 'value',
      maxRecordBytes,
      ...more,
    };
    const inputs = await openInputs(options, { stdin, cwd, signal });
    const blocks: RowBlock[] = [];
    for await (const block of inputs.blocks()) blocks.push(block);
    return {
      peak,
      lines: blocks.flatMap(({ lines }) => [...lines]),
      parseErrors: blocks.flatMap(({ parseErrors }) => parseErrors.map(({ line }) => line)),
    };
  }
});

describe('text appended to an input whose last line had no line end', () => {
  const lines = fc.array(fc.constantFrom('a,b', 'c', '', ' ', '"d\ne",f', '1', '{"g":1}', 'h,"i'));
  const lineEnd = fc.constantFrom('\n', '\r\n');

  it('has the records and lines that it has in the whole text', async () => {
    const formats = fc.constantFrom('csv' as const, 'list' as const, 'ndjson' as const);
    await fc.assert(
      fc.asyncProperty(formats, lines, lines, lineEnd, async (inputFormat, first, more, end) => {
        const before = ['x,y', ...first, 'k,l'].join(end);
        await writeFile(join(cwd, 'x'), before);
        const read = await readFrom(inputFormat);
        fc.pre(read.error === undefined);
        await writeFile(join(cwd, 'x'), `${before}${end}${more.join(end)}`);
        const rest = await readFrom(inputFormat, read.end);
        const whole = await readFrom(inputFormat);
        expect([...read.records, ...rest.records]).toEqual(whole.records);
        expect(rest.error).toEqual(whole.error);
      }),
      { numRuns: 500 },
    );
  });

  /** Returns lines and texts of all records, what ended the input early, and the end. */
  async function readFrom(inputFormat: InputFormat, from?: RowBlock['end']) {
    const inputs = await openInputs(
      { files: ['x'], inputFormat, maxRecordBytes, listColumn: 'x' },
      { stdin, cwd, signal },
    );
    const records: unknown[] = [];
    let end = from;
    let error: unknown;
    try {
      for await (const block of inputs.blocks(from)) {
        const failures = block.parseErrors.map(({ line, raw }) => ({ line, text: raw.toString() }));
        const all = [...rowsOf(block).map(({ line, text }) => ({ line, text })), ...failures];
        records.push(...all.toSorted((a, b) => a.line - b.line));
        ({ end } = block);
      }
    } catch (failure) {
      error = String(failure);
    }
    return { records, error, end };
  }
});
