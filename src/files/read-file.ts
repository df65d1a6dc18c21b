import { stat } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { interruptionError } from '../errors.js';
import { constants, createReadStream, openSync } from 'node:fs';
import { Socket } from 'node:net';

/** Bytes of a text that is in memory as a whole: a mapping, a list of names, a key. */
const longestText = 4 * 1024 * 1024;

/**
 * The text of a file; throws where it is longer than any that people write. Waiting for the writer of a FIFO ends with
 * the signal, whose error it throws.
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
 * A FIFO is waited for by polling: an open or a read that blocks would hold a thread that nothing
 * ends but a writer, so that not even process.exit would.
 */
export function openFifo(path: string): Socket {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}
