import { addAbortSignal, type Readable } from 'node:stream';
import { interruptionError } from '../errors.js';
import { constants, createReadStream, openSync, statSync } from 'node:fs';
import { Socket } from 'node:net';

/** Maximum size of a file that is read whole: a mapping, a list of names, a key. */
const longestText = 4 * 1024 * 1024;

/**
 * Reads a text file; throws if it is longer than any written by hand. Waiting for the writer of a FIFO
 * ends with the signal, whose reason is thrown.
 */
export async function readTextFile(file: string, signal: AbortSignal | undefined): Promise<string> {
  return (await readWhole(file, signal, longestText)).toString();
}

/** Reads all bytes of a file, at most `longest`, in the same way. */
export async function readWhole(
  file: string,
  signal: AbortSignal | undefined,
  longest: number,
): Promise<Buffer> {
  const stream = openStream(file);
  if (signal) addAbortSignal(signal, stream);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > longest) throw new Error(`it is longer than ${longest} bytes`);
    }
    return Buffer.concat(chunks, length);
  } catch (error) {
    throw signal?.aborted ? interruptionError(signal.reason) : error;
  }
}

/** Opens a file or FIFO; its stream reports a file that is missing. */
export function openStream(file: string): Readable {
  const isFifo = statSync(file, { throwIfNoEntry: false })?.isFIFO();
  return isFifo ? openFifo(file) : createReadStream(file);
}

/**
 * Opens a FIFO that is polled: a blocking open or read would hold a thread that only a writer ends, and
 * not even process.exit would.
 */
export function openFifo(path: string): Socket {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}

/**
 * Yields the lines of a file, many at a time. Throws an Error for a line that is longer than about `maxBytes`, the most that
 * `record` may take, and for a last line without its end.
 */
export async function* wholeLines(
  chunks: AsyncIterable<Buffer>,
  { maxBytes, record }: { readonly maxBytes: number; readonly record: string },
): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length > maxBytes) throw new Error(`a line is too long for ${record}`);
    if (!chunk.includes(0x0a)) continue;
    const bytes = Buffer.concat(parts, length);
    const end = bytes.lastIndexOf(0x0a) + 1;
    parts = [Buffer.from(bytes.subarray(end))]; // the consumer may overwrite what it gets
    length -= end;
    yield bytes.subarray(0, end);
  }
  if (length > 0) throw new Error('its last line is truncated');
}
