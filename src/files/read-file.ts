import { readFile, stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import { interruption } from '../errors.js';
import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';

/** The text of a file. Waiting for the writer of a FIFO ends with the signal, whose error it throws. */
export async function readText(file: string, signal: AbortSignal | undefined): Promise<string> {
  const found = await stat(file);
  if (!found.isFIFO()) return readFile(file, 'utf8');
  const stream = fifoStream(file);
  if (signal) addAbortSignal(signal, stream);
  try {
    return await text(stream);
  } catch (error) {
    throw signal?.aborted ? interruption(signal.reason) : error;
  }
}

/**
 * A FIFO is waited for by polling: an open or a read that blocks would hold a thread that nothing
 * ends but a writer, so that not even process.exit would.
 */
export function fifoStream(path: string): Socket {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}
