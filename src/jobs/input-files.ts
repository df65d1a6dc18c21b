import path from 'node:path';
import { statSync } from 'node:fs';
import { writeDefaults, type ReadOptions } from './job-options.js';
import { openInputs } from '../input/inputs.js';
import type { InputOptions } from '../input/input-format.js';
import type { Runtime } from '../runtime.js';

/** The options that decide what is sent: a run is only resumed with the same ones. */
export const readMeaning = ({
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
