import { EngagectlError, type OptionName } from '../errors.js';
import {
  unsupportedExtension,
  formatNames,
  outputFormatOfName,
  isStdout,
  type OutputOptions,
} from '../output/formats.js';
import type { FileOptions } from './job-options.js';
import type { Wording } from './job-context.js';

export { formatNames, isStdout };

/** The output at `path`; undefined is stdout. */
export function outputOptions(
  path: string | undefined,
  options: FileOptions,
  option: OptionName,
): OutputOptions {
  const { format, gzip } = outputFormatOfName(path);
  return {
    path,
    format: options.format ?? format,
    gzip,
    overwrite: options.overwrite === true,
    fresh: options.fresh === true,
    ...(options.columns && { columns: options.columns }),
    escapeFormulas: options.csvFormulas === 'escape',
    bom: options.bom === true,
    option,
  };
}

/** Throws E-USAGE for a file that is to be in a format of others, and for what only a CSV has. */
export function checkOutputFormat(
  path: string | undefined,
  options: FileOptions,
  { option }: Wording,
): void {
  const other = options.format === undefined && unsupportedExtension(path);
  if (other) {
    throw new EngagectlError('E-USAGE', `${path}: ${other} is no format that can be written`, {
      why: `formats are ${formatNames.join(', ')}, each also .gz`,
      fix: `name the file after one of them, or say what is meant: ${option('format', 'ndjson')}`,
    });
  }
  if (outputOptions(path, options, option).format === 'csv') return;
  const wrong = options.bom ? option('bom') : options.columns && option('columns');
  if (wrong === undefined) return;
  throw new EngagectlError('E-USAGE', `${wrong} is for CSV`, {
    why: 'in the other formats every record is written as it came',
    fix: `add ${option('format', 'csv')}, or leave out ${wrong}`,
  });
}
