import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Serves another protocol on the connection; settles when the connection has ended. */
export type Upgrade = (socket: Duplex, head: Buffer) => Promise<void>;

export interface RequestHandlers {
  /** Resolves when the response is sent; rejects when the connection broke. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** Undefined: the Upgrade header is ignored and the request is answered as usual. */
  readonly upgradeOf: (request: IncomingMessage) => Upgrade | undefined;
}

export interface Address {
  /** 0 selects a free port. */
  readonly port: number;
  /** The interface to listen on, as a name or an IP address. */
  readonly host: string;
  /** PEM; undefined serves plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
}

/** Longer than clients pause: closing a connection while a client sends would leave the outcome of an event unknown. */
const keepAliveMilliseconds = 60_000;
const graceMilliseconds = 1000;

/** Serves requests and upgrades on one port. `close` waits a second for them to finish, then aborts them. */
export async function listen(
  { port, host, tls }: Address,
  { answer, upgradeOf }: RequestHandlers,
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  /** Requests and upgrades in progress, each with the function that aborts it. */
  const running = new Map<Promise<void>, () => void>();
  const track = (work: Promise<void>, end: () => void): void => {
    const settled = work.catch(end).finally(() => running.delete(settled));
    running.set(settled, end);
  };
  const onRequest: RequestListener = (request, response) =>
    track(answer(request, response), () => void response.destroy());
  const server = tls ? createTlsServer(tls, onRequest) : createServer(onRequest);
  const abortSilent = tls ? explainPlainHttp(server) : () => undefined;
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const upgrade = upgradeOf(request);
    if (upgrade) return track(upgrade(socket, head), () => void socket.destroy());
    socket.unshift(Buffer.concat([headWithoutUpgrade(request), head]));
    server.emit(tls ? 'secureConnection' : 'connection', socket);
  });
  server.keepAliveTimeout = keepAliveMilliseconds;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });

  const close = async (): Promise<void> => {
    server.close();
    server.closeIdleConnections();
    abortSilent();
    const ended = Promise.all(running.keys());
    await Promise.race([ended, delay(graceMilliseconds, undefined, { ref: false })]);
    server.closeAllConnections();
    for (const end of running.values()) end();
    await Promise.all(running.keys());
  };
  return { port: (server.address() as AddressInfo).port, close };
}

/** Returns the request head without its Upgrade header: some clients offer h2c with every request. */
function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let head = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (/^upgrade$/i.test(rawHeaders[at] ?? '')) continue;
    head += `${rawHeaders[at]}: ${rawHeaders[at + 1]}\r\n`;
  }
  return Buffer.from(`${head}\r\n`, 'latin1');
}

const handshakeRecord = 22;
const plainHttpAnswer = Buffer.from('This port serves TLS: the URL must start with https://\n');

/**
 * Answers a client that speaks plain HTTP to a TLS port, which would otherwise see a broken connection. Returns a
 * function that closes the connections on which nothing has arrived yet: the server does not know them.
 */
function explainPlainHttp(server: Server): () => void {
  const silent = new Set<Socket>();
  const handshakes = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    silent.add(socket);
    const forget = () => silent.delete(socket);
    socket.once('close', forget).once('error', forget);
    socket.setTimeout(keepAliveMilliseconds, () => void socket.destroy());
    socket.once('data', (start: Buffer) => {
      forget();
      if (start[0] !== handshakeRecord) {
        socket.end(
          `HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: ${plainHttpAnswer.length}\r\nConnection: close\r\n\r\n${plainHttpAnswer.toString()}`,
        );
        return;
      }
      socket.setTimeout(0);
      socket.removeAllListeners('timeout').off('error', forget);
      socket.pause();
      socket.unshift(start);
      for (const handshake of handshakes) handshake.call(server, socket);
    });
  });
  return () => silent.forEach((socket) => void socket.destroy());
}
