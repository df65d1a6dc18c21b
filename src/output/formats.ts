import { parseFileName } from '../contract/file-formats.js';
import type { DocumentOptions, RecordEncoder } from './output.js';

interface Format {
  /** File name extensions. */
  readonly extensions: readonly string[];
  readonly load: () => Promise<{
    readonly encoder: (options: DocumentOptions) => RecordEncoder;
  }>;
}

export type OutputFormat = 'ndjson' | 'csv' | 'json';

/** Output formats. Typed explicitly, so that the package's declarations do not refer to their modules. */
export const outputFormats: Readonly<Record<OutputFormat, Format>> = {
  ndjson: { extensions: ['.ndjson', '.jsonl'], load: () => import('./ndjson-format.js') },
  csv: { extensions: ['.csv'], load: () => import('./csv-format.js') },
  json: { extensions: ['.json'], load: () => import('./json-format.js') },
};

/** Whether an `--output` means stdout. */
export const isStdout = (name: string | undefined): name is undefined | '-' | '/dev/stdout' =>
  name === undefined || name === '-' || name === '/dev/stdout';

export interface OutputOptions extends DocumentOptions {
  readonly format: OutputFormat;
}

export const formatNames = Object.keys(outputFormats) as OutputFormat[];

/** Returns format and compression by file name; NDJSON for an unknown extension. */
export function outputFormatOfName(
  name: string | undefined,
): Pick<OutputOptions, 'format' | 'gzip'> {
  const { extension, compression } = parseFileName(name ?? '');
  const format = formatNames.find((one) =>
    outputFormats[one].extensions.includes(extension.toLowerCase()),
  );
  return { format: format ?? 'ndjson', gzip: compression === 'gzip' };
}

/** Extensions of unsupported formats. */
const unsupported =
  /^\.(?:parquet|xlsx?|ods|avro|orc|tsv|txt|xml|ya?ml|sqlite|db|arrow|feather|zip|bz2|zst|xz|tar)$/i;

/** Returns the extension of an unsupported format in a file name, if any. */
export function unsupportedExtension(name: string | undefined): string | undefined {
  return unsupported.exec(parseFileName(name ?? '').extension)?.[0];
}

/** Encodes a text as a CSV cell, quoted if necessary (RFC 4180, section 2). */
export const escapeCsvCell = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
