import {
  namesOfPath,
  rejectColumns,
  type InputFormat,
  inputFormatOfName,
} from '../contract/file-formats.js';
import { EngagectlError } from '../errors.js';
import { CsvSplitter } from './csv-splitter.js';
import {
  decodeText,
  encodingOf,
  isBeyondAscii,
  refuseOtherFiles,
  refuseWebPage,
} from './encoding.js';
import { detectTable, refuseTable, sampleBytes } from './table-detection.js';
import { TextHasher, inputChangedError } from './text-digest.js';
import {
  expectArray,
  expectLines,
  readSeparatorLine,
  skipLines,
  skipToArray,
  detectFormat,
  dialectOf,
  type InputOptions,
} from './input-format.js';
import { cellCleaning } from '../text/cell-cleaning.js';
import { decompress, peekBytes } from './decompress.js';
import { readHeader, readListHeader, type HeaderInput } from './csv-header.js';
import { JsonArraySplitter } from './json-array-splitter.js';
import { NdjsonSplitter } from './ndjson-splitter.js';
import { TextBuffer } from './text-buffer.js';
import type { CsvProgram } from '../text/csv-scanner.js';
import type { SplitInput, RecordSplitter } from './record-splitter.js';
import type { Position } from './row-block.js';
import type { Source } from './source.js';

/** An open input, positioned after its header. */
export interface OpenInput extends SplitInput {
  /** Digest of everything read; undefined if digests are off. */
  readonly text: TextHasher | undefined;
  /** Format, if it was detected from the content. */
  readonly detected: InputFormat | undefined;
  readonly dialect: InputDialect;
  bytesRead(): number;
  /** Whether the file was replaced or deleted by the time its end was reached. */
  wasReplaced(): boolean;
  close(): void;
}

interface OpenContext {
  readonly csv: CsvProgram;
  readonly signal?: AbortSignal;
  /** Whether to compute a digest. */
  readonly digests?: boolean;
  /** Encoding that was detected when the input was opened before. */
  readonly encoding?: string | undefined;
}

/**
 * Opens an input: bytes → decompression → UTF-8 text → splitter of its format.
 * Throws EngagectlError E-FILE-READ, E-FORMAT, E-HEADER…, or the signal's reason if it is aborted
 * while waiting for a pipe.
 */
export async function openInput(
  source: Source,
  options: InputOptions,
  from: Position,
  { csv, signal, digests = false, encoding: known }: OpenContext,
): Promise<OpenInput> {
  const { name } = source;
  // `hashAt` may need the start of a pipe after it was read.
  const text = digests ? new TextHasher({ keeps: source.size === undefined }) : undefined;
  const opened = source.open();
  let isOpen = true;
  const leave = (): void => {
    isOpen = false;
    opened.close();
  };
  signal?.addEventListener('abort', leave, { once: true });
  try {
    const inflated = whileOpen(decompress(opened.chunks, name), () => isOpen);
    const { window, encoding } = await openText(source, inflated, { text, known, options });
    const named = formatFor(options, name);
    const isPipe = source.size === undefined;
    const format = named ?? (await detectFormat(window, options, { name, isPipe }));
    const input = { window, csv, name, maxRecordBytes: options.maxRecordBytes };
    const splitter = await splitterFor(format, input, options, from.state);
    await refuseOtherForm(source, splitter.cutter, options, window.bytes);
    const { cutter, line, headerLine, skippedLines = 0 } = splitter;
    // A later position is after the header, and an earlier process read the text before it.
    if (!(await window.skipTo(from.offset)))
      throw inputChangedError(name, 'it is shorter than before');
    const start = from.offset === 0 ? { ...from, line } : from;
    signal?.throwIfAborted();
    return {
      source: name,
      text,
      window,
      cutter,
      start,
      maxRecordBytes: options.maxRecordBytes,
      holdBack: options.holdBack,
      skipsEmptyRows: options.skipsEmptyRows,
      cleaning: cellCleaning(options),
      dialect: {
        format,
        delimiter: cutter.markers?.delimiter.toString() || null,
        encoding,
        headerLine,
        skippedLines,
      },
      detected: named === undefined && window.bytes.length > 0 ? format : undefined,
      bytesRead: () => opened.bytesRead(),
      wasReplaced: () => opened.wasReplaced?.() ?? false,
      close: leave,
    };
  } catch (error) {
    leave();
    throw signal?.aborted ? signal.reason : error;
  } finally {
    signal?.removeEventListener('abort', leave);
  }
}

