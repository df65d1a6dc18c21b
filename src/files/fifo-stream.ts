import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';

/**
 * A FIFO is waited for by polling: an open or a read that blocks would hold a thread that nothing
 * ends but a writer, so that not even process.exit would.
 */
export function fifoStream(path: string): Socket {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}
