import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { resetSocket } from './reset-socket.js';

export interface CutProxy {
  readonly url: string;
  /** Cuts all connections at once, without a goodbye. */
  cut(): void;
  /** Cuts them when so many more pieces of data have passed, in either direction. */
  cutAfter(pieces: number): void;
}

/**
 * Passes bytes on to the server at the URL, and can cut every connection; closed when the test ends. `refuses` is asked for
 * each connection, by its number from 1.
 */
export async function cutProxy(
  url: string,
  refuses: (connection: number) => boolean = () => false,
): Promise<CutProxy> {
  const { port, hostname, protocol } = new URL(url);
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  };
  const cut = () => {
    for (const socket of sockets) resetSocket(socket);
  };
  let left = Number.POSITIVE_INFINITY;
  const pass = () => {
    left -= 1;
    if (left === 0) cut();
  };
  let connections = 0;
  const server = createServer((client) => {
    connections += 1;
    if (refuses(connections)) return resetSocket(client);
    const upstream = createConnection({ port: Number(port), host: hostname });
    for (const socket of [client, upstream]) {
      keep(socket);
      socket.on('data', pass);
    }
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    cut();
  });
  return {
    url: `${protocol}//127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    cutAfter: (pieces) => {
      left = pieces;
    },
  };
}
