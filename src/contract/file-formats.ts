import type { Transform } from 'node:stream';

interface InputFormatFacts {
  /** File name extensions, without the period. */
  readonly extensions: readonly string[];
  /** Name in help texts; formats without one are not listed there. */
  readonly label?: string;
  /** Default of --delimiter; empty for a single column, missing for formats without cells. */
  readonly delimiter?: string;
}

/** Returns the default rejects file of an input, which lies beside it. */
export const rejectsFileOf = (input: string): string => `${input}.rejects.ndjson`;

/** Columns that a CSV rejects file adds to those of its input; uploads ignore them. */
export const rejectColumns: readonly string[] = ['engagectl_line', 'engagectl_error'];

/** Maximum bytes of an unparsable text in a rejects file. */
export const rejectTextBytes = 64 * 1024;

/** End of a text that was cut, so that it has that many bytes. */
export const cutMark = '… [cut to 64 KiB]';
/** Bytes before the mark. */
export const cutTextBytes = rejectTextBytes - Buffer.byteLength(cutMark);

/** End of the error of a record that is several lines of an input, because of a quote. */
export const linesInOne = 'are one rejected record';

/**
 * Whether an unparsable text of a rejects file is only the start of what was read, or may be: earlier builds wrote no mark.
 */
export function isCutRejectText(text: string): boolean {
  if (text.includes(cutMark)) return true; // whoever corrects the start, or closes a quote, may leave it
  const left = rejectTextBytes - Buffer.byteLength(text);
  return left >= 0 && left < 4;
}

/**
 * Whether a text consists of lines of an NDJSON rejects file of these inputs. The last line may be torn, as by a kill, or
 * end in zeros, as after a power cut.
 */
export function isRejectsText(text: string, sources: readonly string[]): boolean {
  const lines = text.split('\n');
  const torn = lines.pop()!.replace(/\0+$/, '');
  const names = new Set<unknown>(sources);
  const isOurs = (line: string) =>
    line.startsWith('{"source":') && names.has((JSON.parse(line) as { source: unknown }).source);
  try {
    if (!lines.every(isOurs)) return false;
  } catch {
    return false; // behind a torn line, for example
  }
  const heads = sources.map((source) => `${JSON.stringify({ source }).slice(0, -1)},`);
  return heads.some((head) => torn.startsWith(head) || head.startsWith(torn));
}

/** Formats of inputs, by their name in --input-format. A `list` is a single column without a header row. */
export type InputFormat = 'csv' | 'tsv' | 'ndjson' | 'json' | 'list';

const inputFormats: Readonly<Record<InputFormat, InputFormatFacts>> = {
  csv: { extensions: ['csv'], label: 'CSV', delimiter: ',' },
  tsv: { extensions: ['tsv'], label: 'TSV', delimiter: '\t' },
  ndjson: { extensions: ['ndjson', 'jsonl'], label: 'NDJSON' },
  json: { extensions: ['json'], label: 'JSON' },
  list: { extensions: [], delimiter: '' },
};
export const inputFormatNames = Object.keys(inputFormats) as InputFormat[];

/** Default delimiter of a format; empty for a list. Undefined for JSON formats, which have no cells. */
export const defaultDelimiter = (format: InputFormat): string | undefined =>
  inputFormats[format].delimiter;

/** Whether a format has rows with a header row. */
export const isTableFormat = (format: InputFormat): boolean =>
  Boolean(inputFormats[format].delimiter);

/** Splits the path `a.b` of a value in nested objects into names; a dot after a backslash is part of a name. */
export const namesOfPath = (path: string): readonly string[] =>
  path.split(/(?<!\\)\./).map((name) => name.replaceAll(String.raw`\.`, '.'));

interface Compression {
  /** File name extension, without the period. */
  readonly extension: string;
  /** The first bytes of a compressed file, by which it is recognized whatever its name; none: by its extension only. */
  readonly magic: readonly number[];
  /** Shell command that prints the decompressed file. */
  readonly print: string;
  /** Decompresses what is written to it; reports damage as an error. Counts the bytes that it used. */
  readonly inflater: () => Promise<Transform & { readonly bytesWritten: number }>;
}

export type CompressionName = 'gzip';

/** Compressions of inputs. Exports are compressed by gzip only: its members can be concatenated. */
export const compressions: Readonly<Record<CompressionName, Compression>> = {
  gzip: {
    extension: 'gz',
    magic: [0x1f, 0x8b],
    print: 'gunzip -c',
    inflater: async () => (await import('node:zlib')).createGunzip({ chunkSize: 64 * 1024 }),
  },
};

const compressionEntries = Object.entries(compressions) as [CompressionName, Compression][];

/** Extensions of compressed inputs, for help texts: `.gz`. */
export const compressedExtensionsText = joinWords(
  compressionEntries.map(([, { extension }]) => `.${extension}`),
);

/** Formats and compressions of inputs, for help texts. */
export const inputFormatsText = `${joinWords(
  inputFormatNames.flatMap((format) => inputFormats[format].label ?? []),
)}, each also ${compressedExtensionsText}`;

/** The parts of a file name: `users`, `.ndjson` and `gzip` of `users.ndjson.gz`. */
export interface FileNameParts {
  readonly stem: string;
  /** With its period, as written; empty if there is none. */
  readonly extension: string;
  readonly compression: CompressionName | undefined;
  /** Extension of the compression with its period, as written. */
  readonly compressedBy: string;
}

/** Splits a file name into stem, extension and compression. Extensions match in any case. */
export function parseFileName(name: string): FileNameParts {
  const found = compressionEntries.find(([, { extension }]) =>
    name.toLowerCase().endsWith(`.${extension}`),
  );
  const length = found === undefined ? 0 : found[1].extension.length + 1;
  const inner = name.slice(0, name.length - length);
  const extension = /[^/\\](\.[^./\\]*)$/.exec(inner)?.[1] ?? '';
  return {
    stem: inner.slice(0, inner.length - extension.length),
    extension,
    compression: found?.[0],
    compressedBy: name.slice(name.length - length),
  };
}

/** The input format that a file name stands for; undefined if its extension is not a known one. */
export function inputFormatOfName(name: string): InputFormat | undefined {
  const extension = parseFileName(name).extension.slice(1).toLowerCase();
  return inputFormatNames.find((format) => inputFormats[format].extensions.includes(extension));
}

/** Whether a file name stands for a table: CSV or TSV, also compressed. */
export function isTableName(name: string): boolean {
  const format = inputFormatOfName(name);
  return format !== undefined && isTableFormat(format);
}

/** The compression of data that begins with these bytes. */
export const compressionOfBytes = (head: Uint8Array): CompressionName | undefined =>
  compressionEntries.find(
    ([, { magic }]) => magic.length > 0 && magic.every((byte, at) => head[at] === byte),
  )?.[0];

/** Bytes that `compressionOfBytes` needs. */
export const longestMagic = Math.max(...compressionEntries.map(([, { magic }]) => magic.length));

function joinWords(words: readonly string[]): string {
  return words.join(', ').replace(/, (?=[^,]*$)/, ' or ');
}
