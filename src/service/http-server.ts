import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { AddressInfo } from 'node:net';
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
