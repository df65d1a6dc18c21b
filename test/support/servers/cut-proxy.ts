import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { onTestFinished } from 'vitest';
import { resetSocket } from './reset-socket.js';

export interface CutProxy {
  readonly url: string;
  /** Cuts all connections at once, without a goodbye. */
  cut(): void;
  /** Cuts them when so many more pieces of data have passed, in either direction. */
  cutAfter(pieces: number): void;
  /** Holds back what the server sends, until the text has arrived; then it is passed on at once. */
  holdUntil(text: string): void;
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
  const held = new HeldData();
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
    else upstream.pipe(held.passOn()).pipe(client);
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
    holdUntil: (text) => {
      held.until = text;
    },
  };
}

/** Data of all connections that is held back until one of them has received a text. */
class HeldData {
  until: string | undefined;

  passOn(): Transform {
    let data = Buffer.alloc(0);
    return new Transform({
      transform: (chunk: Buffer, _, done) => {
        data = Buffer.concat([data, chunk]);
        if (this.until !== undefined && !data.includes(this.until)) return done();
        this.until = undefined;
        const all = data;
        data = Buffer.alloc(0);
        return done(null, all);
      },
    });
  }
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