/** Returns the format that the options or the name of an input state. */
const formatFor = ({ inputFormat, records }: InputOptions, name: string): InputFormat | undefined =>
  inputFormat ?? (records === undefined ? inputFormatOfName(name) : 'json');

interface TextOptions {
  readonly text: TextHasher | undefined;
  /** Encoding that was detected before. */
  readonly known: string | undefined;
  readonly options: InputOptions;
}

/** Decodes the bytes of a source into a window of UTF-8 text. */
async function openText(
  source: Source,
  inflated: AsyncIterable<Buffer>,
  { text, known, options }: TextOptions,
) {
  const { name } = source;
  const { head, all } = await peekBytes(inflated, 4);
  refuseOtherFiles(head, name);
  if (options.inputFormat !== 'list') refuseWebPage(head, name); // identities may be any text
  const named = options.encoding ?? known;
  const mayGrow = options.holdBack !== undefined;
  const format = formatFor(options, name);
  const mayBeList = format === 'list' || (format === undefined && options.listColumn !== undefined);
  const encoding = await encodingOf(source, head, { named, mayGrow, mayBeList });
  const isDetected = options.encoding === undefined;
  const decoded = decodeText(all, name, { encoding, isDetected });
  const window = new TextBuffer(text ? text.pass(decoded) : decoded);
  await window.grow(); // throws if the source cannot be read at all
  return { window, encoding };
}

/** Stops when the source is closed; the bytes that were already read may inflate to gigabytes. */
async function* whileOpen(
  chunks: AsyncIterable<Buffer>,
  isOpen: () => boolean,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    if (!isOpen()) return;
    yield chunk;
  }
}

/** How an input is read: what its options set, and what was detected. */
export interface InputDialect {
  readonly format: InputFormat;
  /** Null for JSON formats and lists. */
  readonly delimiter: string | null;
  readonly encoding: string;
  /** Physical line of the header; null if there is none. */
  readonly headerLine: number | null;
  /** Title lines above the header that were detected. */
  readonly skippedLines: number;
}

/** Returns the splitter of a format and its first line; removes a header, and what is above it, from the window. */
async function splitterFor(
  format: InputFormat,
  input: Omit<HeaderInput, 'firstLine'>,
  options: InputOptions,
  state: string | undefined,
): Promise<{
  cutter: RecordSplitter;
  line: number;
  headerLine: number | null;
  skippedLines?: number;
}> {
  if (format === 'ndjson') {
    if (options.inputFormat === undefined) await expectLines(input.window, input.name);
    return { cutter: new NdjsonSplitter(), line: 1, headerLine: null };
  }
  if (format === 'json' && options.records !== undefined) {
    const line = await skipToArray(input.window, options.records, input.name);
    const cutter = new JsonArraySplitter(state, namesOfPath(options.records));
    return { cutter, line, headerLine: null };
  }
  if (format === 'json') {
    await expectArray(input.window, input.name);
    return { cutter: new JsonArraySplitter(state), line: 1, headerLine: null };
  }
  const isList = format === 'list';
  const mayBeTable = isList && options.inputFormat === undefined;
  const below = 1 + (await skipLines(input.window, options.skipLines ?? 0));
  if (mayBeTable)
    refuseTable(
      input.window.bytes.subarray(0, sampleBytes),
      tableOptions(options, { name: input.name, linesAbove: below - 1 }),
    );
  const { delimiter, firstLine, skippedLines } = isList
    ? { delimiter: undefined, firstLine: below, skippedLines: 0 }
    : await skipToHeader(format, { ...input, firstLine: below }, options);
  const markers = dialectOf(format, { ...options, ...(delimiter !== undefined && { delimiter }) });
  const from = { ...input, firstLine };
  const header = isList
    ? await readListHeader(from, listColumn(options), markers)
    : await readHeader(from, markers);
  const cutter = new CsvSplitter(header.names, input.csv, markers, {
    recovers: options.recoverQuotes ?? false,
    isQuoteKnown: (options.quote ?? options.escape) !== undefined,
    isEscapeKnown: options.escape !== undefined,
    mayBeTable,
    maxRecordBytes: input.maxRecordBytes,
  });
  return { cutter, line: header.nextLine, headerLine: isList ? null : header.line, skippedLines };
}

