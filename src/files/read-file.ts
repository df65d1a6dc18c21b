import { stat } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { interruptionError } from '../errors.js';
import { constants, createReadStream, openSync } from 'node:fs';
import { Socket } from 'node:net';

/** Maximum size of a file that is read whole: a mapping, a list of names, a key. */
const longestText = 4 * 1024 * 1024;

/**
 * Reads a text file; throws if it is longer than any written by hand. Waiting for the writer of a FIFO
 * ends with the signal, whose reason is thrown.
 */
export async function readTextFile(file: string, signal: AbortSignal | undefined): Promise<string> {
  const found = await stat(file);
  const stream: Readable = found.isFIFO() ? openFifo(file) : createReadStream(file);
  if (signal) addAbortSignal(signal, stream);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > longestText) throw new Error(`it is longer than ${longestText} bytes`);
    }
    return Buffer.concat(chunks, length).toString();
  } catch (error) {
    throw signal?.aborted ? interruptionError(signal.reason) : error;
  }
}

/**
 * Opens a FIFO that is polled: a blocking open or read would hold a thread that only a writer ends, and
 * not even process.exit would.
 */
export function openFifo(path: string): Socket {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}
