import { readFile, stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import { interruption } from '../errors.js';
import { fifoStream } from './fifo-stream.js';

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
