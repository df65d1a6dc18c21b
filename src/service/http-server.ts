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

/** Speaks another protocol on the connection; settles when that is over. */
export type Upgrade = (socket: Duplex, head: Buffer) => Promise<void>;

export interface RequestHandlers {
  /** Settles when the answer is out; rejects when the connection broke. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** Undefined: the request is answered as if it had not asked for another protocol. */
  readonly upgradeOf: (request: IncomingMessage) => Upgrade | undefined;
}

export interface Address {
  /** 0 takes any free one. */
  readonly port: number;
  /** The interface to listen on, as a name or an IP address. */
  readonly host: string;
  /** PEM; undefined speaks plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
}

/** Longer than a client pauses: closing just when it sends would leave the outcome of an event unknown. */
const keepAliveMilliseconds = 60_000;
const graceMilliseconds = 1000;

/** Takes requests and upgrades on one port. `close` lets both end by themselves for a second, then ends them. */
export async function listen(
  { port, host, tls }: Address,
  { answer, upgradeOf }: RequestHandlers,
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  /** What goes on, each with how to end it. */
  const running = new Map<Promise<void>, () => void>();
  const track = (work: Promise<void>, end: () => void): void => {
    const settled = work.catch(end).finally(() => running.delete(settled));
    running.set(settled, end);
  };
  const take: RequestListener = (request, response) =>
    track(answer(request, response), () => void response.destroy());
  const server = tls ? createTlsServer(tls, take) : createServer(take);
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

/** Some clients offer h2c with every request. Node reads a request that asks for no upgrade as usual. */
function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let head = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (/^upgrade$/i.test(rawHeaders[at] ?? '')) continue;
    head += `${rawHeaders[at]}: ${rawHeaders[at + 1]}\r\n`;
  }
  return Buffer.from(`${head}\r\n`, 'latin1');
}
