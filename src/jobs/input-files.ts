import path from 'node:path';
import { statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { writeDefaults, type ReadOptions } from './job-options.js';
import { refuseOtherHeaders } from '../input/csv-header.js';
import { decompress } from '../input/decompress.js';
import { openInputs } from '../input/inputs.js';
import { exportedKind } from '../mapping/exported-csv.js';
import { EngagectlError } from '../errors.js';
import { readTextFile } from '../files/read-file.js';
import { fileReadError } from '../files/file-errors.js';
import { parseStrictJson } from '../text/json-parser.js';
import type { InputOptions } from '../input/input-format.js';
import type { RowBlock } from '../input/row-block.js';
import type { Mapper } from '../mapping/record-block.js';
import type { Runtime } from '../runtime.js';
import type { Wording, JobContext } from './job-context.js';

/** Returns the options that decide what is sent. A run is resumed only with the same options. */
export const inputFingerprint = ({
  inputFormat,
  delimiter,
  quote,
  escape,
  comment,
  encoding,
  skipLines,
  records,
  trim,
  nullValues,
  maxRecordBytes = writeDefaults.maxRecordBytes,
  limit,
}: ReadOptions) => ({
  inputFormat,
  delimiter,
  quote,
  escape,
  comment,
  encoding,
  skipLines,
  records,
  trim,
  nullValues,
  maxRecordBytes,
  limit,
});

/** Builds the options of an input. Whoever reads the same input must name the same columns, or may find another header row. */
export const inputOptions = (
  files: readonly string[],
  { maxRecordBytes = writeDefaults.maxRecordBytes, ...options }: ReadOptions,
  columns: Required<Pick<InputOptions, 'keyColumns'>> & Pick<InputOptions, 'listColumn'>,
): InputOptions => ({ ...options, ...columns, files, maxRecordBytes, skipsEmptyRows: true });

/**
 * Builds the error for `recoverQuotes` on writes that cannot be undone. Lines after a stray quote
 * may be text of a cell.
 */
export const noRecovery = (of: 'events' | 'demerges', words: Wording): EngagectlError =>
  new EngagectlError('E-USAGE', `${words.option('recoverQuotes')} is not available for ${of}`, {
    why: `a line after the quote may be the text of a cell, and ${of} cannot be undone`,
    fix: 'correct the quote on the line named in the error',
  });

/** Number of bytes of a file, compressed or not, in which `startsWithEvents` looks. */
const startBytes = 64 * 1024;

/** Events, exported events and operators in NDJSON and JSON, and operators in texts of a mapping file. */
const notIdempotent = /"type"\s*:\s*"event"|"event_props"\s*:|"(?:\$|\\u0024)(?:incr|decr|add)\\?"/;

/** Whether the first bytes of a file have records that are not idempotent, or the header of exported events. */
export async function startsWithEvents(head: Buffer): Promise<boolean> {
  const parts: Buffer[] = [];
  try {
    const chunks = Readable.from([head.subarray(0, startBytes)]);
    for await (const part of decompress(chunks, 'input')) parts.push(part);
  } catch {
    // The first bytes of compressed data end in the middle of it.
  }
  const text = Buffer.concat(parts).toString('latin1').replaceAll('\0', ''); // every second byte of UTF-16
  const header = /^(?:\u00ef\u00bb\u00bf|\u00ff\u00fe|\u00fe\u00ff)?(.*)/
    .exec(text)![1]!
    .replaceAll('"', '');
  return notIdempotent.test(text) || exportedKind(header.split(/[,;\t|]/)) === 'event';
}

/**
 * Yields a text in the form that is equal for files that differ in compression or line ends only: decompressed,
 * with LF as line end, and without line ends after the last line. Throws E-FILE-READ for truncated data.
 */
export async function* comparableText(
  chunks: AsyncIterable<Buffer>,
  file: string,
): AsyncGenerator<Buffer> {
  let lineEnds = 0; // at the end of what was read: more text may follow
  let isAfterCr = false;
  for await (const chunk of decompress(chunks, file)) {
    const read = chunk.toString('latin1');
    const text = isAfterCr && read.startsWith('\n') ? read.slice(1) : read;
    isAfterCr = read.endsWith('\r');
    const lines = text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text;
    let { length } = lines;
    while (length > 0 && lines[length - 1] === '\n') length -= 1;
    if (length > 0) {
      yield Buffer.from('\n'.repeat(lineEnds) + lines.slice(0, length), 'latin1');
      lineEnds = 0;
    }
    lineEnds += lines.length - length;
  }
}

/** Reads the column names of a table from its beginning. Empty if `file` is not a regular file. */
export async function readColumns(
  file: string,
  options: ReadOptions,
  runtime: Runtime,
): Promise<readonly string[]> {
  // Reading a pipe would block.
  if (!statSync(path.resolve(runtime.cwd, file)).isFile()) return [];
  const inputs = await openInputs(inputOptions([file], options, { keyColumns: [] }), runtime);
  try {
    return inputs.headers[0]?.header ?? [];
  } finally {
    await inputs.close();
  }
}

type JsonRuntime = Pick<JobContext['runtime'], 'cwd' | 'signal'>;

/** Parses a JSON file. Throws E-FILE-READ, and E-FORMAT without quoting the content. */
export async function readJsonFile(file: string, runtime: JsonRuntime): Promise<unknown> {
  return parseStrictJson(await textOf(file, runtime), file, {
    id: 'E-FORMAT',
    why: 'the file must contain one JSON value',
    fix: `correct ${file} there`,
  });
}

async function textOf(file: string, { cwd, signal }: JsonRuntime): Promise<string> {
  return readTextFile(path.resolve(cwd, file), signal).catch((cause: unknown) => {
    if (cause instanceof EngagectlError) throw cause;
    throw fileReadError(file, 'name a readable file', cause);
  });
}

/** Throws E-HEADER at the header of another file in the middle of a CSV. */
export function refuseJoined(rows: RowBlock, { keys }: Pick<Mapper, 'keys'>): void {
  const key = rows.cells && keys.cells(rows.cells.header)?.key;
  refuseOtherHeaders(
    rows,
    (key ?? []).filter((column) => column >= 0),
  );
}

/** Wraps the mapper of a write to stop there. */
export const withoutOtherHeaders = (mapper: Mapper): Mapper => ({
  ...mapper,
  map: (rows, picked) => {
    refuseJoined(rows, mapper);
    return mapper.map(rows, picked);
  },
});
