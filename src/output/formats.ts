import { parseFileName } from '../contract/file-formats.js';
import type { DocumentOptions, RecordEncoder } from './output.js';

interface Format {
  /** Of the files' names. */
  readonly extensions: readonly string[];
  readonly load: () => Promise<{
    readonly encoder: (options: DocumentOptions) => RecordEncoder;
  }>;
}

export type OutputFormat = 'ndjson' | 'csv' | 'json';

/** Formats that records can be written in. Typed explicitly, so that no declaration names the module of a format. */
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

/** Format and compression that a file's name asks for; NDJSON where it asks for none. */
export function outputFormatOfName(
  name: string | undefined,
): Pick<OutputOptions, 'format' | 'gzip'> {
  const { extension, compression } = parseFileName(name ?? '');
  const format = formatNames.find((one) =>
    outputFormats[one].extensions.includes(extension.toLowerCase()),
  );
  return { format: format ?? 'ndjson', gzip: compression === 'gzip' };
}

/** Extensions of other programs' formats. */
const unsupported =
  /^\.(?:parquet|xlsx?|ods|avro|orc|tsv|txt|xml|ya?ml|sqlite|db|arrow|feather|zip|bz2|zst|xz|tar)$/i;

/** The extension of a file's name that asks for a format which is none of ours. */
export function unsupportedExtension(name: string | undefined): string | undefined {
  return unsupported.exec(parseFileName(name ?? '').extension)?.[0];
}

/** A text as a cell of a CSV; quoted where it has to be (RFC 4180, 2). */
export const escapeCsvCell = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
