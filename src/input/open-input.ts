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
import { decompress } from './decompress.js';
import { readHeader, readListHeader, type HeaderInput } from './csv-header.js';
import { JsonArraySplitter } from './json-array-splitter.js';
import { NdjsonSplitter } from './ndjson-splitter.js';
import { TextBuffer } from './text-buffer.js';
import type { CsvProgram } from '../text/csv-scanner.js';
import type { SplitInput, RecordSplitter } from './record-splitter.js';
import type { Position } from './row-block.js';
import type { Source } from './source.js';

/** One input, open and past its header. */
export interface OpenInput extends SplitInput {
  /** All that was read of it, where a digest is wanted. */
  readonly text: TextHasher | undefined;
  /** Its format, where only its content tells. */
  readonly guessed: InputFormat | undefined;
  bytesRead(): number;
  /** Whether its file is another one, or none, now that it was read to its end. */
  wasReplaced(): boolean;
  close(): void;
}

interface OpenContext {
  readonly csv: CsvProgram;
  readonly signal?: AbortSignal;
  /** Whether a digest is wanted. */
  readonly digests?: boolean;
}

/**
 * Opens an input: bytes → gunzip → UTF-8 text → the cutter of its format.
 * Throws EngagectlError E-FILE-READ, E-FORMAT, E-HEADER…; the signal's reason when it is aborted
 * while a pipe is waited for.
 */
export async function openInput(
  source: Source,
  options: InputOptions,
  from: Position,
  { csv, signal, digests = false }: OpenContext,
): Promise<OpenInput> {
  const { name } = source;
  // Of a pipe, what it begins with may be asked for when it has gone by.
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
    await window.grow(); // a source that cannot be read at all shows it here
    const known = options.inputFormat ?? inputFormatOfName(name);
    const format = known ?? (await detectFormat(window, options));
    const { maxRecordBytes } = options;
    const input = { window, csv, name, maxRecordBytes };
    const { cutter, line } = await cutterFor(format, input, options, from.state);
    // A place in the middle lies behind the header, and the text before it was there before.
    if (!(await window.skipTo(from.offset))) throw inputChangedError(name, 'it is shorter now');
    const start = from.offset === 0 ? { ...from, line } : from;
    signal?.throwIfAborted();
    return {
      source: name,
      text,
      window,
      cutter,
      start,
      maxRecordBytes,
      guessed: known === undefined && window.bytes.length > 0 ? format : undefined,
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

/** A source that was closed gives no more bytes, but gigabytes may still come of those that it gave. */
async function* whileOpen(
  chunks: AsyncIterable<Buffer>,
  isOpen: () => boolean,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    if (!isOpen()) return;
    yield chunk;
  }
}

/** The cutter of a format, and the line on which it begins; a header is taken off the window. */
async function cutterFor(
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
  throw new EngagectlError('E-USAGE', 'this command takes no bare list', {
    why: 'a single column does not say what is to be written',
    fix: 'give a CSV with a header line, or NDJSON',
  });
}
