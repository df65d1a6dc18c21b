import type { InputOptions } from '../input/options.js';
import { writeDefaults, type ReadOptions } from './job-options.js';

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