/** Whether an input is a rejects file: by the header of a CSV, or the start of NDJSON. */
const isRejectsFile = (header: readonly string[] | undefined, text: Buffer): boolean =>
  header
    ? rejectColumns.every((column) => header.includes(column))
    : /^\{"source":.*,"stage":"/.test(text.toString('latin1', 0, rejectHeadBytes));

/** Bytes in which a line of a rejects file says that it is one: it begins with the name of a file. */
const rejectHeadBytes = 8192;

/**
 * Throws E-USAGE if a rejects file is read in the form of the input that it was written for. In another CSV dialect its
 * rows would begin elsewhere, also inside of cells; in another encoding the characters of an identity would name another
 * user, unless a program has saved the file in that encoding.
 */
async function refuseOtherForm(
  source: Source,
  { header }: RecordSplitter,
  options: InputOptions,
  text: Buffer,
): Promise<void> {
  const { quote = '"', escape = quote, comment = '', encoding = 'utf-8' } = options;
  const isOtherDialect = header && (quote !== '"' || escape !== quote || comment !== '');
  const isOtherEncoding = !/^utf-?8$/i.test(encoding) && source.size !== undefined;
  if (!(isOtherDialect || isOtherEncoding) || !isRejectsFile(header, text)) return;
  const { name: file } = source;
  if (isOtherDialect)
    throw new EngagectlError(
      'E-USAGE',
      `${file} is a rejects file, which has a CSV dialect of its own`,
      {
        why: 'its cells are quoted with ", which is doubled within a cell, and it has no comments',
        fix: 'leave out --quote, --escape and --comment',
        file,
      },
    );
  if (!(await isBeyondAscii(source))) return;
  throw new EngagectlError('E-USAGE', `${file} is a rejects file, and is UTF-8`, {
    why: `read as ${encoding}, its characters would be others, also those of identities`,
    fix: 'leave out --encoding',
    file,
  });
}

/** Removes lines above the header row from the window; returns the delimiter, if it was detected. */
async function skipToHeader(
  format: InputFormat,
  { window, name, firstLine }: HeaderInput,
  options: InputOptions,
): Promise<{ delimiter: string | undefined; firstLine: number; skippedLines: number }> {
  const separator = await readSeparatorLine(window);
  const known = options.delimiter ?? separator ?? (format === 'tsv' ? '\t' : undefined);
  const top = firstLine + (separator === undefined ? 0 : 1);
  const found = detectTable(window.bytes.subarray(0, sampleBytes), {
    ...tableOptions({ ...options, delimiter: known }, { name, linesAbove: top - 1 }),
    mayBeList:
      options.listColumn !== undefined &&
      options.delimiter === undefined &&
      formatFor(options, name) === undefined,
  });
  const skippedLines = options.skipLines === undefined ? (found?.skippedLines ?? 0) : 0;
  if (skippedLines > 0) window.drop(found!.skippedBytes);
  return {
    delimiter: options.delimiter ?? separator ?? found?.delimiter,
    firstLine: top + skippedLines,
    skippedLines,
  };
}

const tableOptions = (
  {
    delimiter,
    quote,
    comment,
    listColumn: column,
    keyColumns,
  }: Omit<InputOptions, 'delimiter'> & { readonly delimiter?: string | undefined },
  place: { readonly name: string; readonly linesAbove: number },
) => ({
  ...place,
  delimiter: delimiter === '\\t' ? '\t' : delimiter,
  column,
  keyColumns,
  ...(quote !== undefined && { quote }),
  ...(comment !== undefined && { comment }),
});

function listColumn({ listColumn }: InputOptions): string {
  if (listColumn !== undefined) return listColumn;
  throw new EngagectlError('E-USAGE', 'this command does not accept a bare list', {
    why: 'a single column without a header does not say what to write',
    fix: 'give a CSV with a header line, or NDJSON',
  });
}
