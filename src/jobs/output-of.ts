import { EngagectlError, type OptionName } from '../errors.js';
import { formatOf, type OutputOptions } from '../output/formats.js';
import type { FileOptions } from './job-options.js';
import type { Words } from './words.js';

export { formatNames } from '../output/formats.js';

/** The output at `path`; undefined is stdout. */
export function outputOf(
  path: string | undefined,
  options: FileOptions,
  option: OptionName,
): OutputOptions {
  const { format, gzip } = formatOf(path);
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

/** Throws E-USAGE for what only a CSV has. */
export function refuseCsvOptions(
  path: string | undefined,
  options: FileOptions,
  { option }: Words,
): void {
  if (outputOf(path, options, option).format === 'csv') return;
  const wrong = options.bom ? option('bom') : options.columns && option('columns');
  if (wrong === undefined) return;
  throw new EngagectlError('E-USAGE', `${wrong} is for CSV`, {
    why: 'in the other formats every record is written as it came',
    fix: `add ${option('format', 'csv')}, or leave out ${wrong}`,
  });
}
