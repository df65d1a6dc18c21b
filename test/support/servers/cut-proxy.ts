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

interface CutProxyOptions {
  /** Asked for each connection, by its number from 1. */
  readonly refuses?: (connection: number) => boolean;
  /** Returns the last bytes for a client, instead of these, after which its connection ends. */
  readonly lastWords?: (data: Buffer, connection: number) => Buffer | undefined;
}

/** Passes bytes on to the server at the URL, and can cut every connection; closed when the test ends. */
export async function cutProxy(
  url: string,
  { refuses = () => false, lastWords }: CutProxyOptions = {},
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
    const number = ++connections;
    if (refuses(number)) {
      resetSocket(client);
      return;
    }
    const upstream = createConnection({ port: Number(port), host: hostname });
    for (const socket of [client, upstream]) {
      keep(socket);
      socket.on('data', pass);
    }
    client.pipe(upstream);
    if (lastWords) passUntil((data) => lastWords(data, number), upstream, client);
    else upstream.pipe(client);
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

/** Passes bytes on until `lastWords` returns others, which are the last. */
function passUntil(
  lastWords: (data: Buffer) => Buffer | undefined,
  upstream: Socket,
  client: Socket,
): void {
  upstream.on('end', () => void client.end());
  upstream.on('data', (data: Buffer) => {
    const last = lastWords(data);
    if (last !== undefined) upstream.destroy();
    client.write(last ?? data);
    if (last !== undefined) client.end();
  });
}
