import { parseFileName } from '../contract/file-formats.js';
import type { DocumentOptions, RecordEncoder } from './output.js';

interface Format {
  /** File name extensions. */
  readonly extensions: readonly string[];
  /** Whether records become rows of cells, so that the options for tables apply. */
  readonly isTable: boolean;
  readonly load: () => Promise<{
    readonly encoder: (options: DocumentOptions) => RecordEncoder;
  }>;
}

export type OutputFormat = 'ndjson' | 'csv' | 'json';

/** Output formats. Typed explicitly, so that the package's declarations do not refer to their modules. */
export const outputFormats: Readonly<Record<OutputFormat, Format>> = {
  ndjson: {
    extensions: ['.ndjson', '.jsonl'],
    isTable: false,
    load: () => import('./ndjson-format.js'),
  },
  csv: { extensions: ['.csv'], isTable: true, load: () => import('./csv-format.js') },
  json: {
    extensions: ['.json'],
    isTable: false,
    load: async () => ({ encoder: (await import('./ndjson-format.js')).arrayEncoder }),
  },
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
  return { format: formatOfExtension(extension) ?? 'ndjson', gzip: compression === 'gzip' };
}

const formatOfExtension = (extension: string): OutputFormat | undefined =>
  formatNames.find((format) => outputFormats[format].extensions.includes(extension.toLowerCase()));

/** Extensions of well-known formats, refused unless one of our formats has them. */
const unsupported =
  /^\.(?:parquet|xlsx?|ods|avro|orc|tsv|txt|xml|ya?ml|sqlite|db|arrow|feather|zip|bz2|zst|xz|tar)$/i;

/** Returns the extension of an unsupported format or compression in a file name, if any. */
export function unsupportedExtension(name: string | undefined): string | undefined {
  const { extension, compression, compressedBy } = parseFileName(name ?? '');
  if (compression !== undefined && !outputFormatOfName(name).gzip) return compressedBy;
  return formatOfExtension(extension) === undefined ? unsupported.exec(extension)?.[0] : undefined;
}

/** Encodes a text as a CSV cell, quoted if necessary (RFC 4180, section 2). */
export const escapeCsvCell = (text: string): string =>
  /[",\r\n]/.test(text) ? quoteCsvCell(text) : text;

/** Encodes a text as a quoted CSV cell. */
export const quoteCsvCell = (text: string): string => `"${text.replaceAll('"', '""')}"`;
