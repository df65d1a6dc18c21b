import path from 'node:path';
import { statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { writeDefaults, type ReadOptions } from './job-options.js';
import { decompress } from '../input/decompress.js';
import { openInputs } from '../input/inputs.js';
import { EngagectlError } from '../errors.js';
import { readTextFile } from '../files/read-file.js';
import { fileErrorReason } from '../files/file-errors.js';
import { parseStrictJson } from '../text/json-parser.js';
import type { InputOptions } from '../input/input-format.js';
import type { Runtime } from '../runtime.js';
import type { Wording, JobContext } from './job-context.js';

/** The options that decide what is sent: a run is only resumed with the same ones. */
export const inputFingerprint = ({
  inputFormat,
  delimiter,
  quote,
  escape,
  comment,
  encoding,
  maxRecordBytes = writeDefaults.maxRecordBytes,
  limit,
}: ReadOptions) => ({
  inputFormat,
  delimiter,
  quote,
  escape,
  comment,
  encoding,
  maxRecordBytes,
  limit,
});

/** What to read; `listColumn` is the column that a bare list stands for. */
export const inputOptions = (
  files: readonly string[],
  { maxRecordBytes = writeDefaults.maxRecordBytes, ...options }: ReadOptions,
  listColumn?: string,
): InputOptions => ({ ...options, files, maxRecordBytes, listColumn });

/** The lines behind a lost quote may be text of a cell, and events and demerges cannot be taken back. */
export const noRecovery = (of: 'events' | 'demerges', words: Wording): EngagectlError =>
  new EngagectlError('E-USAGE', `${words.option('recoverQuotes')} is not for ${of}`, {
    why: 'a line behind the quote may be the text of a cell, and what is sent cannot be taken back',
    fix: 'correct the quote on the line that the error names',
  });

/** Bytes of a file, compressed or not, of which `textStart` makes text. */
const startBytes = 64 * 1024;

/** Returns the decompressed text of the first bytes of a file, each byte as one character. */
export async function textStart(head: Buffer): Promise<string> {
  const parts: Buffer[] = [];
  try {
    const chunks = Readable.from([head.subarray(0, startBytes)]);
    for await (const part of decompress(chunks, 'input')) parts.push(part);
  } catch {
    // The first bytes of compressed data end in the middle of it.
  }
  return Buffer.concat(parts).toString('latin1');
}

/** Names of a table's columns, of which no more is read than its beginning; none of what is no file. */
export async function readColumns(
  file: string,
  options: ReadOptions,
  runtime: Runtime,
): Promise<readonly string[]> {
  // A pipe would be waited for.
  if (!statSync(path.resolve(runtime.cwd, file)).isFile()) return [];
  const inputs = await openInputs(inputOptions([file], options), runtime);
  try {
    return inputs.headers[0]?.header ?? [];
  } finally {
    await inputs.close();
  }
}

type JsonRuntime = Pick<JobContext['runtime'], 'cwd' | 'signal'>;

/** The value of a file of one JSON text. Throws E-FILE-READ, E-FORMAT, which quotes nothing of it. */
export async function readJsonFile(file: string, runtime: JsonRuntime): Promise<unknown> {
  return parseStrictJson(await textOf(file, runtime), file, {
    id: 'E-FORMAT',
    why: 'the file has to hold one JSON text',
    fix: 'correct it there',
  });
}

async function textOf(file: string, { cwd, signal }: JsonRuntime): Promise<string> {
  return readTextFile(path.resolve(cwd, file), signal).catch((cause: unknown) => {
    if (cause instanceof EngagectlError) throw cause;
    throw new EngagectlError('E-FILE-READ', `${file} could not be read`, {
      why: fileErrorReason(cause),
      fix: 'name a readable file',
      file,
      cause,
    });
  });
}
