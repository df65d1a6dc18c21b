import { EngagectlError, type OptionName } from '../errors.js';
import {
  unsupportedExtension,
  formatNames,
  outputFormats,
  outputFormatOfName,
  isStdout,
  type OutputOptions,
} from '../output/formats.js';
import type { FileOptions } from './job-options.js';
import type { Wording } from './job-context.js';

export { formatNames, isStdout };

/** Builds the options of the output at `path`. Undefined is stdout. */
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

/** Throws E-USAGE for an unsupported file extension, and for options of tables with another format. */
export function checkOutputFormat(
  path: string | undefined,
  options: FileOptions,
  { option }: Wording,
): void {
  const other = options.format === undefined && unsupportedExtension(path);
  if (other) {
    throw new EngagectlError('E-USAGE', `${path}: ${other} is not a supported output format`, {
      why: `supported formats are ${formatNames.join(', ')}, each also with .gz`,
      fix: `use one of these extensions, or choose the format: ${option('format', 'ndjson')}`,
    });
  }
  if (outputFormats[outputOptions(path, options, option).format].isTable) return;
  const wrong = options.bom ? option('bom') : options.columns && option('columns');
  if (wrong === undefined) return;
  throw new EngagectlError('E-USAGE', `${wrong} requires CSV output`, {
    why: 'the other formats write every record unchanged',
    fix: `add ${option('format', 'csv')}, or omit ${wrong}`,
  });
}
