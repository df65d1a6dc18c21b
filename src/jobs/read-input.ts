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
export function inputOptions(
  files: readonly string[],
  options: ReadOptions,
  listColumn?: string,
): InputOptions {
  const { inputFormat, delimiter, quote, escape, comment, encoding } = options;
  return {
    files,
    maxRecordBytes: options.maxRecordBytes ?? writeDefaults.maxRecordBytes,
    ...(inputFormat && { format: inputFormat }),
    ...(delimiter !== undefined && { delimiter }),
    ...(quote !== undefined && { quote }),
    ...(escape !== undefined && { escape }),
    ...(comment !== undefined && { comment }),
    ...(encoding !== undefined && { encoding }),
    ...(listColumn !== undefined && { listColumn }),
  };
}
