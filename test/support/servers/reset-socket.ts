import type { Socket } from 'node:net';

/** Resets a connection. While it ends, the system refuses that, and Node would leave the socket open for good. */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}
