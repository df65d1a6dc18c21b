import { type InputFormat, inputFormatOfName } from '../contract/file-formats.js';
import { EngagectlError } from '../errors.js';
import { CsvSplitter, dialectOf } from './csv-splitter.js';
import { decodeText } from './encoding.js';
import { TextHasher, inputChangedError } from './text-digest.js';
import {
  expectArray,
  expectDelimiter,
  expectHeader,
  expectLines,
  detectFormat,
  type InputOptions,
} from './input-format.js';
import { cellCleaning } from '../text/cell-cleaning.js';
import { decompress } from './decompress.js';
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
  { csv, signal, digests = false }: OpenContext,
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
    const decoded = decodeText(inflated, name, options.encoding);
    const window = new TextBuffer(text ? text.pass(decoded) : decoded);
    await window.grow(); // throws if the source cannot be read at all
    const known = options.inputFormat ?? inputFormatOfName(name);
    const format = known ?? (await detectFormat(window, options));
    const { maxRecordBytes } = options;
    const input = { window, csv, name, maxRecordBytes };
    const { cutter, line } = await splitterFor(format, input, options, from.state);
    // A position in the middle is behind the header, and an earlier process read the text before it.
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
      maxRecordBytes,
      cleaning: cellCleaning(options),
      detected: known === undefined && window.bytes.length > 0 ? format : undefined,
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

/** Returns the splitter of a format and its first line; removes a header from the window. */
async function splitterFor(
  format: InputFormat,
  input: HeaderInput,
  options: InputOptions,
  state: string | undefined,
): Promise<{ cutter: RecordSplitter; line: number }> {
  if (format === 'ndjson') {
    if (options.inputFormat === undefined) await expectLines(input.window, input.name);
    return { cutter: new NdjsonSplitter(), line: 1 };
  }
  if (format === 'json') {
    await expectArray(input.window, input.name);
    return { cutter: new JsonArraySplitter(state), line: 1 };
  }
  if (format !== 'list') await expectHeader(input.window, input.name);
  const markers = dialectOf(format, options);
  const { names, nextLine } =
    format === 'list'
      ? await readListHeader(input, listColumn(options), markers)
      : await readHeader(input, markers);
  if (format !== 'list' && options.delimiter === undefined) {
    expectDelimiter(names, { name: input.name, line: nextLine - 1 });
  }
  const recovers = options.recoverQuotes ?? false;
  return {
    cutter: new CsvSplitter(names, input.csv, markers, {
      recovers,
      maxRecordBytes: input.maxRecordBytes,
    }),
    line: nextLine,
  };
}

function listColumn({ listColumn }: InputOptions): string {
  if (listColumn !== undefined) return listColumn;
  throw new EngagectlError('E-USAGE', 'this command does not accept a bare list', {
    why: 'a single column without a header does not say what to write',
    fix: 'give a CSV with a header line, or NDJSON',
  });
}
